//! `submodules`: a pointer into another repository is a promise that the commit exists.

use super::Inspection;
use super::finding::{ask, deny, info, unknown, unreadable};
use super::gitmodules::{Module, Modules};
use crate::claim::{Sighting, SightingKind};
use crate::host::git::GitError;
use crate::host::path::{RepoPath, escape};
use crate::receipts::{CheckReport, Finding};

/// The check's id.
pub const ID: &str = "submodules";

/// Denies a pointer to a commit that exists only in this worktree (C152). Asks about a pointer that went backwards, a
/// submodule with uncommitted content, and `.gitmodules` settings that hide changes or run commands (C149). Each moved
/// pointer is told with both commits.
pub fn inspect(on: &Inspection<'_>) -> CheckReport {
    let mut findings: Vec<Finding> = on.sightings.iter().filter_map(seen).collect();
    let links = on.claim.changed.iter().filter(|c| c.is_gitlink());
    findings.extend(links.map(|change| {
        let side = |mode: &str, id: &str| if mode == "160000" { id.to_owned() } else { "none".to_owned() };
        let old = side(&change.old_mode, change.old.as_str());
        let new = side(&change.new_mode, change.new.as_str());
        info(&change.path, "a look at the other repository's commits", format!("pointer {old} → {new}"))
    }));
    if on.claim.changed.iter().any(|c| c.paths().any(|p| p.as_bytes() == b".gitmodules")) {
        match declared(on) {
            Ok(found) => findings.extend(found),
            Err(why) => findings.push(unreadable(".gitmodules", &why)),
        }
    }
    if findings.is_empty() {
        return CheckReport::not_applicable(ID, "no submodule is touched");
    }
    CheckReport::of(ID, findings)
}

fn seen(sighting: &Sighting) -> Option<Finding> {
    let place = sighting.path.as_ref().map_or_else(|| "a submodule".to_owned(), ToString::to_string);
    let said = escape(sighting.detail.as_bytes());
    match sighting.kind {
        SightingKind::UnreachableGitlink => {
            let expected = "a commit that is on the submodule's remote; push it there, or point to one that is";
            Some(deny(place, expected, format!("a commit that exists in this worktree only: {said}")))
        }
        SightingKind::UnseenGitlink => {
            Some(unknown(place, "a submodule that is checked out; run `git submodule update --init`", said))
        }
        SightingKind::SubmoduleRegressed => {
            Some(ask(place, "a pointer that moves forwards", format!("it moved backwards: {said}")))
        }
        SightingKind::DirtySubmodule => {
            Some(ask(place, "a submodule without uncommitted content: it will not land", said))
        }
        _ => None,
    }
}

/// What `.gitmodules` newly says that hides changes, runs commands or fetches from elsewhere.
fn declared(on: &Inspection<'_>) -> Result<Vec<Finding>, GitError> {
    let old = Modules::read(on.repo, &on.claim.base_tree)?;
    let new = Modules::read(on.repo, &on.claim.tree)?;
    let moved = |module: &Module| {
        let path = module.get("path").map(|p| RepoPath::from_bytes(p.as_slice()));
        on.claim.changed.iter().any(|c| c.is_gitlink() && Some(&c.path) == path.as_ref())
    };
    let mut findings = Vec::new();
    for (name, module) in &new.0 {
        let before = old.0.get(name);
        let place = format!(".gitmodules: submodule `{}`", escape(name));
        for (key, value) in module {
            if before.and_then(|m| m.get(key)) == Some(value) {
                continue;
            }
            let said = format!("`{key} = {}`", escape(value));
            match key.as_str() {
                "ignore" if value != b"none" => {
                    let and = if moved(module) { ", and its pointer moved in the same claim" } else { "" };
                    let observed = format!("{said}: git will not show its changes{and}");
                    findings.push(ask(&place, "changes of submodules that everybody sees", observed));
                }
                "update" if value.starts_with(b"!") => {
                    findings.push(ask(&place, "no command that git runs on update", said));
                }
                "url" if before.is_some() => {
                    findings.push(ask(&place, "the URL of the base", said));
                }
                _ => {}
            }
        }
    }
    Ok(findings)
}
