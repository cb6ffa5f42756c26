//! `countersign board message`: a commit message is checked while it can still be mended.
//!
//! The merge gate takes a commit's tasks from the ids at the end of its subject. An id with a slip in it is found here,
//! by git's `commit-msg` hook, and not by a red job.

use super::args::{BoardArgs, MessageArgs};
use super::board::load;
use super::console::{Console, visible};
use super::exit_code::ExitCode;
use crate::host::Host;
use crate::pipeline::VerifyError;
use crate::task::board::BoardError;
use crate::task::dependency::Found;
use crate::task::id::TaskId;
use anyhow::Context;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// No message is read beyond this; its subject is at the start.
const LONGEST: u64 = 1 << 20;

pub(super) fn run(args: &MessageArgs, start: &Path, host: &Host, console: &mut Console) -> anyhow::Result<ExitCode> {
    let file = start.join(&args.file);
    let unread = || format!("cannot read the message in {}; name the file that git gave the hook", file.display());
    let mut bytes = Vec::new();
    File::open(&file).and_then(|it| it.take(LONGEST).read_to_end(&mut bytes)).with_context(unread)?;
    let text = String::from_utf8_lossy(&bytes);
    let ids = task_ids(subject(&text));
    if ids.is_empty() {
        return Ok(ExitCode::Pass);
    }
    let board = match load(&BoardArgs { at: None, json: false }, start, host) {
        // Where there is no board, brackets mean whatever the project likes.
        Err(VerifyError::Board(BoardError::None)) => return Ok(ExitCode::Pass),
        board => board?,
    };
    let mut code = ExitCode::Pass;
    for id in ids {
        let why = match board.find(id.as_str()) {
            Ok(Found::One(..)) => continue,
            Ok(_) => "the board has no such task; `countersign board list` shows what it has".to_owned(),
            Err(why) => why.to_string(),
        };
        console.answer(&visible(&format!("[{id}] at the end of the subject: {why}")));
        code = ExitCode::Fail;
    }
    Ok(code)
}

/// The first line that is neither empty nor git's own comment.
fn subject(text: &str) -> &str {
    text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#')).unwrap_or_default()
}

/// The ids in brackets at the subject's end, in order: `… [w-1] [w-2]`. Brackets around something else are words.
fn task_ids(subject: &str) -> Vec<TaskId> {
    let mut ids = Vec::new();
    let mut rest = subject.trim_end();
    while let Some((before, id)) = rest.strip_suffix(']').and_then(|inner| inner.rsplit_once('[')) {
        let Ok(id) = TaskId::new(id.trim()) else { break };
        ids.insert(0, id);
        rest = before.trim_end();
    }
    ids
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_stand_in_brackets_at_the_end_of_the_subject() {
        for (text, ids) in [
            ("feat(w): make it [w-1]", &["w-1"][..]),
            ("feat(w): make it [w-1] [core-a1b2c] ", &["w-1", "core-a1b2c"]),
            ("# a comment\n\nfix: x [w-2]\n\nbody [w-3]\n", &["w-2"]),
            ("fix: [w-1] in the middle", &[]),
            ("fix: array[0]", &[]),
            ("fix: x [WIP]", &[]),
            ("fix: x [skip ci] [w-1]", &["w-1"]),
            ("", &[]),
        ] {
            let found = task_ids(subject(text));
            assert_eq!(found.iter().map(TaskId::as_str).collect::<Vec<_>>(), ids, "{text}");
        }
    }
}
