//! Sends a worker out: a program with the brief on standard input, its worktree to write in, and one place for its report.
//!
//! It is trusted with nothing: it runs in the box, cannot write the repository's `.git`, and what it says is read without
//! being believed. When we die, the box ends it.

use super::report::MAX_REPORT_BYTES;
use crate::host::Host;
use crate::host::process::{Ended, Launch, Limits, run_to_end};
use crate::host::sandbox::Profile;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How many bytes of a worker's standard output may be a report.
const LARGEST_ANSWER: u64 = 4 << 20;

/// The variable that tells a script where its report goes.
pub const REPORT_VARIABLE: &str = "COUNTERSIGN_REPORT";

/// Which program, where, and for how long.
#[derive(Debug, Clone, Copy)]
pub struct Dispatch<'a> {
    /// Program and arguments; no shell.
    pub command: &'a [String],
    /// Variables it may see beside the allow-list.
    pub env: &'a [String],
    /// False: no box; the level says so.
    pub confined: bool,
    /// What it reads on standard input.
    pub brief: &'a [u8],
    /// Its worktree.
    pub worktree: &'a Path,
    /// Where its report goes. The folder is its own to write.
    pub report: &'a Path,
    /// Its private home; kept between the turns of one task.
    pub home: &'a Path,
    /// How long it may take.
    pub wall: Duration,
    /// How long it may be silent.
    pub idle: Option<Duration>,
    /// How many bytes of its output the log keeps.
    pub log_bytes: u64,
    /// Where its output is kept.
    pub log: &'a Path,
}

/// Sends it out and waits for its end. Infallible: what goes wrong is the ending.
pub fn send(host: &Host, order: &Dispatch<'_>) -> Ended {
    let folder = order.report.parent().unwrap_or(order.report).to_owned();
    let mut write = vec![order.worktree.to_owned(), folder];
    let mut env: Vec<(OsString, OsString)> = host.env.for_child();
    for name in order.env {
        if let Some(value) = host.env.get(name) {
            env.retain(|(known, _)| known != name.as_str());
            env.push((name.into(), value.to_owned()));
        }
    }
    let homes =
        [("HOME", "home"), ("TMPDIR", "tmp"), ("XDG_CONFIG_HOME", "home/.config"), ("XDG_CACHE_HOME", "home/.cache")];
    for (name, place) in homes {
        let place = order.home.join(place);
        // A place that cannot be made is told by the box, which refuses to open it.
        drop(fs::create_dir_all(&place));
        env.retain(|(known, _)| known != name);
        env.push((name.into(), place.into()));
    }
    write.push(order.home.to_owned());
    env.push((REPORT_VARIABLE.into(), order.report.as_os_str().to_owned()));
    let mut profile = Profile::agent(write);
    if !order.confined {
        profile = profile.unconfined();
    }
    let launch = Launch {
        argv: order.command.iter().map(OsString::from).collect(),
        cwd: order.worktree.to_owned(),
        env,
        stdin: order.brief.to_vec(),
        log: order.log.to_owned(),
        capture: LARGEST_ANSWER,
        limits: Limits { idle: order.idle, log_bytes: order.log_bytes, ..Limits::within(order.wall) },
        profile,
    };
    run_to_end(host, &launch)
}

/// Reads a report that a worker left: a regular file, never a link, and no more of it than a report may have.
///
/// # Errors
/// It is there and cannot be read.
pub fn read_left_report(place: &Path) -> std::io::Result<Option<Vec<u8>>> {
    match fs::symlink_metadata(place) {
        Ok(data) if data.is_file() => {}
        Ok(_) => return Err(std::io::Error::other("it is not a regular file (links are refused)")),
        Err(why) if why.kind() == ErrorKind::NotFound => return Ok(None),
        Err(why) => return Err(why),
    }
    let mut bytes = Vec::new();
    // One byte more than a report may have: the reader refuses it by its size.
    File::open(place)?.take(MAX_REPORT_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// Empties the folder of reports, so that no older one is taken for a new one.
///
/// # Errors
/// The disk refuses.
pub fn clear_reports(folder: &Path) -> std::io::Result<PathBuf> {
    match fs::remove_dir_all(folder) {
        Err(why) if why.kind() != ErrorKind::NotFound => return Err(why),
        _ => {}
    }
    fs::create_dir_all(folder)?;
    Ok(folder.to_owned())
}
