//! Check `secrets`: no key, token or password enters the history, because git does not forget (RULINGS 8).

use super::{Inspection, LARGEST_READ};
use crate::config::glob::{Glob, GlobError};
use crate::host::git::{Change, ChangeKind, GitError};
use crate::host::path::{RepoPath, escape};
use crate::host::redact::{find_secrets_in, is_env_shaped, redact_text};
use crate::receipts::{CheckReport, Finding, Remedy, State};
use std::collections::BTreeSet;

/// The public id.
pub const ID: &str = "secrets";

/// Git treats what is larger as binary (`core.bigFileThreshold`).
const NEVER_TEXT: u64 = 512 << 20;
/// At most this many findings name their line; the rest is counted.
const MOST_FINDINGS: usize = 100;

/// Looks for secret-shaped content that the claim introduces and for new files whose name says that they hold some.
/// Findings never carry the value.
pub fn inspect(on: &Inspection<'_>) -> CheckReport {
    let allowed = match on.settings.secrets.allow.iter().map(|text| Glob::new(text)).collect::<Result<Vec<_>, _>>() {
        Ok(globs) => globs,
        Err(why) => return unreadable_setting(&why),
    };
    let mut findings = Vec::new();
    for change in &on.claim.changed {
        let gone = change.kind == ChangeKind::Deleted || change.new_mode == "160000";
        if gone || allowed.iter().any(|glob| glob.matches(&change.path)) {
            continue;
        }
        match of_change(on, change) {
            Ok(found) => findings.extend(found),
            Err(why) => findings.push(unread(&change.path, &why)),
        }
    }
    let total = findings.len();
    findings.truncate(MOST_FINDINGS);
    let report = CheckReport::of(ID, findings);
    if total > MOST_FINDINGS {
        report.noting(format!("{total} findings; the first {MOST_FINDINGS} are listed"))
    } else {
        report
    }
}

fn unreadable_setting(why: &GlobError) -> CheckReport {
    CheckReport::unknown(ID, "secrets.allow", "path patterns", &format!("{why}; mend it in the settings"))
}

fn of_change(on: &Inspection<'_>, change: &Change) -> Result<Vec<Finding>, GitError> {
    // A content that git itself never reads as text is not even opened.
    let size = on.repo.blob_size(&change.new)?;
    let (new, cut) = if size > NEVER_TEXT { (vec![0], true) } else { on.repo.blob(&change.new, LARGEST_READ)? };
    let found = find_secrets_in(&change.path, &new);
    let mut findings = Vec::new();
    if !found.is_empty() {
        // What the base holds already is not introduced: a moved line or a renamed file is no new leak.
        let old =
            if change.old.is_null() || change.old_mode == "160000" { Vec::new() } else { readable_old(on, change)? };
        let before = change.from.as_ref().unwrap_or(&change.path);
        let known: BTreeSet<_> = find_secrets_in(before, &old).into_iter().map(|s| s.digest).collect();
        for secret in found.iter().filter(|secret| !known.contains(&secret.digest)) {
            let place = format!("{}:{}", place(&change.path), secret.line);
            findings.push(deny(place, "no secret in the history", &format!("text of the shape `{}`", secret.shape)));
        }
    }
    let is_new = change.old.is_null() || change.from.as_ref().is_some_and(|from| !is_secret_name(from));
    if findings.is_empty() && is_new && is_secret_name(&change.path) {
        let observed = "a new file whose name says that it holds secrets";
        findings.push(deny(place(&change.path), "no file of secrets in the history", observed));
    }
    if cut {
        findings.push(unsearched(change, &new));
    }
    Ok(findings)
}

fn readable_old(on: &Inspection<'_>, change: &Change) -> Result<Vec<u8>, GitError> {
    let never = on.repo.blob_size(&change.old)? > NEVER_TEXT;
    Ok(if never { Vec::new() } else { on.repo.blob(&change.old, LARGEST_READ)?.0 })
}

/// True for names that are used for secrets and for nothing else.
fn is_secret_name(path: &RepoPath) -> bool {
    let name = path.file_name().to_ascii_lowercase();
    if is_env_shaped(path) {
        let template: &[&[u8]] = &[b"example", b"sample", b"template", b"dist", b"defaults", b"default"];
        // `prod.env` and `.envrc` may be harmless; their content is searched.
        let dotted = name == b".env" || name.starts_with(b".env.");
        return dotted && !name.split(|b| *b == b'.').any(|part| template.contains(&part));
    }
    let whole: &[&[u8]] =
        &[b"id_rsa", b"id_dsa", b"id_ecdsa", b"id_ed25519", b".netrc", b".pgpass", b".git-credentials"];
    let ends: &[&[u8]] = &[b".p12", b".pfx", b".jks", b".keystore", b".kdbx"];
    whole.contains(&&name[..])
        || ends.iter().any(|end| name.ends_with(end))
        || path.as_bytes().ends_with(b".aws/credentials")
}

fn deny(place: String, expected: &str, observed: &str) -> Finding {
    let observed = format!("{observed}; remove it, or list the path under `secrets.allow` if it is a test fixture");
    Finding { state: State::Deny, place, expected: expected.to_owned(), observed, remedy: Remedy::Fix }
}

/// What lies beyond the part that was read. Text could hide something there; binary content is only said.
fn unsearched(change: &Change, head: &[u8]) -> Finding {
    let binary = head.iter().take(8000).any(|b| *b == 0);
    Finding {
        state: if binary { State::Info } else { State::Ask },
        place: place(&change.path),
        expected: format!("a file of at most {LARGEST_READ} bytes"),
        observed: format!("a larger one: at most its first {LARGEST_READ} bytes were searched for secrets"),
        remedy: Remedy::AskUser,
    }
}

/// A file that could not be read, by a name that is safe to show.
pub(super) fn unread(path: &RepoPath, why: &GitError) -> Finding {
    Finding {
        state: State::Unknown,
        place: place(path),
        expected: "a readable file".to_owned(),
        observed: escape(why.to_string().as_bytes()),
        remedy: Remedy::AskUser,
    }
}

/// A file name can itself hold a token.
pub(super) fn place(path: &RepoPath) -> String {
    redact_text(&path.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_hold_secrets_are_known() {
        for yes in [".env", "app/.env", ".env.production", ".ENV.local", "home/id_rsa", "x.p12", "a/.aws/credentials"] {
            assert!(is_secret_name(&RepoPath::from(yes)), "{yes}");
        }
        for no in [
            ".env.example",
            ".env.sample.local",
            "id_rsa.pub",
            "environment.ts",
            "prod.env",
            "cert.pem",
            "a/credentials",
        ] {
            assert!(!is_secret_name(&RepoPath::from(no)), "{no}");
        }
    }
}
