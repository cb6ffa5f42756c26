//! OpenCode: one database for all sessions. A call and its result are one row, so the last state is what is there.
//!
//! Rows are taken in the order in which they were written. A sub-agent is a session with a parent, and the call that
//! started it names it. A conversation that was taken back keeps its rows until the next word; the session says from where.

use super::builder::{Builder, Call};
use super::database::Database;
use super::event::{Actor, ExitSource, ToolKind, ToolStatus};
use super::input::patch_paths;
use super::wire::Record;
use super::{Dialect, Transcript, TranscriptError};
use crate::host::env::Env;
use rusqlite::types::ValueRef;
use rusqlite::{OptionalExtension, Row};
use serde_json::value::RawValue;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// The tables that are read.
const TABLES: [&str; 3] = ["session", "message", "part"];

/// How many sessions are named where one must be chosen.
const NAMED_SESSIONS: usize = 8;

/// How many sub-agents' sessions are followed.
const MOST_SUBS: usize = 512;

/// A session as its row tells.
struct Session {
    line: u64,
    id: String,
    folder: Option<String>,
    began: Option<i64>,
    revert: Option<String>,
}

/// Where a conversation was taken back from.
#[derive(Default)]
struct Revert {
    message: String,
    part: Option<String>,
}

/// Reads one session with its sub-agents; without an id, the only one that there is.
pub(super) fn read(path: &Path, wanted: Option<&str>) -> Result<Transcript, TranscriptError> {
    let database = Database::open(path, &TABLES)?;
    let main = choose(&database, path, wanted)?;
    let mut builder = Builder::default();
    let sessions = with_subs(&database, main, &mut builder).map_err(|why| database.refusal(&why))?;
    for (index, session) in sessions.iter().enumerate() {
        builder.open_file(index);
        one_session(&database, session, &mut builder).map_err(|why| database.refusal(&why))?;
    }
    database.close()?;
    Ok(builder.finish(Dialect::Opencode, vec![path.to_owned(); sessions.len()]))
}

/// True if the database holds this session.
pub(super) fn holds(path: &Path, session: &str) -> Result<bool, TranscriptError> {
    let database = Database::open(path, &TABLES)?;
    let found =
        database.connection.query_row("SELECT count(*) FROM session WHERE id = ?1", [session], |row| row.get(0));
    let found: i64 = found.map_err(|why| database.refusal(&why))?;
    database.close()?;
    Ok(found > 0)
}

fn choose(database: &Database, path: &Path, wanted: Option<&str>) -> Result<Session, TranscriptError> {
    let refused = |why: rusqlite::Error| database.refusal(&why);
    if let Some(id) = wanted {
        let query = "SELECT rowid, id, directory, time_created, revert FROM session WHERE id = ?1";
        let mut found = database.connection.prepare(query).map_err(refused)?;
        let session = found.query_row([id], session_of).optional().map_err(refused)?;
        return session.ok_or_else(|| TranscriptError::NoSession { path: path.to_owned(), session: id.to_owned() });
    }
    let mut all = mains(database).map_err(refused)?;
    match (all.len(), all.pop()) {
        (1, Some(only)) => Ok(only),
        (count, last) => {
            // The newest were written last.
            let names = last.into_iter().chain(all.into_iter().rev()).take(NAMED_SESSIONS).map(|session| session.id);
            Err(TranscriptError::Several { path: path.to_owned(), count, newest: names.collect() })
        }
    }
}

fn mains(database: &Database) -> rusqlite::Result<Vec<Session>> {
    let mut found = database.connection.prepare(
        "SELECT rowid, id, directory, time_created, revert FROM session WHERE parent_id IS NULL ORDER BY rowid",
    )?;
    found.query_map([], session_of)?.collect()
}

fn session_of(row: &Row<'_>) -> rusqlite::Result<Session> {
    Ok(Session {
        line: row.get::<_, i64>(0)?.unsigned_abs(),
        id: text(row.get_ref(1)?).unwrap_or_default(),
        folder: text(row.get_ref(2)?),
        began: row.get_ref(3)?.as_i64().ok(),
        revert: text(row.get_ref(4)?),
    })
}

/// A session, then the sessions of its sub-agents and of theirs.
fn with_subs(database: &Database, main: Session, builder: &mut Builder) -> rusqlite::Result<Vec<Session>> {
    let mut found = database.connection.prepare(
        "SELECT rowid, id, directory, time_created, revert FROM session WHERE parent_id = ?1 ORDER BY rowid",
    )?;
    let mut known = HashSet::from([main.id.clone()]);
    let mut sessions = vec![main];
    let mut next = 0;
    while let Some(parent) = sessions.get(next).map(|session| session.id.clone()) {
        next += 1;
        let subs: Vec<Session> = found.query_map([&parent], session_of)?.collect::<rusqlite::Result<_>>()?;
        for sub in subs {
            if sessions.len() > MOST_SUBS {
                builder.gap(format!("more than {MOST_SUBS} sub-agents"));
                return Ok(sessions);
            }
            // A row can name itself as its parent's parent.
            if known.insert(sub.id.clone()) {
                sessions.push(sub);
            }
        }
    }
    Ok(sessions)
}

fn one_session(database: &Database, session: &Session, builder: &mut Builder) -> rusqlite::Result<()> {
    builder.record(session.line);
    builder.note(Some(session.id.clone()), session.folder.clone(), session.began);
    let spoken = spoken(database, session, builder)?;
    let revert = session.revert.as_deref().map(revert_of);
    let mut parts = database.connection.prepare(
        "SELECT rowid, id, message_id, CASE WHEN octet_length(data) <= ?2 THEN data END, octet_length(data)
         FROM part WHERE session_id = ?1 ORDER BY rowid",
    )?;
    let longest = i64::try_from(super::LONGEST_LINE / 2).unwrap_or(i64::MAX);
    let mut rows = parts.query(rusqlite::params![session.id, longest])?;
    let actor = if builder.in_sub_file() { Actor::Sub(session.id.clone()) } else { Actor::Main };
    while let Some(row) = rows.next()? {
        let line = row.get::<_, i64>(0)?.unsigned_abs();
        let message = text(row.get_ref(2)?).unwrap_or_default();
        builder.message(&message);
        if let Some(from) = revert.as_ref().and_then(|revert| revert.part.as_deref())
            && text(row.get_ref(1)?).as_deref() == Some(from)
        {
            builder.turn(from);
        }
        if builder.is_full() {
            continue;
        }
        let Some(bytes) = bytes(row.get_ref(3)?) else {
            let size = row.get_ref(4)?.as_i64().unwrap_or_default();
            builder.damage(line, format!("a part of {size} bytes; at most {longest} are read"));
            continue;
        };
        let Ok(record) = serde_json::from_slice::<Record<'_>>(bytes) else {
            builder.damage(line, "a part that is not JSON".to_owned());
            continue;
        };
        builder.record(line);
        part(builder, &record, session, &actor, spoken.contains(&message));
    }
    if let Some(Revert { message, part }) = revert {
        builder.take_back_to(part.as_deref().unwrap_or(&message));
    }
    Ok(())
}

/// The messages that the agent wrote; the others are a person's.
fn spoken(database: &Database, session: &Session, builder: &mut Builder) -> rusqlite::Result<HashSet<String>> {
    let mut messages = database.connection.prepare(
        "SELECT rowid, id, CASE WHEN octet_length(data) <= ?2 THEN data END FROM message WHERE session_id = ?1 ORDER BY rowid",
    )?;
    let longest = i64::try_from(super::LONGEST_LINE / 2).unwrap_or(i64::MAX);
    let mut rows = messages.query(rusqlite::params![session.id, longest])?;
    let mut spoken = HashSet::new();
    while let Some(row) = rows.next()? {
        let line = row.get::<_, i64>(0)?.unsigned_abs();
        let record: Option<Record<'_>> = bytes(row.get_ref(2)?).and_then(|bytes| serde_json::from_slice(bytes).ok());
        let Some(record) = record else {
            builder.damage(line, "a message that is not JSON, or too long".to_owned());
            continue;
        };
        builder.record(line);
        if record.text("role").as_deref() == Some("assistant") {
            spoken.insert(text(row.get_ref(1)?).unwrap_or_default());
        } else {
            builder.skip("message");
        }
    }
    Ok(spoken)
}

fn revert_of(json: &str) -> Revert {
    let record: Option<Record<'_>> = serde_json::from_str(json).ok();
    let field = |name| record.as_ref().and_then(|record| record.text(name));
    // What cannot be read is found nowhere, and so is a gap.
    Revert { message: field("messageID").unwrap_or_default(), part: field("partID") }
}

fn part(builder: &mut Builder, part: &Record<'_>, session: &Session, actor: &Actor, spoken: bool) {
    match part.counted_as() {
        "tool" => tool(builder, part, session, actor),
        "text" if spoken => builder.say(&part.text("text").unwrap_or_default()),
        "text" => {
            builder.asked(&part.text("text").unwrap_or_default());
            builder.skip("text");
        }
        other => builder.skip(other),
    }
}

fn tool(builder: &mut Builder, part: &Record<'_>, session: &Session, actor: &Actor) {
    let (id, name) = (part.text("callID").unwrap_or_default(), part.text("tool").unwrap_or_default());
    let Some(state) = part.get::<Record<'_>>("state") else { return builder.skip("tool without a state") };
    let time: Option<Record<'_>> = state.get("time");
    let moment = |name| time.as_ref().and_then(|time| time.get::<f64>(name)).map(milliseconds);
    let place = builder.call(Call {
        id: &id,
        tool: &name,
        kind: kind_of(&name),
        actor: actor.clone(),
        input: state.get::<&RawValue>("input"),
        cwd: session.folder.clone(),
        at: moment("start"),
    });
    of_input(builder, place, &state);
    let status = state.text("status").unwrap_or_default();
    if matches!(status.as_str(), "completed" | "error") {
        builder.answered(place, moment("end"));
    }
    ended(builder, place, &status, &state);
}

fn of_input(builder: &mut Builder, place: usize, state: &Record<'_>) {
    let Some(input) = state.get::<Record<'_>>("input") else { return };
    if let Some(folder) = input.text("workdir") {
        builder.event(place).cwd = Some(folder);
    }
    if builder.event(place).kind == ToolKind::Patch
        && let Some(patch) = input.text("patchText")
    {
        builder.event(place).paths = patch_paths(&patch);
    }
}

fn ended(builder: &mut Builder, place: usize, status: &str, state: &Record<'_>) {
    let about: Option<Record<'_>> = state.get("metadata");
    let output = state.text("output").or_else(|| state.text("error")).unwrap_or_default();
    let event = builder.event(place);
    event.status = match status {
        "completed" => ToolStatus::Ok,
        "error" if output.starts_with("Tool execution aborted") => ToolStatus::Aborted,
        "error" => ToolStatus::Error,
        "running" => ToolStatus::Running,
        _ => ToolStatus::Unknown,
    };
    if let Some(about) = &about {
        event.truncated = about.get("truncated") == Some(true);
    }
    if event.kind == ToolKind::Shell {
        let exit: Option<i32> = about.as_ref().and_then(|about| about.get("exit"));
        let event = builder.event(place);
        if let Some(exit) = exit {
            (event.exit, event.exit_source) = (Some(exit), ExitSource::Field);
        }
        event.status = match (event.status, exit) {
            (ToolStatus::Ok, Some(0)) => ToolStatus::Ok,
            (ToolStatus::Ok, Some(_)) => ToolStatus::Error,
            // A command that was ended from outside has no exit code; its reason stands behind its output.
            (ToolStatus::Ok, None) => interrupted(&output),
            (other, _) => other,
        };
        builder.output(place, &output);
    }
    if let Some(sub) = about.and_then(|about| about.text("sessionId").or_else(|| about.text("sessionID"))) {
        builder.hosts(&sub, place);
    }
}

fn interrupted(output: &str) -> ToolStatus {
    let told = output.rsplit_once("<bash_metadata>").map_or("", |(_, told)| told);
    if told.contains("exceeding timeout") {
        ToolStatus::TimedOut
    } else if told.contains("aborted") {
        ToolStatus::Aborted
    } else {
        ToolStatus::Unknown
    }
}

fn kind_of(tool: &str) -> ToolKind {
    match tool {
        "bash" | "shell" => ToolKind::Shell,
        "write" => ToolKind::Write,
        "edit" | "multiedit" => ToolKind::Edit,
        "patch" | "apply_patch" => ToolKind::Patch,
        "read" | "glob" | "grep" | "list" | "ls" => ToolKind::Read,
        "webfetch" | "websearch" | "codesearch" => ToolKind::Net,
        "skill" => ToolKind::Skill,
        "task" => ToolKind::Agent,
        _ => ToolKind::Other,
    }
}

/// Times are whole milliseconds, but a number of JSON.
#[expect(clippy::cast_possible_truncation, reason = "a time is saturated, not wrapped")]
fn milliseconds(time: f64) -> i64 {
    time as i64
}

fn bytes(value: ValueRef<'_>) -> Option<&[u8]> {
    match value {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(bytes),
        _ => None,
    }
}

fn text(value: ValueRef<'_>) -> Option<String> {
    bytes(value).map(|bytes| String::from_utf8_lossy(bytes).into_owned())
}

/// Where OpenCode keeps its database.
pub(super) fn place(env: &Env) -> Option<PathBuf> {
    let set = |name: &str| env.get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let data = || set("XDG_DATA_HOME").or_else(|| set("HOME").map(|home| home.join(".local/share")));
    set("OPENCODE_DB").or_else(|| data().map(|data| data.join("opencode").join("opencode.db")))
}

#[cfg(test)]
pub(super) mod tests;
