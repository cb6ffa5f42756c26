//! The strict form of a verdict.
//!
//! ```text
//! VERDICT: PASS                    VERDICT: FAIL                      VERDICT: SKIP
//! TASK_ID: <id>                    TASK_ID: <id>                      TASK_ID: <id>
//! TOKEN: <token>                   TOKEN: <token>                     TOKEN: <token>
//! EVIDENCE:                        REASONS:                           REASON: <text>
//! - C1 <text> — covered by …       - [fix|ask-user] <text>
//!                                  SUGGESTED_FIX: <text>
//!                                  ITERATION_HINT: likely-fixable | task-under-specified
//! ```
//!
//! - **One block, at the end.** Exactly one line begins with `VERDICT:`; behind the block come only blank lines. Two
//!   blocks are refused whatever they say, identical ones too, for FAIL as for PASS. A code fence is text behind the block.
//! - **Prose before it** is tolerated if no line of it could be taken for a verdict ([`super::disguise`]), none begins
//!   with a field's name and none holds the token: an answer that repeats its brief is refused.
//! - **Spelling.** Field names and values are exact: upper case, ASCII, at the start of the line, without emphasis.
//!   Blanks (space, tab) around a value and a carriage return before a line feed are dropped; nothing else is. A
//!   no-break space, a zero-width or a look-alike character therefore makes any verdict unusable, PASS and FAIL alike.
//! - **`TASK_ID` and `TOKEN`** stand in this order in every block and equal the brief's.
//! - **PASS**: only bullets under `EVIDENCE:`, one line each, exactly one for each criterion ([`super::evidence`]).
//! - **FAIL** stays a FAIL when it is incomplete: without reasons, and without a hint or with one that we do not know,
//!   which then reads `likely-fixable` (the limit on attempts still holds). A bullet or an indented line is content,
//!   even if it quotes a verdict. Sections stand in any order, each once.
//! - **SKIP** needs its reason.

use super::disguise::{excerpt, resembles_verdict, spelled, visible};
use super::evidence::Evidence;
use crate::receipts::{HeardRecord, Hint, Remedy};
use crate::task::Criterion;
use std::collections::BTreeMap;

/// The longest answer that is read, in bytes.
pub const LONGEST_ANSWER: usize = 1 << 20;

/// The most complaints that one answer is worth.
const MOST_COMPLAINTS: usize = 20;

/// What an answer must name.
#[derive(Debug, Clone, Copy)]
pub struct Expect<'a> {
    /// The claim's token.
    pub token: &'a str,
    /// The task's id, or the case key of a task without one.
    pub task_id: &'a str,
    /// The task's criteria.
    pub criteria: &'a [Criterion],
}

/// One reason of a FAIL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailReason {
    /// Who can mend it: the worker unless the bullet is marked `[ask-user]`.
    pub remedy: Remedy,
    /// In the verifier's words, hidden characters escaped.
    pub text: String,
}

/// A verdict in the strict form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Every criterion is met, says the verifier.
    Pass {
        /// One line for each criterion, in their order.
        evidence: Vec<Evidence>,
    },
    /// Something is missing or wrong.
    Fail {
        /// What; empty if it does not say.
        reasons: Vec<FailReason>,
        /// What the worker should do; empty if it does not say.
        suggested_fix: String,
        /// Whether another attempt makes sense.
        hint: Hint,
    },
    /// Nothing to judge.
    Skip {
        /// Why.
        reason: String,
    },
}

impl Verdict {
    /// Its form in the ledger. For a PASS only right after a cross-examination without objections.
    pub(super) fn into_record(self) -> HeardRecord {
        match self {
            Self::Pass { evidence } => HeardRecord::Pass { evidence: evidence.iter().map(Evidence::record).collect() },
            Self::Fail { reasons, suggested_fix, hint } => {
                let reasons = reasons.into_iter().map(|reason| match reason.remedy {
                    Remedy::Fix => reason.text,
                    Remedy::AskUser => format!("[ask-user] {}", reason.text),
                });
                HeardRecord::Fail { reasons: reasons.collect(), suggested_fix, hint }
            }
            Self::Skip { reason } => HeardRecord::Skip { reason },
        }
    }
}

/// One thing that is wrong with an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Complaint {
    /// Stable, in kebab case.
    pub code: &'static str,
    /// In words, hostile text escaped.
    pub text: String,
}

impl Complaint {
    pub(super) fn new(code: &'static str, text: impl Into<String>) -> Self {
        Self { code, text: text.into() }
    }
}

/// An answer that is not a usable verdict.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no usable verdict: {}", detail.join("; "))]
pub struct Unusable {
    /// Stable codes in kebab case, each once; never empty.
    pub codes: Vec<&'static str>,
    /// In words, hostile text escaped.
    pub detail: Vec<String>,
}

impl Unusable {
    /// An answer with one thing wrong.
    pub(super) fn of(code: &'static str, text: impl Into<String>) -> Self {
        Self { codes: vec![code], detail: vec![text.into()] }
    }

    pub(super) fn from_complaints(complaints: Vec<Complaint>) -> Self {
        let mut unusable = Self { codes: Vec::new(), detail: Vec::new() };
        for complaint in complaints {
            if !unusable.codes.contains(&complaint.code) {
                unusable.codes.push(complaint.code);
            }
            if unusable.detail.len() < MOST_COMPLAINTS {
                unusable.detail.push(complaint.text);
            }
        }
        unusable
    }

    pub(super) fn into_record(self) -> HeardRecord {
        HeardRecord::Unusable { codes: self.codes.into_iter().map(str::to_owned).collect(), detail: self.detail }
    }
}

/// Reads an answer in the strict form.
///
/// # Errors
/// Everything that is not exactly one well-formed block for this task and token, with all that is wrong with it.
pub fn parse_verdict(answer: &[u8], expect: &Expect<'_>) -> Result<Verdict, Unusable> {
    let text = legible(answer)?;
    let lines: Vec<&str> = text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)).collect();
    let start = sole_block(&lines, expect)?;
    let value = trim(&lines[start]["VERDICT:".len()..]);
    let block = &lines[start + 1..];
    let body = header(block, expect)?;
    match value {
        "PASS" => pass(body, expect.criteria),
        "FAIL" => fail(body),
        "SKIP" => skip(body),
        other => {
            let what = format!("`VERDICT: {}` is neither PASS, FAIL nor SKIP, exactly", spelled(other));
            Err(Unusable::of("verdict-value", what))
        }
    }
}

fn legible(answer: &[u8]) -> Result<&str, Unusable> {
    if answer.is_empty() {
        return Err(Unusable::of("empty-answer", "the verifier wrote nothing to its standard output"));
    }
    if answer.len() > LONGEST_ANSWER {
        let what = format!("the answer has {} bytes; at most {LONGEST_ANSWER} are read", answer.len());
        return Err(Unusable::of("answer-too-long", what));
    }
    if answer.iter().all(u8::is_ascii_whitespace) {
        return Err(Unusable::of("blank-answer", "the verifier wrote only blank lines"));
    }
    std::str::from_utf8(answer).map_err(|error| {
        Unusable::of("not-utf-8", format!("the answer is not UTF-8 from byte {} on", error.valid_up_to()))
    })
}

/// The line of the only verdict, with nothing before it that could be taken for one.
fn sole_block(lines: &[&str], expect: &Expect<'_>) -> Result<usize, Unusable> {
    let starts: Vec<usize> = (0..lines.len()).filter(|at| lines[*at].starts_with("VERDICT:")).collect();
    let start = match starts.as_slice() {
        [] => return Err(no_block(lines)),
        [only] => *only,
        [first, second, ..] => {
            let what = format!("lines {} and {} both begin a verdict; exactly one is allowed", first + 1, second + 1);
            return Err(Unusable::of("two-blocks", what));
        }
    };
    let prose = &lines[..start];
    if let Some(line) = prose.iter().find(|line| resembles_verdict(line)) {
        let what = format!("`{}` before the block could be taken for a verdict", spelled(line));
        return Err(Unusable::of("stray-verdict-line", what));
    }
    let echoes = |line: &&&str| label(line).is_some() || (!expect.token.is_empty() && line.contains(expect.token));
    if let Some(line) = prose.iter().find(echoes) {
        let what = format!("`{}` before the block repeats the brief or another block", excerpt(line));
        return Err(Unusable::of("echoed-brief", what));
    }
    Ok(start)
}

fn no_block(lines: &[&str]) -> Unusable {
    match lines.iter().find(|line| resembles_verdict(line)) {
        Some(line) => {
            let what = format!("`{}` is not the verdict line: expected `VERDICT: PASS`, exactly", spelled(line));
            Unusable::of("malformed-verdict-line", what)
        }
        None => Unusable::of("no-verdict", "the answer holds no line that begins with `VERDICT:`"),
    }
}

/// `TASK_ID` and `TOKEN`, in this order; returns the lines behind them.
fn header<'l, 'a>(block: &'l [&'a str], expect: &Expect<'_>) -> Result<&'l [&'a str], Unusable> {
    let mut complaints = Vec::new();
    let mut rest = block;
    for (name, wanted, missing, wrong) in [
        ("TASK_ID", expect.task_id, "task-id-missing", "task-id-mismatch"),
        ("TOKEN", expect.token, "token-missing", "token-mismatch"),
    ] {
        let at = rest.iter().position(|line| !trim(line).is_empty()).unwrap_or(rest.len());
        match rest.get(at).and_then(|line| label(line)) {
            Some((found, value)) if found == name => {
                rest = &rest[at + 1..];
                if wanted.is_empty() || value != wanted {
                    let what = format!("`{name}: {}` is not the brief's", excerpt(value));
                    complaints.push(Complaint::new(wrong, what));
                }
            }
            _ => complaints.push(Complaint::new(missing, format!("the block does not name its {name} in its place"))),
        }
    }
    if complaints.is_empty() { Ok(rest) } else { Err(Unusable::from_complaints(complaints)) }
}

const FIELDS: [&str; 7] = ["TASK_ID", "TOKEN", "EVIDENCE", "REASONS", "REASON", "SUGGESTED_FIX", "ITERATION_HINT"];

/// A line that is a field: its name and its trimmed value.
fn label(line: &str) -> Option<(&'static str, &str)> {
    let (name, value) = line.split_once(':')?;
    FIELDS.iter().find(|field| **field == name).map(|field| (*field, trim(value)))
}

fn trim(text: &str) -> &str {
    text.trim_matches([' ', '\t'])
}

fn pass(body: &[&str], criteria: &[Criterion]) -> Result<Verdict, Unusable> {
    let mut lines = body.iter().filter(|line| !trim(line).is_empty());
    if lines.next().and_then(|line| label(line)) != Some(("EVIDENCE", "")) {
        return Err(Unusable::of("no-evidence", "a PASS needs `EVIDENCE:` and one line for each criterion"));
    }
    let mut complaints = Vec::new();
    let mut found: BTreeMap<u32, Vec<Evidence>> = BTreeMap::new();
    // Each line is compared with each criterion: an answer must not choose how often.
    let most = 2 * criteria.len() + MOST_COMPLAINTS;
    for (count, line) in lines.enumerate() {
        if count == most {
            let what = format!("there are more than {most} lines for {} criteria", criteria.len());
            complaints.push(Complaint::new("evidence-twice", what));
            break;
        }
        let Some(bullet) = line.strip_prefix("- ") else {
            let what = format!("`{}` is not an evidence line; nothing else may follow `EVIDENCE:`", excerpt(line));
            complaints.push(Complaint::new("text-after-block", what));
            continue;
        };
        match Evidence::read(trim(bullet), criteria) {
            Ok(evidence) => found.entry(evidence.criterion).or_default().push(evidence),
            Err(complaint) => complaints.push(complaint),
        }
    }
    let mut evidence = Vec::with_capacity(criteria.len());
    for criterion in criteria {
        match found.remove(&criterion.number).unwrap_or_default().as_slice() {
            [only] => evidence.push(only.clone()),
            [] => complaints.push(Complaint::new("evidence-missing", format!("C{} has no line", criterion.number))),
            more => {
                let what = format!("C{} has {} lines; exactly one is allowed", criterion.number, more.len());
                complaints.push(Complaint::new("evidence-twice", what));
            }
        }
    }
    if evidence.is_empty() && complaints.is_empty() {
        return Err(Unusable::of("no-evidence", "a PASS without criteria proves nothing"));
    }
    if complaints.is_empty() { Ok(Verdict::Pass { evidence }) } else { Err(Unusable::from_complaints(complaints)) }
}

/// The fields of a FAIL or SKIP: the value in the field's line, then the lines under it.
fn sections<'a>(body: &[&'a str], allowed: &[&str]) -> Result<BTreeMap<&'static str, Vec<&'a str>>, Unusable> {
    let mut sections: BTreeMap<&'static str, Vec<&str>> = BTreeMap::new();
    let mut current = None;
    for line in body {
        if let Some((name, value)) = label(line) {
            if !allowed.contains(&name) {
                return Err(Unusable::of("unexpected-field", format!("`{name}` does not belong to this verdict")));
            }
            if sections.insert(name, vec![value]).is_some() {
                return Err(Unusable::of("duplicate-field", format!("`{name}` stands twice in the block")));
            }
            current = Some(name);
            continue;
        }
        if trim(line).is_empty() {
            continue;
        }
        let quoted = [" ", "\t", "- ", "* ", "> "].iter().any(|sign| line.starts_with(sign));
        if !quoted && resembles_verdict(line) {
            let what = format!("`{}` inside the block could be taken for a second verdict", spelled(line));
            return Err(Unusable::of("stray-verdict-line", what));
        }
        if let Some(lines) = current.filter(|name| *name != "ITERATION_HINT").and_then(|name| sections.get_mut(name)) {
            lines.push(line);
        } else {
            let what = format!("`{}` belongs to no field of the block", excerpt(line));
            return Err(Unusable::of("text-after-block", what));
        }
    }
    Ok(sections)
}

fn fail(body: &[&str]) -> Result<Verdict, Unusable> {
    let sections = sections(body, &["REASONS", "SUGGESTED_FIX", "ITERATION_HINT"])?;
    let hint = match sections.get("ITERATION_HINT").and_then(|lines| lines.first()) {
        Some(&"task-under-specified") => Hint::TaskUnderSpecified,
        _ => Hint::LikelyFixable,
    };
    let reasons = sections.get("REASONS").map(|lines| bullets(lines)).unwrap_or_default();
    let suggested_fix = sections.get("SUGGESTED_FIX").map(|lines| prose(lines)).unwrap_or_default();
    Ok(Verdict::Fail { reasons, suggested_fix, hint })
}

fn skip(body: &[&str]) -> Result<Verdict, Unusable> {
    let reason = sections(body, &["REASON"])?.get("REASON").map(|lines| prose(lines)).unwrap_or_default();
    if reason.is_empty() {
        return Err(Unusable::of("skip-without-reason", "a SKIP needs `REASON:` and its text"));
    }
    Ok(Verdict::Skip { reason })
}

fn bullets(lines: &[&str]) -> Vec<FailReason> {
    let mut texts: Vec<Vec<&str>> = Vec::new();
    for line in lines.iter().filter(|line| !trim(line).is_empty()) {
        match line.strip_prefix("- ").or_else(|| line.strip_prefix("* ")) {
            Some(text) => texts.push(vec![text]),
            None => match texts.last_mut() {
                Some(text) => text.push(line),
                None => texts.push(vec![line]),
            },
        }
    }
    texts.iter().map(|lines| reason(&prose(lines))).filter(|reason| !reason.text.is_empty()).collect()
}

fn reason(text: &str) -> FailReason {
    let marked = |mark: &str| text.strip_prefix(mark).map(|rest| trim(rest).to_owned());
    match (marked("[fix]"), marked("[ask-user]")) {
        (_, Some(text)) => FailReason { remedy: Remedy::AskUser, text },
        (Some(text), None) => FailReason { remedy: Remedy::Fix, text },
        (None, None) => FailReason { remedy: Remedy::Fix, text: text.to_owned() },
    }
}

/// Lines folded into one text, hidden characters made visible.
fn prose(lines: &[&str]) -> String {
    let text = lines.iter().map(|line| trim(line)).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    visible(&text.replace('\t', " "))
}

#[cfg(test)]
mod tests;
