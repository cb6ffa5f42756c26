//! `countersign board message`: a commit message is checked while it can still be mended.
//!
//! The merge gate takes a commit's tasks from the ids in its message. An id with a slip in it is found here, by git's
//! `commit-msg` hook, and not by a red job.

use super::args::{BoardArgs, MessageArgs};
use super::board::load;
use super::console::{Console, visible};
use super::exit_code::ExitCode;
use crate::host::Host;
use crate::pipeline::VerifyError;
use crate::pipeline::ci::named_ids;
use crate::task::board::BoardError;
use crate::task::dependency::Found;
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
    let ids = named_ids(&without_comments(&text));
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
        let why = match board.find(&id) {
            Ok(Found::One(..)) => continue,
            Ok(_) => "the board has no such task; `countersign board list` shows what it has".to_owned(),
            Err(why) => why.to_string(),
        };
        console.answer(&visible(&format!("the message names [{id}]: {why}")));
        code = ExitCode::Fail;
    }
    Ok(code)
}

/// Without the lines that git takes away itself.
fn without_comments(text: &str) -> String {
    text.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n").trim_start().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gits_own_lines_name_no_task() {
        let ids = |text: &str| named_ids(&without_comments(text));
        assert_eq!(ids("# [w-3]\n\nfix: x [w-2]\n# On branch topic [w-4]\n"), ["w-2"]);
        assert_eq!(ids("fix: array[0], [skip ci] and [WIP]\n"), [""; 0]);
    }
}
