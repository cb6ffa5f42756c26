//! The claim that could have been judged when a task was integrated.
//!
//! The claim's tree is the commit's, with the conductor's own bookkeeping put back to the parent's. Where the parent has
//! no file of the task, the commit's own (its status, Outcome and ticks undone) goes onto a base made for the purpose:
//! such a task was read from the claim, which a judgement in earnest never does, and the replay says so.

use crate::git::{Clone, Failed};
use crate::history::Step;
use std::path::PathBuf;

/// A base and a claim, ready to be judged.
#[derive(Debug)]
pub(crate) struct Claim {
    /// The base commit.
    pub(crate) base: String,
    /// The claim commit, a child of the base.
    pub(crate) commit: String,
    /// True if the task had to be read from the claim, because the parent had no file of it.
    pub(crate) borrowed: bool,
}

/// Makes both.
pub(crate) fn claim(clone: &Clone, step: &Step) -> Result<Claim, Failed> {
    let paths = paths_of(clone, &step.parent)?;
    let known = paths.iter().any(|path| is_task(path, &step.task));
    let base = match &step.file {
        Some(file) if !known => synthetic_base(clone, step, file)?,
        _ => step.parent.clone(),
    };
    let tree = without_bookkeeping(clone, step)?;
    let commit = commit(clone, &tree, &base, &format!("claim {}", step.task))?;
    Ok(Claim { base, commit, borrowed: !known })
}

fn paths_of(clone: &Clone, commit: &str) -> Result<Vec<String>, Failed> {
    let names = clone.git(&["ls-tree", "-r", "-z", "--name-only", commit])?;
    Ok(String::from_utf8_lossy(&names).split('\0').map(str::to_owned).collect())
}

fn is_task(path: &str, task: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let rest = name.strip_suffix(".md").and_then(|stem| stem.strip_prefix(task));
    path.starts_with(".agentheim/") && rest.is_some_and(|slug| slug.is_empty() || slug.starts_with('-'))
}

fn is_bookkeeping(path: &str) -> bool {
    path.starts_with(".agentheim/")
        && (path.ends_with("/INDEX.md") || path.ends_with("/protocol.md") || path.ends_with("/knowledge/index.md"))
}

/// The parent with the task in `doing`, as it must have read before the work.
fn synthetic_base(clone: &Clone, step: &Step, file: &str) -> Result<String, Failed> {
    let text = clone.git(&["cat-file", "blob", &format!("{}:{file}", step.commit)])?;
    let before = undone(&String::from_utf8_lossy(&text));
    let blob = clone.git_fed(&["hash-object", "-w", "--stdin"], before.as_bytes(), None)?;
    let blob = String::from_utf8_lossy(&blob).trim().to_owned();
    let place = file.replacen("/done/", "/doing/", 1);
    let tree = edited_tree(clone, &step.parent, &[format!("100644 {blob}\t{place}")])?;
    commit(clone, &tree, &step.parent, &format!("task {}", step.task))
}

/// A finished task's text as it read before: status, date, Outcome and ticks undone.
fn undone(text: &str) -> String {
    let mut before = String::new();
    let (mut fences, mut in_outcome) = (0, false);
    for line in text.split_inclusive('\n') {
        fences += usize::from(line.trim_end() == "---");
        if line.starts_with("## ") {
            in_outcome = line.trim_end() == "## Outcome";
        }
        let key = line.split_once(':').map_or("", |(key, _)| key);
        let end = &line[line.trim_end_matches(['\r', '\n']).len()..];
        match key {
            _ if in_outcome => {}
            "status" if fences == 1 => before.extend(["status: doing", end]),
            "completed" | "commit" if fences == 1 => before.extend([key, ":", end]),
            _ => before.push_str(&line.replacen("- [x]", "- [ ]", 1).replacen("- [X]", "- [ ]", 1)),
        }
    }
    before
}

fn without_bookkeeping(clone: &Clone, step: &Step) -> Result<String, Failed> {
    let changed =
        clone.git(&["diff-tree", "-r", "--no-renames", "--raw", "--full-index", "-z", &step.parent, &step.commit])?;
    let changed = String::from_utf8_lossy(&changed).into_owned();
    let mut entries = Vec::new();
    let mut fields = changed.split('\0');
    while let (Some(meta), Some(path)) = (fields.next(), fields.next()) {
        let mut words = meta.trim_start_matches(':').split(' ');
        let (Some(mode), Some(_), Some(old)) = (words.next(), words.next(), words.next()) else { continue };
        if is_bookkeeping(path) {
            // Mode 0 removes the entry: the parent had none.
            let mode = if mode == "000000" { "0" } else { mode };
            entries.push(format!("{mode} {old}\t{path}"));
        }
    }
    edited_tree(clone, &step.commit, &entries)
}

/// The tree of a commit with these index entries put over it.
fn edited_tree(clone: &Clone, commit: &str, entries: &[String]) -> Result<String, Failed> {
    let index: PathBuf = clone.scratch().join("index");
    clone.git_fed(&["read-tree", commit], b"", Some(&index))?;
    let input: String = entries.iter().flat_map(|entry| [entry.as_str(), "\0"]).collect();
    clone.git_fed(&["update-index", "-z", "--index-info"], input.as_bytes(), Some(&index))?;
    let tree = clone.git_fed(&["write-tree"], b"", Some(&index))?;
    Ok(String::from_utf8_lossy(&tree).trim().to_owned())
}

fn commit(clone: &Clone, tree: &str, parent: &str, message: &str) -> Result<String, Failed> {
    clone.text(&["commit-tree", tree, "-p", parent, "-m", message])
}
