//! What a task's own words promise: new behaviour, or that something stays as it is.
//!
//! Only the type and the words of the base's task count, never those of the claim.

/// Whether new behaviour is promised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Promise {
    /// The type says so: a feature or a bug.
    Said,
    /// There is no type, and the title names no other kind of work.
    Assumed,
    /// Another type, or a title that plainly names another kind of work.
    None,
}

impl Promise {
    /// What this type (empty for none) and title promise.
    pub fn of(kind: &str, title: &str) -> Self {
        match kind {
            "feature" | "bug" => Self::Said,
            "" if !holds_one(title, OTHER_WORK) => Self::Assumed,
            _ => Self::None,
        }
    }

    /// True unless nothing is promised.
    pub fn is_made(self) -> bool {
        self != Self::None
    }
}

/// True for a criterion that says that something stays as it was: a test that passes on both sides is its proof.
pub fn is_guard(criterion: &str) -> bool {
    holds_one(criterion, STAYS)
}

const OTHER_WORK: &[&str] = &[
    "refactor",
    "refactoring",
    "rename",
    "reformat",
    "clean up",
    "cleanup",
    "tidy",
    "chore",
    "docs",
    "documentation",
    "document",
    "add tests",
    "more tests",
    "test coverage",
    "spike",
    "investigate",
    "upgrade",
    "bump",
];
const STAYS: &[&str] = &[
    "still",
    "unchanged",
    "untouched",
    "regression",
    "regressions",
    "as before",
    "remain",
    "remains",
    "stay",
    "stays",
    "keep",
    "keeps",
    "continue",
    "continues",
    "preserve",
    "preserves",
    "preserved",
    "guard",
    "guards",
    "no new",
    "nothing else",
];

/// True if the text holds one of these as whole words.
fn holds_one(text: &str, phrases: &[&str]) -> bool {
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let padded = format!(" {} ", words.join(" "));
    phrases.iter().any(|phrase| padded.contains(&format!(" {phrase} ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_without_a_type_promises_behaviour_unless_its_title_names_other_work() {
        for (kind, title, promise) in [
            ("feature", "Refactor the parser", Promise::Said),
            ("bug", "", Promise::Said),
            ("", "Refuse zero", Promise::Assumed),
            ("", "Refactor: one parser", Promise::None),
            ("", "Clean-up of names", Promise::None),
            ("", "Renamed files are listed", Promise::Assumed),
            ("chore", "Refuse zero", Promise::None),
            ("own-word", "Refuse zero", Promise::None),
        ] {
            assert_eq!(Promise::of(kind, title), promise, "{kind} {title}");
        }
    }

    #[test]
    fn a_criterion_that_says_that_something_stays_is_a_guard() {
        for text in
            ["One is still accepted.", "The output stays as it is", "No regression in `add`", "It works as before"]
        {
            assert!(is_guard(text), "{text}");
        }
        for text in ["Zero is refused", "Distilled words are listed", "It keepsakes"] {
            assert!(!is_guard(text), "{text}");
        }
    }
}
