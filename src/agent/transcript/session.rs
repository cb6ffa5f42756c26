//! Which files belong to a session, and which session belongs to a piece of work.
//!
//! By what the files record: session id, folder and time. The newest file of a folder may be somebody else's.

use super::lines::{Lines, Piece};
use super::wire::{self, Record};
use super::{Dialect, detect};
use crate::host::env::Env;
use std::fs::File;
use std::path::{Path, PathBuf};

/// How many lines of a file are read to learn whose it is.
const OPENING: usize = 64;

/// How many files of a folder are looked into.
const MOST_FILES: usize = 4096;

/// How deep transcripts lie: year, month and day, or a project and a session.
const DEEPEST: usize = 6;

/// What a session's file says about itself in its opening.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opening {
    /// The file.
    pub path: PathBuf,
    /// Who wrote it.
    pub dialect: Dialect,
    /// The session ids in its opening, each once, in order. A resumed session opens with records of the older one.
    pub sessions: Vec<String>,
    /// Where it began to work.
    pub cwd: Option<String>,
    /// The first record's time, in milliseconds since 1970 UTC.
    pub began: Option<i64>,
    /// True for a sub-agent's file.
    pub side: bool,
}

/// The session that is looked for.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// Its id, if known.
    pub session: Option<&'a str>,
    /// The folder that it worked in; absolute.
    pub cwd: &'a Path,
    /// It began at or after this time, in milliseconds since 1970 UTC.
    pub from: Option<i64>,
    /// It began at or before this time.
    pub until: Option<i64>,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// Exactly one session fits; its own file.
    One(PathBuf),
    /// None does.
    Nothing,
    /// Several do: evidence of another task is worse than none.
    Several(Vec<PathBuf>),
}

/// A session's file and those of its sub-agents: in the folder `<session>/subagents`, or beside it with the same id.
pub fn files_of_session(main: &Path) -> Vec<PathBuf> {
    let mut files = vec![main.to_owned()];
    let nested = main.with_extension("").join("subagents");
    let mut subs = files_in(&nested);
    if let (Some(folder), Some(own)) = (main.parent(), opening(main)) {
        let named = |path: &PathBuf| {
            path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("agent-"))
        };
        let beside = files_in(folder).into_iter().filter(named).filter(|path| path != main);
        subs.extend(beside.filter(|path| {
            opening(path).is_some_and(|other| other.sessions.iter().any(|id| own.sessions.contains(id)))
        }));
    }
    subs.sort();
    files.extend(subs);
    files
}

/// Finds the session of a piece of work among the files of a folder and of the folders in it.
pub fn find_session(folder: &Path, wanted: &Wanted<'_>) -> Found {
    let mut paths = files_in(folder);
    for inner in folders_in(folder) {
        paths.extend(files_in(&inner));
    }
    paths.truncate(MOST_FILES);
    let mut fitting: Vec<PathBuf> = paths
        .iter()
        .filter_map(|path| opening(path))
        .filter(|found| fits(found, wanted))
        .map(|found| found.path)
        .collect();
    fitting.sort();
    match (fitting.len(), fitting.pop()) {
        (1, Some(only)) => Found::One(only),
        (_, Some(last)) => {
            fitting.push(last);
            Found::Several(fitting)
        }
        (_, None) => Found::Nothing,
    }
}

/// Where the agent programs keep their transcripts.
pub fn transcript_folders(env: &Env) -> Vec<PathBuf> {
    let home = env.get("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    let own = |name: &str| env.get(name).filter(|place| !place.is_empty()).map(PathBuf::from);
    let below = |folder: &str| home.as_ref().map(|home| home.join(folder));
    let claude = own("CLAUDE_CONFIG_DIR").or_else(|| below(".claude"));
    let codex = own("CODEX_HOME").or_else(|| below(".codex"));
    [
        claude.map(|folder| folder.join("projects")),
        codex.as_ref().map(|folder| folder.join("sessions")),
        codex.map(|folder| folder.join("archived_sessions")),
        below(".gemini/tmp"),
        below(".qwen/projects"),
        below(".copilot/session-state"),
        below(".pi/agent/sessions"),
        // In the homes that we give out.
        below(".pi/sessions"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Finds a session by its id alone: by the name of its file, else by what files say of themselves. Sub-agents' files are
/// no sessions.
pub(super) fn find_by_id(folders: &[PathBuf], id: &str) -> Found {
    if id.is_empty() {
        return Found::Nothing;
    }
    let walk = |folder: &PathBuf| walkdir::WalkDir::new(folder).max_depth(DEEPEST).sort_by_file_name();
    let files: Vec<PathBuf> = folders
        .iter()
        .flat_map(walk)
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_file() && entry.path().extension().is_some_and(|e| e == "jsonl"))
        .map(walkdir::DirEntry::into_path)
        .collect();
    let own = |path: &&PathBuf| {
        opening(path).is_some_and(|found| !found.side && found.sessions.last().is_some_and(|own| own == id))
    };
    let named: Vec<&PathBuf> = files.iter().filter(|path| path.to_string_lossy().contains(id)).collect();
    let mut fitting: Vec<PathBuf> = named.into_iter().filter(own).cloned().collect();
    if fitting.is_empty() {
        fitting = files.iter().take(MOST_FILES).filter(own).cloned().collect();
    }
    match fitting.len() {
        0 => Found::Nothing,
        1 => fitting.pop().map_or(Found::Nothing, Found::One),
        _ => Found::Several(fitting),
    }
}

fn fits(found: &Opening, wanted: &Wanted<'_>) -> bool {
    let same_folder = found.cwd.as_deref().is_some_and(|cwd| Path::new(cwd) == wanted.cwd);
    // The last id is the session's own: what stands before it was copied from the one that it resumes.
    let same_session = wanted.session.is_none_or(|id| found.sessions.last().is_some_and(|own| own == id));
    let in_time = match found.began {
        Some(began) => wanted.from.is_none_or(|from| began >= from) && wanted.until.is_none_or(|until| began <= until),
        None => wanted.from.is_none() && wanted.until.is_none(),
    };
    !found.side && same_folder && same_session && in_time
}

/// Reads a file's opening; nothing if it is no transcript of a program we know.
pub(super) fn opening(path: &Path) -> Option<Opening> {
    let mut lines = Lines::new(File::open(path).ok()?);
    let mut found = Opening {
        path: path.to_owned(),
        dialect: Dialect::Claude,
        sessions: Vec::new(),
        cwd: None,
        began: None,
        side: false,
    };
    let mut dialect = None;
    for _ in 0..OPENING {
        let Ok(Some((_, piece))) = lines.next_line() else { break };
        let Piece::Line(bytes) = piece else { continue };
        for record in wire::records(bytes, |_| {}) {
            dialect = dialect.or_else(|| detect(&record));
            read_opening(&mut found, &record);
        }
    }
    found.dialect = dialect?;
    Some(found)
}

fn read_opening(found: &mut Opening, record: &Record<'_>) {
    // Codex, Copilot and others wrap what they say about the session.
    let inner: Option<Record<'_>> = record.get("payload").or_else(|| record.get("data"));
    let inner = inner.as_ref();
    let wrapped = inner.is_some() && matches!(record.kind(), Some("session_meta" | "session.start"));
    let named = if wrapped {
        inner.and_then(|inner| inner.text("id").or_else(|| inner.text("sessionId")))
    } else if record.kind() == Some("session") {
        record.text("id")
    } else {
        record.text("sessionId")
    };
    if let Some(id) = named
        && !found.sessions.contains(&id)
    {
        found.sessions.push(id);
    }
    let context: Option<Record<'_>> = inner.and_then(|inner| inner.get("context"));
    let cwd = record.text("cwd").or_else(|| inner?.text("cwd")).or_else(|| context?.text("cwd"));
    found.cwd = found.cwd.take().or(cwd);
    found.began = found.began.or_else(|| record.time("timestamp")).or_else(|| record.time("startTime"));
    found.side |= record.get("isSidechain") == Some(true);
}

fn files_in(folder: &Path) -> Vec<PathBuf> {
    entries(folder, std::fs::FileType::is_file)
        .into_iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .collect()
}

fn folders_in(folder: &Path) -> Vec<PathBuf> {
    entries(folder, std::fs::FileType::is_dir)
}

fn entries(folder: &Path, wanted: impl Fn(&std::fs::FileType) -> bool) -> Vec<PathBuf> {
    let Ok(list) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut found: Vec<PathBuf> = list
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_ok_and(|kind| wanted(&kind)))
        .map(|entry| entry.path())
        .take(MOST_FILES)
        .collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(session: &str, cwd: &str, minute: u32, side: bool) -> String {
        format!(
            r#"{{"type":"user","uuid":"{session}{minute}","parentUuid":null,"isSidechain":{side},"sessionId":"{session}","cwd":"{cwd}","timestamp":"2026-01-01T00:{minute:02}:00Z","message":{{"content":"go"}}}}"#
        ) + "\n"
    }

    /// Sessions of two tasks, one resumed, one side chain.
    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: String| std::fs::write(folder.path().join(name), text).unwrap();
        write("s1.jsonl", line("s1", "/a", 1, false));
        write("s2.jsonl", line("s1", "/a", 1, false) + &line("s2", "/a", 30, false));
        write("agent-x.jsonl", line("s1", "/a", 2, true));
        write("s3.jsonl", line("s3", "/b", 40, false));
        write("notes.jsonl", "{\"hello\":1}\n".to_owned());
        folder
    }

    #[test]
    fn tr_multi_session_a_session_is_chosen_by_id_folder_and_time_and_never_by_the_newest_file() {
        let folder = folder();
        let at = |name: &str| Found::One(folder.path().join(name));
        let find = |session, cwd, from| {
            find_session(folder.path(), &Wanted { session, cwd: Path::new(cwd), from, until: None })
        };
        assert_eq!(find(Some("s1"), "/a", None), at("s1.jsonl"));
        assert_eq!(find(Some("s2"), "/a", None), at("s2.jsonl"));
        assert_eq!(find(None, "/b", None), at("s3.jsonl"));
        assert_eq!(find(Some("s3"), "/a", None), Found::Nothing);
        assert_eq!(find(None, "/a", Some(i64::MAX)), Found::Nothing);
        let both = ["s1.jsonl", "s2.jsonl"].map(|name| folder.path().join(name));
        assert_eq!(find(None, "/a", None), Found::Several(both.to_vec()));
    }

    #[test]
    fn tr_multi_session_a_side_chain_belongs_to_its_parent() {
        let folder = folder();
        let path = |name: &str| folder.path().join(name);
        assert_eq!(files_of_session(&path("s1.jsonl")), [path("s1.jsonl"), path("agent-x.jsonl")]);
        assert_eq!(files_of_session(&path("s3.jsonl")), [path("s3.jsonl")]);
        std::fs::create_dir_all(path("s3/subagents")).unwrap();
        std::fs::write(path("s3/subagents/agent-y.jsonl"), line("s3", "/b", 41, true)).unwrap();
        assert_eq!(files_of_session(&path("s3.jsonl")), [path("s3.jsonl"), path("s3/subagents/agent-y.jsonl")]);
    }
}
