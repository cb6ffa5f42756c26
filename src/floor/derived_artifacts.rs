//! `derived-artifacts`: files that only a build writes are not a worker's to change.

use super::Inspection;
use super::finding::{deny, unknown};
use super::patterns::Patterns;
use crate::host::git::Change;
use crate::receipts::CheckReport;

/// The check's id.
pub const ID: &str = "derived-artifacts";

/// Denies each changed path that one of the configured globs names. No glob is built in: the peer's prefix lists
/// (agentheim.md §6.12 L1, L2) are a project's own settings (RULINGS 11).
pub fn inspect(on: &Inspection<'_>) -> CheckReport {
    let globs = &on.settings.derived_artifacts;
    if globs.is_empty() {
        return CheckReport::not_applicable(ID, "no `derived-artifacts` globs are configured");
    }
    let patterns = match Patterns::compile(globs) {
        Ok(patterns) => patterns,
        Err(why) => return CheckReport::of(ID, vec![unknown("derived-artifacts", "globs that can be read", why)]),
    };
    let touched = on.claim.changed.iter().flat_map(Change::paths);
    let findings = touched.filter_map(|path| {
        let glob = patterns.hit(path)?;
        let expected = format!("unchanged: `{glob}` is written by a build only; restore it from the base");
        Some(deny(path, expected, "changed"))
    });
    CheckReport::of(ID, findings.collect())
}
