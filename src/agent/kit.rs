//! What coding agents load: our prompts and skills, and how they get into a project or become a plugin.
//!
//! The texts are embedded. A record beside them holds the digest of each as we last wrote it, so that a later version can
//! tell its own older text (replaced) from a text that somebody changed (left alone and named).

mod hooks;
mod place;

pub use hooks::place_hooks;

use crate::host::digest::digest;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The worker's standing orders, as coding agents load them.
pub const WORKER_PROMPT: &str = include_str!("../../agents/worker.md");
/// The verifier's standing orders, as coding agents load them.
pub const VERIFIER_PROMPT: &str = include_str!("../../agents/verifier.md");
/// The skill that takes one task through the gate.
pub const WORK_SKILL: &str = include_str!("../../skills/work/SKILL.md");
/// The skill that has a change judged before somebody says "done".
pub const COMPLETION_SKILL: &str = include_str!("../../skills/verification-before-completion/SKILL.md");
/// The skill that holds a report against its receipts before it is sent.
pub const RECEIPTS_SKILL: &str = include_str!("../../skills/false-completion-gate/SKILL.md");
/// The plugin's description.
pub const PLUGIN_MANIFEST: &str = include_str!("../../.claude-plugin/plugin.json");
/// The marketplace that offers the plugin.
pub const MARKETPLACE: &str = include_str!("../../.claude-plugin/marketplace.json");

/// Files that belong together, and where the record of them lies.
#[derive(Debug, Clone, Copy)]
pub struct Kit {
    /// Place below the target folder, and text.
    pub files: &'static [(&'static str, &'static str)],
    /// Place of the record below the target folder.
    pub record: &'static str,
}

/// The kit of a project: what Claude Code finds by itself.
pub const PROJECT_KIT: Kit = Kit {
    files: &[
        (".claude/agents/worker.md", WORKER_PROMPT),
        (".claude/agents/verifier.md", VERIFIER_PROMPT),
        (".claude/skills/work/SKILL.md", WORK_SKILL),
        (".claude/skills/verification-before-completion/SKILL.md", COMPLETION_SKILL),
        (".claude/skills/false-completion-gate/SKILL.md", RECEIPTS_SKILL),
    ],
    record: ".claude/countersign.json",
};

/// The kit as a Claude Code plugin with a marketplace that offers it.
pub const PLUGIN_KIT: Kit = Kit {
    files: &[
        (".claude-plugin/plugin.json", PLUGIN_MANIFEST),
        (".claude-plugin/marketplace.json", MARKETPLACE),
        ("agents/worker.md", WORKER_PROMPT),
        ("agents/verifier.md", VERIFIER_PROMPT),
        ("skills/work/SKILL.md", WORK_SKILL),
        ("skills/verification-before-completion/SKILL.md", COMPLETION_SKILL),
        ("skills/false-completion-gate/SKILL.md", RECEIPTS_SKILL),
    ],
    record: ".claude-plugin/countersign.json",
};

/// How a file of the kit stands in its target folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "state")]
pub enum Standing {
    /// The text of this version (line ends aside).
    Current,
    /// There is none.
    Missing,
    /// A text of ours that nobody changed, of another version.
    Older,
    /// A text that is not ours, or that somebody changed.
    Changed,
    /// Something is in the way that we neither follow nor replace.
    Blocked {
        /// What, and where.
        why: String,
    },
}

/// What was done with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Deed {
    /// Nothing: it is current, or writing was not asked for.
    Nothing,
    /// It was written where there was none.
    Written,
    /// Our older text was replaced.
    Updated,
    /// A changed text was replaced, because that was asked for.
    Overwritten,
    /// It was left as it is: somebody changed it, or something is in the way.
    LeftAlone,
}

/// One file of the kit after a survey or an installation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Placed {
    /// Its place below the target folder.
    pub path: &'static str,
    /// How it stood before.
    #[serde(flatten)]
    pub standing: Standing,
    /// What was done.
    pub deed: Deed,
}

impl Placed {
    /// True if the file has this version's text now.
    pub fn is_current(&self) -> bool {
        match self.deed {
            Deed::Written | Deed::Updated | Deed::Overwritten => true,
            Deed::Nothing | Deed::LeftAlone => self.standing == Standing::Current,
        }
    }
}

/// What may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    /// Nothing: look only.
    Look,
    /// What is missing, and our own older texts.
    Install,
    /// Changed texts as well.
    Overwrite,
}

/// Why the kit could not be placed.
#[derive(Debug, thiserror::Error)]
pub enum KitError {
    /// A file or folder could not be read or written.
    #[error("cannot {doing} {path}: {why}", path = path.display())]
    Io {
        /// Verb, e.g. `write`.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's words.
        why: std::io::Error,
    },
}

/// The digests of the texts as we last wrote them, by place.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Record {
    version: String,
    files: BTreeMap<String, String>,
}

/// Looks at every file of the kit below `folder` and writes what `permission` allows. Links are never followed.
///
/// # Errors
/// Something could not be read or written. Files that were already written stay; running it again goes on.
pub fn place(kit: &Kit, folder: &Path, permission: Permission) -> Result<Vec<Placed>, KitError> {
    let mut record = read_record(kit, folder)?;
    let mut placed = Vec::with_capacity(kit.files.len());
    for (path, text) in kit.files {
        let standing = stand(folder, path, text, &record)?;
        let deed = deed(&standing, permission);
        match deed {
            Deed::Written => place::write_new(folder, path, text)?,
            Deed::Updated | Deed::Overwritten => place::replace(folder, path, text)?,
            Deed::Nothing | Deed::LeftAlone => {}
        }
        let one = Placed { path, standing, deed };
        if one.is_current() {
            record.files.insert((*path).to_owned(), folded_digest(text.as_bytes()));
        }
        placed.push(one);
    }
    if permission != Permission::Look {
        write_record(kit, folder, record)?;
    }
    Ok(placed)
}

fn deed(standing: &Standing, permission: Permission) -> Deed {
    match (standing, permission) {
        (Standing::Current, _) | (_, Permission::Look) => Deed::Nothing,
        (Standing::Missing, _) => Deed::Written,
        (Standing::Older, _) => Deed::Updated,
        (Standing::Changed, Permission::Overwrite) => Deed::Overwritten,
        (Standing::Changed | Standing::Blocked { .. }, _) => Deed::LeftAlone,
    }
}

fn stand(folder: &Path, path: &str, text: &str, record: &Record) -> Result<Standing, KitError> {
    Ok(match place::look(folder, path)? {
        place::Found::Nothing => Standing::Missing,
        place::Found::Blocked(why) => Standing::Blocked { why },
        place::Found::TooLarge => Standing::Changed,
        place::Found::Text(bytes) => {
            let found = folded_digest(&bytes);
            if found == folded_digest(text.as_bytes()) {
                Standing::Current
            } else if record.files.get(path) == Some(&found) {
                Standing::Older
            } else {
                Standing::Changed
            }
        }
    })
}

/// A digest that does not change when git checks the file out with other line ends.
fn folded_digest(bytes: &[u8]) -> String {
    let folded: Vec<u8> = bytes
        .iter()
        .enumerate()
        .filter(|(at, byte)| !(**byte == b'\r' && bytes.get(at + 1) == Some(&b'\n')))
        .map(|(_, byte)| *byte)
        .collect();
    digest(&folded)
}

/// A record that is missing or not ours says nothing: then a text that differs counts as changed.
fn read_record(kit: &Kit, folder: &Path) -> Result<Record, KitError> {
    Ok(match place::look(folder, kit.record)? {
        place::Found::Text(bytes) => serde_json::from_slice(&bytes).unwrap_or_default(),
        _ => Record::default(),
    })
}

fn write_record(kit: &Kit, folder: &Path, mut record: Record) -> Result<(), KitError> {
    env!("CARGO_PKG_VERSION").clone_into(&mut record.version);
    record.files.retain(|path, _| kit.files.iter().any(|(known, _)| known == path));
    let text = format!("{}\n", serde_json::to_string_pretty(&record).unwrap_or_default());
    match place::look(folder, kit.record)? {
        place::Found::Text(bytes) if folded_digest(&bytes) == folded_digest(text.as_bytes()) => Ok(()),
        place::Found::Nothing => place::write_new(folder, kit.record, &text),
        place::Found::Text(_) | place::Found::TooLarge => place::replace(folder, kit.record, &text),
        // Without a record the next version asks before it replaces our text; nothing is lost.
        place::Found::Blocked(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: Kit = Kit { files: &[("a/one.md", "old\n"), ("a/two.md", "old\n")], record: "a/record.json" };
    const NEW: Kit = Kit { files: &[("a/one.md", "new\n"), ("a/two.md", "new\n")], record: "a/record.json" };

    fn deeds(placed: &[Placed]) -> Vec<Deed> {
        placed.iter().map(|one| one.deed).collect()
    }

    #[test]
    fn a_later_version_replaces_its_own_older_text_and_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        place(&OLD, folder.path(), Permission::Install).unwrap();
        std::fs::write(at("a/two.md"), "mine\n").unwrap();
        let looked = place(&NEW, folder.path(), Permission::Look).unwrap();
        assert_eq!((&looked[0].standing, &looked[1].standing), (&Standing::Older, &Standing::Changed));
        assert_eq!(std::fs::read_to_string(at("a/one.md")).unwrap(), "old\n", "looking writes nothing");
        assert_eq!(deeds(&place(&NEW, folder.path(), Permission::Install).unwrap()), [Deed::Updated, Deed::LeftAlone]);
        assert_eq!(std::fs::read_to_string(at("a/two.md")).unwrap(), "mine\n");
        let forced = place(&NEW, folder.path(), Permission::Overwrite).unwrap();
        assert_eq!(deeds(&forced), [Deed::Nothing, Deed::Overwritten]);
        assert_eq!(std::fs::read_to_string(at("a/two.md")).unwrap(), "new\n");
    }

    #[test]
    fn other_line_ends_are_no_change_and_a_broken_record_permits_nothing() {
        let folder = tempfile::tempdir().unwrap();
        place(&OLD, folder.path(), Permission::Install).unwrap();
        std::fs::write(folder.path().join("a/one.md"), "old\r\n").unwrap();
        assert_eq!(deeds(&place(&OLD, folder.path(), Permission::Install).unwrap()), [Deed::Nothing; 2]);
        std::fs::write(folder.path().join("a/record.json"), "{").unwrap();
        let looked = place(&NEW, folder.path(), Permission::Look).unwrap();
        assert!(looked.iter().all(|one| one.standing == Standing::Changed), "{looked:?}");
    }
}
