//! Files that are said to be written, left alone or installed, and items that are said to be done.

use super::calls::Calls;
use super::{Evidence, Found};
use crate::agent::transcript::ToolKind;
use crate::claim::witness::{Counted, FileNow, Holds, Place};
use crate::host::git::{Change, ChangeKind};
use crate::host::path::RepoPath;
use crate::receipts::LedgerMatch;
use crate::worker::{Assertion, SaidChange};

pub(super) fn written(assertion: &Assertion, evidence: &Evidence<'_>, calls: &Calls<'_>) -> Found {
    let subject = &assertion.subject;
    let Some(now) = evidence.witness.files.get(subject) else {
        return Found::unverifiable(LedgerMatch::Unknown, format!("{subject} was not looked at"));
    };
    let said = wrote(calls, now, subject);
    let ledger = if said.is_some() { LedgerMatch::Yes } else { LedgerMatch::NotAsked };
    let with = |found: Found| {
        let found = match said {
            Some((file, line)) => found.receipt(calls.receipt_at(file, line)),
            None => found,
        };
        found.receipt(format!("git:{}..{}", evidence.witness.start_tree.short(), evidence.witness.tree.short()))
    };
    let tool = if said.is_some() { "a tool call says that it was written, but " } else { "" };
    if let Place::Ambiguous(fitting) = &now.place {
        return Found::unverifiable(LedgerMatch::Unknown, format!("{} files are called {subject}", fitting.len()));
    }
    match assertion.expected.change {
        Some(SaidChange::Deleted) if now.exists => {
            return with(Found::unbacked(ledger, format!("{subject} is still there")))
                .wanting(format!("git rm {subject}"));
        }
        Some(SaidChange::Deleted) if now.at_start => {
            return with(Found::backed(ledger, format!("{subject} is gone")));
        }
        Some(SaidChange::Deleted) => {
            return with(Found::unverifiable(
                LedgerMatch::Unknown,
                format!("{subject} was not there at the start either"),
            ));
        }
        _ => {}
    }
    if !now.exists {
        return with(Found::unbacked(ledger, format!("{tool}{subject} does not exist")))
            .wanting(format!("write {subject}"));
    }
    if let Some(found) = content(assertion, now) {
        return with(found).wanting(format!("write {subject}"));
    }
    if assertion.expected.change == Some(SaidChange::Present) {
        return with(Found::backed(ledger, format!("{subject} is there ({} bytes)", now.bytes)));
    }
    with(delta(subject, now, ledger, (tool, said.is_some()), evidence, calls)).wanting(format!("change {subject}"))
}

/// Content that is not what was said; nothing if it is.
fn content(assertion: &Assertion, now: &FileNow) -> Option<Found> {
    let subject = &assertion.subject;
    let meant_empty =
        ["__init__.py", ".gitkeep", ".keep", ".nojekyll", "py.typed"].iter().any(|name| subject.ends_with(name));
    if !now.folder && now.bytes == 0 && !meant_empty {
        return Some(Found::unbacked(LedgerMatch::NotAsked, format!("{subject} is empty")));
    }
    let text = assertion.expected.contains.as_deref();
    match (text, now.contains) {
        (Some(text), Holds::No) => {
            return Some(Found::unbacked(LedgerMatch::NotAsked, format!("{subject} does not contain `{text}`")));
        }
        (Some(_), Holds::Unread) => {
            return Some(Found::unverifiable(LedgerMatch::Unknown, format!("{subject} was not read for its content")));
        }
        _ => {}
    }
    let other = assertion.expected.same_as.as_deref()?;
    match now.same_as_other {
        Some(true) => None,
        Some(false) => Some(Found::unbacked(LedgerMatch::NotAsked, format!("{subject} differs from {other}"))),
        None => Some(Found::unverifiable(LedgerMatch::Unknown, format!("{subject} and {other} cannot be compared"))),
    }
}

/// Whether what is there is new.
fn delta(
    subject: &str,
    now: &FileNow,
    ledger: LedgerMatch,
    (tool, said): (&str, bool),
    evidence: &Evidence<'_>,
    calls: &Calls<'_>,
) -> Found {
    match (&now.place, now.change) {
        (Place::Tree(_), Some(_)) => {
            let actor = if said || calls.transcript.is_none() { "" } else { ", by no call that names it" };
            Found::backed(ledger, format!("{subject} differs from the start{actor} ({} bytes)", now.bytes))
        }
        (Place::Tree(_), None) => {
            Found::unbacked(ledger, format!("{tool}{subject} has the bytes that it had at the start"))
        }
        // Beside git only time and calls can tell.
        _ => {
            let began = calls.transcript.and_then(|transcript| transcript.began);
            match (began, now.modified) {
                (Some(began), Some(modified)) if modified + 2_000 < began => {
                    Found::unbacked(ledger, format!("{subject} was there before the session began"))
                }
                _ if said => Found::backed(ledger, format!("{subject} is there ({} bytes)", now.bytes)),
                (Some(_), Some(_)) if calls.is_complete() || evidence.transcript.is_some() => {
                    Found::backed(ledger, format!("{subject} is there, written since the session began"))
                }
                _ => Found::unverifiable(
                    LedgerMatch::Unknown,
                    format!("{subject} is there, but git does not keep it and {}", calls.doubt()),
                ),
            }
        }
    }
}

/// The last call that wrote a path: its file and line.
fn wrote(calls: &Calls<'_>, now: &FileNow, subject: &str) -> Option<(usize, u64)> {
    let path = match &now.place {
        Place::Tree(path) => path.clone(),
        _ => calls.inside(None, subject).unwrap_or_else(|| RepoPath::from(subject)),
    };
    let ours = |known: &RepoPath| *known == path || known.as_bytes().ends_with(path.as_bytes());
    let edit = calls.edits.iter().rev().find(|edit| edit.path.as_ref().is_some_and(ours));
    if let Some(edit) = edit {
        return Some((edit.file, edit.line));
    }
    // Outside the worktree, by the words of the call.
    let transcript = calls.transcript?;
    let event =
        transcript.events.iter().rev().find(|event| event.writes() && event.paths.iter().any(|p| p == subject))?;
    Some((event.file, event.line))
}

pub(super) fn not_changed(assertion: &Assertion, evidence: &Evidence<'_>, calls: &Calls<'_>) -> Found {
    let witness = evidence.witness;
    let receipt = format!("git:{}..{}", witness.start_tree.short(), witness.tree.short());
    if !assertion.expected.only.is_empty() {
        let named: Vec<RepoPath> = assertion.expected.only.iter().filter_map(|word| named(evidence, word)).collect();
        let listed = |path: &RepoPath| {
            named.iter().any(|known| known == path || known.as_str().is_some_and(|folder| path.is_under(folder)))
        };
        let other = witness.changed.iter().flat_map(Change::paths).find(|path| !listed(path));
        return match other {
            Some(path) => Found::unbacked(LedgerMatch::NotAsked, format!("{path} changed as well")).receipt(receipt),
            None => Found::backed(LedgerMatch::NotAsked, "nothing else differs from the start").receipt(receipt),
        };
    }
    let Some(path) = named(evidence, &assertion.subject) else {
        return match evidence.witness.files.get(&assertion.subject).map(|now| &now.place) {
            Some(Place::Nowhere) => Found::backed(LedgerMatch::NotAsked, "there is no such path, now or at the start"),
            _ => Found::unverifiable(LedgerMatch::Unknown, format!("git does not keep {}", assertion.subject)),
        };
    };
    let folder = path.as_str().map(str::to_owned);
    let inside = |other: &&RepoPath| **other == path || folder.as_deref().is_some_and(|folder| other.is_under(folder));
    if let Some(changed) = witness.changed.iter().flat_map(Change::paths).find(inside) {
        return Found::unbacked(LedgerMatch::NotAsked, format!("{changed} differs from the start"))
            .receipt(receipt)
            .wanting(format!("git checkout {} -- {path}", witness.start.short()));
    }
    let edited = calls.edits.iter().any(|edit| edit.path.as_ref().is_some_and(|known| inside(&known)));
    let note = if edited { ", although it was edited on the way" } else { "" };
    Found::backed(LedgerMatch::NotAsked, format!("{path} is as it was at the start{note}")).receipt(receipt)
}

fn named(evidence: &Evidence<'_>, word: &str) -> Option<RepoPath> {
    match &evidence.witness.files.get(word)?.place {
        Place::Tree(path) => Some(path.clone()),
        _ => None,
    }
}

pub(super) fn installed(assertion: &Assertion, evidence: &Evidence<'_>, calls: &Calls<'_>) -> Found {
    let name = &assertion.subject;
    let bare = name.rsplit('/').next().unwrap_or(name);
    let installs = |words: &[String]| {
        let verbs = ["install", "add", "i", "ci", "get", "sync", "update", "cp", "mv", "ln", "tee"];
        words.iter().any(|word| verbs.iter().any(|verb| word == verb || word.ends_with(&format!("/{verb}"))))
    };
    let event = calls
        .ran
        .iter()
        .chain(&calls.elsewhere)
        .rev()
        .find(|ran| installs(&ran.step.words) && ran.step.words.iter().any(|word| word.contains(bare)));
    let place = evidence.witness.installed.get(name).cloned().flatten();
    let ledger = if event.is_some() { LedgerMatch::Yes } else { LedgerMatch::Unknown };
    let at = |found: Found| match event {
        Some(ran) => found.receipt(calls.receipt(ran.event)),
        None => found,
    };
    match (place, event) {
        (Some(place), _) => at(Found::backed(ledger, format!("{name} is there: {place}"))),
        (None, Some(ran)) if ran.event.exit == Some(0) && !name.contains('/') => at(Found::unverifiable(
            ledger,
            format!("the installation of {name} exited with 0, but nobody finds it here"),
        ))
        .wanting(format!("show where {name} is")),
        (None, Some(_)) => {
            at(Found::unbacked(LedgerMatch::No, format!("{name} is not there"))).wanting(format!("install {name}"))
        }
        (None, None) => {
            let wrote = evidence.transcript.is_some_and(|transcript| {
                transcript
                    .events
                    .iter()
                    .any(|event| event.kind == ToolKind::Write && event.paths.iter().any(|p| p.ends_with(bare)))
            });
            let words = if wrote {
                format!("{name} is not there, although a call wrote one")
            } else {
                format!("{name} is not there and nothing installed it")
            };
            // A path can be looked up; where a package lies is known for some managers only.
            if name.contains('/') {
                Found::unbacked(LedgerMatch::NotAsked, words).wanting(format!("install {name}"))
            } else {
                Found::missing(calls, &words).wanting(format!("install {name}"))
            }
        }
    }
}

pub(super) fn counted(assertion: &Assertion, evidence: &Evidence<'_>) -> Found {
    let wanted = assertion.expected.count.unwrap_or_default();
    let receipt = format!("git:{}", evidence.witness.tree.short());
    match evidence.witness.counts.get(&assertion.id) {
        Some(Counted::Items { path, done, total, total_at_start }) => {
            let words = format!("{done} of {total} in {path}");
            let found = match total_at_start {
                Some(before) if before > total => {
                    Found::unbacked(LedgerMatch::NotAsked, format!("{words}; there were {before} at the start"))
                }
                _ if *done == wanted && *total == wanted => Found::backed(LedgerMatch::NotAsked, words),
                _ => Found::unbacked(LedgerMatch::NotAsked, format!("{words}; {wanted} were claimed")),
            };
            found.receipt(receipt).wanting(format!("finish the items of {path}"))
        }
        Some(Counted::Files { changed }) if *changed < wanted => Found::unbacked(
            LedgerMatch::NotAsked,
            format!("{changed} files differ from the start; {wanted} were claimed"),
        )
        .receipt(receipt),
        Some(Counted::Files { changed }) => {
            Found::backed(LedgerMatch::NotAsked, format!("{changed} files differ from the start")).receipt(receipt)
        }
        Some(Counted::Nothing { why }) => Found::unverifiable(LedgerMatch::NotAsked, why.clone())
            .wanting("a file of assertions that says where the items stand (`kind: item-count`, `pattern`)"),
        None => Found::unverifiable(LedgerMatch::NotAsked, "nothing was counted"),
    }
}

/// True for a path that is gone.
pub(super) fn is_gone(now: &FileNow) -> bool {
    now.change == Some(ChangeKind::Deleted) || !now.exists
}
