//! Where git's configuration says that the user's signing key lies.

use crate::host::env::Env;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A longer `.git` file or `commondir` is none.
const LONGEST_POINTER: u64 = 8 << 10;

/// The files that `user.signingKey` names: in the system's and the user's configuration, and in that of the repository
/// around this folder. Empty where it names a key by number or by its text, as most do.
///
/// The repository's configuration may be anybody's: what it names is a path, no more.
pub fn signing_key(env: &Env, folder: &Path) -> Vec<PathBuf> {
    let home = env.get("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    let xdg = env.get("XDG_CONFIG_HOME").map(PathBuf::from).filter(|folder| folder.is_absolute());
    let xdg = xdg.or_else(|| home.as_ref().map(|home| home.join(".config")));
    let mut files = vec![PathBuf::from("/etc/gitconfig")];
    files.extend(xdg.map(|folder| folder.join("git/config")));
    files.extend(home.as_ref().map(|home| home.join(".gitconfig")));
    files.extend(folder.ancestors().find_map(common_dir).map(|common| common.join("config")));
    let named = files.iter().filter(|file| file.is_file()).filter_map(|file| {
        let config = git2::Config::open(file).ok()?;
        config.get_string("user.signingkey").ok()
    });
    named.filter_map(|value| place(&value, home.as_deref())).filter(|path| path.is_file()).collect()
}

fn place(value: &str, home: Option<&Path>) -> Option<PathBuf> {
    let path = match value.strip_prefix("~/") {
        Some(rest) => home?.join(rest),
        None => PathBuf::from(value),
    };
    path.is_absolute().then_some(path)
}

/// The shared git directory of a worktree with this top.
fn common_dir(top: &Path) -> Option<PathBuf> {
    let dot_git = top.join(".git");
    let about = dot_git.metadata().ok()?;
    if about.is_dir() {
        return Some(dot_git);
    }
    let own = top.join(pointer(&dot_git)?.strip_prefix("gitdir: ")?);
    let common = pointer(&own.join("commondir")).map(|common| own.join(common));
    Some(common.unwrap_or(own))
}

fn pointer(file: &Path) -> Option<String> {
    let mut text = String::new();
    std::fs::File::open(file).ok()?.take(LONGEST_POINTER).read_to_string(&mut text).ok()?;
    Some(text.trim_end_matches(['\n', '\r']).to_owned())
}
