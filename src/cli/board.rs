//! `countersign board`.

use super::args::BoardArgs;
use super::console::{Console, visible};
use super::exit_code::ExitCode;
use super::verify::count;
use crate::host::Host;
use crate::host::git::Repo;
use crate::host::path::{RepoPath, escape};
use crate::pipeline::{VerifyError, read_board};
use crate::task::board::{Board, BoardError, BoardFile, Outcome};
use crate::task::dependency::{Dependency, DependencyState, Found};
use crate::task::layout::Folder;
use crate::task::lint::{self, Level};
use crate::task::{Kind, Task};
use std::fs;
use std::path::Path;
use walkdir::WalkDir;

pub(super) fn list(args: &BoardArgs, start: &Path, host: &Host, console: &mut Console) -> anyhow::Result<ExitCode> {
    let board = load(args, start, host)?;
    if args.json {
        console.json(&board)?;
        return Ok(ExitCode::Pass);
    }
    for folder in [Folder::Doing, Folder::Todo, Folder::Backlog, Folder::Done] {
        let tasks: Vec<_> = board.in_folder(folder).collect();
        console.answer(&format!("{} ({})", folder.as_str(), tasks.len()));
        for listed in tasks {
            match &listed.outcome {
                Outcome::Task(task) => {
                    let id = task.id.as_ref().map_or("-", |id| id.as_str());
                    console.answer(&visible(&format!(
                        "  {id:<28} {} ({})",
                        task.display_title(),
                        criteria(task.bullets.len())
                    )));
                }
                Outcome::Malformed(why) => {
                    console.answer(&visible(&format!("  UNREADABLE {}: {}", listed.path, why.problem)));
                }
            }
        }
    }
    Ok(ExitCode::Pass)
}

fn criteria(number: usize) -> String {
    if number == 1 { "1 criterion".to_owned() } else { format!("{number} criteria") }
}

pub(super) fn show(
    id: &str,
    args: &BoardArgs,
    start: &Path,
    host: &Host,
    console: &mut Console,
) -> anyhow::Result<ExitCode> {
    let board = load(args, start, host)?;
    let no_such = |why: String| VerifyError::NoSuchTask { word: escape(id.as_bytes()), why };
    let Found::One(listed, _) = board.find(id).map_err(|why| no_such(why.to_string()))? else {
        return Err(no_such("the board has no such task; `countersign board list` shows what it has".to_owned()).into());
    };
    let task = listed.outcome.task().map_err(|why| VerifyError::Task(why.clone()))?;
    let dependencies: Vec<Dependency> = task.depends_on.iter().map(|d| board.dependency(d)).collect();
    if args.json {
        console.json(&serde_json::json!({ "path": listed.path, "folder": listed.folder, "task": task, "dependencies": dependencies }))?;
        return Ok(ExitCode::Pass);
    }
    console.answer(&visible(&format!("{} ({}, {})", task.display_title(), listed.path, task.commit_type())));
    print_criteria(task, console);
    for dependency in &dependencies {
        console.answer(&visible(&format!("  depends on {}: {}", dependency.reference, standing(&dependency.state))));
    }
    for oddity in &task.oddities {
        console.answer(&visible(&format!("  oddity, line {}: {}", oddity.line, oddity.message)));
    }
    Ok(ExitCode::Pass)
}

fn print_criteria(task: &Task, console: &mut Console) {
    for bullet in &task.bullets {
        let criterion = &bullet.criterion;
        let kind = match &criterion.kind {
            Kind::HumanEye => "human-eye",
            Kind::Checkable(_) => "checkable",
            Kind::Judged => "judged",
        };
        console.answer(&visible(&format!("  {:<4} {kind:<10} {}", criterion.label(), criterion.text)));
    }
}

fn standing(state: &DependencyState) -> String {
    match state {
        DependencyState::Done { path, rule } => format!("done ({path}, by {rule:?})"),
        DependencyState::Open { folder, path, rule } => format!("open, in {} ({path}, by {rule:?})", folder.as_str()),
        DependencyState::Unreadable { path, .. } => format!("unknown: {path} cannot be read"),
        DependencyState::Missing => "missing: no task answers to it".to_owned(),
        DependencyState::Ambiguous { paths } => {
            format!("ambiguous: {}", paths.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
        }
    }
}

pub(super) fn check(args: &BoardArgs, start: &Path, host: &Host, console: &mut Console) -> anyhow::Result<ExitCode> {
    let board = load(args, start, host)?;
    let lints = lint::check(&board);
    let errors = lints.iter().filter(|lint| lint.level == Level::Error).count();
    if args.json {
        console.json(&serde_json::json!({ "tasks": board.tasks.len(), "lints": lints }))?;
    } else {
        for lint in &lints {
            console.answer(&visible(&format!("{:<22} {}: {}", lint.id, lint.path, lint.message)));
        }
        console.answer(&format!("{} read, {} found", count(board.tasks.len(), "task"), count(lints.len(), "defect")));
    }
    Ok(if errors == 0 { ExitCode::Pass } else { ExitCode::Fail })
}

/// The board on disk, or as of a commit. Reading the disk needs no repository.
pub(super) fn load(args: &BoardArgs, start: &Path, host: &Host) -> Result<Board, VerifyError> {
    if let Some(rev) = &args.at {
        let repo = Repo::discover(host, start)?;
        let commit = repo.resolve(rev)?.ok_or_else(|| VerifyError::NoSuchClaim { rev: escape(rev.as_bytes()) })?;
        let (_, board) = read_board(&repo, &repo.tree_of(&commit)?)?;
        return board.ok_or(VerifyError::Board(BoardError::None));
    }
    let top = start
        .ancestors()
        .find(|folder| folder.join(".agentheim").is_dir())
        .ok_or(VerifyError::Board(BoardError::None))?;
    let (mut paths, mut files) = (Vec::new(), Vec::new());
    // Links are not followed: a board is made of files.
    for entry in WalkDir::new(top.join(".agentheim")).sort_by_file_name() {
        let entry =
            entry.map_err(|why| VerifyError::Io { doing: "read", path: top.join(".agentheim"), why: why.into() })?;
        if !entry.file_type().is_file() {
            continue;
        }
        if let Ok(inside) = entry.path().strip_prefix(top) {
            paths.push(RepoPath::from_bytes(inside.as_os_str().as_encoded_bytes()));
        }
    }
    for path in Board::task_paths(&paths)? {
        if let Ok(bytes) = fs::read(top.join(path.to_path_buf())) {
            files.push(BoardFile { path, bytes });
        }
    }
    Ok(Board::read(&paths, files)?)
}
