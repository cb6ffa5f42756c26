//! The captured calls, placed in the worktree: what ran where, and what was edited when.

use super::programs;
use super::shell::{Step, joined, steps};
use crate::agent::transcript::{ToolEvent, ToolKind, ToolStatus, Transcript};
use crate::claim::witness::Witness;
use crate::floor::skip_eligible::is_outside_the_code;
use crate::host::path::{RepoPath, plain};
use std::path::{Path, PathBuf};

/// How far clocks may differ, in milliseconds.
const SKEW: i64 = 2_000;

/// One step of a shell call, in this worktree.
#[derive(Debug)]
pub(super) struct Ran<'a> {
    /// Its place among all calls.
    pub(super) place: usize,
    pub(super) event: &'a ToolEvent,
    pub(super) step: Step,
}

/// An edit of a file, or of files that are not named.
#[derive(Debug)]
pub(super) struct Edit {
    pub(super) place: usize,
    pub(super) line: u64,
    pub(super) file: usize,
    /// Below the top; none where any file may have changed.
    pub(super) path: Option<RepoPath>,
    /// True if it may make a run stale.
    pub(super) code: bool,
}

/// What was captured.
#[derive(Debug)]
pub(super) struct Calls<'a> {
    pub(super) transcript: Option<&'a Transcript>,
    pub(super) ran: Vec<Ran<'a>>,
    pub(super) edits: Vec<Edit>,
    /// Shell calls that ran in other folders than this worktree.
    pub(super) elsewhere: Vec<Ran<'a>>,
    witness: &'a Witness,
}

impl<'a> Calls<'a> {
    pub(super) fn of(transcript: Option<&'a Transcript>, witness: &'a Witness) -> Self {
        let mut calls = Self { transcript, ran: Vec::new(), edits: Vec::new(), elsewhere: Vec::new(), witness };
        let Some(transcript) = transcript else { return calls };
        for (place, event) in transcript.events.iter().enumerate() {
            let cwd = event.cwd.as_deref().or(transcript.cwd.as_deref());
            match event.kind {
                ToolKind::Shell => calls.take_shell(place, event, cwd),
                _ if event.writes() => calls.take_edit(place, event, cwd),
                _ => {}
            }
        }
        calls
    }

    fn take_edit(&mut self, place: usize, event: &ToolEvent, cwd: Option<&str>) {
        // What failed or was refused changed nothing; what has no end may have.
        if matches!(event.status, ToolStatus::Error | ToolStatus::Aborted) {
            return;
        }
        if event.paths.is_empty() {
            self.edits.push(Edit { place, line: event.line, file: event.file, path: None, code: true });
        }
        for path in &event.paths {
            self.edit(place, event, cwd, path);
        }
    }

    fn edit(&mut self, place: usize, event: &ToolEvent, cwd: Option<&str>, path: &str) {
        let (line, file) = (event.line, event.file);
        if path.is_empty() {
            self.edits.push(Edit { place, line, file, path: None, code: true });
            return;
        }
        // Outside the worktree nothing that is judged can change.
        let Some(path) = self.inside(cwd, path) else { return };
        let changed = self.witness.changed.iter().any(|change| change.paths().any(|known| *known == path));
        let code = !is_outside_the_code(&path) && (changed || !is_by_product(&path));
        self.edits.push(Edit { place, line, file, path: Some(path), code });
    }

    fn take_shell(&mut self, place: usize, event: &'a ToolEvent, cwd: Option<&str>) {
        let Some(command) = &event.command else { return };
        for step in steps(command) {
            let folder = joined(cwd, step.folder.as_deref());
            if event.status != ToolStatus::Aborted {
                for path in programs::edits(&step) {
                    self.edit(place, event, folder.as_deref(), &path);
                }
            }
            // Some programs record no folder: there nobody can say that it was another one.
            let here = folder.as_deref().is_none_or(|folder| self.is_here(folder));
            let list = if here { &mut self.ran } else { &mut self.elsewhere };
            list.push(Ran { place, event, step });
        }
    }

    fn is_here(&self, folder: &str) -> bool {
        let folder = plain(Path::new(folder));
        // Other tasks' worktrees lie inside this one by custom.
        let ours = |top: &PathBuf| folder.strip_prefix(top).is_ok_and(|inner| !inner.starts_with(".worktrees"));
        !folder.is_absolute() || self.witness.tops.iter().any(ours)
    }

    /// A path as a tool names it, below the top; nothing if it lies elsewhere.
    pub(super) fn inside(&self, cwd: Option<&str>, path: &str) -> Option<RepoPath> {
        let absolute = match cwd {
            Some(cwd) if !Path::new(path).is_absolute() => plain(&Path::new(cwd).join(path)),
            _ => plain(Path::new(path)),
        };
        let found = if absolute.is_absolute() {
            self.witness.tops.iter().find_map(|top| absolute.strip_prefix(top).ok())?
        } else {
            absolute.as_path()
        };
        let path = RepoPath::from_bytes(found.as_os_str().as_encoded_bytes());
        path.is_safe().then_some(path)
    }

    /// True if a call that is not listed was not made.
    pub(super) fn is_complete(&self) -> bool {
        self.transcript.is_some_and(Transcript::is_complete)
    }

    /// Why a missing call proves nothing.
    pub(super) fn doubt(&self) -> String {
        match self.transcript {
            None => "no tool calls were captured".to_owned(),
            Some(transcript) => {
                let mut why = transcript.gaps.clone();
                if transcript.damaged_lines > 0 {
                    why.push(super::many(
                        usize::try_from(transcript.damaged_lines).unwrap_or(usize::MAX),
                        "damaged line",
                    ));
                }
                format!("the transcript is incomplete ({})", why.join(", "))
            }
        }
    }

    /// The last edit after a call that may make its result stale.
    pub(super) fn later_edit(&self, place: usize) -> Option<&Edit> {
        self.edits.iter().rev().find(|edit| edit.code && edit.place > place)
    }

    /// The last edit of code.
    pub(super) fn last_edit(&self) -> Option<&Edit> {
        self.edits.iter().rev().find(|edit| edit.code)
    }

    /// A path of the code that changed after a call although no call changed it.
    pub(super) fn unexplained(&self, witness: &Witness, event: &ToolEvent) -> Option<RepoPath> {
        let end = event.ended.or(event.started)?;
        let named =
            |path: &RepoPath| self.edits.iter().any(|edit| edit.path.as_ref().is_none_or(|known| known == path));
        let later = witness
            .touched
            .iter()
            .find(|(path, at)| **at > end.saturating_add(SKEW) && !is_outside_the_code(path) && !named(path));
        later.map(|(path, _)| path.clone())
    }

    /// A call that writes to our own records, or to the transcript itself: where it is, and what it wrote to.
    pub(super) fn touches_the_ledger(&self) -> Option<(String, String)> {
        let transcript = self.transcript?;
        let own = |path: &str| {
            let path = path.trim_end_matches('/');
            path.ends_with(".git/countersign")
                || path.contains(".git/countersign/")
                || transcript.files.iter().any(|file| file.to_str() == Some(path))
        };
        let tools = transcript.events.iter().filter(|event| event.writes()).find_map(|event| {
            event.paths.iter().find(|path| own(path)).map(|path| (self.receipt(event), path.clone()))
        });
        tools.or_else(|| {
            self.ran.iter().chain(&self.elsewhere).find_map(|ran| {
                let path = programs::edits(&ran.step).into_iter().find(|path| own(path))?;
                Some((self.receipt(ran.event), path))
            })
        })
    }

    /// Where a call can be looked up.
    pub(super) fn receipt(&self, event: &ToolEvent) -> String {
        self.receipt_at(event.file, event.line)
    }

    pub(super) fn receipt_at(&self, file: usize, line: u64) -> String {
        let name = self.transcript.and_then(|t| t.files.get(file)).and_then(|file| file.file_name());
        let name = name.map_or_else(String::new, |name| crate::host::path::escape(name.as_encoded_bytes()));
        format!("transcript:{name}:{line}")
    }
}

/// True for what builds and runs leave behind: git ignores it by custom, and no run rests on it.
fn is_by_product(path: &RepoPath) -> bool {
    const FOLDERS: [&str; 11] = [
        "target",
        "node_modules",
        "dist",
        "build",
        "out",
        ".venv",
        "venv",
        "__pycache__",
        "coverage",
        ".pytest_cache",
        "tmp",
    ];
    FOLDERS.iter().any(|folder| path.is_under(folder)) || path.as_bytes().ends_with(b".log")
}
