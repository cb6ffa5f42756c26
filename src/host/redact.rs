//! Secrets: how they are found, and how they are masked in everything that may leave the machine.
//!
//! Only the secret itself is masked: its name, the words around it, object ids, digests, UUIDs and test names stay, so
//! that evidence remains evidence. The mask keeps a short digest and the length, so that two masks of one value can
//! be told to be the same.

mod shapes;

use crate::host::digest::digest;
use crate::host::path::RepoPath;
use regex::bytes::Regex;
use shapes::{ENV_ASSIGNMENT, SHAPE_SET, SHAPES, is_example, is_harmless};
use std::ops::Range;
use std::sync::LazyLock;

/// What a bounded log says in place of its middle (see `host::process`).
static LEFT_OUT: LazyLock<Regex> = LazyLock::new(compile_left_out);
/// How much is masked at most at the edge of a cut: more than any token.
const LONGEST_EDGE: usize = 4_200;
/// The least that is.
const SHORTEST_EDGE: usize = 6;

#[expect(clippy::expect_used, reason = "the expression is constant and a test compiles it")]
fn compile_left_out() -> Regex {
    Regex::new(r"(?-u)\n\[countersign: [0-9]{1,20} bytes left out here\]\n").expect("it compiles")
}

/// How every mask begins.
const MASK: &[u8] = b"[redacted:";

/// A secret that was found. It never carries the value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Secret {
    /// What it looks like, e.g. `github-token`.
    pub shape: &'static str,
    /// The line it starts on, from 1.
    pub line: u64,
    /// SHA-256 of the value, hexadecimal: equal values have equal digests. Keep it out of anything public.
    pub digest: String,
}

/// Bytes without their secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redacted {
    /// What may travel.
    pub bytes: Vec<u8>,
    /// What was masked, in order.
    pub found: Vec<Secret>,
}

/// Masks every secret in a brief, a note or a report.
///
/// Masking twice is masking once. Input without secrets comes back byte for byte.
pub fn redact(bytes: &[u8]) -> Redacted {
    mask(bytes, &spans(bytes, false))
}

/// Masks every secret in a log. A log is bounded, so it is masked as a whole: a token that arrived in two pieces is one
/// token here. Where the middle of a log was left out, the half lines at both edges are masked too: each may hold half
/// a token, or a token without the name it is known by.
pub fn redact_log(bytes: &[u8]) -> Redacted {
    let mut spans = spans(bytes, false);
    spans.extend(edges(bytes));
    mask(bytes, &apart(spans))
}

/// Masks a text and then cuts it to so many characters; the mask of a secret at the cut is cut, the secret is not. True
/// if something is missing.
pub fn redact_and_cut(text: &str, most: usize) -> (String, bool) {
    let masked = redact_text(text);
    let kept: String = masked.chars().take(most).collect();
    let cut = kept.len() < masked.len();
    (kept, cut)
}

/// The half lines before and after each place where a log was cut.
fn edges(bytes: &[u8]) -> Vec<Span> {
    let mut found = Vec::new();
    for gap in LEFT_OUT.find_iter(bytes) {
        let (before, after) =
            (bytes.get(..gap.start()).unwrap_or_default(), bytes.get(gap.end()..).unwrap_or_default());
        let head = before.iter().rev().take(LONGEST_EDGE).take_while(|byte| **byte != b'\n').count();
        let tail = after.iter().take(LONGEST_EDGE).take_while(|byte| **byte != b'\n').count();
        for at in [gap.start() - head..gap.start(), gap.end()..gap.end() + tail] {
            let half = bytes.get(at.clone()).unwrap_or_default();
            // Shorter than any recognisable part of a secret, or masked before.
            if half.len() >= SHORTEST_EDGE && !half.starts_with(MASK) {
                found.push(Span { shape: "cut-line", at });
            }
        }
    }
    found
}

/// Masks a text made from known UTF-8.
pub fn redact_text(text: &str) -> String {
    String::from_utf8_lossy(&redact(text.as_bytes()).bytes).into_owned()
}

/// The secrets in a content, published examples left out.
pub fn find_secrets(bytes: &[u8]) -> Vec<Secret> {
    list(bytes, &spans(bytes, false))
}

/// The secrets in a file: as [`find_secrets`], and in a file of environment variables (`.env`, `.env.production`,
/// `prod.env`, `.envrc`) every assignment of something unguessable to a name that says secret.
pub fn find_secrets_in(path: &RepoPath, bytes: &[u8]) -> Vec<Secret> {
    list(bytes, &spans(bytes, is_env_shaped(path)))
}

/// True for files that hold environment variables.
pub fn is_env_shaped(path: &RepoPath) -> bool {
    let name = path.file_name().to_ascii_lowercase();
    name == b".env" || name == b".envrc" || name.starts_with(b".env.") || name.ends_with(b".env")
}

struct Span {
    shape: &'static str,
    at: Range<usize>,
}

/// Where the secrets are, in order, without overlap.
fn spans(bytes: &[u8], assignments: bool) -> Vec<Span> {
    let mut found = Vec::new();
    for index in SHAPE_SET.matches(bytes) {
        let Some(shape) = SHAPES.get(index) else { continue };
        collect(shape.name, &shape.program, shape.is_secret, bytes, &mut found);
    }
    if assignments {
        let shape = &*ENV_ASSIGNMENT;
        collect(shape.name, &shape.program, shape.is_secret, bytes, &mut found);
    }
    apart(found)
}

/// Of spans that overlap one is made, named after the first, so that nothing either of them covers is left.
fn apart(mut found: Vec<Span>) -> Vec<Span> {
    found.sort_by_key(|span| (span.at.start, usize::MAX - span.at.end));
    let mut apart: Vec<Span> = Vec::new();
    for span in found {
        match apart.last_mut() {
            Some(last) if span.at.start < last.at.end => last.at.end = last.at.end.max(span.at.end),
            _ => apart.push(span),
        }
    }
    apart
}

fn collect(name: &'static str, program: &Regex, is_secret: fn(&[u8]) -> bool, bytes: &[u8], found: &mut Vec<Span>) {
    for caught in program.captures_iter(bytes) {
        let Some(value) = caught.get(1) else { continue };
        let raw = value.as_bytes();
        let start = value.start() + (raw.len() - raw.trim_ascii_start().len());
        let end = value.end() - (raw.len() - raw.trim_ascii_end().len());
        let raw = raw.trim_ascii();
        if raw.is_empty() || raw.starts_with(MASK) || is_harmless(raw) || !is_secret(raw) {
            continue;
        }
        found.push(Span { shape: name, at: start..end });
    }
}

fn list(bytes: &[u8], spans: &[Span]) -> Vec<Secret> {
    let wanted: Vec<&Span> = spans.iter().filter(|s| !bytes.get(s.at.clone()).is_some_and(is_example)).collect();
    describe(bytes, &wanted)
}

fn describe(bytes: &[u8], spans: &[&Span]) -> Vec<Secret> {
    let (mut line, mut counted) = (1_u64, 0);
    spans
        .iter()
        .map(|span| {
            let passed = bytes.get(counted..span.at.start).unwrap_or_default();
            line += passed.split(|b| *b == b'\n').skip(1).count() as u64;
            counted = span.at.start;
            let value = bytes.get(span.at.clone()).unwrap_or_default();
            Secret { shape: span.shape, line, digest: digest(value) }
        })
        .collect()
}

fn mask(bytes: &[u8], spans: &[Span]) -> Redacted {
    let found = describe(bytes, &spans.iter().collect::<Vec<_>>());
    let mut out = Vec::with_capacity(bytes.len());
    let mut done = 0;
    for (span, secret) in spans.iter().zip(&found) {
        out.extend_from_slice(bytes.get(done..span.at.start).unwrap_or_default());
        out.extend_from_slice(MASK);
        let short = secret.digest.get(..8).unwrap_or_default();
        out.extend_from_slice(format!("{}:{short}:{}]", span.shape, span.at.len()).as_bytes());
        done = span.at.end;
    }
    out.extend_from_slice(bytes.get(done..).unwrap_or_default());
    Redacted { bytes: out, found }
}

#[cfg(test)]
mod tests;
