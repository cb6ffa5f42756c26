//! How a run of the binary ended.

use serde_json::Value;

/// Exit code and both streams, complete.
#[derive(Debug, Clone)]
pub(crate) struct Outcome {
    /// The exit code; none if a signal ended it.
    pub(crate) code: Option<i32>,
    /// The answer.
    pub(crate) stdout: String,
    /// The narration.
    pub(crate) stderr: String,
    /// What was run, for messages.
    pub(crate) line: String,
}

impl Outcome {
    /// Asserts the exit code; a failure shows both streams.
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self}");
        self
    }

    /// The one document of `--json`.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|why| panic!("stdout is not one JSON document: {why}\n{self}"))
    }

    /// The document, if `--json` was asked for.
    pub(crate) fn document(&self) -> Option<Value> {
        self.line.split(' ').any(|word| word == "--json").then(|| self.json())
    }

    /// Asserts that the narration or the answer holds these words.
    pub(crate) fn says(self, words: &str) -> Self {
        assert!(self.stdout.contains(words) || self.stderr.contains(words), "`{words}` is not said\n{self}");
        self
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { code, stdout, stderr, line } = self;
        write!(f, "{line}\nexit: {code:?}\n--- stdout\n{stdout}\n--- stderr\n{stderr}")
    }
}

#[test]
fn an_outcome_reads_its_document_only_where_one_was_asked_for() {
    let outcome = |line: &str| Outcome {
        code: Some(1),
        stdout: r#"{"schema":"x"}"#.to_owned(),
        stderr: "judging".to_owned(),
        line: line.to_owned(),
    };
    assert_eq!(outcome("countersign verify").document(), None);
    assert_eq!(outcome("countersign verify --json").document().unwrap()["schema"], "x");
    assert_eq!(outcome("countersign verify").exits(1).says("judging").stdout, r#"{"schema":"x"}"#);
}
