//! The brief: exactly what the verifier is told, a pure function of task, claim and ledger.
//!
//! Nothing of the worker's report enters: neither its text nor what the checks made of it. Everything that a stranger could
//! have written stands in a data block (see [`super::fence`]).

mod sections;

use super::VERIFIER_PROMPT;
use super::fence::Fence;
use crate::claim::Claim;
use crate::claim::text::{Body, ChangeText};
use crate::host::digest::digest;
use crate::host::git::ChangeKind;
use crate::host::path::RepoPath;
use crate::receipts::{Receipt, TaskRecord};
use sections::{changes, declined, findings, not_shown_table, reconciled, settled, tests, uncertified};

/// Task text beyond this many bytes is not carried; its criteria always are.
const LONGEST_TASK: usize = 200_000;

/// What a brief is made of.
#[derive(Debug, Clone, Copy)]
pub struct BriefInput<'a> {
    /// The claim's token.
    pub token: &'a str,
    /// What the answer must give as `TASK_ID`: the task's id, else the case key.
    pub answer_id: &'a str,
    /// The task's bytes as read at the base.
    pub task_text: &'a [u8],
    /// The task.
    pub task: &'a TaskRecord,
    /// The claim.
    pub claim: &'a Claim,
    /// The ledger so far.
    pub receipts: &'a [Receipt],
    /// Each change as text, in the order of `claim.changed`; see [`crate::claim::text::texts`].
    pub changes: &'a [ChangeText],
    /// Bytes of patch text to carry (`limits.brief-bytes`).
    pub patch_bytes: u64,
}

/// What the verifier is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Brief {
    /// The text, UTF-8, without control characters but tabs and newlines.
    pub text: String,
    /// Changed paths whose whole change is in the text (or that have nothing to show), in path order.
    pub shown: Vec<RepoPath>,
    /// Changed paths whose text it does not carry, or not whole. Content that is no text counts as not shown only if it
    /// was too large to be told from text.
    pub not_shown: Vec<RepoPath>,
}

impl Brief {
    /// SHA-256 of the text, hexadecimal.
    pub fn digest(&self) -> String {
        digest(self.text.as_bytes())
    }
}

/// Composes the brief. The same input gives the same bytes.
pub fn compose_brief(input: &BriefInput<'_>) -> Brief {
    let fence = Fence::of(input.token);
    let carried = select(input.changes, input.patch_bytes);
    let (mut shown, mut not_shown) = (Vec::new(), Vec::new());
    for (index, change) in input.claim.changed.iter().enumerate() {
        let whole = match input.changes.get(index).map(|c| &c.body) {
            // A deletion is told in full by its row in the table.
            _ if change.kind == ChangeKind::Deleted => true,
            Some(Body::Text { whole, .. }) => *whole && carried.binary_search(&index).is_ok(),
            Some(Body::Nothing | Body::Binary { .. }) => true,
            Some(Body::TooLarge { .. }) | None => false,
        };
        if whole { &mut shown } else { &mut not_shown }.push(change.path.clone());
    }
    let mut text = standing_orders().to_owned();
    text.push_str(&answer(input, &fence));
    text.push_str(&criteria(input, &fence));
    text.push_str(&settled(input.receipts, &fence));
    text.push_str(&findings(input.receipts, &fence));
    text.push_str(&declined(input.receipts, &fence));
    text.push_str(&uncertified(input.receipts, &fence));
    text.push_str(&reconciled(input.receipts, &fence));
    text.push_str(&tests(input.receipts, &fence));
    text.push_str(&task(input, &fence));
    text.push_str(&changes(input, &carried, &fence));
    text.push_str(&not_shown_table(input, &not_shown, &fence));
    Brief { text, shown, not_shown }
}

/// The prompt without its frontmatter.
fn standing_orders() -> &'static str {
    let body = VERIFIER_PROMPT.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n"));
    body.map_or(VERIFIER_PROMPT, |(_, body)| body).trim_start()
}

/// Which texts fit: the smallest first, so that as many files as possible are shown; equal ones in path order.
fn select(texts: &[ChangeText], budget: u64) -> Vec<usize> {
    let mut by_size: Vec<(usize, usize)> = texts
        .iter()
        .enumerate()
        .filter_map(|(index, text)| match &text.body {
            Body::Text { text, .. } => Some((text.len(), index)),
            _ => None,
        })
        .collect();
    by_size.sort_unstable();
    let mut left = budget;
    let mut carried = Vec::new();
    for (bytes, index) in by_size {
        match left.checked_sub(bytes as u64) {
            Some(rest) => left = rest,
            None => break,
        }
        carried.push(index);
    }
    carried.sort_unstable();
    carried
}

/// The token stands in a sentence and never in a block of the answer's form: a program that repeats its brief has not
/// answered.
fn answer(input: &BriefInput<'_>, fence: &Fence) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-' | b'/');
    let id = input.answer_id;
    let named = if !id.is_empty() && id.len() <= 200 && id.bytes().all(plain) {
        format!("The task id for your answer is `{id}`.\n")
    } else {
        format!("The task id for your answer is the one line of this block:\n{}", fence.block("task-id", id.as_bytes()))
    };
    format!(
        "\n# This claim\n\nThe nonce of this brief's data blocks is `{nonce}`. The token for your answer is `{token}`.\n{named}\
         The base tree is {base}; the finished tree is {tree}.\n",
        nonce = fence.nonce(),
        token = input.token,
        base = input.claim.base_tree,
        tree = input.claim.tree,
    )
}

fn criteria(input: &BriefInput<'_>, fence: &Fence) -> String {
    use crate::task::Kind;
    use std::fmt::Write as _;
    let mut rows = String::new();
    for criterion in &input.task.criteria {
        let kind = match criterion.kind {
            Kind::HumanEye => "human-eye",
            Kind::Checkable(_) => "checkable",
            Kind::Judged => "judged",
        };
        let _ = writeln!(rows, "C{} [{kind}] {}", criterion.number, criterion.text.replace(['\n', '\r'], " "));
    }
    format!("\n# Criteria\n\n{}", fence.block("criteria", rows.as_bytes()))
}

fn task(input: &BriefInput<'_>, fence: &Fence) -> String {
    let cut = input.task_text.get(..LONGEST_TASK);
    let note = match cut {
        Some(_) => format!(
            "Only its first {LONGEST_TASK} of {} bytes; the criteria above are complete.\n\n",
            input.task_text.len()
        ),
        None => String::new(),
    };
    format!("\n# The task\n\n{note}{}", fence.block("task", cut.unwrap_or(input.task_text)))
}

#[cfg(test)]
mod tests;
