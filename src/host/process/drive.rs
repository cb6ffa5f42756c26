//! Driving a program that listens: launch it, learn its port, ask it, stop it.
//!
//! A box has a network of its own, so whoever asks must sit inside it. We start our own binary there as
//! `countersign __drive` ([`serve`]): it reads a [`Script`], does what it says, and answers with a [`Transcript`]. It
//! judges nothing; what it saw is compared outside, and read there as something the program under test may have forged.

mod http;

use crate::host::clock::{Clock, Stopwatch};
use crate::host::path::RepoPath;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// The first argument that turns our binary into a driver.
pub const DRIVE_ARGUMENT: &str = "__drive";

/// How often the runfile is looked at.
const LOOK: Duration = Duration::from_millis(20);
/// How long one answer may take.
const ANSWER: Duration = Duration::from_secs(10);
/// How long `stop` may take.
const STOP: Duration = Duration::from_secs(15);
/// A larger runfile names no port.
const LARGEST_RUNFILE: u64 = 64 << 10;
/// Bodies are kept up to this many bytes in all.
const LARGEST_BODIES: usize = 8 << 20;
/// A larger script is not ours.
const LARGEST_SCRIPT: u64 = 4 << 20;

/// What to do, in the folder the driver was started in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Script {
    /// Comes back in the transcript: what does not hold it was written by somebody else.
    pub token: String,
    /// Starts the program, for `sh -c`; it may stay or start something and end.
    pub launch: String,
    /// Ends it, for `sh -c`.
    pub stop: Option<String>,
    /// Where the program writes its port, below the folder.
    pub runfile: RepoPath,
    /// How long it may take until it answers on its port.
    pub boot_ms: u64,
    /// What to ask, in order.
    pub asks: Vec<Ask>,
}

/// One request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Ask {
    /// `GET`, `POST`, …
    pub method: String,
    /// What is asked for: begins with `/`, holds no blanks.
    pub path: String,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Transcript {
    /// The script's token.
    pub token: String,
    /// How the launch went.
    pub boot: Boot,
    /// An answer for each request; none if the program did not boot.
    pub answers: Vec<Heard>,
    /// How `stop` ended, in words, if it did not succeed.
    pub stop_failed: Option<String>,
}

/// How a launch went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Boot {
    /// Something listens on the port of the runfile.
    Listening {
        /// That port.
        port: u16,
    },
    /// The launcher ended with this exit code.
    Exited {
        /// Not 0.
        code: i32,
    },
    /// The launcher was ended by a signal.
    Signalled {
        /// Its number.
        signal: i32,
    },
    /// Time ran out before a port was named.
    NoPort {
        /// What the runfile looked like, in words.
        why: String,
    },
    /// Time ran out before anybody listened on the named port.
    Deaf {
        /// The port of the runfile.
        port: u16,
    },
    /// The launcher could not be started.
    NotStarted {
        /// The system's words.
        why: String,
    },
}

/// What came back for a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Heard {
    /// An HTTP response.
    Answer {
        /// Its status.
        status: u16,
        /// Its body, as much as was kept; none if it is not UTF-8.
        body: Option<String>,
        /// False if the body is longer than what was kept.
        whole: bool,
    },
    /// Nothing that is one.
    Nothing {
        /// In words.
        why: String,
    },
}

/// Asks a program of this machine once, and keeps at most 64 KiB of its answer.
pub fn ask_once(port: u16, ask: &Ask, patience: Duration) -> Heard {
    http::ask(port, ask, patience, 64 << 10)
}

/// The driver's whole life: reads a script, does it, gives the transcript to be written. `None`: there was no script.
pub fn serve(input: impl Read) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(LARGEST_SCRIPT + 1).read_to_end(&mut bytes).ok()?;
    let script: Script = serde_json::from_slice(&bytes).ok()?;
    drop(bytes);
    // The program under test shares our box; it shall not write into our output through /proc.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
    serde_json::to_vec(&drive(&script)).ok()
}

fn drive(script: &Script) -> Transcript {
    // Whatever the tree holds there was not written by this launch.
    std::fs::remove_file(script.runfile.to_path_buf()).ok();
    let clock = Clock::System.stopwatch();
    let (boot, child) = match start(&script.launch) {
        Ok(mut child) => (boot(script, &mut child, clock), Some(child)),
        Err(why) => (Boot::NotStarted { why: why.to_string() }, None),
    };
    let mut answers = Vec::new();
    if let Boot::Listening { port } = boot {
        let mut left = LARGEST_BODIES;
        for ask in &script.asks {
            let heard = http::ask(port, ask, ANSWER, left);
            if let Heard::Answer { body: Some(body), .. } = &heard {
                left = left.saturating_sub(body.len());
            }
            answers.push(heard);
        }
    }
    let stop_failed = script.stop.as_deref().and_then(stop);
    // What still runs is ended with the box; only the launcher itself is ours to collect.
    if let Some(mut child) = child {
        let _ = child.kill();
        let _ = child.wait();
    }
    Transcript { token: script.token.clone(), boot, answers, stop_failed }
}

#[expect(clippy::disallowed_methods, reason = "programs are started here and in the box helper")]
fn start(script: &str) -> std::io::Result<Child> {
    // Our standard output carries the transcript and nothing else.
    Command::new("sh").arg("-c").arg(format!("exec 1>&2\n{script}")).stdin(Stdio::null()).spawn()
}

/// Waits until the program listens where its runfile says.
fn boot(script: &Script, launcher: &mut Child, clock: Stopwatch) -> Boot {
    let limit = Duration::from_millis(script.boot_ms);
    loop {
        let ended = launcher.try_wait().ok().flatten();
        let port = port_of(&script.runfile.to_path_buf());
        if let Ok(port) = port
            && http::listens(port, LOOK)
        {
            return Boot::Listening { port };
        }
        if let Some(status) = ended.filter(|status| !status.success()) {
            return failed(status);
        }
        if clock.elapsed() >= limit {
            return match port {
                Ok(port) => Boot::Deaf { port },
                Err(why) => Boot::NoPort { why },
            };
        }
        pause(LOOK);
    }
}

fn failed(status: ExitStatus) -> Boot {
    match (status.code(), status.signal()) {
        (Some(code), _) => Boot::Exited { code },
        (None, Some(signal)) => Boot::Signalled { signal },
        (None, None) => Boot::NotStarted { why: "its status cannot be read".to_owned() },
    }
}

/// Lets the program go on for a moment; nothing announces that a file will be written.
fn pause(time: Duration) {
    let wait = rustix::event::Timespec { tv_sec: 0, tv_nsec: time.subsec_nanos().into() };
    let _ = rustix::event::poll(&mut [], Some(&wait));
}

fn stop(script: &str) -> Option<String> {
    let clock = Clock::System.stopwatch();
    let mut child = match start(script) {
        Ok(child) => child,
        Err(why) => return Some(format!("could not be started: {why}")),
    };
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return None,
            Ok(Some(status)) => return Some(format!("ended with {status}")),
            Err(why) => return Some(format!("could not be waited for: {why}")),
            Ok(None) if clock.elapsed() >= STOP => {
                let _ = child.kill();
                let _ = child.wait();
                return Some(format!("was still running after {} s", STOP.as_secs()));
            }
            Ok(None) => pause(LOOK),
        }
    }
}

/// The port that a runfile names.
fn port_of(path: &Path) -> Result<u16, String> {
    let meta = std::fs::symlink_metadata(path).map_err(|_| "it was never written".to_owned())?;
    if !meta.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    let mut text = Vec::new();
    let file = File::open(path).map_err(|why| format!("it cannot be read: {why}"))?;
    file.take(LARGEST_RUNFILE + 1).read_to_end(&mut text).map_err(|why| format!("it cannot be read: {why}"))?;
    if text.len() as u64 > LARGEST_RUNFILE {
        return Err(format!("it has more than {LARGEST_RUNFILE} bytes"));
    }
    named_port(&String::from_utf8_lossy(&text)).ok_or_else(|| {
        let shown: String = String::from_utf8_lossy(&text).chars().take(80).collect();
        format!("it names no port: {shown:?}")
    })
}

/// A number, `{"port": number}`, `port=number` on a line of its own, or an address that ends in a port.
fn named_port(text: &str) -> Option<u16> {
    let text = text.trim().trim_start_matches('\u{feff}');
    let number = |word: &str| word.trim().parse::<u16>().ok().filter(|port| *port > 0);
    if let Ok(value) = serde_json::from_str::<serde_json::Value>(text) {
        let port = if value.is_number() { &value } else { value.get("port")? };
        return match port.as_str() {
            Some(word) => number(word),
            None => port.as_u64().and_then(|port| u16::try_from(port).ok()).filter(|port| *port > 0),
        };
    }
    let line = |line: &str| -> Option<u16> {
        let (name, value) = line.split_once(['=', ':'])?;
        if name.trim().eq_ignore_ascii_case("port") {
            return number(value);
        }
        let (_, address) = line.trim().split_once("://")?;
        number(address.split('/').next()?.rsplit_once(':')?.1)
    };
    text.lines().find_map(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_found_in_each_of_its_spellings_and_nowhere_else() {
        for (text, port) in [
            ("8123\n", Some(8123)),
            ("\u{feff} 8123 ", Some(8123)),
            ("{\"pid\": 7, \"port\": 8123}", Some(8123)),
            ("{\"port\": \"8123\"}", Some(8123)),
            ("pid=7\nPORT = 8123\n", Some(8123)),
            ("port: 8123", Some(8123)),
            ("http://127.0.0.1:8123/x:9", Some(8123)),
            ("", None),
            ("0", None),
            ("70000", None),
            ("-1", None),
            ("{\"pid\": 7}", None),
            ("{\"port\": 8123", None),
            ("http://127.0.0.1/", None),
            ("support: 7", None),
        ] {
            assert_eq!(named_port(text), port, "{text:?}");
        }
    }

    #[test]
    fn a_script_and_its_transcript_survive_their_journey() {
        let script = Script {
            token: "t".to_owned(),
            launch: "l".to_owned(),
            stop: None,
            runfile: RepoPath::from("run/port"),
            boot_ms: 5,
            asks: vec![Ask { method: "GET".to_owned(), path: "/".to_owned() }],
        };
        let text = serde_json::to_string(&script).unwrap();
        assert_eq!(serde_json::from_str::<Script>(&text).unwrap(), script);
        let heard = Heard::Answer { status: 200, body: Some("\u{1}".to_owned()), whole: true };
        let transcript = Transcript {
            token: "t".to_owned(),
            boot: Boot::Listening { port: 1 },
            answers: vec![heard],
            stop_failed: None,
        };
        let text = serde_json::to_string(&transcript).unwrap();
        assert_eq!(serde_json::from_str::<Transcript>(&text).unwrap(), transcript);
        assert!(serve(&b"no script"[..]).is_none());
    }
}
