//! What a check found, fit to be sealed.

use super::{CheckReport, Reconciled};
use crate::host::redact::redact_text;

impl CheckReport {
    /// The same with every secret in its words masked: findings quote lines of the claim, and they are sealed.
    #[must_use]
    pub fn without_secrets(mut self) -> Self {
        let mask = |text: &mut String| *text = redact_text(text);
        mask(&mut self.note);
        for finding in &mut self.findings {
            mask(&mut finding.place);
            mask(&mut finding.expected);
            mask(&mut finding.observed);
        }
        self
    }
}

impl Reconciled {
    /// The same with every secret in its words masked: a worker's report is quoted, and it is sealed.
    #[must_use]
    pub fn without_secrets(mut self) -> Self {
        let mask = |text: &mut String| *text = redact_text(text);
        self.notes.iter_mut().for_each(mask);
        for row in &mut self.rows {
            mask(&mut row.assertion.quote);
            mask(&mut row.assertion.subject);
            mask(&mut row.observed);
            row.receipts.iter_mut().chain(&mut row.wants).for_each(mask);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::receipts::{Finding, Remedy, State};

    #[test]
    fn a_finding_that_quotes_a_secret_is_sealed_without_it() {
        let secret = format!("ghp_{}", "a1B2c3D4e5".repeat(4));
        let words = || format!("`key = {secret}`");
        let finding =
            Finding { state: State::Ask, place: words(), expected: words(), observed: words(), remedy: Remedy::Fix };
        let report = CheckReport { id: "x".to_owned(), state: State::Ask, note: words(), findings: vec![finding] };
        let sealed = serde_json::to_string(&report.without_secrets()).unwrap();
        assert!(!sealed.contains(&secret), "{sealed}");
        assert_eq!(sealed.matches("[redacted:github-token:").count(), 4, "{sealed}");
    }
}
