//! Rules outside the tree that make git store other bytes than the worktree shows, or show others than it stores.

use super::{Sighting, SightingKind};
use crate::host::git::{GitError, ObjectFormat, Repo};
use crate::host::ids::TreeId;
use crate::host::path::{RepoPath, escape};
use std::fs;
use std::io::ErrorKind;

/// Attributes that convert content (gitattributes, "Checking-out and checking-in").
const CONVERTING: &[&str] = &["filter", "ident", "working-tree-encoding", "text", "eol", "crlf"];
/// Paths named at most; the rest is counted.
const MOST: usize = 20;

/// Every path of the claim whose content `info/attributes`, or a `core.attributesFile` of this repository's own
/// configuration, converts. Unchanged paths count too: a room shows what the rule makes of them. Rules in the tree and
/// in the user's own file are not looked at.
pub(super) fn foreign(repo: &Repo, tree: &TreeId) -> Result<Vec<Sighting>, GitError> {
    let info = has_rules(repo)?;
    let own_file = names_a_file(repo)?;
    if !info && !own_file {
        return Ok(Vec::new());
    }
    let paths = repo.git().run(["ls-tree", "-r", "--name-only", "-z", tree.as_str()])?.stdout;
    // From an empty tree no `.gitattributes` is read; what remains is what lies outside of every tree.
    let empty = match repo.object_format() {
        ObjectFormat::Sha1 => "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
        ObjectFormat::Sha256 => "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
    };
    let git = repo.git().env("GIT_ATTR_SOURCE", empty).env("GIT_ATTR_NOSYSTEM", "1").stdin(paths);
    let users: &[&str] = if own_file { &[] } else { &["-c", "core.attributesFile=/dev/null"] };
    let words = users.iter().chain(&["check-attr", "-z", "--stdin"]).chain(CONVERTING);
    let answer = git.run(words.copied())?.stdout;
    let fields: Vec<&[u8]> = answer.split(|b| *b == 0).collect();
    let mut found: Vec<(RepoPath, String)> = Vec::new();
    for field in fields.chunks_exact(3).filter(|field| field[2] != b"unspecified") {
        let (path, rule) = (RepoPath::from_bytes(field[0]), format!("{}: {}", escape(field[1]), escape(field[2])));
        match found.last_mut() {
            Some((last, rules)) if *last == path => *rules = format!("{rules}, {rule}"),
            _ => found.push((path, rule)),
        }
    }
    let from = if own_file { "info/attributes or the repository's core.attributesFile" } else { "info/attributes" };
    let beyond = found.len().saturating_sub(MOST);
    let mut seen: Vec<Sighting> = found
        .into_iter()
        .take(MOST)
        .map(|(path, rule)| Sighting {
            kind: SightingKind::ForeignAttributes,
            path: Some(path),
            detail: format!(
                "{from} converts its content ({rule}): what was frozen may differ from what is seen and tested"
            ),
        })
        .collect();
    if beyond > 0 {
        let detail = format!("{beyond} more files that {from} converts are not listed");
        seen.push(Sighting { kind: SightingKind::ForeignAttributes, path: None, detail });
    }
    Ok(seen)
}

fn has_rules(repo: &Repo) -> Result<bool, GitError> {
    let path = repo.common_dir().join("info/attributes");
    match fs::read(&path) {
        Ok(text) => Ok(text.split(|b| *b == b'\n').any(|l| !l.trim_ascii().is_empty() && !l.starts_with(b"#"))),
        Err(why) if why.kind() == ErrorKind::NotFound => Ok(false),
        Err(why) => Err(GitError::Io { doing: "read", path, why }),
    }
}

/// True if this repository's configuration, not the user's, chooses the file.
fn names_a_file(repo: &Repo) -> Result<bool, GitError> {
    let may = |name: &std::path::Path| {
        let text = fs::read(name).unwrap_or_default().to_ascii_lowercase();
        [&b"attributesfile"[..], b"include"].iter().any(|word| text.windows(word.len()).any(|at| at == *word))
    };
    if !may(&repo.common_dir().join("config")) && !may(&repo.git_dir().join("config.worktree")) {
        return Ok(false);
    }
    let answer = repo.git().run_unchecked(["config", "--show-scope", "-z", "--get", "core.attributesFile"])?;
    Ok(answer.stdout.starts_with(b"local\0") || answer.stdout.starts_with(b"worktree\0"))
}
