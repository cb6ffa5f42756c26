//! Several globs of one setting, and which of them a path meets.

use crate::config::glob::Glob;
use crate::host::path::RepoPath;

/// Compiled globs.
pub(super) struct Patterns(Vec<Glob>);

impl Patterns {
    /// Compiles them all; one that cannot be read makes the whole setting unusable, in words.
    pub(super) fn compile(globs: &[String]) -> Result<Self, String> {
        globs.iter().map(|glob| Glob::new(glob).map_err(|why| why.to_string())).collect::<Result<_, _>>().map(Self)
    }

    /// The first glob that the path meets.
    pub(super) fn hit(&self, path: &RepoPath) -> Option<&str> {
        self.0.iter().find(|glob| glob.matches(path)).map(Glob::as_str)
    }
}
