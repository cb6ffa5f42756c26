//! What people read of the merge gate: one report, written for a terminal, for machines and for the forges.
//!
//! Everything in a report may have come from a stranger: each form escapes for its own reader, and secrets are masked
//! before any of them is made.

mod check_run;
mod code_quality;
mod command;
mod entry;
mod github;
mod junit;
mod location;
mod sarif;
mod shown;
mod summary;
mod text;

use super::console::Console;
use crate::host::Host;
use crate::host::path::RepoPath;
use crate::pipeline::ci::CiReport;
use anyhow::{Context, bail};
use clap::ValueEnum;
use std::io::Write;
use std::path::{Path, PathBuf};

/// A form of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For a terminal.
    Text,
    /// One JSON document (`countersign schema ci`).
    Json,
    /// SARIF 2.1.0: the findings.
    Sarif,
    /// JUnit XML: a suite a task, a case a criterion.
    Junit,
    /// For a GitHub job: step summary, annotations, outputs, and a check run where a token allows it.
    Github,
    /// For a GitLab job: JUnit and code quality.
    Gitlab,
}

/// Which forms are wanted, and where they go.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    /// The forms; text if none was named.
    pub(super) formats: Vec<Format>,
    /// The folder for files.
    pub(super) folder: Option<PathBuf>,
}

impl Format {
    /// The name of its file, where it is one.
    fn file(self) -> Option<&'static str> {
        match self {
            Self::Text | Self::Github => None,
            Self::Json => Some("countersign.json"),
            Self::Sarif => Some("countersign.sarif"),
            Self::Junit => Some("countersign.junit.xml"),
            Self::Gitlab => Some("countersign.code-quality.json"),
        }
    }
}

impl Wanted {
    /// Refuses, before anything is judged, what could not be written afterwards.
    pub(super) fn settled(formats: Vec<Format>, folder: Option<PathBuf>) -> anyhow::Result<Self> {
        let formats = if formats.is_empty() { vec![Format::Text] } else { formats };
        let documents = formats.iter().filter(|format| format.file().is_some()).count();
        if let Some(folder) = &folder {
            // The folder may lie in a checkout: a link that somebody committed there leads wherever they liked.
            if folder.symlink_metadata().is_ok_and(|found| !found.is_dir()) {
                bail!(UsageError(format!(
                    "cannot write into {}: it is a link or a file; name a folder",
                    folder.display()
                )));
            }
            std::fs::create_dir_all(folder)
                .with_context(|| format!("cannot make the folder {}; name another", folder.display()))?;
        } else if documents > 1 || (documents == 1 && formats.len() > 1) || formats.contains(&Format::Gitlab) {
            bail!(UsageError(
                "standard output holds one document: name one of json, sarif, junit, or a folder with --output"
                    .to_owned()
            ));
        }
        Ok(Self { formats, folder })
    }
}

/// The command line asks for what cannot be.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct UsageError(String);

/// Writes the report in every form that is wanted. `is_here` tells whether the judged tree has a file.
///
/// # Errors
/// A file cannot be written. What could be, is: a gate's answer is never lost to one of its forms.
pub(super) fn publish(
    report: &CiReport,
    wanted: &Wanted,
    is_here: &dyn Fn(&RepoPath) -> bool,
    host: &Host,
    console: &mut Console,
) -> anyhow::Result<()> {
    let shown = shown::shown(report);
    let entries = entry::entries(&shown, is_here);
    let mut failed = None;
    for format in &wanted.formats {
        let document = match format {
            Format::Text => {
                for line in text::lines(&shown) {
                    console.answer(&line);
                }
                continue;
            }
            Format::Github => {
                let made = github::publish(&shown, &entries, wanted.folder.as_deref(), host, console);
                failed = failed.or(made.err());
                continue;
            }
            Format::Json => harmless_json(&shown::without_secrets(report))?,
            Format::Sarif => harmless_json(&sarif::log(&shown, &entries))?,
            Format::Junit => junit::document(&shown),
            Format::Gitlab => harmless_json(&code_quality::issues(&entries))?,
        };
        let Some(folder) = &wanted.folder else {
            console.answer(document.trim_end());
            continue;
        };
        let mut files = vec![(format.file().unwrap_or_default(), document)];
        if *format == Format::Gitlab {
            files.push((Format::Junit.file().unwrap_or_default(), junit::document(&shown)));
        }
        for (name, document) in files {
            failed = failed.or(write(folder, name, document.as_bytes()).err());
        }
    }
    failed.map_or(Ok(()), Err)
}

/// JSON in which no log reader finds a command (GitHub's older form is found anywhere in a line).
fn harmless_json<T: serde::Serialize>(value: &T) -> anyhow::Result<String> {
    Ok(serde_json::to_string_pretty(value)?.replace("##[", "##\\u005b") + "\n")
}

/// Puts a file into the folder under its name at once: nobody reads half of it, and nothing is written through a link.
fn write(folder: &Path, name: &str, bytes: &[u8]) -> anyhow::Result<()> {
    let place = folder.join(name);
    let put = || -> std::io::Result<()> {
        use std::os::unix::fs::PermissionsExt;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(bytes)?;
        // Artefacts are uploaded by other programs, often as another user.
        file.as_file().set_permissions(std::fs::Permissions::from_mode(0o644))?;
        file.persist(&place).map_err(|why| why.error)?;
        Ok(())
    };
    put().with_context(|| format!("cannot write {}; make room there, or name another folder", place.display()))
}

#[cfg(test)]
mod tests;
