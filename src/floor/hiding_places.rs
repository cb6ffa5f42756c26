//! `hiding-places`: where work could hide from git, and links that lead out of the tree.

use super::Inspection;
use super::finding::{ask, info, unreadable};
use super::reading::{Reading, lines, new_file, old_file, read};
use crate::claim::{Sighting, SightingKind};
use crate::host::git::{Change, GitError};
use crate::host::path::{RepoPath, escape};
use crate::receipts::{CheckReport, Finding};

/// The check's id.
pub const ID: &str = "hiding-places";

/// Asks about index flags that make git look away, files that a rule of the claim's own hides from git though a test
/// run may load them (C006), and links that lead out of the tree (C113). Excludes, executable configuration and converted line endings are told.
///
/// Nothing here denies: tests run on the frozen tree, where what hides is absent.
pub fn inspect(on: &Inspection<'_>) -> CheckReport {
    let mut findings: Vec<Finding> = on.sightings.iter().filter_map(seen).collect();
    for change in on.claim.changed.iter().filter(|c| c.new_mode == "120000") {
        match escaping(on, change) {
            Ok(found) => findings.extend(found),
            Err(why) => findings.push(unreadable(&change.path, &why)),
        }
    }
    for change in &on.claim.changed {
        match converted(on, change) {
            Ok(found) => findings.extend(found),
            Err(why) => findings.push(unreadable(&change.path, &why)),
        }
    }
    if on.worktree.is_none() && findings.is_empty() {
        return CheckReport::not_applicable(ID, "the claim was given as a commit: there is no worktree to hide in");
    }
    CheckReport::of(ID, findings)
}

fn seen(sighting: &Sighting) -> Option<Finding> {
    use SightingKind as K;
    let place = sighting.path.as_ref().map_or_else(|| "the repository".to_owned(), ToString::to_string);
    let said = escape(sighting.detail.as_bytes());
    Some(match sighting.kind {
        K::AssumeUnchanged => {
            ask(place, "an index that git believes; run `git update-index --no-assume-unchanged`", said)
        }
        K::SkipWorktree => ask(place, "an index that git believes; run `git update-index --no-skip-worktree`", said),
        K::NewlyIgnoredFile => {
            ask(place, "no file hidden by a rule that came with the work: add it, or delete it", said)
        }
        K::IgnoredFile => info(place, "nothing that lands: the base ignores it", said),
        K::Exclude => info(place, "no paths hidden by info/exclude", said),
        K::ExecutableConfig => info(place, "no git configuration that runs programs", said),
        K::ForeignAttributes => {
            ask(place, "content that only rules of the tree convert; put the rule into `.gitattributes`", said)
        }
        K::LineEndings => info(place, "line endings as the base has them", said),
        // These have checks of their own.
        K::RewrittenHistory
        | K::ChosenBase
        | K::NestedRepository
        | K::DirtySubmodule
        | K::UnreachableGitlink
        | K::UnseenGitlink
        | K::SubmoduleRegressed
        | K::NameCollision => return None,
    })
}

/// A new or changed link whose target is absolute or above the top of the tree. It is never followed here.
fn escaping(on: &Inspection<'_>, change: &Change) -> Result<Option<Finding>, GitError> {
    const LONGEST: u64 = 4_096;
    let (target, cut) = on.repo.blob(&change.new, LONGEST)?;
    let observed = format!("a link to `{}`", escape(&target));
    Ok((cut || leads_out(&change.path, &target))
        .then(|| ask(&change.path, "links that stay inside the tree", observed)))
}

/// A file whose line endings were all turned into the other kind: the diff shows every line, and the real change hides
/// among them (C143).
fn converted(on: &Inspection<'_>, change: &Change) -> Result<Option<Finding>, GitError> {
    let (Some(old), Some(new)) = (old_file(change), new_file(change)) else { return Ok(None) };
    if old == new {
        return Ok(None);
    }
    let (Reading::Text(old), Reading::Text(new)) = (read(on.repo, old)?, read(on.repo, new)?) else { return Ok(None) };
    let (Some(was), Some(is)) = (ending(&old), ending(&new)) else { return Ok(None) };
    if was == is {
        return Ok(None);
    }
    let also = if lines(&old).eq(lines(&new)) { "nothing else changed" } else { "other changes hide among them" };
    let observed = format!("all line endings went from {was} to {is}; {also}");
    Ok(Some(info(&change.path, "line endings as the base has them", observed)))
}

/// The one kind of line ending a text has; none if it has both or none.
fn ending(text: &[u8]) -> Option<&'static str> {
    let mut ends = text.iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(at, _)| at > 0 && text[at - 1] == b'\r');
    let first = ends.next()?;
    ends.all(|windows| windows == first).then_some(if first { "CR LF" } else { "LF" })
}

fn leads_out(path: &RepoPath, target: &[u8]) -> bool {
    if target.starts_with(b"/") || target.get(1) == Some(&b':') {
        return true;
    }
    let mut depth = path.as_bytes().split(|b| *b == b'/').count() - 1;
    for part in target.split(|b| matches!(b, b'/' | b'\\')) {
        match part {
            b"" | b"." => {}
            b".." if depth == 0 => return true,
            b".." => depth -= 1,
            part if part.eq_ignore_ascii_case(b".git") => return true,
            _ => depth += 1,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_leads_out_if_it_is_absolute_or_climbs_above_the_top() {
        for (path, target, out) in [
            ("src/all", "/", true),
            ("out.xml", "/etc/passwd", true),
            ("a/b/l", "../../x", false),
            ("a/b/l", "../../../x", true),
            ("l", "..", true),
            ("a/l", "x/../../y", false),
            ("a/l", "x/../../../y", true),
            ("l", "docs/readme.md", false),
            ("l", ".git/config", true),
            ("l", "C:/Windows", true),
            ("l", "..\\x", true),
        ] {
            assert_eq!(leads_out(&path.into(), target.as_bytes()), out, "{path} -> {target}");
        }
    }
}
