//! What is learned after a program has ended: what its exit code says, and what its own record on disk has that its
//! stream left out.
//!
//! That record lies where the program, and with it the model's shell, can write: it fills receipts, and no decision rests on it.

use super::program::Program;
use super::told::{End, Fault, Told};
use crate::host::process::{Ended, Ending};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// It is read up to this size.
const LARGEST: u64 = 64 << 20;

/// Adds what the stream left out: the program's own record, and what its exit code says.
pub(super) fn complete(program: &Program, home: &Path, ended: &Ended, told: &mut Told) {
    if let Some(transcript) = &program.transcript {
        let mut on_disk = Told::default();
        for file in transcripts(&home.join(transcript.folder), transcript.prefix) {
            for line in lines(&file) {
                if let Ok(line) = serde_json::from_slice::<Value>(&line) {
                    (transcript.read)(&line, &mut on_disk);
                }
            }
        }
        if on_disk.tools_total >= told.tools_total {
            (told.tools, told.tools_total) = (on_disk.tools, on_disk.tools_total);
        }
        told.began |= on_disk.began;
        told.model = told.model.take().or(on_disk.model);
        told.fault = told.fault.or(on_disk.fault);
    }
    if let (Some(read), Ending::Exited { code }) = (program.exit_fault, &ended.ending)
        && let Some(status) = read(*code)
    {
        told.fault = Some(Fault::of_status(status));
    }
    if let (Some(End::Failed { fault, .. }), Some(typed)) = (&mut told.end, told.fault)
        && *fault == Fault::Untyped
    {
        *fault = typed;
    }
}

/// The files of this name below a folder that the program could write: no links, the newest last.
fn transcripts(folder: &Path, prefix: &str) -> Vec<PathBuf> {
    let mut found: Vec<_> = walkdir::WalkDir::new(folder)
        .max_depth(6)
        .into_iter()
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_file() && entry.file_name().to_string_lossy().starts_with(prefix))
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.into_path())))
        .collect();
    found.sort();
    found.into_iter().rev().take(1).map(|(_, path)| path).collect()
}

fn lines(file: &Path) -> Vec<Vec<u8>> {
    let Ok(file) = std::fs::File::open(file) else { return Vec::new() };
    BufReader::new(file.take(LARGEST)).split(b'\n').map_while(Result::ok).collect()
}
