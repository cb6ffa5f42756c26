//! GitHub's log commands: lines of a step's output that the runner takes as orders.

use super::entry::{Entry, Weight};

/// GitHub shows this many annotations of one level a step.
pub(super) const MOST_OF_A_LEVEL: usize = 10;
/// What one message may hold here; GitHub cuts at 64 KB.
const LONGEST_MESSAGE: usize = 4_000;
/// What a title may hold.
pub(super) const LONGEST_TITLE: usize = 120;

/// The annotations as commands: errors first, then warnings. Where there are more than GitHub shows, the last one of the
/// level counts them. Notes are not annotated: they would take the places of what matters.
pub(super) fn annotations(entries: &[Entry]) -> Vec<String> {
    let mut commands = Vec::new();
    for (weight, command) in [(Weight::Error, "error"), (Weight::Warning, "warning")] {
        let all: Vec<&Entry> = entries.iter().filter(|entry| entry.weight == weight).collect();
        let shown = if all.len() > MOST_OF_A_LEVEL { MOST_OF_A_LEVEL - 1 } else { all.len() };
        commands.extend(all[..shown].iter().map(|entry| annotation(command, entry)));
        if shown < all.len() {
            let more = all.len() - shown;
            commands.push(format!(
                "::{command} title=countersign::{}",
                data(&format!("{more} more of {} {command}s: see the step summary or the report", all.len()))
            ));
        }
    }
    commands
}

fn annotation(command: &str, entry: &Entry) -> String {
    let mut properties = vec![format!("title={}", property(&title(entry)))];
    // A path that is not text cannot be named here; the sentence has it escaped.
    if let Some((at, path)) = entry.location.as_ref().and_then(|at| Some((at, at.path.as_str()?))) {
        properties.push(format!("file={}", property(path)));
        properties.extend(at.line.map(|line| format!("line={line}")));
    }
    format!("::{command} {}::{}", properties.join(","), data(&cut(&entry.sentence(), LONGEST_MESSAGE)))
}

/// What an annotation is called: the check, and the task it is about.
pub(super) fn title(entry: &Entry) -> String {
    let task = entry.task.as_ref().map_or_else(String::new, |task| format!(" ({task})"));
    cut(&format!("countersign: {}{task}", entry.rule), LONGEST_TITLE)
}

/// The start of a text.
pub(super) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// A command's text: the runner decodes these three. The older form of a command, which it finds anywhere in a line,
/// is broken up.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A").replace("##[", "## [")
}

/// A command's property: a colon or a comma would end it.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_one_line_whatever_its_text() {
        assert_eq!(data("50%\r\n::error::x"), "50%25%0D%0A::error::x");
        assert_eq!(property("a,b: 1%"), "a%2Cb%3A 1%25");
        assert_eq!(data("##[add-mask]x"), "## [add-mask]x");
    }
}
