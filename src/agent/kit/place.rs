//! One file below a folder, looked at and written without following any link.

use super::KitError;
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

/// A longer file is nobody's prompt.
const LARGEST: u64 = 1 << 20;

/// What lies at a place.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    Nothing,
    Text(Vec<u8>),
    TooLarge,
    Blocked(String),
}

/// Looks without following links, in the folders above as little as at the end.
pub(super) fn look(folder: &Path, path: &str) -> Result<Found, KitError> {
    let mut place = folder.to_owned();
    let steps = Path::new(path).components().count();
    for (step, name) in Path::new(path).components().enumerate() {
        place.push(name);
        let meta = match fs::symlink_metadata(&place) {
            Ok(meta) => meta,
            Err(why) if why.kind() == ErrorKind::NotFound => return Ok(Found::Nothing),
            Err(why) => return Err(io("look at", &place, why)),
        };
        let wanted = if step + 1 == steps { meta.is_file() } else { meta.is_dir() };
        if !wanted {
            let what = if meta.is_symlink() {
                "a symbolic link"
            } else if meta.is_dir() {
                "a folder"
            } else {
                "no folder"
            };
            return Ok(Found::Blocked(format!("{} is {what}", place.display())));
        }
        if step + 1 == steps && meta.len() > LARGEST {
            return Ok(Found::TooLarge);
        }
    }
    let mut bytes = Vec::new();
    let file = fs::File::open(&place).map_err(|why| io("read", &place, why))?;
    file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(|why| io("read", &place, why))?;
    Ok(if bytes.len() as u64 > LARGEST { Found::TooLarge } else { Found::Text(bytes) })
}

/// Writes a file where there was none; whoever was faster keeps his.
pub(super) fn write_new(folder: &Path, path: &str, text: &str) -> Result<(), KitError> {
    let (place, file) = draft(folder, path, text)?;
    file.persist_noclobber(&place).map_err(|why| io("write", &place, why.error))?;
    Ok(())
}

/// Replaces a file in one step.
pub(super) fn replace(folder: &Path, path: &str, text: &str) -> Result<(), KitError> {
    let (place, file) = draft(folder, path, text)?;
    file.persist(&place).map_err(|why| io("replace", &place, why.error))?;
    Ok(())
}

/// The whole text in a file beside its place, readable by everybody like any file of a project.
fn draft(folder: &Path, path: &str, text: &str) -> Result<(PathBuf, tempfile::NamedTempFile), KitError> {
    use std::os::unix::fs::PermissionsExt;
    let place = folder.join(path);
    let above = place.parent().unwrap_or(folder);
    fs::create_dir_all(above).map_err(|why| io("make", above, why))?;
    let mut file = tempfile::Builder::new()
        .prefix(".countersign-")
        .permissions(fs::Permissions::from_mode(0o666))
        .tempfile_in(above)
        .map_err(|why| io("write into", above, why))?;
    file.write_all(text.as_bytes()).map_err(|why| io("write", &place, why))?;
    Ok((place, file))
}

fn io(doing: &'static str, path: &Path, why: std::io::Error) -> KitError {
    KitError::Io { doing, path: path.to_owned(), why }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_not_followed_at_the_end_nor_on_the_way() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        fs::create_dir(at("real")).unwrap();
        fs::write(at("real/x"), "x").unwrap();
        std::os::unix::fs::symlink("real", at("link")).unwrap();
        std::os::unix::fs::symlink("x", at("real/y")).unwrap();
        for (path, found) in [
            ("real/x", Found::Text(b"x".to_vec())),
            ("real/none", Found::Nothing),
            ("none/none", Found::Nothing),
            ("real/y", Found::Blocked(format!("{} is a symbolic link", at("real/y").display()))),
            ("link/x", Found::Blocked(format!("{} is a symbolic link", at("link").display()))),
            ("real", Found::Blocked(format!("{} is a folder", at("real").display()))),
            ("real/x/z", Found::Blocked(format!("{} is no folder", at("real/x").display()))),
        ] {
            assert_eq!(look(folder.path(), path).unwrap(), found, "{path}");
        }
    }
}
