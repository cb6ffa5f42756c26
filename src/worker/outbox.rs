//! The place where a worker leaves its report: emptied before it is sent out, read without being believed.

use super::report::MAX_REPORT_BYTES;
use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

/// Reads a report that a worker left: a regular file, never a link, and no more of it than a report may have.
///
/// # Errors
/// It is there and cannot be read.
pub fn read_left_report(place: &Path) -> std::io::Result<Option<Vec<u8>>> {
    match fs::symlink_metadata(place) {
        Ok(data) if data.is_file() => {}
        Ok(_) => return Err(std::io::Error::other("it is not a regular file (links are refused)")),
        Err(why) if why.kind() == ErrorKind::NotFound => return Ok(None),
        Err(why) => return Err(why),
    }
    let mut bytes = Vec::new();
    // One byte more than a report may have: the reader refuses it by its size.
    File::open(place)?.take(MAX_REPORT_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// Empties the folder of reports, so that no older one is taken for a new one.
///
/// # Errors
/// The disk refuses.
pub fn clear_reports(folder: &Path) -> std::io::Result<PathBuf> {
    match fs::remove_dir_all(folder) {
        Err(why) if why.kind() != ErrorKind::NotFound => return Err(why),
        _ => {}
    }
    fs::create_dir_all(folder)?;
    Ok(folder.to_owned())
}
