//! Just enough reading of Rust for the house rules: code without comments and strings, its imports, its functions.

use super::{CORRIDOR, root, rust_files};

/// A file of `src`.
#[derive(Debug)]
pub(super) struct SourceFile {
    /// Its path from the crate's root, e.g. `src/host/git.rs`.
    pub(super) name: String,
    /// Its text without comments and string contents; lines stay where they were.
    code: String,
    /// True if its parent declares it for tests only.
    test_only: bool,
}

/// A function, and how long it is.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Function {
    /// Its name.
    pub(super) name: String,
    /// The line of its `fn`, from 1.
    pub(super) line: usize,
    /// From that line to its closing brace.
    pub(super) lines: usize,
}

impl SourceFile {
    /// All of them.
    pub(super) fn all() -> Vec<Self> {
        let root = root();
        let files = rust_files(&root.join("src"));
        assert!(files.len() > 10, "the sources are not where they should be");
        files
            .iter()
            .map(|path| {
                let name = path.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
                let mut file = Self::of(&name, &std::fs::read_to_string(path).unwrap());
                let parent = path.parent().unwrap().with_extension("rs");
                let holder = code_only(&std::fs::read_to_string(parent).unwrap_or_default());
                let declaration = format!("mod {};", path.file_stem().unwrap().to_string_lossy());
                file.test_only = tests_begin(&holder).is_some_and(|at| holder[at..].contains(&declaration));
                file
            })
            .collect()
    }

    fn of(name: &str, text: &str) -> Self {
        Self { name: name.to_owned(), code: code_only(text), test_only: false }
    }

    /// The stage it belongs to: the first folder or file name below `src`.
    pub(super) fn stage(&self) -> &str {
        let inner = self.name.strip_prefix("src/").unwrap_or(&self.name);
        inner.split(['/', '.']).next().unwrap_or(inner)
    }

    /// The code before the in-file tests.
    pub(super) fn production(&self) -> &str {
        let end = if self.test_only { 0 } else { tests_begin(&self.code).unwrap_or(self.code.len()) };
        &self.code[..end]
    }

    /// Every stage the file names as `crate::…`, `countersign::…` or by climbing with `super::`, with its line.
    pub(super) fn imports(&self) -> Vec<(usize, String)> {
        let tests_begin = self.production().len();
        let depth = self.name.matches('/').count();
        let mut found = Vec::new();
        for keyword in ["crate::", "countersign::", "super::"] {
            for (at, _) in self.code.match_indices(keyword) {
                let before = self.code[..at].chars().next_back();
                if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
                    continue;
                }
                let mut rest = &self.code[at + keyword.len()..];
                if keyword == "super::" {
                    let mut climbed = 1;
                    while let Some(more) = rest.strip_prefix("super::") {
                        (rest, climbed) = (more, climbed + 1);
                    }
                    // A file's own module is as deep as its path; its in-file tests are one deeper.
                    if climbed < depth + usize::from(at >= tests_begin) {
                        continue;
                    }
                }
                let line = self.code[..at].matches('\n').count() + 1;
                let stages = heads(rest).into_iter().filter(|name| CORRIDOR.contains(&name.as_str()));
                found.extend(stages.map(|name| (line, name)));
            }
        }
        found.sort();
        found
    }

    /// Every function with a body.
    pub(super) fn functions(&self) -> Vec<Function> {
        let mut found = Vec::new();
        for (at, _) in self.code.match_indices("fn ") {
            let before = self.code[..at].chars().next_back();
            let name: String = self.code[at + 3..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            if name.is_empty() || before.is_some_and(|c| !c.is_whitespace()) {
                continue;
            }
            if let Some(body) = body_of(&self.code[at..]) {
                let line = self.code[..at].matches('\n').count() + 1;
                found.push(Function { name, line, lines: body.matches('\n').count() + 1 });
            }
        }
        found
    }
}

/// Where the in-file tests begin: at the first module compiled for tests only.
fn tests_begin(code: &str) -> Option<usize> {
    let is_module = |at: &usize| code[*at..].split_whitespace().take(3).any(|word| word == "mod");
    code.match_indices("#[cfg(test)]").map(|(at, _)| at).find(is_module)
}

/// The first names of a path or of a braced group of paths: `a::b` → a, `{a::{b, c}, d}` → a, d.
fn heads(path: &str) -> Vec<String> {
    let word =
        |text: &str| text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let Some(group) = path.strip_prefix('{') else { return vec![word(path)] };
    let mut names = vec![word(group)];
    let mut depth = 1;
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => names.push(word(&group[at + 1..])),
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    names
}

/// From a `fn` to the brace that closes it; none for a declaration without a body.
fn body_of(code: &str) -> Option<&str> {
    let (mut braces, mut others) = (0_usize, 0_usize);
    for (at, c) in code.char_indices() {
        match c {
            '(' | '[' => others += 1,
            ')' | ']' => others = others.saturating_sub(1),
            // Inside brackets a semicolon or brace belongs to a type such as `[u8; 4]`.
            ';' if braces == 0 && others == 0 => return None,
            '{' => braces += 1,
            '}' if braces <= 1 => return Some(&code[..=at]),
            '}' => braces -= 1,
            _ => {}
        }
    }
    None
}

/// The text with comments, string contents and character literals blanked; every line stays in its place.
pub(super) fn code_only(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    let mut last = ' ';
    while let Some(c) = rest.chars().next() {
        let blanked = skipped(rest, last);
        if blanked == 0 {
            code.push(c);
            last = c;
            rest = &rest[c.len_utf8()..];
        } else {
            code.extend(rest[..blanked].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
            last = ' ';
            rest = &rest[blanked..];
        }
    }
    code
}

/// How many bytes from here are comment, string or character; 0 if this is code. `last` is the character before.
fn skipped(text: &str, last: char) -> usize {
    let to = |found: Option<usize>| found.unwrap_or(text.len());
    if text.starts_with("//") {
        return to(text.find('\n'));
    }
    if text.starts_with("/*") {
        return block_comment(text);
    }
    let word = last.is_alphanumeric() || last == '_';
    if !word && let Some(length) = raw_string(text) {
        return length;
    }
    if text.starts_with('"') {
        return quoted(text, '"');
    }
    // A quote is a character only if another follows at once or after an escape; else it is a lifetime.
    let mut after = text.chars().skip(1);
    match (text.starts_with('\''), after.next(), after.next()) {
        (true, Some('\\'), _) => quoted(text, '\''),
        (true, Some(c), Some('\'')) => 2 + c.len_utf8(),
        _ => 0,
    }
}

fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn raw_string(text: &str) -> Option<usize> {
    let inner = text.strip_prefix("br").or_else(|| text.strip_prefix("cr")).or_else(|| text.strip_prefix('r'))?;
    let hashes = inner.len() - inner.trim_start_matches('#').len();
    let body = inner[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let length = body.find(&end).map_or(body.len(), |at| at + end.len());
    Some(text.len() - body.len() + length)
}

fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if rest.starts_with("*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

#[test]
fn comments_and_strings_are_not_code() {
    for (text, code) in [
        ("a // crate::x\nb", "a \nb"),
        ("a /* /* x */ y */ b", "a b"),
        (r#"f("crate::x \" y", 1)"#, "f( , 1)"),
        ("f(r#\"a\"b\"#, br\"x\")", "f( , )"),
        ("g('a', '\\'', '\"') &'a str 'b: loop", "g( , , ) &'a str 'b: loop"),
        ("for\"x\"", "for "),
        ("\"a\nb\"c", " \n c"),
    ] {
        let found = code_only(text);
        assert_eq!(found.chars().count(), text.chars().count(), "nothing may move: {text}");
        let mut squeezed = found;
        while squeezed.contains("  ") {
            squeezed = squeezed.replace("  ", " ");
        }
        assert_eq!(squeezed, code, "{text}");
    }
}

#[test]
fn every_way_to_name_a_stage_is_an_import() {
    for (name, text, stages) in [
        ("src/task.rs", "use crate::host::git::Repo;", vec!["host"]),
        ("src/task.rs", "use crate::{host::{git, room}, floor};", vec!["floor", "host"]),
        ("src/task.rs", "fn f(x: crate::cli::X) {} // crate::verdict", vec!["cli"]),
        ("src/task.rs", "use super::floor;\n#[cfg(test)]\nmod tests { use super::floor; }", vec!["floor"]),
        ("src/task/criteria.rs", "use super::floor; use super::super::cli::X;", vec!["cli"]),
        ("src/main.rs", "use countersign::host::sandbox;", vec!["host"]),
        ("src/task.rs", "use crate::Thing; let my_crate::host = 1;", vec![]),
    ] {
        let mut found: Vec<_> = SourceFile::of(name, text).imports().into_iter().map(|(_, stage)| stage).collect();
        found.sort();
        assert_eq!(found, stages, "{text}");
    }
}

#[test]
fn production_ends_where_the_test_module_begins() {
    let text = "#[cfg(test)]\nuse a::b;\nfn f() {}\n#[cfg(test)]\nmod tests { fn g() {} }\n";
    let production = SourceFile::of("src/x.rs", text).production().to_owned();
    assert!(production.contains("fn f") && !production.contains("fn g"), "{production}");
}

#[test]
fn a_functions_length_runs_to_its_closing_brace() {
    let text = "trait T { fn declared(&self, x: [u8; 2]); }\nfn long(x: [u8; 2]) {\n    if x {\n    }\n}\nconst F: fn (u8) = g;\n";
    let functions = SourceFile::of("src/x.rs", text).functions();
    assert_eq!(functions, [Function { name: "long".to_owned(), line: 2, lines: 4 }]);
}
