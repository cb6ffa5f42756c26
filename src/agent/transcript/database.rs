//! A database that another program keeps, read as it lies there: nothing is written to it or beside it.
//!
//! A writer that is at work, a log that only a writer could fold in, a file that is none: each is an error with a name,
//! never an empty answer. Its schema is hostile like its rows: only plain tables are read, and no row beyond the longest
//! line.

use super::TranscriptError;
use super::lines::LONGEST_LINE;
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// How every such file begins.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// The places in a header that name the file's read and write version; 2 is a database with a write-ahead log.
const VERSIONS: std::ops::Range<usize> = 18..20;

/// How long a writer is waited for.
const PATIENCE: Duration = Duration::from_millis(800);

/// An open database.
pub(super) struct Database {
    pub(super) connection: Connection,
    path: PathBuf,
    /// Size and time of the files at the start, if nothing keeps a writer away meanwhile.
    unguarded: Option<Vec<Option<(u64, SystemTime)>>>,
}

/// How a database is opened so that no file comes to lie beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// With locks, like any reader: nothing has to be made for that.
    Shared,
    /// There is a log, but no shared index of it, and the library would make one. It keeps the index in memory if it takes
    /// itself for the only user, and locks that do nothing are what lets a reader believe that.
    Alone,
    /// Neither log nor index, and the library would make both. It does not for a file that never changes.
    Still,
}

impl Way {
    fn open(self, path: &Path) -> rusqlite::Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        match self {
            Self::Shared => Connection::open_with_flags(path, flags),
            Self::Alone => Connection::open_with_flags_and_vfs(path, flags, c"unix-none"),
            Self::Still => Connection::open_with_flags(still(path), flags | OpenFlags::SQLITE_OPEN_URI),
        }
    }
}

/// The address under which a file counts as one that never changes.
fn still(path: &Path) -> String {
    let escaped = path.as_os_str().as_encoded_bytes().iter().map(|byte| match byte {
        b'/' | b'-' | b'_' | b'.' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => char::from(*byte).to_string(),
        other => format!("%{other:02X}"),
    });
    format!("file:{}?immutable=1", escaped.collect::<String>())
}

/// True if the file opens as a database does. Other files, also ones that cannot be read, are none.
pub(super) fn is_database(path: &Path) -> bool {
    let mut start = [0; 16];
    File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok() && start == *MAGIC
}

impl Database {
    /// Opens a database of which these tables are needed.
    pub(super) fn open(path: &Path, tables: &[&str]) -> Result<Self, TranscriptError> {
        let unreadable = |why| TranscriptError::Unreadable { path: path.to_owned(), why };
        let mut header = [0; 100];
        File::open(path).and_then(|mut file| file.read_exact(&mut header)).map_err(unreadable)?;
        let logged = header[VERSIONS] == [2, 2];
        let index = beside(path, "-shm").exists();
        let log = fs::metadata(beside(path, "-wal")).is_ok_and(|about| about.len() > 0);
        let way = match (logged, index, log) {
            (true, false, true) if cfg!(unix) => Way::Alone,
            (true, false, false) => Way::Still,
            _ => Way::Shared,
        };
        let database = Self {
            unguarded: (way != Way::Shared).then(|| stamps(path)),
            connection: way.open(path).map_err(|why| refusal(path, &why))?,
            path: path.to_owned(),
        };
        database.harden(way).and_then(|()| database.has(tables)).map_err(|why| refusal(path, &why))?;
        Ok(database)
    }

    fn harden(&self, way: Way) -> rusqlite::Result<()> {
        let connection = &self.connection;
        connection.busy_timeout(PATIENCE)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        // The log is its writer's to fold in.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, i32::try_from(LONGEST_LINE).unwrap_or(i32::MAX))?;
        let mode = if way == Way::Alone { "PRAGMA locking_mode = EXCLUSIVE;" } else { "" };
        connection.execute_batch(&format!(
            "{mode} PRAGMA query_only = ON; PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; PRAGMA cache_size = -4096;"
        ))?;
        // One state of the file for all that is asked of it.
        connection.execute_batch("BEGIN")
    }

    /// Fails unless each of these is a plain table. A view could answer without end.
    fn has(&self, tables: &[&str]) -> rusqlite::Result<()> {
        for table in tables {
            let mut found = self.connection.prepare(
                "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?1 AND sql NOT LIKE 'CREATE VIRTUAL%'",
            )?;
            if found.query_row([table], |row| row.get::<_, i64>(0))? != 1 {
                return Err(rusqlite::Error::InvalidColumnName(format!("no plain table `{table}`")));
            }
        }
        Ok(())
    }

    /// What an error of a query means for the file.
    pub(super) fn refusal(&self, why: &rusqlite::Error) -> TranscriptError {
        refusal(&self.path, why)
    }

    /// Ends the reading. Fails if somebody wrote to the file meanwhile and nothing would have kept the states apart.
    pub(super) fn close(self) -> Result<(), TranscriptError> {
        if self.unguarded.as_ref().is_some_and(|before| *before != stamps(&self.path)) {
            return Err(TranscriptError::Locked { path: self.path, why: "it was written to while it was read".into() });
        }
        Ok(())
    }
}

/// The file that belongs to a database under this ending.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

fn stamps(path: &Path) -> Vec<Option<(u64, SystemTime)>> {
    let stamp = |path: PathBuf| fs::metadata(path).ok().and_then(|about| Some((about.len(), about.modified().ok()?)));
    vec![stamp(path.to_owned()), stamp(beside(path, "-wal")), stamp(beside(path, "-shm"))]
}

fn refusal(path: &Path, why: &rusqlite::Error) -> TranscriptError {
    let path = path.to_owned();
    match why.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            TranscriptError::Locked { path, why: "another program keeps it locked".to_owned() }
        }
        // A journal that was left behind must be rolled back first, and that is a change.
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => TranscriptError::Locked {
            path,
            why: format!("it cannot be read without changing something beside it ({why})"),
        },
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            TranscriptError::Broken { path, why: why.to_string() }
        }
        Some(ErrorCode::SystemIoFailure) => {
            TranscriptError::Unreadable { path, why: std::io::Error::other(why.to_string()) }
        }
        _ => TranscriptError::Foreign { path, why: format!("a database, but not one of OpenCode: {why}") },
    }
}
