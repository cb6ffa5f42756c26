//! What a project's vision still leaves open: shown when a board has nothing to do, so that nothing is invented.

use crate::task::markdown::Document;
use crate::task::text::{Text, TextError};
use schemars::JsonSchema;
use serde::Serialize;

/// A question of the vision that nobody has answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OpenQuestion {
    /// Its text, without bullet and date.
    pub text: String,
    /// Since when, as written (`open since YYYY-MM-DD`).
    pub since: Option<String>,
}

/// The bullets under `## Open questions` that are not struck through.
///
/// # Errors
/// The page is no text.
pub fn open_questions(vision: &[u8]) -> Result<Vec<OpenQuestion>, TextError> {
    let document = Document::read(Text::read(vision)?.lines());
    let mut inside = false;
    let mut found: Vec<OpenQuestion> = Vec::new();
    for line in &document.lines {
        if let Some(level) = line.level {
            let title = line.title().unwrap_or_default();
            inside = if level <= 2 { title.eq_ignore_ascii_case("open questions") } else { inside };
            continue;
        }
        let text = line.text.trim_end();
        let bullet = text.strip_prefix("- ").or_else(|| text.strip_prefix("* "));
        match bullet {
            Some(text) if inside && !text.trim_start().starts_with("~~") => found.push(question(text.trim())),
            _ => {}
        }
    }
    Ok(found)
}

fn question(text: &str) -> OpenQuestion {
    const MARK: &str = "(open since ";
    let cut = text.find(MARK).and_then(|at| Some((at, at + text[at..].find(')')?)));
    let Some((start, end)) = cut else { return OpenQuestion { text: text.to_owned(), since: None } };
    let since = text[start + MARK.len()..end].trim().to_owned();
    let text = format!("{}{}", text[..start].trim_end(), &text[end + 1..]);
    OpenQuestion { text: text.trim().to_owned(), since: Some(since) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_unanswered_questions_of_that_section_are_open() {
        let vision = "# Vision\n\n## Goals\n- not one?\n\n## Open questions\n\n- Which port? (open since 2026-09-01)\n\
                      - ~~Who pays?~~ Nobody.\n### Further\n* And who sleeps?\n\n## End\n- no?\n";
        let found = open_questions(vision.as_bytes()).unwrap();
        let told: Vec<_> = found.iter().map(|q| (q.text.as_str(), q.since.as_deref())).collect();
        assert_eq!(told, [("Which port?", Some("2026-09-01")), ("And who sleeps?", None)]);
        assert_eq!(open_questions(b"# Vision\n").unwrap(), []);
    }
}
