//! A recorded command line, step by step: what ran, where, and whether the exit status that was seen is its own.
//!
//! Another shell than ours ran it, without `-e` and without `pipefail`, so the rules are stricter than those for commands
//! that we run: whatever comes behind `;`, a pipe or `||` hides the status of what came before.

use crate::floor::tests_run::{Piece, base_name, pieces};

/// How deep `sh -c` may nest.
const DEEPEST: usize = 4;

/// One simple command of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    /// Its words without assignments and wrappers such as `timeout 60`.
    pub(super) words: Vec<String>,
    /// Where `cd` had gone before, relative to where the line began; none at the beginning.
    pub(super) folder: Option<String>,
    /// Why the exit status of the line is not its own, in words; none if it is.
    pub(super) masked: Option<String>,
    /// Files that it writes by redirection.
    pub(super) into: Vec<String>,
}

/// The steps of a command line, in order. Nothing in the text of a here-document is one.
pub(super) fn steps(line: &str) -> Vec<Step> {
    steps_within(line, 0)
}

fn steps_within(line: &str, depth: usize) -> Vec<Step> {
    let text = without_documents(line);
    let pieces = pieces(&text);
    let redefined = redefinition(&pieces);
    let mut found = Vec::new();
    let mut state = Walk::default();
    let (mut at, mut group) = (0, Vec::new());
    let lists = lists(&pieces);
    for (number, list) in lists.iter().enumerate() {
        for piece in &pieces[at..list.start] {
            match (piece.operator, piece.text.as_str()) {
                (true, "(") => group.push(state.folder.clone()),
                (true, ")") => state.folder = group.pop().unwrap_or_default(),
                _ => {}
            }
        }
        at = list.end;
        let segment = &pieces[list.clone()];
        let (words, into) = words_of(segment);
        let words = unwrapped(&words);
        let Some(first) = words.first().cloned() else { continue };
        state.note(&first, &words);
        let masked = redefined.clone().or_else(|| state.mask(&pieces, &lists, number));
        let folder = state.folder.clone();
        if matches!(first.as_str(), "cd" | "pushd") {
            state.go(words.get(1));
        }
        if let Some(script) = nested(&words).filter(|_| depth < DEEPEST) {
            found.extend(steps_within(script, depth + 1).into_iter().map(|inner| Step {
                folder: joined(folder.as_deref(), inner.folder.as_deref()),
                masked: masked.clone().or(inner.masked),
                ..inner
            }));
        } else {
            found.push(Step { words, folder, masked, into });
        }
    }
    found
}

/// What is known while the line is walked.
#[derive(Default)]
struct Walk {
    folder: Option<String>,
    strict: bool,
    pipefail: bool,
    compound: bool,
}

impl Walk {
    fn note(&mut self, first: &str, words: &[String]) {
        if first == "set" {
            for word in &words[1..] {
                match word.as_str() {
                    "errexit" => self.strict = true,
                    "pipefail" => self.pipefail = true,
                    off if off.starts_with('+') => (self.strict, self.pipefail) = (false, false),
                    on if on.starts_with('-') => self.strict |= on.contains('e'),
                    _ => {}
                }
            }
        }
        self.compound |= matches!(first, "if" | "for" | "while" | "until" | "case" | "select" | "then" | "do" | "else");
    }

    fn go(&mut self, to: Option<&String>) {
        let to = to.map_or("~", String::as_str);
        self.folder = joined(self.folder.as_deref(), Some(to));
    }

    /// Why the status of this list is not the line's.
    fn mask(&self, pieces: &[Piece], lists: &[std::ops::Range<usize>], number: usize) -> Option<String> {
        if self.compound {
            return Some("it stands in a compound command that may never run it".to_owned());
        }
        let words = &pieces[lists[number].clone()];
        if words.first().is_some_and(|word| word.text == "!") {
            return Some("`!` turns its failure into success".to_owned());
        }
        if number > 0 && operator(pieces, lists, number - 1) == "||" {
            return Some("it runs only where the command before `||` fails".to_owned());
        }
        let (mut here, mut in_chain) = (number, false);
        while here + 1 < lists.len() {
            let next = pieces[lists[here + 1].clone()].iter().map(|p| p.text.as_str()).collect::<Vec<_>>();
            match operator(pieces, lists, here) {
                "|" | "|&" if !self.pipefail => {
                    return Some(format!("the pipe ends with the status of `{}`", clip(&next.join(" "))));
                }
                "&&" => in_chain = true,
                "|" | "|&" => {}
                "||" if matches!(next[..], ["false", ..] | ["exit" | "return", "1" | "2" | "$?", ..]) => {}
                "||" => return Some(format!("`|| {}` turns its failure into success", clip(&next.join(" ")))),
                "&" => return Some("`&` does not wait for it".to_owned()),
                _ if self.strict && !in_chain => return None,
                _ => return Some(format!("the line goes on with `{}`, whose status it has", clip(&next.join(" ")))),
            }
            here += 1;
        }
        let last = lists.get(here).map_or(pieces.len(), |list| list.end);
        let behind = pieces[last..].iter().any(|piece| piece.operator && piece.text == "&");
        behind.then(|| "`&` does not wait for it".to_owned())
    }
}

fn clip(text: &str) -> String {
    if text.chars().count() > 40 { text.chars().take(39).chain(['…']).collect() } else { text.to_owned() }
}

/// The runs of words between operators.
fn lists(pieces: &[Piece]) -> Vec<std::ops::Range<usize>> {
    let mut found = Vec::new();
    let mut start = None;
    for (at, piece) in pieces.iter().enumerate() {
        match (piece.operator, start) {
            (false, None) => start = Some(at),
            (true, Some(from)) => {
                found.push(from..at);
                start = None;
            }
            _ => {}
        }
    }
    found.extend(start.map(|from| from..pieces.len()));
    found
}

/// The operator between a list and the next one, brackets aside.
fn operator<'p>(pieces: &'p [Piece], lists: &[std::ops::Range<usize>], number: usize) -> &'p str {
    let next = lists.get(number + 1).map_or(pieces.len(), |next| next.start);
    let between = pieces[lists[number].end..next].iter().map(|piece| piece.text.as_str());
    between.filter(|text| !matches!(*text, "(" | ")")).find(|text| *text != "\n").unwrap_or("\n")
}

/// Words, and the files that they write into.
fn words_of(segment: &[Piece]) -> (Vec<String>, Vec<String>) {
    let (mut words, mut into) = (Vec::new(), Vec::new());
    let (mut target, mut source) = (false, false);
    for piece in segment {
        let bare = piece.span.len() == piece.text.len();
        if std::mem::take(&mut target) {
            into.push(piece.text.clone());
            continue;
        }
        if std::mem::take(&mut source) {
            continue;
        }
        let text = piece.text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '&');
        if let Some(rest) =
            text.strip_prefix('>').filter(|_| bare || text.starts_with('>') && !piece.text.contains(' '))
        {
            let rest = rest.trim_start_matches(['>', '|']);
            if rest.is_empty() {
                target = true;
            } else if !rest.starts_with('&') {
                into.push(rest.to_owned());
            }
            continue;
        }
        if text.starts_with("<<") || (text.starts_with('<') && bare) {
            source = matches!(text, "<" | "<<" | "<<-" | "<<<");
            continue;
        }
        words.push(piece.text.clone());
    }
    into.retain(|path| !path.starts_with("/dev/"));
    (words, into)
}

/// A command without assignments before it, keywords, and programs that only start it.
fn unwrapped(words: &[String]) -> Vec<String> {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let assigns = word
            .split_once('=')
            .is_some_and(|(name, _)| !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'));
        match base_name(word) {
            _ if assigns => at += 1,
            "env" | "time" | "nohup" | "command" | "exec" | "sudo" | "!" | "{" | "}" => at += 1,
            "xvfb-run" | "stdbuf" | "nice" | "ionice" => at += 1 + flags(&words[at + 1..]),
            "timeout" => at += 2 + flags(&words[at + 1..]),
            _ => break,
        }
    }
    words.get(at..).unwrap_or_default().to_vec()
}

fn flags(words: &[String]) -> usize {
    words.iter().take_while(|word| word.starts_with('-')).count()
}

/// The script of `sh -c SCRIPT`.
fn nested(words: &[String]) -> Option<&str> {
    if !matches!(base_name(words.first()?), "sh" | "bash" | "dash" | "zsh") {
        return None;
    }
    let flag = words.iter().position(|word| word.starts_with('-') && word.ends_with('c'))?;
    words.get(flag + 1).map(String::as_str)
}

/// A function, an alias or another search path: a name may then mean anything.
fn redefinition(pieces: &[Piece]) -> Option<String> {
    let is = |at: usize, text: &str| pieces.get(at).is_some_and(|piece| piece.operator && piece.text == text);
    for (at, piece) in pieces.iter().enumerate().filter(|(_, piece)| !piece.operator) {
        let first = at == 0 || pieces[at - 1].operator;
        if first && is(at + 1, "(") && is(at + 2, ")") {
            return Some(format!("the line defines a function `{}`", clip(&piece.text)));
        }
        if first && matches!(piece.text.as_str(), "alias" | "function" | "eval" | "trap") {
            return Some(format!("`{}` may change what its words mean", piece.text));
        }
        if piece.text.starts_with("PATH=") {
            return Some("the line changes PATH".to_owned());
        }
    }
    None
}

/// The line without the text of its here-documents.
fn without_documents(line: &str) -> String {
    let mut kept = String::new();
    let mut ends: Vec<String> = Vec::new();
    for text in line.split_inclusive('\n') {
        if let Some(end) = ends.first() {
            if text.trim() == end {
                ends.remove(0);
            }
            continue;
        }
        kept.push_str(text);
        let mut rest = text;
        while let Some((_, behind)) = rest.split_once("<<") {
            rest = behind;
            if let Some(word) = behind.strip_prefix('<') {
                rest = word;
                continue;
            }
            let word = behind.trim_start_matches('-').trim_start();
            let word: String = match word.strip_prefix(['\'', '"']) {
                Some(quoted) => quoted.chars().take_while(|c| !matches!(c, '\'' | '"')).collect(),
                None => word.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect(),
            };
            if !word.is_empty() {
                ends.push(word);
            }
        }
    }
    kept
}

/// A folder, seen from another.
pub(super) fn joined(from: Option<&str>, to: Option<&str>) -> Option<String> {
    match (from, to) {
        (_, Some(to)) if to.starts_with('/') || to.starts_with('~') => Some(to.to_owned()),
        (Some(from), Some(to)) => Some(format!("{from}/{to}")),
        (from, to) => from.or(to).map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `words @folder !` of each step; `!` marks a masked one.
    fn told(line: &str) -> Vec<String> {
        let told = |step: Step| {
            let folder = step.folder.map_or(String::new(), |folder| format!(" @{folder}"));
            let into = step.into.iter().map(|path| format!(" >{path}")).collect::<String>();
            format!("{}{folder}{into}{}", step.words.join(" "), if step.masked.is_some() { " !" } else { "" })
        };
        steps(line).into_iter().map(told).collect()
    }

    #[test]
    fn a_line_is_walked_step_by_step_and_hidden_statuses_are_named() {
        for (line, expected) in [
            ("cargo test", &["cargo test"][..]),
            ("cd sub && cargo test --all", &["cd sub", "cargo test --all @sub"]),
            ("(cd a && make) && cargo test", &["cd a", "make @a", "cargo test"]),
            ("cargo test 2>&1 | tail -5", &["cargo test !", "tail -5"]),
            ("set -o pipefail; cargo test | tail -5", &["set -o pipefail !", "cargo test", "tail -5"]),
            ("set -e; cargo test; ls", &["set -e", "cargo test", "ls"]),
            ("cargo test || true", &["cargo test !", "true !"]),
            ("cargo test || exit 1", &["cargo test", "exit 1 !"]),
            ("cargo test; echo done", &["cargo test !", "echo done"]),
            ("cargo test && git commit -m x", &["cargo test", "git commit -m x"]),
            ("cargo test &", &["cargo test !"]),
            ("make || cargo test", &["make !", "cargo test !"]),
            ("if true; then cargo test; fi", &["if true !", "then cargo test !", "fi !"]),
            ("! cargo test", &["cargo test !"]),
            ("RUST_LOG=x timeout 60 cargo test", &["cargo test"]),
            ("bash -lc 'cd x; pytest'", &["cd x !", "pytest @x"]),
            ("cat > a.txt <<'EOF'\ncargo test\nEOF\nls", &["cat >a.txt !", "ls"]),
            ("echo 'cargo test'", &["echo cargo test"]),
            ("cargo(){ true; }; cargo test", &["cargo !", "true !", "cargo test !"]),
            ("alias cargo=true; cargo test", &["alias cargo=true !", "cargo test !"]),
            ("export PATH=/x:$PATH && cargo test", &["export PATH=/x:$PATH !", "cargo test !"]),
            ("cargo test > log.txt 2>&1", &["cargo test >log.txt"]),
            ("cargo test < /dev/null", &["cargo test"]),
            ("ls # cargo test", &["ls"]),
        ] {
            let found: Vec<String> = told(line);
            let found: Vec<String> = found.into_iter().filter(|step| step != "}").filter(|s| s != "} !").collect();
            assert_eq!(found, expected, "{line}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_line_is_walked(line in "[ -~\n\u{e9}]{0,80}") {
            steps(&line);
        }
    }
}
