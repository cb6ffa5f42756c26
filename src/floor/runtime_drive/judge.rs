//! What a drive means.

use super::shape::compare;
use super::surface::{Probe, Surface};
use super::{Drive, launch_of};
use crate::floor::finding::{ask, deny, info, unknown};
use crate::host::path::escape;
use crate::host::process::drive::{Boot, Heard, Transcript};
use crate::receipts::Finding;

/// What a launch must lead to.
pub(super) const EXPECTED_BOOT: &str = "a program that starts and listens on the port of its runfile";

/// The exit codes by which a shell says that there is no such program, or none that can be executed.
const NO_PROGRAM: [i32; 2] = [126, 127];

/// True if only the base can tell whose fault it is.
pub(super) fn is_bad(surface: &Surface, transcript: &Transcript) -> bool {
    failed_boot(surface, &transcript.boot).is_some() || !mismatches(surface, transcript).is_empty()
}

/// The findings about a claim's drive; `base` is the base's, driven because the claim's is bad.
pub(super) fn judge(surface: &Surface, claim: &Drive, base: Option<&Result<Drive, String>>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let transcript = &claim.transcript;
    let before = base.and_then(|base| base.as_ref().ok()).map(|base| &base.transcript);
    if let Some(what) = failed_boot(surface, &transcript.boot) {
        findings.push(boot_finding(surface, &transcript.boot, &what, base));
    }
    let known = before.map(|before| mismatches(surface, before)).unwrap_or_default();
    for (at, observed) in mismatches(surface, transcript) {
        let (place, expected) = (place(&surface.probes[at]), expected(&surface.probes[at]));
        if known.contains(&(at, observed.clone())) {
            findings.push(ask(place, expected, format!("{observed}; the base answers the same")));
        } else {
            findings.push(deny(place, expected, observed));
        }
    }
    for (probe, heard) in surface.probes.iter().zip(&transcript.answers) {
        findings.extend(unseen(probe, heard));
    }
    if !claim.private {
        let expected = "a network that holds nothing but this program";
        findings.push(ask(
            launch_of(surface),
            expected,
            "the machine's own network: another program may have answered",
        ));
    }
    if let Some(stop) = &surface.stop {
        let shown = format!("`{}`", escape(stop.trim().as_bytes()));
        if let Some(why) = &transcript.stop_failed {
            let said = format!("it {}; all its processes were ended", escape(why.as_bytes()));
            findings.push(info(&shown, "a stop that succeeds", said));
        } else if claim.strays > 0 {
            let said = format!("{} processes were left, and were ended", claim.strays);
            findings.push(info(&shown, "a stop that leaves no process", said));
        }
    }
    if !surface.renders.is_empty() {
        let pages: Vec<String> = surface.renders.iter().take(10).map(|page| escape(page.as_bytes())).collect();
        findings.push(info(
            pages.join(", "),
            "pages that somebody looks at",
            "no page was rendered: only HTTP is asked",
        ));
    }
    findings
}

/// What went wrong with a boot; `None` if the program listens.
fn failed_boot(surface: &Surface, boot: &Boot) -> Option<String> {
    let runfile = &surface.runfile;
    Some(match boot {
        Boot::Listening { .. } => return None,
        Boot::Exited { code } => format!("the launcher exited with code {code} before anything listened"),
        Boot::Signalled { signal } => format!("the launcher was ended by signal {signal} before anything listened"),
        Boot::NoPort { why } => {
            format!("no port within the time limit: the runfile {runfile}: {}", escape(why.as_bytes()))
        }
        Boot::Deaf { port } => format!("nothing listens on 127.0.0.1:{port}, the port that {runfile} names"),
        Boot::NotStarted { why } => format!("it could not be started: {}", escape(why.as_bytes())),
    })
}

fn boot_finding(surface: &Surface, boot: &Boot, what: &str, base: Option<&Result<Drive, String>>) -> Finding {
    let place = launch_of(surface);
    match base {
        _ if matches!(boot, Boot::NotStarted { .. }) => unknown(place, EXPECTED_BOOT, what),
        Some(Ok(base)) => match failed_boot(surface, &base.transcript.boot) {
            None => deny(place, EXPECTED_BOOT, format!("{what}; on the base it listens")),
            Some(before) => {
                unknown(place, EXPECTED_BOOT, format!("environment: {what}; on the base: {before}; see `tests.setup`"))
            }
        },
        Some(Err(why)) => {
            unknown(place, EXPECTED_BOOT, format!("{what}; whether the base does better is not known: {why}"))
        }
        None if matches!(boot, Boot::Exited { code } if NO_PROGRAM.contains(code)) => {
            unknown(place, EXPECTED_BOOT, format!("environment: {what}"))
        }
        None => deny(place, EXPECTED_BOOT, what),
    }
}

/// The probes whose answer is wrong, by number, and how.
fn mismatches(surface: &Surface, transcript: &Transcript) -> Vec<(usize, String)> {
    let pairs = surface.probes.iter().zip(&transcript.answers).enumerate();
    pairs.filter_map(|(at, (probe, heard))| mismatch(probe, heard).map(|what| (at, what))).collect()
}

fn mismatch(probe: &Probe, heard: &Heard) -> Option<String> {
    let (status, body, whole) = match heard {
        Heard::Nothing { why } => return Some(format!("no answer: {}", escape(why.as_bytes()))),
        Heard::Answer { status, body, whole } => (*status, body, *whole),
    };
    if status != probe.status {
        return Some(format!("status {status}{}", body.as_deref().map(excerpt).unwrap_or_default()));
    }
    let shape = probe.body.as_ref()?;
    let Some(body) = body else { return Some(format!("status {status}, and a body that is not UTF-8")) };
    if !whole {
        return None;
    }
    match serde_json::from_str::<serde_json::Value>(body) {
        Err(why) => Some(format!("status {status}, and a body that is not JSON: {why}{}", excerpt(body))),
        Ok(value) => {
            let differences = compare(shape, &value).differences;
            (!differences.is_empty()).then(|| format!("status {status}, but {}", differences.join("; ")))
        }
    }
}

/// What an answer that is not wrong still leaves open.
fn unseen(probe: &Probe, heard: &Heard) -> Option<Finding> {
    let Heard::Answer { status, body: Some(body), whole } = heard else { return None };
    let shape = probe.body.as_ref().filter(|_| *status == probe.status)?;
    if !whole {
        let why = format!("its body is longer than the {} bytes that were kept: it was not compared", body.len());
        return Some(unknown(place(probe), expected(probe), why));
    }
    let value = serde_json::from_str::<serde_json::Value>(body).ok()?;
    let empty = compare(shape, &value).empty;
    (!empty.is_empty())
        .then(|| info(place(probe), expected(probe), format!("{} is empty: no item shows its shape", empty.join(", "))))
}

fn place(probe: &Probe) -> String {
    format!("{} {}", probe.method, escape(probe.path.as_bytes()))
}

fn expected(probe: &Probe) -> String {
    match &probe.body {
        None => format!("status {}", probe.status),
        Some(shape) => format!("status {}, body {shape}", probe.status),
    }
}

/// The beginning of a body, on one line.
fn excerpt(body: &str) -> String {
    let shown: String = body.chars().take(120).collect();
    if shown.trim().is_empty() { String::new() } else { format!(": {}", escape(shown.trim().as_bytes())) }
}
