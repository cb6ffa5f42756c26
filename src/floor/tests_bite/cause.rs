//! Why a test failed, read from what its runner says of it: pure, by language.
//!
//! A failure is a proof in two cases only (issue B, part 4): the test's own expectation failed, or a name that the
//! claim's production code brings is absent. What a broken machine or a broken test could say as well is no proof.

use crate::host::path::escape;
use crate::host::redact::redact_and_cut;
use std::collections::BTreeSet;

/// Whose failures a text holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tongue {
    Rust,
    Python,
    Node,
    /// Any runner whose words we do not know for sure.
    Any,
}

/// What one failure amounts to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Cause {
    /// An expectation failed, or the code under test raised.
    Assertion,
    /// These names, all brought by the claim, are absent.
    Absent(Vec<String>),
    /// It does not compile, for another reason.
    Build,
    /// Its file cannot be loaded, for another reason.
    Collection,
    /// None of these for sure.
    Unclassified,
}

/// Names that the claim's production code brings: words of its added lines, and its added paths.
#[derive(Debug, Clone, Default)]
pub(super) struct Brought {
    words: BTreeSet<String>,
    paths: Vec<String>,
}

impl Brought {
    /// Takes the words of an added line of production code.
    pub(super) fn line(&mut self, line: &str) {
        let word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
        let words = line.split(|c| !word(c)).filter(|word| !word.is_empty());
        self.words.extend(words.map(str::to_owned));
    }

    /// Takes an added path.
    pub(super) fn path(&mut self, path: &str) {
        self.paths.push(path.to_owned());
    }

    /// True if the claim brings this name. Of a path or a dotted name its last part decides.
    fn has(&self, name: &str) -> bool {
        let name = name.trim_matches(|c: char| "`'\"()".contains(c));
        if name.is_empty() {
            return false;
        }
        let of_path = self.paths.iter().any(|path| {
            let stem = path.rsplit_once('.').map_or(path.as_str(), |(stem, _)| stem);
            let module = name.replace(['.', ':'], "/").replace("//", "/");
            let ends = |of: &str, end: &str| of == end || of.ends_with(&format!("/{end}"));
            ends(name, path) || ends(stem, &module) || ends(stem.trim_end_matches("/__init__"), &module)
        });
        let last = name.rsplit(['.', ':', ' ']).next().unwrap_or(name);
        of_path || self.words.contains(last)
    }
}

/// Classes one failure.
pub(super) fn cause(tongue: Tongue, text: &str, brought: &Brought) -> Cause {
    match tongue {
        Tongue::Rust => rust(text, brought),
        Tongue::Python => python(text, brought),
        Tongue::Node => node(text, brought),
        Tongue::Any => any(text, brought),
    }
}

/// The line of a failure that says most, escaped and cut.
pub(super) fn excerpt(text: &str) -> String {
    let telling = |line: &&str| {
        ["E   ", "error", "panicked at", "Error", "assert"].iter().any(|word| line.contains(word))
            && !line.trim_start().starts_with("at ")
            && !line.contains("ERR_TEST_FAILURE")
    };
    let line = text.lines().find(telling).or_else(|| text.lines().find(|line| !line.trim().is_empty()));
    let (line, _) = redact_and_cut(line.unwrap_or_default().trim(), 200);
    escape(line.as_bytes())
}

fn absent_or(names: Vec<String>, brought: &Brought, otherwise: Cause) -> Cause {
    if !names.is_empty() && names.iter().all(|name| brought.has(name)) { Cause::Absent(names) } else { otherwise }
}

/// One message of rustc.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CompilerError {
    /// `E0425`; empty if it has none.
    pub(super) code: String,
    pub(super) message: String,
    /// The file it points to; empty if none.
    pub(super) file: String,
}

/// The codes with which rustc says that a name, a field, a method or a parameter is not there.
const ABSENT_CODES: &[&str] = &[
    "E0026", "E0027", "E0061", "E0107", "E0404", "E0405", "E0407", "E0412", "E0422", "E0423", "E0425", "E0432",
    "E0433", "E0531", "E0532", "E0559", "E0560", "E0574", "E0576", "E0583", "E0599", "E0603", "E0609", "E0610",
    "E0616", "E0624",
];

/// rustc's errors, in its full and in its short form.
pub(super) fn compiler_errors(text: &str) -> Vec<CompilerError> {
    let mut found: Vec<CompilerError> = Vec::new();
    for line in text.lines() {
        if let Some(file) = line.trim_start().strip_prefix("--> ") {
            if let Some(last) = found.last_mut().filter(|last| last.file.is_empty()) {
                last.file = place(file);
            }
            continue;
        }
        let (file, rest) = match line.find(": error") {
            Some(at) if !line[..at].contains(' ') => (place(&line[..at]), &line[at + 2..]),
            _ => (String::new(), line),
        };
        let Some(rest) = rest.strip_prefix("error") else { continue };
        let (code, message) = match rest.strip_prefix('[').and_then(|rest| rest.split_once("]: ")) {
            Some((code, message)) => (code.to_owned(), message),
            None => match rest.strip_prefix(": ") {
                Some(message) => (String::new(), message),
                None => continue,
            },
        };
        let summary = ["could not compile", "aborting due to", "test failed,", "doctest failed", "build failed"];
        if !code.is_empty() || !summary.iter().any(|word| message.contains(word)) && message != "1 target failed:" {
            found.push(CompilerError { code, message: message.to_owned(), file });
        }
    }
    found
}

/// `src/lib.rs:3:5` without its line and column.
fn place(text: &str) -> String {
    let mut parts = text.trim().rsplitn(3, ':');
    let digits = |part: Option<&str>| part.is_some_and(|part| part.bytes().all(|b| b.is_ascii_digit()));
    if digits(parts.next()) && digits(parts.next()) { parts.next().unwrap_or(text).to_owned() } else { text.to_owned() }
}

/// Names between backticks.
fn quoted(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// What rustc's errors about one file amount to.
pub(super) fn compile_cause(errors: &[&CompilerError], brought: &Brought) -> Cause {
    let mut names = Vec::new();
    for error in errors {
        let absent = ABSENT_CODES.contains(&error.code.as_str())
            || error.message.starts_with("cannot find macro")
            || error.message.starts_with("couldn't read");
        let named = quoted(&error.message).into_iter().find(|name| brought.has(name));
        // `this function takes 1 argument but 2 were supplied` names nobody: the code is enough.
        match named.or_else(|| (error.code == "E0061" || error.code == "E0107").then(|| error.message.clone())) {
            Some(name) if absent => names.push(name),
            _ => return Cause::Build,
        }
    }
    names.dedup();
    if names.is_empty() { Cause::Build } else { Cause::Absent(names) }
}

fn rust(text: &str, brought: &Brought) -> Cause {
    let errors = compiler_errors(text);
    if !errors.is_empty() && !text.contains("panicked at") {
        return compile_cause(&errors.iter().collect::<Vec<_>>(), brought);
    }
    let environment = ["Permission denied", "Connection refused", "No space left", "Address already in use"];
    if environment.iter().any(|word| text.contains(word)) {
        Cause::Unclassified
    } else if let Some(path) = missing_path(text) {
        absent_or(vec![path], brought, Cause::Unclassified)
    } else if text.contains("panicked at") || text.contains("Error: ") || text.contains("did not panic") {
        Cause::Assertion
    } else {
        Cause::Unclassified
    }
}

/// The path that a `No such file` speaks of, if it names one.
fn missing_path(text: &str) -> Option<String> {
    let line = text.lines().find(|line| line.contains("No such file or directory") || line.contains("ENOENT"))?;
    let name = line.split(['\'', '"', '`']).skip(1).step_by(2).find(|part| part.contains(['/', '.']));
    Some(name.unwrap_or_default().to_owned())
}

/// Between two marks.
fn between<'t>(text: &'t str, before: &str, after: &str) -> Option<&'t str> {
    text.split_once(before)?.1.split_once(after).map(|(name, _)| name)
}

/// The kinds of Python exception that a broken machine raises as well.
const PYTHON_MACHINE: &[&str] = &[
    "OSError",
    "IOError",
    "PermissionError",
    "ConnectionError",
    "ConnectionRefusedError",
    "TimeoutError",
    "BlockingIOError",
    "MemoryError",
    "RecursionError",
    "UnicodeDecodeError",
];

fn python(text: &str, brought: &Brought) -> Cause {
    // The last `E   Kind: message` of a traceback; without tracebacks, the message alone.
    let told = text.lines().rev().filter_map(|line| line.strip_prefix("E   ").map(str::trim));
    let told: Vec<&str> = told.collect();
    let kind_of = |line: &str| {
        let kind = line.split([':', ' ']).next().unwrap_or_default().rsplit('.').next().unwrap_or_default().to_owned();
        let known = kind.ends_with("Error") || kind.ends_with("Exception") || kind == "Failed" || kind == "assert";
        known.then_some(kind)
    };
    let lines: Vec<&str> = if told.is_empty() { text.lines().map(str::trim).collect() } else { told };
    let collecting = text.contains("ERROR collecting")
        || text.contains("collection failure")
        || text.contains("while importing test module");
    let Some((line, kind)) = lines.iter().find_map(|line| kind_of(line).map(|kind| (*line, kind))) else {
        return Cause::Unclassified;
    };
    let otherwise = if collecting { Cause::Collection } else { Cause::Assertion };
    match kind.as_str() {
        "SyntaxError" | "IndentationError" | "TabError" => Cause::Collection,
        "AssertionError" | "assert" | "Failed" => otherwise,
        "ImportError" | "ModuleNotFoundError" | "AttributeError" | "NameError" => {
            let name = between(line, "cannot import name '", "'")
                .or_else(|| between(line, "has no attribute '", "'"))
                .or_else(|| between(line, "No module named '", "'"))
                .or_else(|| between(line, "name '", "'"))
                .or_else(|| between(line, "does not have the attribute '", "'"));
            let no_one = if collecting { Cause::Collection } else { Cause::Unclassified };
            let value = name.is_some() && kind == "AttributeError" && line.contains("'NoneType'");
            if value { otherwise } else { absent_or(name.map(str::to_owned).into_iter().collect(), brought, no_one) }
        }
        "TypeError" if line.contains("unexpected keyword argument") => {
            let name = between(line, "unexpected keyword argument '", "'").unwrap_or_default();
            absent_or(vec![name.to_owned()], brought, otherwise)
        }
        "FileNotFoundError" => absent_or(missing_path(line).into_iter().collect(), brought, Cause::Unclassified),
        kind if PYTHON_MACHINE.contains(&kind) => Cause::Unclassified,
        _ => otherwise,
    }
}

fn node(text: &str, brought: &Brought) -> Cause {
    let line = |word: &str| text.lines().find(|line| line.contains(word)).map(str::trim);
    if let Some(line) = line("does not provide an export named") {
        let name = between(line, "does not provide an export named '", "'").unwrap_or_default();
        return absent_or(vec![name.to_owned()], brought, Cause::Collection);
    }
    if let Some(line) = line("Cannot find module").or_else(|| line("Cannot find package")) {
        let name = line.split('\'').nth(1).unwrap_or_default();
        return absent_or(vec![name.to_owned()], brought, Cause::Collection);
    }
    if text.contains("AssertionError") || text.contains("ERR_ASSERTION") {
        return Cause::Assertion;
    }
    if line("SyntaxError").is_some_and(|line| !line.contains("JSON")) {
        return Cause::Collection;
    }
    if let Some(line) = line("is not defined") {
        let name = line.split(" is not defined").next().unwrap_or_default();
        return absent_or(vec![last_word(name)], brought, Cause::Unclassified);
    }
    if let Some(line) = line("ENOENT") {
        return absent_or(missing_path(line).into_iter().collect(), brought, Cause::Unclassified);
    }
    if ["EACCES", "EPERM", "ECONNREFUSED", "EADDRINUSE", "EMFILE", "ENOSPC", "cancelledByParent", "testTimeoutFailure"]
        .iter()
        .any(|word| text.contains(word))
    {
        return Cause::Unclassified;
    }
    for sign in [" is not a function", " is not a constructor", " is not iterable"] {
        if let Some(line) = line(sign) {
            let name = line.split(sign).next().unwrap_or_default();
            return absent_or(vec![last_word(name)], brought, Cause::Assertion);
        }
    }
    if let Some(name) = line("(reading '").and_then(|line| between(line, "(reading '", "'")) {
        return absent_or(vec![name.to_owned()], brought, Cause::Assertion);
    }
    let raised =
        ["Error: ", "Error [", "TypeError", "RangeError", "Missing expected", "failureType: 'testCodeFailure'"];
    if raised.iter().any(|word| text.contains(word)) && !text.contains("cause: 'test failed'") {
        Cause::Assertion
    } else {
        Cause::Unclassified
    }
}

/// The identifier that a phrase ends with.
fn last_word(text: &str) -> String {
    let text = text.trim_end_matches([')', ' ', '"', '\'']);
    text.rsplit(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$')).next().unwrap_or_default().to_owned()
}

/// A runner we do not know: only what says of itself that it is an assertion, or names what is absent.
fn any(text: &str, brought: &Brought) -> Cause {
    if text.contains("panicked at") || !compiler_errors(text).is_empty() {
        return rust(text, brought);
    }
    if text.contains("Traceback (most recent call last)") || text.lines().any(|line| line.starts_with("E   ")) {
        return python(text, brought);
    }
    if text.contains("ERR_TEST_FAILURE") || text.contains("node:internal") {
        return node(text, brought);
    }
    if let Some(line) = text.lines().find(|line| line.contains("undefined: ")) {
        let name = line.split_once("undefined: ").map_or("", |(_, name)| name.trim());
        return absent_or(vec![name.to_owned()], brought, Cause::Build);
    }
    let lower = text.to_ascii_lowercase();
    let told = ["assert", "expected", "expect(", "want ", "comparisonfailure"].iter().any(|word| lower.contains(word));
    if told { Cause::Assertion } else { Cause::Unclassified }
}

#[cfg(test)]
#[path = "cause/tests.rs"]
mod tests;
