//! A key of this user on this machine: by it a later run knows again what an earlier one stored.
//!
//! A checksum tells damage, and nothing about who wrote an entry. The key lies in the user's cache folder, outside every
//! repository; no child in the box can read it, or write where entries are.

use super::Host;
use super::digest::hex;
use super::random::token;
use super::room::cache_folder;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// The name of the key's file, in our own folder among the user's caches.
const FILE: &str = "key";

/// The key.
pub struct Keepsake(String);

impl Keepsake {
    /// The user's key, made the first time. None where it cannot be kept to the user alone: then nothing that was stored is
    /// believed, and nothing is stored.
    pub fn of(host: &Host) -> Option<Self> {
        let file = cache_folder(host).join(FILE);
        read(&file).or_else(|| {
            make(&file).ok();
            read(&file)
        })
    }

    /// What goes beside an entry: HMAC-SHA-256 of it, in hexadecimal.
    pub fn mark(&self, bytes: &[u8]) -> Option<String> {
        let mut mac = Hmac::<Sha256>::new_from_slice(self.0.as_bytes()).ok()?;
        mac.update(bytes);
        Some(hex(&mac.finalize().into_bytes()))
    }
}

/// Reads the key, if nobody else could have written or read it.
fn read(file: &Path) -> Option<Keepsake> {
    let meta = fs::symlink_metadata(file).ok()?;
    let own = meta.is_file() && meta.mode().trailing_zeros() >= 6 && meta.uid() == rustix::process::geteuid().as_raw();
    let key = fs::read_to_string(file).ok().filter(|_| own)?;
    (key.len() == 64 && key.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(Keepsake(key))
}

/// Makes the key, whole or not at all; of two that make it at once the first stands.
fn make(file: &Path) -> std::io::Result<()> {
    let folder = file.parent().unwrap_or(file);
    fs::create_dir_all(folder)?;
    let draft = folder.join(format!(".key-{}", token()?));
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft);
    let made = made.and_then(|mut open| open.write_all((token()? + &token()?).as_bytes()));
    let linked = made.and_then(|()| fs::hard_link(&draft, file));
    fs::remove_file(&draft).ok();
    match linked {
        Err(why) if why.kind() == ErrorKind::AlreadyExists => Ok(()),
        linked => linked,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_key_is_made_once_is_the_users_alone_and_tells_entries_apart() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("deep/key");
        make(&file).unwrap();
        let first = read(&file).unwrap();
        make(&file).unwrap();
        let again = read(&file).unwrap();
        assert_eq!(first.mark(b"x"), again.mark(b"x"), "the first one stands");
        assert_ne!(first.mark(b"x"), first.mark(b"y"));
        assert_eq!(first.mark(b"x").unwrap().len(), 64);
        assert_eq!(fs::read_dir(folder.path().join("deep")).unwrap().count(), 1, "no draft is left");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(read(&file).is_none(), "others could read it");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&file, "short").unwrap();
        assert!(read(&file).is_none());
    }

    #[test]
    fn a_mark_is_hmac_sha_256() {
        // RFC 4231, test case 2.
        let mark = Keepsake("Jefe".to_owned()).mark(b"what do ya want for nothing?").unwrap();
        assert_eq!(mark, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    }
}
