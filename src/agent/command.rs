//! The plainest agent: any program, brief on standard input, answer on standard output.

use super::{AgentReply, LARGEST_ANSWER, Question};
use crate::host::Host;
use crate::host::process::{Ended, Ending, Launch, Limits, LogFile, run_to_end};
use crate::host::sandbox::{Level, Network, Profile};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Variables that decide where a program keeps things; all point into its private home.
const HOMES: &[(&str, &str)] = &[
    ("HOME", "home"),
    ("TMPDIR", "tmp"),
    ("XDG_CONFIG_HOME", "home/.config"),
    ("XDG_CACHE_HOME", "home/.cache"),
    ("XDG_DATA_HOME", "home/.local/share"),
    ("XDG_STATE_HOME", "home/.local/state"),
];

/// Asks a program. Infallible: what goes wrong is the reply's ending.
pub fn ask_command(host: &Host, question: &Question<'_>) -> AgentReply {
    if let Some(why) = is_of_the_claim(question.command, question.room) {
        return unasked(question, why);
    }
    let scratch = match tempfile::Builder::new().prefix("verifier-").tempdir_in(&host.scratch) {
        Ok(scratch) => scratch,
        Err(why) => return unasked(question, format!("cannot make a folder in {}: {why}", host.scratch.display())),
    };
    for (_, folder) in HOMES {
        if let Err(why) = std::fs::create_dir_all(scratch.path().join(folder)) {
            return unasked(question, format!("cannot make {folder} in {}: {why}", scratch.path().display()));
        }
    }
    let launch = launch(host, question, scratch.path());
    let ended = run_to_end(host, &launch);
    reply(ended)
}

fn launch(host: &Host, question: &Question<'_>, scratch: &Path) -> Launch {
    let mut profile = Profile::verifier(vec![scratch.to_owned()]);
    if question.network {
        profile.network = Network::Open;
    } else if !question.hosts.is_empty() {
        profile = profile.reaching(question.hosts.to_vec());
    }
    if !question.confined {
        profile = profile.unconfined();
    }
    Launch {
        argv: question.command.iter().map(OsString::from).collect(),
        cwd: question.room.to_owned(),
        env: environment(host, question, scratch),
        stdin: question.brief.to_vec(),
        log: question.log.to_owned(),
        capture: LARGEST_ANSWER,
        limits: Limits { log_bytes: question.log_bytes, ..Limits::within(question.wall) },
        profile,
    }
}

/// The allow-list, the variables named for this program, the private home. Later ones win.
fn environment(host: &Host, question: &Question<'_>, scratch: &Path) -> Vec<(OsString, OsString)> {
    let mut env: Vec<(OsString, OsString)> = host.env.for_child();
    for name in question.env {
        if let Some(value) = host.env.get(name) {
            env.retain(|(known, _)| known != OsStr::new(name));
            env.push((name.into(), value.to_owned()));
        }
    }
    env.retain(|(name, _)| !HOMES.iter().any(|(home, _)| name == home));
    for (name, value) in &mut env {
        if name == "PATH" {
            *value = without_the_room(value, question.room);
        }
    }
    env.extend(HOMES.iter().map(|(name, folder)| (OsString::from(name), scratch.join(folder).into())));
    env
}

/// A `PATH` without relative places: the program runs inside the claim's tree, where they would mean the claim's files.
fn without_the_room(path: &OsStr, room: &Path) -> OsString {
    let kept: Vec<&[u8]> = path
        .as_bytes()
        .split(|b| *b == b':')
        .filter(|place| place.starts_with(b"/") && !Path::new(OsStr::from_bytes(place)).starts_with(room))
        .collect();
    OsString::from_vec(kept.join(&b':'))
}

/// Why this command line would run the claim's own files, if it would: the work under judgement may not bring its judge.
fn is_of_the_claim(command: &[String], room: &Path) -> Option<String> {
    let (program, arguments) = match command.split_first() {
        Some((program, arguments)) if !program.is_empty() => (program, arguments),
        _ => return Some("its command is empty; give program and arguments in the settings".to_owned()),
    };
    let absolute = Path::new(program).is_absolute();
    if program.contains('/') && !absolute || absolute && Path::new(program).starts_with(room) {
        return Some(format!(
            "`{program}` would be the claim's own file; give its absolute path outside the repository"
        ));
    }
    let own = arguments.iter().find(|argument| {
        let path: PathBuf = room.join(argument);
        !argument.is_empty() && path.starts_with(room) && path.is_file()
    });
    own.map(|argument| {
        format!("its argument `{argument}` is a file of the claim; give an absolute path outside the repository")
    })
}

fn reply(ended: Ended) -> AgentReply {
    AgentReply {
        ending: ended.ending,
        answer: ended.stdout,
        answer_bytes: ended.stdout_total,
        took: ended.took,
        strays: ended.strays,
        level: ended.level,
        contacts: ended.contacts,
        log: ended.log,
    }
}

fn unasked(question: &Question<'_>, why: String) -> AgentReply {
    // The digest of nothing: no log was made.
    let sha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855".to_owned();
    AgentReply {
        ending: Ending::NotStarted { why },
        answer: Vec::new(),
        answer_bytes: 0,
        took: Duration::ZERO,
        strays: 0,
        level: Level::none("nothing was started"),
        contacts: Vec::new(),
        log: LogFile { path: question.log.to_owned(), bytes_total: 0, bytes_kept: 0, sha256 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_work_under_judgement_may_not_bring_its_judge() {
        let room = tempfile::tempdir().unwrap();
        std::fs::create_dir(room.path().join("tools")).unwrap();
        std::fs::write(room.path().join("tools/judge.py"), "").unwrap();
        let inside = room.path().join("tools/judge.py").display().to_string();
        for (command, refused) in [
            (&["./judge"][..], true),
            (&["tools/judge.py"], true),
            (&[inside.as_str()], true),
            (&["python3", "tools/judge.py"], true),
            (&["python3", "tools/../tools/judge.py"], true),
            (&["python3", "/opt/judge.py"], false),
            (&["judge", "--model", "m", "tools"], false),
            (&[], true),
            (&[""], true),
        ] {
            let command: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(is_of_the_claim(&command, room.path()).is_some(), refused, "{command:?}");
        }
    }

    #[test]
    fn relative_places_leave_the_search_path() {
        let kept = without_the_room(OsStr::new("/usr/bin::.:bin:/room/bin:/bin"), Path::new("/room"));
        assert_eq!(kept, "/usr/bin:/bin");
    }
}
