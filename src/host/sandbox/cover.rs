//! Covering the sockets of other programs, in a mount namespace of the child's own.
//!
//! Landlock cannot refuse a connection to a socket that has a path (kernels before 7.1), so what must not be reached is
//! covered by something else. Sockets that are made later, outside the folders covered here, are not.

use super::hidden::is_socket;
use rustix::fs::CWD;
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_bind, mount_change};
use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// More sockets than this are not covered: a machine that has them is none we know.
const MOST: usize = 2048;

/// The places to cover: those named, and every socket with a path that the kernel lists in our network, unless it lies
/// where the child may write (what it makes there is its own).
pub(super) fn places(named: &[PathBuf], write: &[PathBuf]) -> Result<Vec<PathBuf>, String> {
    let listed = std::fs::read("/proc/net/unix").map_err(|error| format!("failed to read /proc/net/unix: {error}"))?;
    let bound = listed.split(|byte| *byte == b'\n').filter_map(path_of).filter(|path| is_socket(path));
    let all: BTreeSet<PathBuf> =
        named.iter().cloned().chain(bound).filter_map(|path| path.canonicalize().ok()).collect();
    let folders: Vec<&PathBuf> = all.iter().filter(|path| path.is_dir()).collect();
    let inside = |path: &Path, of: &Path| path != of && path.starts_with(of);
    let covered = |path: &Path| folders.iter().any(|folder| inside(path, folder));
    let write: Vec<PathBuf> = write.iter().filter_map(|place| place.canonicalize().ok()).collect();
    let writable = |path: &Path| write.iter().any(|place| path.starts_with(place));
    let places: Vec<PathBuf> = all.iter().filter(|path| !covered(path) && !writable(path)).cloned().collect();
    if places.len() > MOST {
        return Err(format!("there are {} of them", places.len()));
    }
    let needed = write.iter().find(|place| places.iter().any(|covered| place.starts_with(covered)));
    match needed {
        Some(place) => Err(format!("{} lies among them and must be writable", place.display())),
        None => Ok(places),
    }
}

/// The path in one line of `/proc/net/unix`; abstract sockets have none.
fn path_of(line: &[u8]) -> Option<PathBuf> {
    let start = line.windows(2).position(|two| two == b" /")?;
    let path = line.get(start + 1..)?;
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(path)))
}

/// Covers these places, for this process and its children. It must have a mount namespace of its own.
pub(super) fn cover(places: &[PathBuf]) -> Result<(), String> {
    // What we do stays here; what the user mounts later is still seen.
    mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)
        .map_err(|error| format!("failed to separate its mounts: {error}"))?;
    for place in places {
        let done = if place.is_dir() {
            let flags = MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
            mount("none", place, "tmpfs", flags, c"size=4k,mode=0555")
        } else {
            mount_bind("/dev/null", place)
        };
        match done {
            Err(rustix::io::Errno::NOENT) if rustix::fs::statat(CWD, place, rustix::fs::AtFlags::empty()).is_err() => {}
            done => done.map_err(|error| format!("failed to cover {}: {error}", place.display()))?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    #[test]
    fn a_path_is_read_with_its_blanks_and_an_abstract_name_is_none() {
        let line =
            |end: &str| format!("0000000080af9ed0: 00000003 00000000 00000000 0001 03 4955950{end}").into_bytes();
        assert_eq!(path_of(&line(" /run/a b/c")), Some(PathBuf::from("/run/a b/c")));
        assert_eq!(path_of(&line(" @/tmp/.X11-unix/X0")), None);
        assert_eq!(path_of(&line("")), None);
        assert_eq!(path_of(b"Num       RefCount Protocol Flags    Type St Inode Path"), None);
    }

    #[test]
    fn every_bound_socket_is_covered_but_the_childs_own() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in ["agents", "work"] {
            std::fs::create_dir(root.join(name)).unwrap();
        }
        let at = ["agents/one", "work/two", "three four"].map(|name| root.join(name));
        let _open: Vec<_> = at.iter().map(|path| UnixListener::bind(path).unwrap()).collect();
        let found = places(&[root.join("agents"), root.join("missing")], &[root.join("work")]).unwrap();
        let ours: Vec<_> = found.into_iter().filter(|path| path.starts_with(&root)).collect();
        assert_eq!(ours, [root.join("agents"), root.join("three four")], "a folder covers what it holds");
        assert!(places(std::slice::from_ref(&root), &[root.join("work")]).unwrap_err().contains("must be writable"));
    }
}
