//! `countersign salvage` and `countersign discard`: work that did not land, and giving work up.

use super::args::{DiscardArgs, SalvageCommand};
use super::console::{Console, visible};
use super::exit_code::ExitCode;
use super::verify::count;
use crate::host::Host;
use crate::host::git::Repo;
use crate::integrate::{RestoreError, SavedPatch, find_patch, restore, saved_patches};
use crate::pipeline::VerifyError;
use crate::pipeline::work::{DiscardRequest, Discarded, discard, main_top};
use std::io::Read;
use std::path::{Path, PathBuf};

/// A patch beyond this many bytes is not printed whole; the file is there.
const LARGEST_SHOWN: u64 = 16 << 20;

pub(super) fn run(
    command: &SalvageCommand,
    start: &Path,
    host: &Host,
    console: &mut Console,
) -> anyhow::Result<ExitCode> {
    let repo = Repo::discover(host, start).map_err(VerifyError::from)?;
    let project = main_top(&repo);
    match command {
        SalvageCommand::List { json } => list(&repo, &project, *json, console),
        SalvageCommand::Show { patch } => show(&repo, &find_patch(&repo, &project, start, patch.as_os_str())?, console),
        SalvageCommand::Apply { patch, json } => {
            let patch = find_patch(&repo, &project, start, patch.as_os_str())?;
            let restored = restore(&repo, &project, patch)?;
            if *json {
                console.json(&restored)?;
            } else {
                let patch = &restored.patch;
                console.answer(&visible(&format!(
                    "{} ({}) is in {}",
                    patch.task,
                    patch.tag,
                    restored.worktree.display()
                )));
                console.answer(&format!(
                    "its base {} is checked out there and the work is staged; `git worktree remove` takes it away again",
                    patch.base.short()
                ));
            }
            Ok(ExitCode::Pass)
        }
    }
}

fn list(repo: &Repo, project: &Path, json: bool, console: &mut Console) -> anyhow::Result<ExitCode> {
    let (patches, others) = saved_patches(repo, project)?;
    if json {
        console
            .json(&serde_json::json!({ "schema": "countersign/salvage/1", "patches": patches, "others": others }))?;
        return Ok(ExitCode::Pass);
    }
    console.answer(&format!("{} saved", count(patches.len(), "patch").replace("patchs", "patches")));
    for patch in &patches {
        console.answer(&visible(&format!(
            "  {:<20} {:<18} base {}, kept by {}, {}",
            patch.task,
            patch.tag,
            patch.base.short(),
            patch.reference.as_deref().unwrap_or("this file alone"),
            patch.path.display()
        )));
    }
    for path in &others {
        console.answer(&visible(&format!("  not saved by countersign: {}", path.display())));
    }
    Ok(ExitCode::Pass)
}

fn show(repo: &Repo, patch: &SavedPatch, console: &mut Console) -> anyhow::Result<ExitCode> {
    console.answer(&visible(&format!("task    {} ({})", patch.task, patch.tag)));
    console.answer(&visible(&format!("patch   {}", patch.path.display())));
    console.answer(&format!("base    {}", patch.base));
    let kept = patch.reference.as_deref().unwrap_or("no reference: this file is the only copy");
    console.answer(&visible(&format!("commit  {} ({kept})", patch.commit)));
    if repo.resolve(patch.base.as_str())?.is_some() && repo.resolve(patch.commit.as_str())?.is_some() {
        for change in repo.changes(&repo.tree_of(&patch.base)?, &repo.tree_of(&patch.commit)?)? {
            let kind = format!("{:?}", change.kind).to_lowercase();
            console.answer(&visible(&format!("  {kind:<12} {}", change.path)));
        }
    }
    let failed = |why| RestoreError::Io { doing: "read", path: patch.path.clone(), why };
    let mut bytes = Vec::new();
    let mut file = std::fs::File::open(&patch.path).map_err(failed)?.take(LARGEST_SHOWN + 1);
    file.read_to_end(&mut bytes).map_err(failed)?;
    let whole = bytes.len() as u64 <= LARGEST_SHOWN;
    bytes.truncate(usize::try_from(LARGEST_SHOWN).unwrap_or(usize::MAX));
    // A patch is a stranger's text: nothing in it reaches the terminal as it is.
    console.answer(&visible(&String::from_utf8_lossy(&bytes)));
    if !whole {
        console.answer("(the patch goes on; the file has all of it)");
    }
    Ok(ExitCode::Pass)
}

pub(super) fn discard_task(
    args: DiscardArgs,
    start: PathBuf,
    host: &Host,
    console: &mut Console,
) -> anyhow::Result<ExitCode> {
    let why = args.why.unwrap_or_default();
    let discarded = discard(&DiscardRequest { start, task: args.task, into: args.into, why }, host)?;
    if args.json {
        console.json(&discarded)?;
    } else {
        tell_discarded(&discarded, console);
    }
    Ok(ExitCode::Pass)
}

pub(super) fn tell_discarded(discarded: &Discarded, console: &mut Console) {
    match &discarded.saved {
        Some(record) => {
            console.answer(&visible(&format!(
                "{}: its worktree is gone, its work is {}",
                discarded.task, record.reference
            )));
            if let Some(patch) = &record.patch {
                console.answer(&visible(&format!("  saved: {}", patch.display())));
            }
            for place in &record.left_out {
                console.answer(&visible(&format!("  went with the worktree (git ignores it): {place}")));
            }
        }
        None => console.answer(&visible(&format!("{}: there was no worktree", discarded.task))),
    }
    match discarded.folder {
        Some(folder) => console.answer(&format!("its page is in `{}`", folder.as_str())),
        None => console.answer("it has no page on the branch"),
    }
}

/// Whose fault it is that nothing was found or restored.
pub(super) fn code_of(why: &RestoreError) -> ExitCode {
    match why {
        RestoreError::NoPatch { .. } | RestoreError::NoHeader { .. } | RestoreError::Edited { .. } => ExitCode::Usage,
        _ => ExitCode::Environment,
    }
}
