//! Package scripts: what `npm test` and its like really start, read from `package.json`.

use super::{Recognised, Switch, Through, Way, recognise, runner_of, switch, unread};
use crate::floor::tests_run::Runner;
use crate::floor::tests_run::mask::{Piece, pieces, segments};

/// Scripts that call scripts deeper than this are not followed.
const DEEPEST: usize = 5;

/// Options that make a package manager run the script of another folder, or of several.
const ELSEWHERE: &[&str] = &[
    "-w",
    "--workspace",
    "--workspaces",
    "-ws",
    "--prefix",
    "-C",
    "--dir",
    "--filter",
    "-F",
    "-r",
    "--recursive",
    "--cwd",
];

/// The scripts of a package.json.
pub(in crate::floor::tests_run) type Scripts<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// A call of a package script.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Call {
    /// The script's name.
    name: String,
    /// True for npm, which takes options for the script behind `--` only.
    needs_dashes: bool,
    /// False: the script is not that of the folder's own package.json.
    is_here: bool,
}

/// True if a package manager's words call a script that is taken for tests: any but its own commands.
pub(super) fn is_call(manager: &str, words: &[&str]) -> bool {
    call(manager, words).is_some()
}

fn call(manager: &str, words: &[&str]) -> Option<Call> {
    if !matches!(manager, "npm" | "yarn" | "pnpm") {
        return None;
    }
    let own = words.iter().take_while(|word| **word != "--");
    let bare: Vec<&str> = own.clone().copied().filter(|word| !word.starts_with('-')).collect();
    let name = match bare[..] {
        ["run" | "run-script", name, ..] => name,
        ["test" | "t" | "tst", ..] if manager == "npm" => "test",
        ["test" | "t", ..] if manager == "pnpm" => "test",
        ["test", ..] => "test",
        _ => return None,
    };
    let leads_away =
        |word: &&str| ELSEWHERE.iter().any(|option| *word == *option || word.starts_with(&format!("{option}=")));
    let is_here = !own.clone().any(leads_away);
    Some(Call { name: name.to_owned(), needs_dashes: manager == "npm", is_here })
}

/// The call of a simple command.
fn call_of(segment: &[Piece]) -> Option<Call> {
    let words: Vec<&str> = segment.iter().map(|piece| piece.text.as_str()).collect();
    let start = words.iter().position(|word| !word.contains('='))?;
    call(words[start], &words[start + 1..])
}

/// What a command line starts, package scripts of `package.json` looked through. A line without a script is what it is.
pub(in crate::floor::tests_run) fn look_through(command: &str, scripts: &Scripts<'_>) -> Recognised {
    let outer = recognise(command);
    if outer.runner != Runner::Npm {
        return outer;
    }
    let found = follow(command, scripts, 0).and_then(|(runner, calls)| {
        let dashed = calls.iter().filter(|dashed| **dashed).count();
        // A chain of different managers takes apart what the first one passes on.
        if dashed != 0 && dashed != calls.len() { Err(unread::SCRIPT) } else { Ok((runner, dashed)) }
    });
    match found {
        Ok((runner, dashes)) => Recognised { runner, report: switch(runner), through: Through::Script { dashes } },
        Err(why) => Recognised { report: Err(why), ..outer },
    }
}

/// The runner at the end of a chain of scripts, and of each call whether it needs dashes.
fn follow(command: &str, scripts: &Scripts<'_>, depth: usize) -> Result<(Runner, Vec<bool>), &'static str> {
    let pieces = pieces(command);
    let all = segments(&pieces);
    let plain = pieces.iter().all(|piece| !piece.operator || piece.text == "&&" || depth == 0);
    let calls: Vec<Call> = all.iter().filter_map(|segment| call_of(segment)).collect();
    if let [call] = &calls[..] {
        let moves = all.iter().any(|segment| segment[0].text == "cd");
        if moves || !call.is_here {
            return Err(unread::ELSEWHERE);
        }
        let is_last = all.last().is_some_and(|segment| call_of(segment).is_some());
        let body = scripts(&call.name).filter(|_| depth < DEEPEST && plain && (is_last || depth == 0));
        let (runner, mut rest) = follow(&body.ok_or(unread::SCRIPT)?, scripts, depth + 1)?;
        rest.push(call.needs_dashes);
        return Ok((runner, rest));
    }
    // Options are added at the end of a script, so its last command must be the runner, and no other one.
    let found = recognise(command);
    let last = all.last().and_then(|segment| runner_of(segment));
    let takes =
        last.is_some_and(|last| last.runner == found.runner && takes_options(last.at, found, all[all.len() - 1]));
    if depth > 0 && plain && takes { Ok((found.runner, Vec::new())) } else { Err(unread::SCRIPT) }
}

/// True if a runner reads its options at the end of the line too.
fn takes_options(at: usize, found: Recognised, segment: &[Piece]) -> bool {
    let way: Way = found.report;
    let rest = &segment[at + 1..];
    let has_dashes = rest.iter().any(|piece| piece.text == "--");
    matches!(way, Ok(Switch::File(_)))
        && !has_dashes
        && match found.runner {
            Runner::Jest | Runner::Vitest | Runner::Mocha | Runner::Pytest => true,
            // What follows a file is the file's.
            Runner::NodeTest => rest.iter().all(|piece| piece.text.starts_with('-')),
            _ => false,
        }
}

/// ` -- ` as often as the chain needs it and the line does not have it yet.
pub(super) fn dashes(segment: &[Piece], wanted: usize) -> String {
    let there = segment.iter().filter(|piece| piece.text == "--").count();
    " --".repeat(wanted.saturating_sub(there))
}

/// The bodies of all scripts that a command line reaches, with their names.
pub(in crate::floor::tests_run) fn bodies(command: &str, scripts: &Scripts<'_>) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut open = vec![(command.to_owned(), 0)];
    while let Some((line, depth)) = open.pop() {
        let pieces = pieces(&line);
        for call in segments(&pieces).into_iter().filter_map(call_of).filter(|call| call.is_here) {
            if depth >= DEEPEST || found.iter().any(|(name, _)| *name == call.name) {
                continue;
            }
            if let Some(body) = scripts(&call.name) {
                open.push((body.clone(), depth + 1));
                found.push((call.name, body));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(command: &str, scripts: &[(&str, &str)]) -> (Runner, Way, Through) {
        let read = |name: &str| scripts.iter().find(|(known, _)| *known == name).map(|(_, body)| (*body).to_owned());
        let found = look_through(command, &read);
        (found.runner, found.report, found.through)
    }

    #[test]
    fn a_script_that_is_one_plain_runner_is_looked_through() {
        for (command, scripts, runner, dashes) in [
            ("npm test", &[("test", "jest --ci")][..], Runner::Jest, 1),
            ("npm run test", &[("test", "NODE_ENV=test vitest run")], Runner::Vitest, 1),
            ("yarn test", &[("test", "mocha test")], Runner::Mocha, 0),
            ("pnpm test", &[("test", "pnpm run unit"), ("unit", "vitest")], Runner::Vitest, 0),
            ("npm t", &[("test", "npm run unit"), ("unit", "jest")], Runner::Jest, 2),
            ("npm test", &[("test", "tsc -p . && jest")], Runner::Jest, 1),
            ("npm ci && npm test", &[("test", "jest")], Runner::Jest, 1),
            ("npm test", &[("test", "node --test")], Runner::NodeTest, 1),
        ] {
            let found = seen(command, scripts);
            assert_eq!(found, (runner, switch(runner), Through::Script { dashes }), "{command} {scripts:?}");
        }
    }

    #[test]
    fn any_other_script_is_named_as_what_it_is() {
        for (command, scripts, why) in [
            ("npm test", &[][..], unread::SCRIPT),
            ("npm test", &[("test", "sh t.sh")], unread::SCRIPT),
            ("npm test", &[("test", "jest && eslint .")], unread::SCRIPT),
            ("npm test", &[("test", "jest | tee log")], unread::SCRIPT),
            ("npm test", &[("test", "jest; true")], unread::SCRIPT),
            ("npm test", &[("test", "mocha && jest")], unread::SCRIPT),
            ("npm test", &[("test", "node --test test/")], unread::SCRIPT),
            ("npm test", &[("test", "jest --outputFile=x")], unread::SCRIPT),
            ("npm test", &[("test", "yarn run unit"), ("unit", "jest")], unread::SCRIPT),
            ("npm test", &[("test", "npm test")], unread::SCRIPT),
            ("cd web && npm test", &[("test", "jest")], unread::ELSEWHERE),
            ("npm test --workspace a", &[("test", "jest")], unread::ELSEWHERE),
            ("pnpm -r test", &[("test", "jest")], unread::ELSEWHERE),
        ] {
            let (runner, report, _) = seen(command, scripts);
            assert_eq!((runner, report), (Runner::Npm, Err(why)), "{command} {scripts:?}");
        }
        let read = |name: &str| {
            [("test", "npm run a && npm run b"), ("a", "x || true")]
                .iter()
                .find(|(n, _)| *n == name)
                .map(|(_, b)| (*b).to_owned())
        };
        let bodies = bodies("npm test", &read);
        assert_eq!(bodies.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["test", "a"]);
    }
}
