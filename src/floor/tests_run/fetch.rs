//! Fetches what a run reported. A report counts only if this run wrote it: what stood in its place before is removed.

use super::{ReportWay, Runner, TestCommand, runner};
use crate::floor::reports::{Format, LARGEST_REPORT, Reading, Source, read_report};
use crate::host::path::{RepoPath, escape};
use crate::host::process::Ended;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Files that are looked at below a build's folders.
const MOST_ENTRIES: usize = 400_000;
/// Files of one report.
const MOST_FILES: usize = 20_000;

/// A report as it was fetched: its files, or why there is none.
type Fetched = Result<Vec<(RepoPath, Vec<u8>)>, Lacking>;

/// Why there is no report.
enum Lacking {
    /// Nothing was written in its place.
    Unwritten(String),
    /// What was written cannot be read.
    Unreadable(String),
}

/// Where the run's report will lie; whatever a set-up or an earlier run left there is gone. `fresh` is a path outside the
/// tree that nothing has used.
///
/// # Errors
/// In words: the place cannot be made ready.
pub(super) fn make_way(command: &TestCommand, fresh: PathBuf, room: &Path) -> Result<PathBuf, String> {
    let report = match &command.report {
        ReportWay::Declared(path, _) => {
            let path = inside(room, path)?;
            std::fs::remove_file(&path).ok();
            path
        }
        ReportWay::Built(_) => {
            for (_, path) in built(command.runner, &room.join(command.root.to_path_buf()))? {
                let gone = std::fs::remove_file(&path);
                gone.map_err(|why| format!("an older report, {}, cannot be removed: {why}", shown(&path)))?;
            }
            fresh
        }
        _ => fresh,
    };
    runner::prepare(command, &report).map_err(|why| format!("the runner's settings cannot be written: {why}"))?;
    Ok(report)
}

/// What the run reported, and the raw bytes of a report in files.
pub(super) fn reading(command: &TestCommand, ended: &Ended, report: &Path, room: &Path) -> (Reading, Vec<u8>) {
    let below = room.join(command.root.to_path_buf());
    let below_text = below.to_string_lossy();
    let (format, found) = match &command.report {
        ReportWay::None(_) => return (Reading::default(), Vec::new()),
        ReportWay::Output(format) => {
            let mut reading = read_report(*format, &[Source::only(&ended.stdout)], &below_text);
            if ended.stdout_total > ended.stdout.len() as u64 {
                reading.trouble.push(format!("the output of {} bytes is too long to read", ended.stdout_total));
                (reading.complete, reading.distrusted) = (false, true);
            }
            return (reading, Vec::new());
        }
        ReportWay::File(format) => (*format, one(report, RepoPath::from("report.xml"))),
        ReportWay::Folder(format) => (*format, folder(report)),
        ReportWay::Built(format) => (*format, built_files(command.runner, &below)),
        ReportWay::Declared(path, format) => {
            let node = command.runner == Runner::NodeTest && *format == Format::Junit;
            let format = if node { Format::NodeJunit } else { *format };
            // Looked at again: the tests may have put a link there.
            (format, inside(room, path).map_err(Lacking::Unreadable).and_then(|place| one(&place, path.clone())))
        }
    };
    // What the settings promise may have moved with them: only our own place is surely the right one.
    let is_ours = !matches!(command.report, ReportWay::Declared(..));
    let files = match found {
        Ok(files) => files,
        Err(Lacking::Unwritten(why)) => {
            return (Reading { trouble: vec![why], unwritten: is_ours, ..Reading::default() }, Vec::new());
        }
        Err(Lacking::Unreadable(why)) => return (Reading { trouble: vec![why], ..Reading::default() }, Vec::new()),
    };
    if is_ours && files.iter().all(|(_, bytes)| bytes.is_empty()) {
        let trouble = vec!["it left its report empty".to_owned()];
        return (Reading { trouble, unwritten: true, ..Reading::default() }, Vec::new());
    }
    let sources: Vec<Source<'_>> =
        files.iter().map(|(path, bytes)| Source { path: path.clone(), bytes: bytes.as_slice() }).collect();
    let mut reading = read_report(format, &sources, &below_text);
    if command.runner == Runner::NodeTest {
        reading.files = node_files(&runner::reporter_files(report), &below);
    }
    let words = files.into_iter().flat_map(|(_, bytes)| bytes).collect();
    (reading, words)
}

fn one(path: &Path, name: RepoPath) -> Fetched {
    Ok(vec![(name, fetch(path)?)])
}

fn fetch(path: &Path) -> Result<Vec<u8>, Lacking> {
    let unreadable = |why| Err(Lacking::Unreadable(why));
    match std::fs::symlink_metadata(path) {
        Ok(meta) if !meta.is_file() => unreadable("its report is not a regular file".to_owned()),
        Ok(meta) if meta.len() > LARGEST_REPORT => {
            unreadable(format!("its report has {} bytes, too many to read", meta.len()))
        }
        Ok(_) => std::fs::read(path).or_else(|why| unreadable(format!("its report cannot be read: {why}"))),
        Err(_) => Err(Lacking::Unwritten("it wrote no report".to_owned())),
    }
}

/// The files of a folder that we gave to the runner.
fn folder(folder: &Path) -> Fetched {
    let found = walk(folder, &|path| path.extension().is_some_and(|end| end == "trx"));
    all(found.map_err(Lacking::Unreadable)?)
}

fn built_files(runner: Runner, root: &Path) -> Fetched {
    all(built(runner, root).map_err(Lacking::Unreadable)?)
}

fn all(paths: Vec<(RepoPath, PathBuf)>) -> Fetched {
    if paths.is_empty() {
        return Err(Lacking::Unwritten("it wrote no report".to_owned()));
    }
    let mut files = Vec::new();
    let mut total = 0;
    for (name, path) in paths {
        let bytes = fetch(&path)?;
        total += bytes.len() as u64;
        if total > LARGEST_REPORT {
            let why = format!("its report files have more than {LARGEST_REPORT} bytes together, too many to read");
            return Err(Lacking::Unreadable(why));
        }
        files.push((name, bytes));
    }
    Ok(files)
}

/// The report files of a build tool: `target/surefire-reports/*.xml`, `build/test-results/<task>/*.xml`, of all modules.
fn built(runner: Runner, root: &Path) -> Result<Vec<(RepoPath, PathBuf)>, String> {
    let is_report = |path: &Path| {
        let folders: Vec<&[u8]> = path.components().rev().skip(1).map(|part| part.as_os_str().as_bytes()).collect();
        let stands = match runner {
            Runner::Maven => matches!(folders[..], [b"surefire-reports" | b"failsafe-reports", b"target", ..]),
            _ => matches!(folders[..], [_, b"test-results", b"build", ..]),
        };
        // Failsafe's summary counts again what the other files hold.
        stands
            && path.extension().is_some_and(|end| end == "xml")
            && path.file_name() != Some("failsafe-summary.xml".as_ref())
    };
    walk(root, &is_report)
}

/// The regular files below a folder that are wanted, sorted; no link is followed.
fn walk(root: &Path, is_wanted: &dyn Fn(&Path) -> bool) -> Result<Vec<(RepoPath, PathBuf)>, String> {
    const APART: [&str; 3] = [".git", "node_modules", ".gradle"];
    let enters = |entry: &walkdir::DirEntry| !APART.iter().any(|name| entry.file_name() == *name);
    let mut found = Vec::new();
    for (seen, entry) in walkdir::WalkDir::new(root).sort_by_file_name().into_iter().filter_entry(enters).enumerate() {
        let Ok(entry) = entry else { continue };
        if seen >= MOST_ENTRIES || found.len() >= MOST_FILES {
            return Err("there are too many files to look for its reports".to_owned());
        }
        let below = entry.path().strip_prefix(root).unwrap_or(entry.path());
        if entry.file_type().is_file() && is_wanted(below) {
            found.push((RepoPath::from_bytes(below.as_os_str().as_bytes()), entry.path().to_owned()));
        }
    }
    Ok(found)
}

/// The files that node said it loaded, below the command's folder; none if its list cannot be read.
fn node_files(list: &Path, below: &Path) -> Vec<RepoPath> {
    let Ok(bytes) = fetch(list) else { return Vec::new() };
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).take(MOST_FILES);
    let names = lines.filter_map(|line| serde_json::from_slice::<String>(line).ok());
    let inside = names.filter_map(|name| {
        let path = Path::new(&name).strip_prefix(below).ok()?;
        Some(RepoPath::from_bytes(path.as_os_str().as_bytes())).filter(RepoPath::is_safe)
    });
    let mut files: Vec<RepoPath> = inside.collect();
    files.sort();
    files.dedup();
    files
}

/// The place of a declared report in a room. A link on the way, by the claim or by its tests, would make us remove or
/// believe a file outside.
fn inside(room: &Path, path: &RepoPath) -> Result<PathBuf, String> {
    let full = room.join(path.to_path_buf());
    let folders = full.ancestors().skip(1).take_while(|folder| *folder != room);
    let linked = |folder: &&Path| std::fs::symlink_metadata(folder).is_ok_and(|meta| meta.is_symlink());
    match folders.filter(linked).last() {
        Some(link) => Err(format!("its report {path} lies behind the link {}", shown(link))),
        None => Ok(full),
    }
}

fn shown(path: &Path) -> String {
    escape(path.as_os_str().as_encoded_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_report_folders_of_all_modules_are_found_and_no_link_is_followed() {
        let room = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("TEST-x.xml"), "").unwrap();
        for path in [
            "target/surefire-reports/TEST-a.xml",
            "core/target/surefire-reports/TEST-b.xml",
            "core/target/failsafe-reports/TEST-c.xml",
            "core/target/failsafe-reports/failsafe-summary.xml",
            "core/target/surefire-reports/TEST-b.txt",
            "core/target/classes/a.xml",
            "app/build/test-results/test/TEST-d.xml",
            "app/build/test-results/integrationTest/TEST-e.xml",
            "app/build/test-results/test/binary/x.bin",
            "node_modules/x/target/surefire-reports/TEST-f.xml",
        ] {
            let path = room.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        fs::create_dir_all(room.path().join("web/target")).unwrap();
        std::os::unix::fs::symlink(outside.path(), room.path().join("web/target/surefire-reports")).unwrap();
        let found = |runner| -> Vec<String> {
            built(runner, room.path()).unwrap().into_iter().map(|(name, _)| name.to_string()).collect()
        };
        let maven = [
            "core/target/failsafe-reports/TEST-c.xml",
            "core/target/surefire-reports/TEST-b.xml",
            "target/surefire-reports/TEST-a.xml",
        ];
        assert_eq!(found(Runner::Maven), maven);
        let gradle = ["app/build/test-results/integrationTest/TEST-e.xml", "app/build/test-results/test/TEST-d.xml"];
        assert_eq!(found(Runner::Gradle), gradle);
    }

    #[test]
    fn nodes_list_of_files_is_read_below_the_folder_only() {
        let folder = tempfile::tempdir().unwrap();
        let list = folder.path().join("r.files");
        fs::write(&list, "\"/room/web/a.test.js\"\n\"/etc/passwd\"\nnoise\n\"/room/web/a.test.js\"\n").unwrap();
        assert_eq!(node_files(&list, Path::new("/room/web")), [RepoPath::from("a.test.js")]);
        assert!(node_files(&folder.path().join("none"), Path::new("/room")).is_empty());
    }
}
