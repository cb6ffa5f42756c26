//! Commits, branches at a remote, pull requests and services: read now, where they are.

use super::calls::{Calls, Ran};
use super::{Evidence, Found, many};
use crate::claim::witness::{NamedCommit, Place, Pulls, RemoteNow, ServiceNow};
use crate::host::ids::CommitId;
use crate::receipts::LedgerMatch;
use crate::worker::Assertion;

/// The last call of `git VERB` (or another program's), if there is one.
fn last<'c, 'a>(calls: &'c Calls<'a>, program: &str, verbs: &[&str]) -> Option<&'c Ran<'a>> {
    calls.ran.iter().rev().find(|ran| {
        let mut words = ran.step.words.iter().map(String::as_str);
        let first = words.next().map(|word| word.rsplit('/').next().unwrap_or(word));
        first == Some(program) && words.any(|word| verbs.contains(&word))
    })
}

/// How a call ended, as a clause.
fn end(ran: Option<&Ran<'_>>) -> String {
    match ran {
        None => String::new(),
        Some(ran) => {
            let line = super::runs::shown(&ran.step.words);
            match ran.event.exit {
                Some(exit) => format!(" (`{line}` exited with {exit})"),
                None => format!(" (`{line}` has no recorded exit status)"),
            }
        }
    }
}

fn with(found: Found, calls: &Calls<'_>, ran: Option<&Ran<'_>>) -> Found {
    match ran {
        Some(ran) => found.receipt(calls.receipt(ran.event)),
        None => found,
    }
}

fn matched(ran: Option<&Ran<'_>>) -> LedgerMatch {
    if ran.is_some() { LedgerMatch::Yes } else { LedgerMatch::NotAsked }
}

pub(super) fn committed(assertion: &Assertion, evidence: &Evidence<'_>, calls: &Calls<'_>) -> Found {
    let witness = evidence.witness;
    let ran = last(calls, "git", &["commit"]);
    let at = |found: Found| with(found, calls, ran).wanting("git commit").receipt("git:log");
    if !assertion.subject.is_empty() {
        let name = &assertion.subject;
        return at(match witness.named.get(name) {
            Some(NamedCommit::Present { since_start: true, empty: false, id }) => {
                Found::backed(matched(ran), format!("{} is a commit since the start", id.short()))
            }
            Some(NamedCommit::Present { since_start: true, empty: true, id }) => {
                Found::unbacked(matched(ran), format!("{} changes nothing: its tree is its parent's", id.short()))
            }
            Some(NamedCommit::Present { id, .. }) => Found::unbacked(
                matched(ran),
                format!("{} is not among the {} since the start", id.short(), many(witness.commits.len(), "commit")),
            ),
            _ => Found::unbacked(matched(ran), format!("there is no commit {name}")),
        });
    }
    let real = witness.commits.iter().filter(|commit| !commit.empty).count();
    let left = witness.uncommitted.len();
    let first = witness
        .uncommitted
        .first()
        .map_or_else(String::new, |path| format!(" ({path}{})", if left > 1 { ", …" } else { "" }));
    let open = format!("not committed: {}{first}", many(left, "changed path"));
    let head = witness.head.as_ref().map_or("unborn", CommitId::short);
    at(if real == 0 && witness.commits.is_empty() {
        let rest = if left == 0 { String::new() } else { format!("; {open}") };
        Found::unbacked(matched(ran), format!("HEAD is still {head}: no commit since the start{}{rest}", end(ran)))
    } else if real == 0 {
        Found::unbacked(matched(ran), "the commits since the start change nothing")
    } else if assertion.expected.whole && left > 0 {
        Found::unbacked(matched(ran), open)
    } else {
        let rest = if left == 0 { String::new() } else { format!("; {open}") };
        Found::backed(matched(ran), format!("{} since the start, HEAD is {head}{rest}", many(real, "commit")))
    })
}

/// A call that changed where a remote is.
fn moved_remote<'c, 'a>(calls: &'c Calls<'a>) -> Option<&'c Ran<'a>> {
    calls.ran.iter().find(|ran| {
        let words: Vec<&str> = ran.step.words.iter().map(String::as_str).collect();
        match words[..] {
            ["git", ..] if words.contains(&"remote") => {
                ["add", "set-url", "rename", "remove", "rm"].iter().any(|verb| words.contains(verb))
            }
            ["git", ..] if words.contains(&"config") => words.iter().any(|word| {
                let word = word.to_lowercase();
                word.starts_with("remote.") || word.starts_with("url.") || word.ends_with(".insteadof")
            }),
            _ => ran.step.into.iter().any(|path| path.ends_with(".git/config")),
        }
    })
}

pub(super) fn pushed(assertion: &Assertion, evidence: &Evidence<'_>, calls: &Calls<'_>) -> Found {
    let witness = evidence.witness;
    let ran = last(calls, "git", &["push"]);
    let at = |found: Found| {
        with(found, calls, ran).wanting("git push, and read what the remote has").receipt("git:ls-remote")
    };
    let moved = moved_remote(calls);
    if let Some(moved) = moved.filter(|_| !witness.recorded) {
        let words = format!("the remote was changed during the work: `{}`", super::runs::shown(&moved.step.words));
        return at(Found::unverifiable(LedgerMatch::Unknown, words)).receipt(calls.receipt(moved.event));
    }
    let Some(now) = witness.remotes.get(&assertion.subject) else {
        return at(Found::unverifiable(LedgerMatch::Unknown, "no branch is checked out and none was named"));
    };
    at(match now {
        RemoteNow::At { remote, there, here, .. } if there == here => {
            let nothing_new = *here == witness.start && !witness.changed.is_empty();
            if nothing_new {
                let words = format!("{remote} has {}, which is the start: none of the work is in it", there.short());
                Found::unbacked(matched(ran), words)
            } else {
                Found::backed(matched(ran), format!("{remote} has {}, as here", there.short()))
            }
        }
        RemoteNow::At { remote, there, here, behind } => {
            let how = if *behind { "older than" } else { "not" };
            let words = format!("{remote} has {}, {how} {} here{}", there.short(), here.short(), end(ran));
            Found::unbacked(matched(ran), words)
        }
        RemoteNow::Absent { remote } => {
            Found::unbacked(matched(ran), format!("{remote} has no such branch{}", end(ran)))
        }
        RemoteNow::Moved { remote } => {
            let words = format!(
                "{remote} had another address when the session began, and does not have the branch as it is here there{}",
                end(ran)
            );
            match moved {
                Some(moved) => {
                    let words = format!("{words}; `{}` changed it", super::runs::shown(&moved.step.words));
                    Found::unbacked(matched(ran), words).receipt(calls.receipt(moved.event))
                }
                // Whoever changed it may have been the user.
                None => Found::unverifiable(LedgerMatch::Unknown, words),
            }
        }
        // To an address that no remote has, only a call can push.
        RemoteNow::NoRemote if ran.is_none() => {
            Found::missing(calls, "the repository has no remote, and no call pushes to an address")
        }
        RemoteNow::NoRemote => {
            Found::unverifiable(LedgerMatch::Unknown, format!("the repository has no remote{}", end(ran)))
        }
        RemoteNow::Unknown { why } => Found::unverifiable(LedgerMatch::Unknown, format!("{why}{}", end(ran))),
    })
}

pub(super) fn pull_request(assertion: &Assertion, evidence: &Evidence<'_>, calls: &Calls<'_>) -> Found {
    let witness = evidence.witness;
    let ran = last(calls, "gh", &["create", "ready", "edit"]);
    let at = |found: Found| with(found, calls, ran).wanting("gh pr view").receipt("forge:pr list");
    let number: Option<u64> = assertion.subject.parse().ok();
    at(match &witness.pulls {
        None => Found::unverifiable(LedgerMatch::Unknown, "no branch is checked out"),
        Some(Pulls::Unknown { why }) => Found::unverifiable(LedgerMatch::Unknown, format!("{why}{}", end(ran))),
        Some(Pulls::Found(pulls)) => {
            let fitting =
                pulls.iter().find(|pull| number.is_none_or(|number| pull.number == number) && pull.state != "CLOSED");
            match fitting {
                None => {
                    let which = number.map_or_else(|| "a".to_owned(), |number| format!("#{number} as a"));
                    Found::unbacked(matched(ran), format!("the branch does not have {which} pull request{}", end(ran)))
                }
                Some(pull) if witness.head.as_ref().is_none_or(|head| head.as_str() != pull.head_ref_oid) => {
                    let theirs = pull.head_ref_oid.get(..12).unwrap_or(&pull.head_ref_oid);
                    Found::unbacked(matched(ran), format!("#{} is at {theirs}, not at HEAD", pull.number))
                }
                Some(pull) if witness.head.as_ref() == Some(&witness.start) => {
                    Found::unbacked(matched(ran), format!("#{} has no commit: its head is the start", pull.number))
                }
                Some(pull) => {
                    Found::backed(matched(ran), format!("#{} is {}, at HEAD", pull.number, pull.state.to_lowercase()))
                }
            }
        }
    })
}

pub(super) fn deployed(assertion: &Assertion, evidence: &Evidence<'_>, _: &Calls<'_>) -> Found {
    let witness = evidence.witness;
    let text = assertion.expected.contains.as_deref();
    let person = "an assertion with the address or the file that shows it (`kind: deployed`), or a person";
    if let Some(now) = witness.files.get(&assertion.subject) {
        let there = matches!(now.place, Place::Nowhere);
        return match (now.exists, now.same_as_other) {
            (true, Some(true)) => {
                Found::backed(LedgerMatch::NotAsked, format!("{} has the expected bytes", assertion.subject))
            }
            (true, Some(false)) => {
                Found::unbacked(LedgerMatch::NotAsked, format!("{} has other bytes", assertion.subject))
            }
            _ if there || !now.exists => {
                Found::unbacked(LedgerMatch::NotAsked, format!("{} does not exist", assertion.subject))
            }
            _ => Found::unverifiable(
                LedgerMatch::Unknown,
                format!("{} is there; a copy is not a running program", assertion.subject),
            ),
        }
        .wanting(person);
    }
    let url = &assertion.subject;
    match witness.services.get(url) {
        Some(ServiceNow::Answers { status, body }) if (200..300).contains(status) => match text {
            Some(text) if !body.contains(text) => {
                Found::unbacked(LedgerMatch::NotAsked, format!("{url} answers {status} without `{text}`"))
            }
            Some(text) => Found::backed(LedgerMatch::NotAsked, format!("{url} answers {status} with `{text}`")),
            // It answers; whether it is this build nobody said how to tell.
            None => Found::unverifiable(
                LedgerMatch::Unknown,
                format!("{url} answers {status}; nothing says which build answers"),
            ),
        },
        Some(ServiceNow::Answers { status, .. }) => {
            Found::unbacked(LedgerMatch::NotAsked, format!("{url} answers {status}"))
        }
        Some(ServiceNow::Silent { why }) => {
            Found::unbacked(LedgerMatch::NotAsked, format!("{url} does not answer: {why}"))
        }
        Some(ServiceNow::NotAsked) if !url.is_empty() => {
            Found::unverifiable(LedgerMatch::Unknown, format!("{url} is not on this machine and was not asked"))
        }
        _ => Found::unverifiable(LedgerMatch::Unknown, "nothing says where to look whether it runs"),
    }
    .wanting(person)
}
