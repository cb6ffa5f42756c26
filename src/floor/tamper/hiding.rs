//! Rules that keep files out of sight: `.gitignore` and `.gitattributes`.

use crate::floor::Inspection;
use crate::floor::finding::{ask, info, unreadable};
use crate::floor::reading::{lines, text_or_empty};
use crate::host::git::{Change, GitError};
use crate::host::path::escape;
use crate::receipts::Finding;
use std::collections::HashSet;

pub(super) fn look(on: &Inspection<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for change in &on.claim.changed {
        let judge: fn(&str) -> Option<Verdict> = match change.path.file_name() {
            b".gitattributes" => attribute,
            b".gitignore" => ignore,
            _ => continue,
        };
        match added(on, change) {
            Ok(rules) => findings.extend(rules.iter().filter_map(|(line, rule)| {
                let place = format!("{}:{line}", change.path);
                match judge(rule)? {
                    Verdict::Ask(why) => Some(ask(
                        place,
                        "rules that hide nothing from review",
                        format!("`{}`: {why}", escape(rule.as_bytes())),
                    )),
                    Verdict::Info(why) => Some(info(
                        place,
                        "rules that hide nothing from review",
                        format!("`{}`: {why}", escape(rule.as_bytes())),
                    )),
                }
            })),
            Err(why) => findings.push(unreadable(&change.path, &why)),
        }
    }
    findings
}

enum Verdict {
    Ask(&'static str),
    Info(&'static str),
}

/// The rules that the claim adds, with their line.
fn added(on: &Inspection<'_>, change: &Change) -> Result<Vec<(usize, String)>, GitError> {
    let old = text_or_empty(on.repo, &change.old)?;
    let new = text_or_empty(on.repo, &change.new)?;
    let known: HashSet<&[u8]> = lines(&old).map(<[u8]>::trim_ascii).collect();
    let rules = lines(&new).enumerate().map(|(at, line)| (at + 1, line.trim_ascii()));
    let rules = rules.filter(|(_, line)| !line.is_empty() && !line.starts_with(b"#") && !known.contains(line));
    Ok(rules.map(|(at, line)| (at, String::from_utf8_lossy(line).into_owned())).collect())
}

fn attribute(rule: &str) -> Option<Verdict> {
    let mut words = rule.split_whitespace();
    let pattern = words.next()?;
    let words: Vec<&str> = words.collect();
    if words.contains(&"filter=lfs") {
        return Some(Verdict::Info("the content moves to Git LFS; git shows a pointer"));
    }
    let is_media = pattern.rsplit('.').next().is_some_and(|ext| MEDIA.contains(&ext.to_ascii_lowercase().as_str()));
    words.iter().find_map(|word| match *word {
        "export-ignore" | "export-subst" => Some(Verdict::Ask("archives will differ from the tree")),
        "-diff" | "binary" if !is_media => Some(Verdict::Ask("diffs will not show these files")),
        "linguist-generated" | "linguist-generated=true" | "gitlab-generated" => {
            Some(Verdict::Ask("reviews will fold these files away"))
        }
        word if ["filter=", "diff=", "merge="].iter().any(|key| word.starts_with(key)) => {
            Some(Verdict::Ask("git may run a program, or a driver, over these files"))
        }
        _ => None,
    })
}

/// Extensions of files that no diff shows anyway.
const MEDIA: &[&str] = &[
    "avif", "bmp", "gif", "gz", "ico", "jar", "jpeg", "jpg", "mp3", "mp4", "otf", "pdf", "png", "ttf", "wasm", "webm",
    "webp", "woff", "woff2", "zip",
];

fn ignore(rule: &str) -> Option<Verdict> {
    if rule.starts_with('!') {
        return None;
    }
    let bare = rule.trim_matches('/');
    let all = matches!(bare, "*" | "**" | "**/*" | "*.*" | "." | ".*");
    if all {
        return Some(Verdict::Ask("new files will not show up at all"));
    }
    if names_tests(bare) {
        return Some(Verdict::Ask("new files that a test run may load will not show up"));
    }
    Some(Verdict::Info("new files of this name will not show up"))
}

/// True if a word of the pattern means tests, and none means what a test run leaves behind.
fn names_tests(pattern: &str) -> bool {
    let folded = pattern.to_ascii_lowercase();
    let words: Vec<&str> = folded.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    let any = |list: &[&str]| words.iter().any(|word| list.contains(word));
    any(&["test", "tests", "spec", "specs", "conftest"])
        && !any(&["cache", "log", "logs", "out", "output", "report", "reports", "result", "results", "tmp", "temp"])
}
