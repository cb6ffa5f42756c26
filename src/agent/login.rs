//! Lending a credential file: a copy into the private home, and if the program refreshed it, the new one back.

use super::program::Login;
use crate::host::Host;
use serde_json::Value;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// A credential file has at most this many bytes.
const LARGEST: u64 = 1 << 20;

/// A credential file that is lent.
#[derive(Debug)]
pub(super) struct Loan {
    own: PathBuf,
    lent: PathBuf,
    bytes: Vec<u8>,
}

/// Copies the user's credential file, and nothing else of that folder, into a private home; none if there is none.
pub(super) fn lend(host: &Host, login: &Login, home: &Path) -> Result<Option<Loan>, String> {
    let folder =
        login.variable.and_then(|name| host.env.get(name)).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = folder.or_else(|| host.env.get("HOME").map(|user| Path::new(user).join(login.folder)));
    let Some(own) = folder.map(|folder| folder.join(login.file)) else { return Ok(None) };
    let bytes = match read(&own) {
        Ok(bytes) => bytes,
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(why) => return Err(format!("cannot lend the credentials {}: {why}", own.display())),
    };
    let lent = home.join(login.inside);
    let made = lent.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| write_new(&lent, &bytes));
    made.map_err(|why| format!("cannot write {}: {why}", lent.display()))?;
    Ok(Some(Loan { own, lent, bytes }))
}

impl Loan {
    /// Removes the copy. If it was refreshed, the user's file is replaced by it, at once and under a lock; not if the
    /// user's file has changed meanwhile, and not by anything that is no refreshed form of what was lent.
    pub(super) fn give_back(self) -> Option<String> {
        // A link in its place could lead anywhere.
        let linked = fs::symlink_metadata(&self.lent).is_ok_and(|meta| meta.is_symlink());
        let now = if linked { Ok(Vec::new()) } else { read(&self.lent) };
        let _ = fs::remove_file(&self.lent);
        let now = now.ok().filter(|now| *now != self.bytes)?;
        let own = self.own.display();
        if !is_refreshed(&self.bytes, &now) {
            return Some(format!("the lent credentials were changed into something else; {own} stays as it was"));
        }
        match self.replace(&now) {
            Ok(true) => Some(format!("the credentials were refreshed, and {own} with them")),
            Ok(false) => Some(format!("the credentials were refreshed twice at the same time; {own} stays as it is")),
            Err(why) => Some(format!("the credentials were refreshed, but {own} could not be replaced: {why}")),
        }
    }

    fn replace(&self, now: &[u8]) -> std::io::Result<bool> {
        // Links are followed once, so that a linked file is replaced where it lies.
        let own = self.own.canonicalize()?;
        let folder = own.parent().unwrap_or(Path::new("/"));
        let lock = File::open(folder)?;
        lock.lock()?;
        if read(&own)? != self.bytes {
            return Ok(false);
        }
        let mode = fs::metadata(&own)?.permissions().mode() & 0o777;
        let mut fresh = tempfile::Builder::new().prefix(".credentials-").tempfile_in(folder)?;
        fresh.as_file().set_permissions(fs::Permissions::from_mode(mode))?;
        fresh.write_all(now)?;
        fresh.as_file().sync_all()?;
        fresh.persist(&own).map_err(|why| why.error)?;
        Ok(true)
    }
}

/// True if both are JSON with the same keys throughout: a refresh changes values.
fn is_refreshed(was: &[u8], now: &[u8]) -> bool {
    fn same_keys(was: &Value, now: &Value) -> bool {
        match (was, now) {
            (Value::Object(was), Value::Object(now)) => {
                was.len() == now.len()
                    && was.iter().all(|(key, was)| now.get(key).is_some_and(|now| same_keys(was, now)))
            }
            (Value::Array(was), Value::Array(now)) => was.len() == now.len(),
            (Value::String(_), Value::String(now)) => !now.is_empty(),
            (Value::Number(_), Value::Number(_)) | (Value::Bool(_), Value::Bool(_)) | (Value::Null, _) => true,
            _ => false,
        }
    }
    match (serde_json::from_slice(was), serde_json::from_slice(now)) {
        (Ok(was @ Value::Object(_)), Ok(now)) => same_keys(&was, &now),
        _ => false,
    }
}

fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let meta = fs::metadata(path)?;
    if !meta.is_file() || meta.len() > LARGEST {
        return Err(std::io::Error::other(format!("it is no file of at most {LARGEST} bytes")));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn write_new(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let _ = fs::remove_file(path);
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?.write_all(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_refreshed_form_of_what_was_lent_comes_back() {
        let was = br#"{"claudeAiOauth":{"accessToken":"a","expiresAt":1,"scopes":["x"],"none":null}}"#;
        for (now, refreshed) in [
            (&br#"{"claudeAiOauth":{"accessToken":"b","expiresAt":2,"scopes":["x"],"none":null}}"#[..], true),
            (br#"{"claudeAiOauth":{"accessToken":"","expiresAt":2,"scopes":["x"],"none":null}}"#, false),
            (br#"{"claudeAiOauth":{"accessToken":"b","expiresAt":2,"scopes":["x"]}}"#, false),
            (
                br#"{"claudeAiOauth":{"accessToken":"b","expiresAt":2,"scopes":["x"],"none":1,"apiKeyHelper":"sh"}}"#,
                false,
            ),
            (br#"{"claudeAiOauth":{"accessToken":{"x":1},"expiresAt":2,"scopes":["x"],"none":null}}"#, false),
            (b"", false),
            (b"[]", false),
        ] {
            assert_eq!(is_refreshed(was, now), refreshed, "{}", String::from_utf8_lossy(now));
        }
        assert!(!is_refreshed(b"token", b"token2"));
    }
}
