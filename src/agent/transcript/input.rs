//! What the arguments of a call say, whatever the program calls them.

use super::wire::Record;
use serde_json::Value;

/// How many paths of one call are kept.
const PATHS: usize = 256;

/// The command of a shell call: a line, or words.
pub(super) fn command_of(input: &Record<'_>) -> Option<String> {
    let value: Value = ["command", "cmd", "script"].iter().find_map(|name| input.get(name))?;
    Some(match value {
        Value::String(line) => line,
        Value::Array(words) => joined(&words.iter().filter_map(Value::as_str).collect::<Vec<_>>()),
        other => other.to_string(),
    })
}

/// A command line from words. `sh -c SCRIPT` is its script.
pub(super) fn joined(words: &[&str]) -> String {
    if let [shell, flag, script] = words
        && shell.ends_with("sh")
        && flag.starts_with('-')
        && flag.ends_with('c')
    {
        return (*script).to_owned();
    }
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

pub(super) fn paths_of(input: &Record<'_>) -> Vec<String> {
    const NAMES: [&str; 7] =
        ["file_path", "filePath", "path", "notebook_path", "absolute_path", "dir_path", "target_file"];
    NAMES.iter().filter_map(|name| input.text(name)).take(PATHS).collect()
}

pub(super) fn in_background(input: &Record<'_>) -> bool {
    ["run_in_background", "is_background", "async", "detach"].iter().any(|name| input.get(name) == Some(true))
}

/// The paths of a patch in the form `*** Add File: PATH`.
pub(super) fn patch_paths(patch: &str) -> Vec<String> {
    const MARKS: [&str; 4] = ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];
    let named = |line: &str| MARKS.iter().find_map(|mark| line.strip_prefix(mark)).map(|path| path.trim().to_owned());
    patch.lines().filter_map(named).take(PATHS).collect()
}
