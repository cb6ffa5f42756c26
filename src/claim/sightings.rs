//! Look around the worktree for places where work can hide or be lost.

use super::quarantine::Quarantine;
use super::{Sighting, SightingKind, attributes, names, submodules};
use crate::host::git::{Change, GitError, Output, Repo, Running};
use crate::host::ids::{CommitId, TreeId};
use crate::host::path::{RepoPath, escape};
use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;

/// Ignored files named at most; the rest is counted.
const MOST_IGNORED: usize = 50;

/// Configuration that makes git run a program, by the end of its name. Listed, because a worker may have written it into
/// the configuration that all worktrees share.
const EXECUTABLE: &[&str] = &[
    ".clean",
    ".smudge",
    ".process",
    ".textconv",
    ".driver",
    ".command",
    ".cmd",
    "core.fsmonitor",
    "core.hookspath",
    "core.sshcommand",
    "core.editor",
    "core.pager",
    "core.askpass",
    "diff.external",
    "gpg.program",
    "gpg.ssh.program",
    "include.path",
    "credential.helper",
    "sequence.editor",
    "uploadpack.packobjectshook",
];

/// The gits that list where work can hide. None of them runs a filter; they run beside what else there is to do. Where a
/// look at the file itself shows that there is nothing to list, none is started.
pub(super) struct Listings {
    flags: Option<Running>,
    ignored: Running,
    config: Option<Running>,
}

impl Listings {
    /// Starts the listings that need not wait for `git add`: of the configuration, if the repository's own files may hold
    /// anything of [`EXECUTABLE`], and of the ignored files. Those are neither added nor removed by `add`, so the user's
    /// own index serves as well; beside a file that was tracked and is gone, it shows more of them.
    pub(super) fn start(repo: &Repo) -> Result<Self, GitError> {
        let ignored = repo.git().start(["ls-files", "-o", "-i", "--exclude-standard", "--directory", "-z"])?;
        Ok(Self { flags: None, ignored, config: start_config(repo)? })
    }

    /// Starts the listing of flags, if the finished private index holds any.
    pub(super) fn start_flags(&mut self, repo: &Repo, quarantine: &Quarantine) -> Result<(), GitError> {
        if !quarantine.has_no_marks(repo) {
            self.flags = Some(quarantine.apply(repo.git(), repo).start(["ls-files", "-v", "-z"])?);
        }
        Ok(())
    }
}

fn start_config(repo: &Repo) -> Result<Option<Running>, GitError> {
    let shared = fs::read(repo.common_dir().join("config"));
    let own = match fs::read(repo.git_dir().join("config.worktree")) {
        Err(why) if why.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        read => read,
    };
    if shared.is_ok_and(|text| names_no_program(&text)) && own.is_ok_and(|text| names_no_program(&text)) {
        return Ok(None);
    }
    repo.git().start(["config", "--list", "--show-scope", "-z"]).map(Some)
}

/// True if a configuration file cannot name any of [`EXECUTABLE`]: the words for it are nowhere in it. Sections and keys
/// are written out in such files, in any case of letters; other files come in by `include` only.
fn names_no_program(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text).to_lowercase();
    let there = |name: &str| name.split('.').all(|part| text.contains(part));
    !EXECUTABLE.iter().copied().chain(["alias", "includeif"]).any(there)
}

/// Everything that a worktree can show beside its tree.
pub(super) fn look_around(
    repo: &Repo,
    base: &CommitId,
    (base_tree, tree): (&TreeId, &TreeId),
    changed: &[Change],
    quarantine: &Quarantine,
    listings: Listings,
) -> Result<Vec<Sighting>, GitError> {
    let mut seen = Vec::new();
    seen.extend(rewritten_history(repo, base, "HEAD")?);
    if let Some(flags) = listings.flags {
        seen.extend(index_flags(repo, quarantine, &flags.success()?)?);
    }
    seen.extend(ignored_files(repo, quarantine, &listings.ignored.success()?, changed)?);
    seen.extend(excludes(repo));
    if let Some(config) = listings.config {
        seen.extend(executable_config(&config.output()?));
    }
    seen.extend(attributes::foreign(repo, tree)?);
    seen.extend(submodules::look(repo, base_tree, tree, changed, quarantine)?);
    seen.extend(names::collisions(repo, tree, changed)?);
    Ok(seen)
}

/// What a commit alone can show.
pub(super) fn look_at_commit(
    repo: &Repo,
    base: &CommitId,
    commit: &CommitId,
    tree: &TreeId,
    changed: &[Change],
) -> Result<Vec<Sighting>, GitError> {
    let mut seen = Vec::new();
    seen.extend(rewritten_history(repo, base, commit.as_str())?);
    seen.extend(attributes::foreign(repo, tree)?);
    seen.extend(submodules::without_declaration(repo, tree, changed)?);
    seen.extend(names::collisions(repo, tree, changed)?);
    Ok(seen)
}

fn rewritten_history(repo: &Repo, base: &CommitId, rev: &str) -> Result<Option<Sighting>, GitError> {
    let Some(head) = repo.resolve(rev)? else { return Ok(None) };
    if repo.is_ancestor(base, &head)? {
        return Ok(None);
    }
    let detail = format!(
        "the base {} is not an ancestor of {} any more: history was rewritten, or the base is wrong",
        base.short(),
        head.short()
    );
    Ok(Some(Sighting { kind: SightingKind::RewrittenHistory, path: None, detail }))
}

/// Index entries that git was told not to look at. In a sparse checkout, skip-worktree files are absent and fine.
fn index_flags(repo: &Repo, quarantine: &Quarantine, output: &Output) -> Result<Vec<Sighting>, GitError> {
    let mut seen = Vec::new();
    for record in output.stdout.split(|b| *b == 0) {
        let [flag, b' ', path @ ..] = record else { continue };
        let path = RepoPath::from_bytes(path);
        let present = || fs::symlink_metadata(repo.top().join(path.to_path_buf())).is_ok();
        let (kind, said) = match flag {
            b'a'..=b'z' => (SightingKind::AssumeUnchanged, "marked assume-unchanged"),
            b'S' if present() => (SightingKind::SkipWorktree, "marked skip-worktree, and present"),
            _ => continue,
        };
        let same = same_as_index(repo, quarantine, &path)?;
        let found = match same {
            Some(true) => "its content is what the index has",
            Some(false) => {
                "its bytes on disk DIFFER from what the index has: the index's content was frozen, and an edit may hide there"
            }
            None => "its content could not be compared",
        };
        seen.push(Sighting { kind, detail: format!("{said}: git does not look at it; {found}"), path: Some(path) });
    }
    Ok(seen)
}

fn same_as_index(repo: &Repo, quarantine: &Quarantine, path: &RepoPath) -> Result<Option<bool>, GitError> {
    let name = path.to_path_buf();
    let git = || quarantine.apply(repo.git(), repo);
    let args = ["--literal-pathspecs", "ls-files", "-s", "-z", "--"].map(std::ffi::OsStr::new);
    let staged = git().run(args.into_iter().chain([name.as_os_str()]))?;
    let staged = String::from_utf8_lossy(&staged.stdout).split(' ').nth(1).map(str::to_owned);
    // Without filters: a program that a worker planted must not run here, outside the box.
    let hashed = git().run_unchecked(
        ["hash-object", "--no-filters", "--"].map(std::ffi::OsStr::new).into_iter().chain([name.as_os_str()]),
    )?;
    Ok(staged.filter(|_| hashed.success()).map(|id| id == hashed.line()))
}

/// Ignored files are not part of what lands, and rooms do not have them; a test that passes only because of one fails
/// there. They are named so that nobody wonders, and told apart by who ignores them: a rule of the base, or a rule that
/// came with the work.
fn ignored_files(
    repo: &Repo,
    quarantine: &Quarantine,
    output: &Output,
    changed: &[Change],
) -> Result<Vec<Sighting>, GitError> {
    let files: Vec<&[u8]> = output.stdout.split(|b| *b == 0).filter(|p| !p.is_empty() && !p.ends_with(b"/")).collect();
    if files.is_empty() {
        return Ok(Vec::new());
    }
    let asked = files.iter().take(MOST_IGNORED).flat_map(|p| [p, &b"\0"[..]].concat()).collect::<Vec<u8>>();
    let rules =
        quarantine.apply(repo.git(), repo).stdin(asked).run_unchecked(["check-ignore", "-v", "-z", "--stdin"])?;
    let changed_rules: BTreeSet<&[u8]> =
        changed.iter().filter(|c| c.path.file_name() == b".gitignore").map(|c| c.path.as_bytes()).collect();
    let mut seen = Vec::new();
    let fields: Vec<&[u8]> = rules.stdout.split(|b| *b == 0).collect();
    for rule in fields.chunks_exact(4) {
        let [source, line, pattern, path] = rule else { continue };
        let new_rule = changed_rules.contains(source) || source.ends_with(b"info/exclude");
        let from = format!("{}:{} `{}`", escape(source), escape(line), escape(pattern));
        let detail = if new_rule {
            format!("ignored by a rule that is not the base's ({from}): it will not land and the tests do not see it")
        } else {
            format!("ignored by {from}: it will not land and the tests do not see it")
        };
        let kind = if new_rule { SightingKind::NewlyIgnoredFile } else { SightingKind::IgnoredFile };
        seen.push(Sighting { kind, path: Some(RepoPath::from_bytes(*path)), detail });
    }
    if files.len() > MOST_IGNORED {
        let detail = format!("{} more ignored files are not listed", files.len() - MOST_IGNORED);
        seen.push(Sighting { kind: SightingKind::IgnoredFile, path: None, detail });
    }
    Ok(seen)
}

/// Rules in the `info/exclude` that all worktrees share; git's own template is only comments.
fn excludes(repo: &Repo) -> Option<Sighting> {
    let file = repo.common_dir().join("info/exclude");
    let text = fs::read(&file).ok()?;
    let rules: Vec<String> = text
        .split(|b| *b == b'\n')
        .filter(|line| !line.trim_ascii().is_empty() && !line.starts_with(b"#"))
        .map(|line| format!("`{}`", escape(line.trim_ascii())))
        .take(20)
        .collect();
    let detail = format!("the shared info/exclude hides paths from git: {}", rules.join(", "));
    (!rules.is_empty()).then_some(Sighting { kind: SightingKind::Exclude, path: None, detail })
}

fn executable_config(output: &Output) -> Vec<Sighting> {
    let mut seen = Vec::new();
    let mut fields = output.stdout.split(|b| *b == 0);
    while let (Some(scope), Some(entry)) = (fields.next(), fields.next()) {
        // The user's and the system's own configuration are theirs; `command` is our hardening.
        if scope != b"local" && scope != b"worktree" {
            continue;
        }
        let mut parts = entry.splitn(2, |b| *b == b'\n');
        let name = escape(parts.next().unwrap_or_default());
        let lower = name.to_lowercase();
        if EXECUTABLE.iter().any(|end| lower.ends_with(end))
            || lower.starts_with("alias.")
            || lower.starts_with("includeif.")
        {
            let value = escape(parts.next().unwrap_or_default());
            let detail = format!("{} configuration runs a program: {name} = {value}", escape(scope));
            seen.push(Sighting { kind: SightingKind::ExecutableConfig, path: None, detail });
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_that_may_run_a_program_is_listed_by_git() {
        let usual = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n[remote \"origin\"]\n\turl = https://example.invalid/x.git\n\
                     \tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tremote = origin\n[user]\n\tname = T\n";
        assert!(names_no_program(usual.as_bytes()) && names_no_program(b""));
        for line in [
            "[filter \"x\"]\n\tclean = sh -c evil",
            "[FILTER \"x\"]\n\tProcess=evil",
            "[diff \"x\"] textconv = evil",
            "[core]\n\tfsMonitor = evil",
            "[core]\n\thooksPath = evil",
            "[core]\n\tsshCommand = evil",
            "[include]\n\tpath = ../evil",
            "[includeIf \"gitdir:/\"]\n\tpath = ../evil",
            "[alias]\n\tx = !evil",
            "[credential]\n\thelper = !evil",
            "[gpg \"ssh\"]\n\tprogram = evil",
            "[merge \"x\"]\n\tdriver = evil",
        ] {
            assert!(!names_no_program(format!("{usual}{line}\n").as_bytes()), "{line}");
        }
    }
}
