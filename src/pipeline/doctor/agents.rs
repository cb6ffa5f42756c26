//! The agent programs that people use: found, of which version, with a log-in, and whether their model answers at all.

use super::{Condition, Observation};
use crate::agent::{PROGRAMS, Program};
use crate::host::Host;
use crate::host::path::escape;
use crate::host::process::{Launch, Limits, run_to_end};
use crate::host::reach::{Reach, reach};
use crate::host::sandbox::Profile;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a program may take to say its version; those that need Node take a second or two.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a model's server may take to accept a connection.
const HELLO: Duration = Duration::from_secs(3);

/// The oldest Node that a program starts with; the others bring what they need.
fn oldest_node(program: &Program) -> Option<(u32, u32)> {
    match program.name {
        "gemini" => Some((20, 0)),
        "qwen" => Some((22, 0)),
        "pi" => Some((22, 19)),
        _ => None,
    }
}

/// One line for each program, and for Node and npm where a program that was found needs them.
pub(super) fn look(host: &Host) -> Vec<Observation> {
    let mut observations = Vec::new();
    let mut node = None;
    for program in PROGRAMS.iter().copied() {
        let thing = format!("agent:{}", program.name);
        let Some(path) = host.env.program(program.name) else {
            observations.push(Observation::new(thing, Condition::Note, false, "not on the PATH"));
            continue;
        };
        let version = version(host, &path);
        let condition = if version.is_ok() { Condition::Good } else { Condition::Missing };
        let said = version.unwrap_or_else(|why| format!("does not say its version: {why}"));
        let text = format!("{said}, {}; {}; {}", path.display(), log_in(host, program), model(host, program));
        observations.push(Observation::new(thing, condition, false, text));
        node = node.max(oldest_node(program));
    }
    if let Some(oldest) = node {
        observations.push(node_line(host, oldest));
        let npm = host.env.program("npm").map(|path| version(host, &path).unwrap_or_else(|why| why));
        let condition = if npm.is_some() { Condition::Good } else { Condition::Note };
        let text = npm.unwrap_or_else(|| "not on the PATH; it installs and updates these programs".to_owned());
        observations.push(Observation::new("npm", condition, false, text));
    }
    observations
}

fn node_line(host: &Host, (major, minor): (u32, u32)) -> Observation {
    let wanted = format!("{major}.{minor} is needed by the programs above");
    let found = host.env.program("node").map(|path| version(host, &path));
    let new_enough = |said: &str| {
        let mut numbers = said.trim_start_matches('v').split('.').map(|part| part.parse::<u32>().unwrap_or(0));
        (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= (major, minor)
    };
    match found {
        Some(Ok(said)) if new_enough(&said) => {
            Observation::new("node", Condition::Good, false, format!("{said}; {wanted}"))
        }
        Some(Ok(said)) => Observation::new("node", Condition::Missing, false, format!("{said} is too old: {wanted}")),
        Some(Err(why)) => Observation::new("node", Condition::Missing, false, format!("it does not start: {why}")),
        None => Observation::new("node", Condition::Missing, false, format!("not on the PATH: {wanted}")),
    }
}

/// What a program says of itself, asked in the box with a home of its own.
fn version(host: &Host, path: &Path) -> Result<String, String> {
    let folder = tempfile::Builder::new().prefix("doctor-").tempdir_in(&host.scratch);
    let folder = folder.map_err(|why| format!("cannot make a folder in {}: {why}", host.scratch.display()))?;
    let home = folder.path().join("home");
    std::fs::create_dir(&home).map_err(|why| format!("cannot make {}: {why}", home.display()))?;
    let mut env = host.env.for_child();
    env.extend(["HOME", "TMPDIR"].map(|name| (name.into(), home.clone().into())));
    let launch = Launch {
        argv: vec![path.into(), "--version".into()],
        cwd: home.clone(),
        env,
        stdin: Vec::new(),
        log: folder.path().join("version.log"),
        capture: 4096,
        limits: Limits::within(PATIENCE),
        profile: Profile::verifier(vec![home]),
    };
    let ended = run_to_end(host, &launch);
    if !ended.ending.is_success() {
        return Err(ended.ending.sentence());
    }
    let line = ended.stdout.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let said: String = escape(line).chars().take(80).collect();
    if said.is_empty() { Err("it printed nothing".to_owned()) } else { Ok(said) }
}

/// Whether there is a key or a credential file. Their contents are not read.
fn log_in(host: &Host, program: &Program) -> String {
    if let Some(key) = program.keys.iter().find(|key| host.env.text(key).is_some()) {
        return format!("key in {key}");
    }
    let file = program.login.and_then(|login| {
        let named = login.variable.and_then(|name| host.env.get(name)).filter(|value| !value.is_empty());
        let home = || host.env.get("HOME").map(|home| Path::new(home).join(login.folder));
        Some(named.map(PathBuf::from).or_else(home)?.join(login.file))
    });
    match file {
        Some(file) if file.is_file() => format!("logged in ({})", file.display()),
        _ => format!("no log-in: set {}", program.keys.join(" or ")),
    }
}

/// Whether the model's server takes a connection; nothing is sent, so no log-in is needed.
fn model(host: &Host, program: &Program) -> String {
    let variable = program.endpoints.first().copied().unwrap_or_default();
    let default = program.hosts.first().copied().unwrap_or_default();
    let (server, port) = match host.env.text(variable).map(|url| (url, server_of(url))) {
        None => (default.to_owned(), 443),
        Some((_, Some(server))) => server,
        Some((url, None)) => return format!("{variable} is no address of a server: {}", escape(url.as_bytes())),
    };
    let proxy = ["HTTPS_PROXY", "https_proxy"].into_iter().find(|name| host.env.text(name).is_some());
    match reach(&server, port, HELLO) {
        Reach::Accepted => format!("{server}:{port} takes connections"),
        Reach::Unreached(why) => match proxy {
            Some(name) => format!("{server}:{port} not reached directly ({why}); {name} is set and was not tried"),
            None => format!("{server}:{port} not reached: {why}"),
        },
    }
}

/// Host and port of an address.
fn server_of(url: &str) -> Option<(String, u16)> {
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let place = authority.rsplit_once('@').map_or(authority, |(_, place)| place);
    let usual = match scheme {
        "https" => 443,
        "http" => 80,
        _ => return None,
    };
    let (server, port) = match place.rsplit_once(':') {
        Some((server, port)) if !port.contains(']') => (server, port.parse().ok()?),
        _ => (place, usual),
    };
    let server = server.trim_start_matches('[').trim_end_matches(']');
    (!server.is_empty()).then(|| (server.to_owned(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_gives_its_server_and_port() {
        for (url, server) in [
            ("https://api.example.org/v1", Some(("api.example.org", 443))),
            ("http://127.0.0.1:8080", Some(("127.0.0.1", 8080))),
            ("http://user:word@host.example/x", Some(("host.example", 80))),
            ("http://[::1]:81/x", Some(("::1", 81))),
            ("https://[::1]", Some(("::1", 443))),
            ("ftp://x", None),
            ("localhost:80", None),
            ("http://:80", None),
            ("http://x:port", None),
        ] {
            let found = server_of(url);
            assert_eq!(found.as_ref().map(|(name, port)| (name.as_str(), *port)), server, "{url}");
        }
    }
}
