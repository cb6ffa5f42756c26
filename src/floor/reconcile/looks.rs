//! Looks, reviews and answers. That somebody looked can be shown; what was seen is for a verifier or a person.

use super::calls::{Calls, Ran};
use super::programs;
use super::{Evidence, Found};
use crate::agent::transcript::{Actor, ToolEvent, ToolKind, ToolStatus};
use crate::receipts::LedgerMatch;
use crate::worker::Assertion;
use crate::worker::assertions::asked::gives_a_reason;

/// A call that could have shown something: by a browser, over the network, or an image that was read.
fn is_look(event: &ToolEvent) -> bool {
    const TOOLS: [&str; 9] =
        ["screenshot", "browser", "playwright", "puppeteer", "navigate", "snapshot", "computer", "chrome", "webfetch"];
    let tool = event.tool.to_lowercase();
    let image =
        |path: &String| [".png", ".jpg", ".jpeg", ".webp", ".gif"].iter().any(|end| path.to_lowercase().ends_with(end));
    TOOLS.iter().any(|name| tool.contains(name))
        || (event.kind == ToolKind::Net && tool.contains("fetch"))
        || (event.kind == ToolKind::Read && event.paths.iter().any(image))
}

pub(super) fn observed(assertion: &Assertion, evidence: &Evidence<'_>, calls: &Calls<'_>) -> Found {
    let artifact = assertion.expected.artifact.as_deref();
    let ran = calls.ran.iter().rev().find(|ran| {
        !ran.event.rolled_back
            && ran.event.status != ToolStatus::Aborted
            && programs::observes(&ran.step.words, artifact)
    });
    let events = calls.transcript.map_or(&[][..], |transcript| &transcript.events);
    let tool = events.iter().enumerate().rev().find(|(_, event)| {
        artifact.is_none() && !event.rolled_back && event.status == ToolStatus::Ok && is_look(event)
    });
    let want = "look at the running thing after the last edit, by a call that shows it";
    let (place, event, words) = match (ran, tool) {
        (Some(ran), Some((place, event))) if place > ran.place => (place, event, format!("`{}`", event.tool)),
        (Some(ran), _) => (ran.place, ran.event, format!("`{}`", super::runs::shown(&ran.step.words))),
        (None, Some((place, event))) => (place, event, format!("`{}`", event.tool)),
        (None, None) => return Found::missing(calls, "no call could have shown it").wanting(want),
    };
    let at = |found: Found| found.receipt(calls.receipt(event)).wanting(want);
    if let Some(edit) = calls.later_edit(place) {
        return at(Found::unbacked(
            LedgerMatch::No,
            format!("{words} came before the last change (line {})", edit.line),
        ));
    }
    // A failed request shows something too; a program that did not run shows nothing.
    if event.status == ToolStatus::Running && tool.is_none_or(|(at, _)| at != place) {
        return at(Found::missing(calls, &format!("{words} has no recorded end")));
    }
    if event.exit.is_some_and(|exit| exit != 0) {
        let exit = event.exit.unwrap_or_default();
        return at(Found::unbacked(LedgerMatch::No, format!("{words} exited with {exit}")));
    }
    if let Some(found) = ran.filter(|ran| ran.place == place).and_then(|ran| predates(assertion, evidence, calls, ran))
    {
        return at(found);
    }
    at(Found::backed(LedgerMatch::Yes, format!("{words} after the last change; what it showed is not judged here")))
}

/// A built thing that was looked at, but not built since the last edit.
fn predates(assertion: &Assertion, evidence: &Evidence<'_>, calls: &Calls<'_>, ran: &Ran<'_>) -> Option<Found> {
    let words = &ran.step.words;
    let first = words.first().filter(|word| word.contains('/'));
    let artifact = assertion.expected.artifact.as_ref().or(first)?;
    if programs::builds_first(words) {
        return None;
    }
    let edit = calls.last_edit()?;
    let built = calls.ran.iter().any(|other| {
        other.place > edit.place
            && other.place <= ran.place
            && programs::builds(&other.step.words, "build")
            && other.step.masked.is_none()
            && other.event.exit == Some(0)
    });
    if !built {
        return Some(Found::unbacked(
            LedgerMatch::No,
            format!("{artifact} was not built since the last change (line {})", edit.line),
        ));
    }
    let there = evidence.witness.files.get(artifact).is_none_or(|now| !super::files::is_gone(now));
    (!there).then(|| Found::unbacked(LedgerMatch::No, format!("{artifact} does not exist")))
}

pub(super) fn reviewed(assertion: &Assertion, _: &Evidence<'_>, calls: &Calls<'_>) -> Found {
    let want = "a review by another agent, of the work as it is now";
    let Some(transcript) = calls.transcript else {
        return Found::missing(calls, "no review was captured").wanting(want);
    };
    let reviewer = |event: &&(usize, &ToolEvent)| event.1.kind == ToolKind::Agent && !event.1.rolled_back;
    let events: Vec<(usize, &ToolEvent)> = transcript.events.iter().enumerate().collect();
    let Some((place, event)) = events.iter().rev().find(reviewer).copied() else {
        let own = assertion.expected.artifact.as_ref().and_then(|file| {
            events
                .iter()
                .find(|(_, event)| event.writes() && event.paths.iter().any(|path| path.ends_with(file.as_str())))
        });
        return match own {
            Some((_, event)) => {
                Found::unbacked(LedgerMatch::No, "the review was written by the agent that did the work")
                    .receipt(calls.receipt(event))
            }
            None => Found::missing(calls, "no other agent was asked"),
        }
        .wanting(want);
    };
    let at = |found: Found| found.receipt(calls.receipt(event)).wanting(want);
    if event.status != ToolStatus::Ok || event.background {
        return at(Found::missing(calls, "a reviewer was started and its end was never seen"));
    }
    if let Some(edit) = calls.later_edit(place) {
        // The reviewer's own calls stand behind the one that started it.
        let own = events.get(edit.place).is_some_and(|(_, later)| matches!(later.actor, Actor::Sub(_)));
        if !own {
            return at(Found::unbacked(
                LedgerMatch::No,
                format!("the review came before the last change (line {})", edit.line),
            ));
        }
    }
    if let Some(file) = &assertion.expected.artifact {
        let author = events
            .iter()
            .rev()
            .find(|(_, event)| event.writes() && event.paths.iter().any(|p| p.ends_with(file.as_str())));
        return at(match author {
            Some((_, event)) if matches!(event.actor, Actor::Sub(_)) => {
                Found::backed(LedgerMatch::Yes, format!("{file} was written by the reviewer after the last change"))
            }
            Some(_) => Found::unbacked(LedgerMatch::No, format!("{file} was written by the agent that did the work")),
            None => Found::missing(calls, &format!("nobody wrote {file} in this session")),
        });
    }
    at(Found::backed(
        LedgerMatch::Yes,
        "another agent was asked after the last change; what it said is not judged here",
    ))
}

/// A question that wants a reason: one is given, and it points to something that exists.
pub(super) fn answered(assertion: &Assertion, evidence: &Evidence<'_>) -> Found {
    if !gives_a_reason(evidence.claim) {
        let words = if evidence.witness.changed.is_empty() {
            "no reason is given"
        } else {
            "no reason is given, only a change"
        };
        return Found::unbacked(LedgerMatch::NotAsked, words).wanting("say why, and name the place that shows it");
    }
    let is_there = |word: &&String| evidence.witness.files.get(*word).is_some_and(|now| now.exists || now.at_start);
    match assertion.expected.only.iter().find(is_there) {
        Some(word) => Found::backed(
            LedgerMatch::NotAsked,
            format!("a reason is given and names {word}; whether it is right is not judged here"),
        ),
        None => {
            Found::unverifiable(LedgerMatch::NotAsked, "a reason is given, but it names no place that can be looked up")
                .wanting("name the place that shows it")
        }
    }
}
