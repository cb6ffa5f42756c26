//! Commands whose failure does not show: `|| true`, a pipe without `pipefail`, `; exit 0`, `set +e`, a final `&`.

/// How deep `sh -c '…'` may nest before nobody looks further.
const DEEPEST: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Join {
    Start,
    And,
    Or,
    Pipe,
    Then,
}

/// What hides the exit status of a shell command line, in words; none if its failure is its own.
///
/// Text of a language that the shell does not speak is not judged: quotes are taken as quotes, and what they hold is
/// looked at only behind `sh -c` and its like.
pub fn mask_of(command: &str) -> Option<&'static str> {
    judge(command, DEEPEST)
}

fn judge(command: &str, depth: usize) -> Option<&'static str> {
    let (parts, background) = split(command);
    let pipefail = parts.iter().any(|(_, words)| words.iter().any(|word| word.contains("pipefail")));
    let strict = parts.iter().any(|(_, words)| sets(words, '-'));
    let acting: Vec<&(Join, Vec<String>)> = parts.iter().filter(|(_, words)| !words.is_empty()).collect();
    if acting.iter().any(|(_, words)| sets(words, '+')) {
        return Some("`set +e` goes on after a failure");
    }
    if let [(_, only)] = acting[..]
        && is_harmless(only)
    {
        return Some("it runs nothing that could fail");
    }
    for (join, words) in &acting {
        match join {
            Join::Or if is_harmless(words) => return Some("`||` turns a failure into success"),
            Join::Pipe if !pipefail => return Some("a pipe without `pipefail` keeps only the last command's status"),
            _ => {}
        }
        let inner = match &words[..] {
            [shell, flag, inner, ..] if is_shell(shell) && flag.starts_with('-') && flag.ends_with('c') => Some(inner),
            _ => None,
        };
        if let Some(why) = inner.filter(|_| depth > 0).and_then(|inner| judge(inner, depth - 1)) {
            return Some(why);
        }
    }
    if background {
        return Some("`&` does not wait for it");
    }
    let last_hides =
        acting.len() > 1 && acting.last().is_some_and(|(join, words)| *join == Join::Then && is_harmless(words));
    (last_hides && !strict).then_some("the last command succeeds whatever came before")
}

fn is_shell(word: &str) -> bool {
    matches!(word.rsplit('/').next().unwrap_or(word), "sh" | "bash" | "dash" | "zsh" | "ksh")
}

/// `set -e` or `set +e`, alone or among other letters.
fn sets(words: &[String], sign: char) -> bool {
    let long = words.windows(2).any(|pair| pair[0] == format!("{sign}o") && pair[1] == "errexit");
    words.first().is_some_and(|word| word == "set")
        && (long || words.iter().skip(1).any(|word| word.starts_with(sign) && word.contains('e') && word.len() < 6))
}

/// True for a command that succeeds whatever happened.
fn is_harmless(words: &[String]) -> bool {
    let word = |at: usize| words.get(at).map_or("", String::as_str);
    match word(0) {
        "true" | ":" | "/bin/true" | "/usr/bin/true" | "echo" | "printf" => true,
        "exit" | "return" => word(1) == "0" || word(1).is_empty(),
        "[" | "test" | "[[" => words.iter().any(|word| word.contains("$?")),
        _ => false,
    }
}

/// The commands of a line with what joins each to the one before, and whether the last one goes to the background.
fn split(command: &str) -> (Vec<(Join, Vec<String>)>, bool) {
    let mut parts = vec![(Join::Start, Vec::new())];
    let mut word = String::new();
    let mut started = false;
    let mut background = false;
    let mut chars = command.chars().peekable();
    let flush = |word: &mut String, started: &mut bool, parts: &mut Vec<(Join, Vec<String>)>| {
        if *started {
            if let Some((_, words)) = parts.last_mut() {
                words.push(std::mem::take(word));
            }
            *started = false;
        }
    };
    while let Some(c) = chars.next() {
        let join = match c {
            '\\' => {
                started = true;
                word.extend(chars.next().filter(|next| *next != '\n'));
                continue;
            }
            '\'' | '"' => {
                started = true;
                while let Some(inner) = chars.next().filter(|inner| *inner != c) {
                    if inner == '\\' && c == '"' {
                        word.extend(chars.next());
                    } else {
                        word.push(inner);
                    }
                }
                continue;
            }
            '#' if !started => break,
            '|' if chars.next_if_eq(&'|').is_some() => Join::Or,
            '|' if word.ends_with('>') => continue,
            '|' => {
                chars.next_if_eq(&'&');
                Join::Pipe
            }
            '&' if chars.next_if_eq(&'&').is_some() => Join::And,
            '&' if word.ends_with(['>', '<']) || chars.peek() == Some(&'>') => {
                word.push(c);
                started = true;
                continue;
            }
            '&' => {
                background = true;
                Join::Then
            }
            ';' | '\n' => Join::Then,
            c if c.is_whitespace() => {
                flush(&mut word, &mut started, &mut parts);
                continue;
            }
            c => {
                started = true;
                word.push(c);
                continue;
            }
        };
        flush(&mut word, &mut started, &mut parts);
        if c != '&' || join == Join::And {
            background = false;
        }
        parts.push((join, Vec::new()));
    }
    flush(&mut word, &mut started, &mut parts);
    let ends_in_background = background && parts.last().is_some_and(|(_, words)| words.is_empty());
    (parts, ends_in_background)
}

/// True if a command line runs tests, as far as its words say.
pub(super) fn runs_tests(command: &str) -> bool {
    const RUNNERS: &[&str] = &[
        "pytest",
        "py.test",
        "nextest",
        "jest",
        "vitest",
        "mocha",
        "ava",
        "tap",
        "tox",
        "nox",
        "rspec",
        "phpunit",
        "ctest",
        "bats",
        "gotestsum",
        "unittest",
        "playwright",
        "cypress",
    ];
    const TOOLS: &[&str] = &[
        "cargo",
        "npm",
        "pnpm",
        "yarn",
        "bun",
        "deno",
        "node",
        "go",
        "make",
        "just",
        "task",
        "mvn",
        "gradle",
        "gradlew",
        "./gradlew",
        "dotnet",
        "rake",
        "mix",
        "swift",
        "zig",
        "npx",
        "uv",
        "poetry",
    ];
    let words: Vec<&str> =
        command.split(|c: char| c.is_whitespace() || ";&|()\"'".contains(c)).filter(|word| !word.is_empty()).collect();
    let is_goal = |word: &str| {
        matches!(word, "test" | "tests" | "t" | "check" | "--test" | "verify")
            || word.starts_with("test:")
            || word.ends_with(":test")
    };
    words.iter().any(|word| RUNNERS.contains(&word.rsplit('/').next().unwrap_or(word)))
        || words
            .iter()
            .enumerate()
            .any(|(at, word)| TOOLS.contains(word) && words[at + 1..].iter().take(4).any(|word| is_goal(word)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn masks_are_told_from_honest_commands() {
        for (command, word) in [
            ("false | tee x", "pipe"),
            ("pytest | tail -5", "pipe"),
            ("npm test 2>&1 | tee log", "pipe"),
            ("make test || true", "||"),
            ("make test || :", "||"),
            ("make test || echo failed", "||"),
            ("pytest || [ $? -eq 5 ]", "||"),
            ("jest || exit 0", "||"),
            ("sh -c \"cargo test; echo done\"", "last command"),
            ("bash -lc 'cargo test || true'", "||"),
            ("npm test &", "wait"),
            ("set +e; false; exit 0", "set +e"),
            ("timeout 1 sleep 5 || :", "||"),
            ("cargo test; exit 0", "last command"),
            ("true", "nothing"),
            ("echo ok", "nothing"),
            ("exit 0", "nothing"),
        ] {
            let why = mask_of(command);
            assert!(why.is_some_and(|why| why.contains(word)), "{command}: {why:?}");
        }
        for honest in [
            "cargo test",
            "npm ci && npm test",
            "cd a; npm test",
            "set -o pipefail; cargo test | tee log",
            "pytest -k 'a | b'",
            "set -e; cargo test; echo done",
            "cargo test 2>&1",
            "cargo test &> log",
            "a || b",
            "echo start && cargo test",
            "cargo test # | tee",
            "node --test || exit 1",
            "cargo test && echo done",
        ] {
            assert_eq!(mask_of(honest), None, "{honest}");
        }
    }

    proptest! {
        #[test]
        fn any_command_line_is_judged_without_panic(command in "[a-z |&;'\"\\\\\n#$>+-]{0,60}") {
            mask_of(&command);
            runs_tests(&command);
        }
    }
}
