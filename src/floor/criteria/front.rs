//! What a criterion's command line starts: a reader, a tool that judges by its own rules, or some program.
//!
//! The list is of what is known to be harmless; every other spelling counts as a program, and what it rests on is then
//! found out by running it (`footing`).

use crate::host::path::RepoPath;

/// What a command line starts, the most trusting first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Front {
    /// It only looks at files: the criterion itself says what has to be in them.
    Reads,
    /// A compiler, a linter or a test runner: what it finds wrong is the tool's own rule.
    Judges,
    /// Anything else: it may run whatever the tree holds.
    Program,
}

/// What the tree says about a command line.
pub(super) struct Surroundings<'a> {
    /// The body of a package script at the top; none if the claim touches what would run it, or there is none.
    pub(super) script: &'a dyn Fn(&str) -> Option<String>,
    /// Changed files that are no tests.
    pub(super) changed: &'a [&'a RepoPath],
}

/// Package scripts that call package scripts are followed this deep.
const DEEPEST: u8 = 4;

const READERS: &[&str] = &[
    "test", "[", "grep", "egrep", "fgrep", "diff", "cmp", "cat", "head", "tail", "wc", "ls", "true", "cd", "echo",
    "printf", "stat", "sort", "uniq", "cut", "tr", "pwd",
];
const LINTERS: &[&str] = &["tsc", "mypy", "ruff", "eslint", "shellcheck", "rustfmt", "gofmt", "flake8", "black"];
const RUNNERS: &[&str] = &["pytest", "py.test", "jest", "vitest", "mocha"];
const MODULES: &[&str] = &["pytest", "unittest", "py_compile", "compileall", "mypy", "ruff", "flake8", "black"];
const CARGO: &[&str] = &["build", "b", "check", "c", "clippy", "fmt", "doc", "test", "t", "nextest"];
const GO: &[&str] = &["build", "vet", "test"];
const MANAGERS: &[&str] = &["npm", "pnpm", "yarn", "bun"];
/// Variables that say nothing about which program runs.
const HARMLESS: &[&str] = &["PYTHONPATH", "RUSTFLAGS", "RUST_BACKTRACE", "CI", "NODE_ENV", "LC_ALL", "LANG"];

/// What the whole line starts.
pub(super) fn front(command: &str, around: &Surroundings<'_>) -> Front {
    front_of(command, around, 0)
}

fn front_of(command: &str, around: &Surroundings<'_>, depth: u8) -> Front {
    let Some(pieces) = pieces(command) else { return Front::Program };
    let all = pieces.iter().map(|words| piece(words, around, depth));
    // `cd` may lead into a folder with scripts of its own.
    let moved = pieces.iter().any(|words| words.first().is_some_and(|word| word == "cd"));
    let managed = pieces.iter().any(|words| words.first().is_some_and(|word| MANAGERS.contains(&word.as_str())));
    all.max().filter(|_| !(moved && managed)).unwrap_or(Front::Program)
}

fn piece(words: &[String], around: &Surroundings<'_>, depth: u8) -> Front {
    let mut words = words;
    while let Some((first, rest)) = words.split_first() {
        let harmless = first.split_once('=').is_some_and(|(name, _)| HARMLESS.contains(&name));
        if first != "!" && !harmless {
            break;
        }
        words = rest;
    }
    let Some((program, rest)) = words.split_first() else { return Front::Program };
    let args: Vec<&str> = rest.iter().map(String::as_str).collect();
    match (program.as_str(), args.as_slice()) {
        (name, _) if READERS.contains(&name) => Front::Reads,
        (name, _) if LINTERS.contains(&name) => Front::Judges,
        (name, args) if RUNNERS.contains(&name) => unless_written(args, around),
        ("bash" | "sh" | "dash", ["-n", ..]) | ("node", ["--check" | "-c", ..]) => Front::Judges,
        ("node", args @ ["--test", ..]) => unless_written(args, around),
        ("python" | "python3", ["-m", module, rest @ ..]) if MODULES.contains(module) => {
            unless_written(&[&[*module], rest].concat(), around)
        }
        ("cargo", args) => {
            let command = args.iter().find(|word| !word.starts_with('+'));
            if command.is_some_and(|word| CARGO.contains(word)) { Front::Judges } else { Front::Program }
        }
        ("go", [command, ..]) if GO.contains(command) => Front::Judges,
        (manager, args) if MANAGERS.contains(&manager) && depth < DEEPEST => package(args, around, depth),
        _ => Front::Program,
    }
}

/// A test runner that is told to run a file which the claim changed, and which is no test by its name.
fn unless_written(args: &[&str], around: &Surroundings<'_>) -> Front {
    let written = args.iter().any(|word| around.changed.iter().any(|path| means(word, path)));
    if written { Front::Program } else { Front::Judges }
}

/// True if a word can name this file: its path from any folder, or a Python module or a part of one.
fn means(word: &str, path: &RepoPath) -> bool {
    let word = word.rsplit('=').next().unwrap_or(word);
    let word = word.split("::").next().unwrap_or(word);
    let word = word.strip_prefix("./").unwrap_or(word).trim_end_matches('/');
    let ends = |candidate: &str| {
        let (path, candidate) = (path.as_bytes(), candidate.as_bytes());
        let cut = path.len().checked_sub(candidate.len());
        !candidate.is_empty() && cut.is_some_and(|cut| path.ends_with(candidate) && (cut == 0 || path[cut - 1] == b'/'))
    };
    let mut module = word.replace('.', "/");
    loop {
        if [".py", "/__init__.py", "/__main__.py"].iter().any(|end| ends(&format!("{module}{end}"))) {
            return true;
        }
        let Some((parent, _)) = module.rsplit_once('/') else { return ends(word) };
        module.truncate(parent.len());
    }
}

/// A package script: what its body starts, with what runs before and after it.
fn package(args: &[&str], around: &Surroundings<'_>, depth: u8) -> Front {
    let name = match args {
        ["run" | "run-script", name] | ["run" | "run-script", "-s" | "--silent", name] => name,
        ["test" | "t"] => "test",
        _ => return Front::Program,
    };
    let Some(body) = (around.script)(name) else { return Front::Program };
    let beside = [format!("pre{name}"), format!("post{name}")];
    let bodies = beside.iter().filter_map(|name| (around.script)(name)).chain([body]);
    bodies.map(|body| front_of(&body, around, depth + 1)).max().unwrap_or(Front::Program)
}

/// The simple commands of a line, as words; none for a line that holds more than simple commands side by side.
fn pieces(command: &str) -> Option<Vec<Vec<String>>> {
    let mut pieces = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut chars = command.chars().peekable();
    let end_word = |pieces: &mut Vec<Vec<String>>, word: &mut Option<String>| {
        if let (Some(word), Some(piece)) = (word.take(), pieces.last_mut()) {
            piece.push(word);
        }
    };
    while let Some(c) = chars.next() {
        match c {
            '\'' => {
                let text = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '\'' => break,
                        c => text.push(c),
                    }
                }
            }
            '"' => {
                let text = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '"' => break,
                        '`' | '$' => return None,
                        '\\' => text.push(chars.next()?),
                        c => text.push(c),
                    }
                }
            }
            // What is put in there, or done beside, may be anything.
            '`' | '$' | '\\' | '(' | ')' | '{' | '}' | '#' => return None,
            '>' | '<' => {
                // A number before it names a stream.
                if word.as_ref().is_some_and(|word| word.chars().all(|c| c.is_ascii_digit())) {
                    word = None;
                }
                end_word(&mut pieces, &mut word);
                chars.next_if_eq(&'>');
                chars.next_if_eq(&'&');
                if chars.peek() == Some(&'(') {
                    return None;
                }
            }
            '&' | '|' | ';' | '\n' => {
                let doubled = chars.next_if_eq(&c).is_some();
                if c == '&' && !doubled {
                    return None;
                }
                end_word(&mut pieces, &mut word);
                pieces.push(Vec::new());
            }
            c if c.is_whitespace() => end_word(&mut pieces, &mut word),
            c => word.get_or_insert_default().push(c),
        }
    }
    end_word(&mut pieces, &mut word);
    pieces.retain(|piece| !piece.is_empty());
    (!pieces.is_empty()).then_some(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_known_to_judge_by_itself_is_trusted() {
        use Front::{Judges, Program, Reads};
        let script = |name: &str| {
            let body = match name {
                "test" => "node --test",
                "check" => "node c.js",
                "lint" => "eslint . && npm run types",
                "types" => "tsc --noEmit",
                "loop" => "npm run loop",
                "posttypes" => "sh after.sh",
                _ => return None,
            };
            Some(body.to_owned())
        };
        let changed = [&RepoPath::from("pkg/checks.py"), &RepoPath::from("checks.js"), &RepoPath::from("unittest.py")];
        let around = Surroundings { script: &script, changed: &changed };
        for (command, expected) in [
            ("grep -q 'a;b | c' x.txt", Reads),
            ("! grep -rq \"TODO\" src && test -f done.txt", Reads),
            ("cat a.txt 2>/dev/null | wc -l", Reads),
            ("test \"$(sh x.sh)\" = ok", Program),
            ("cat x.sh | sh", Program),
            ("grep -q x $(sh y.sh)", Program),
            ("./grep x", Program),
            ("PATH=. grep x y", Program),
            ("LC_ALL=C grep x y", Reads),
            ("cargo build --examples", Judges),
            ("cargo +nightly test foo", Judges),
            ("cargo run --bin check", Program),
            ("cargo xtask", Program),
            ("go test ./...", Judges),
            ("go run ./cmd/check", Program),
            ("python3 -m pkg.mod", Program),
            ("python3 -m pytest -q", Judges),
            ("python3 -m pytest pkg/checks.py::test_a", Program),
            ("python3 -m unittest tests.test_a", Program),
            ("pytest tests", Judges),
            ("pytest -k mul pkg/checks.py", Program),
            ("node --test", Judges),
            ("node --test --import=./checks.js", Program),
            ("node ./chk", Program),
            ("bash -n deploy.sh", Judges),
            ("sh x.sh", Program),
            ("cd sub && sh x.sh", Program),
            ("cd sub && grep -q a b", Reads),
            ("npm test", Judges),
            ("cd sub && npm test", Program),
            ("npm run check", Program),
            ("npm run lint", Program),
            ("npm run loop", Program),
            ("npm test -- --import ./x.js", Program),
            ("make check", Program),
            ("sleep 1 & grep a b", Program),
            ("'unended", Program),
            ("", Program),
        ] {
            assert_eq!(front(command, &around), expected, "{command}");
        }
    }

    #[test]
    fn a_word_names_a_file_from_any_folder_or_as_a_module() {
        let path = RepoPath::from("lib/pkg/checks.py");
        for word in ["lib/pkg/checks.py", "./pkg/checks.py", "checks.py::test_a", "pkg.checks", "pkg.checks.T.test_a"] {
            assert!(means(word, &path), "{word}");
        }
        for word in ["hecks.py", "pkg", "other.checks", "", "-q"] {
            assert!(!means(word, &path), "{word}");
        }
        assert!(means("pkg", &RepoPath::from("pkg/__main__.py")));
    }
}
