//! The agent programs we know: one table each, one reader each.
//!
//! What they promise about themselves is not relied upon: the box is around all of them. Their own switches only keep a
//! model from wasting turns, and keep memory files, hooks, skills and tool servers out of a verifier's session.

mod claude;
mod codex;
mod copilot;
mod gemini;
mod opencode;
mod pi;
mod qwen;

use super::told::Told;
use serde_json::Value;
use std::path::Path;

/// Everything that differs from program to program.
#[derive(Debug)]
pub struct Program {
    /// Our name for it, and its executable's.
    pub name: &'static str,
    /// How to get it.
    pub install: &'static str,
    /// The executable below a `node_modules` folder, where the one on the `PATH` is only a launcher for it.
    pub native: &'static [&'static str],
    /// Variables that hold its keys.
    pub keys: &'static [&'static str],
    /// Pairs (variable it reads, variable that people set): the second fills the first.
    pub aliases: &'static [(&'static str, &'static str)],
    /// Variables that say where its model is.
    pub endpoints: &'static [&'static str],
    /// Its credential file, for those who logged in.
    pub login: Option<Login>,
    /// Files that name models and endpoints, lent beside the credential.
    pub lent: &'static [Lent],
    /// Hosts it must reach when no endpoint is set.
    pub hosts: &'static [&'static str],
    /// Variables we set; `@HOME` is its private home.
    pub fixed: &'static [(&'static str, &'static str)],
    /// Files written into a verifier's private home; `@AUTH` is one of `auth`.
    pub verifier_files: &'static [(&'static str, &'static str)],
    /// Files written into a worker's private home.
    pub worker_files: &'static [(&'static str, &'static str)],
    /// What `@AUTH` becomes with a key, and with a lent credential file.
    pub auth: (&'static str, &'static str),
    /// A verifier's arguments: always a fresh session.
    pub verifier: &'static [Word],
    /// A worker's arguments for its first turn.
    pub worker: &'static [Word],
    /// A worker's arguments for a further turn of the same session.
    pub resume: &'static [Word],
    /// Who names a session.
    pub session: Session,
    /// Further arguments that may be given in the settings: they leave the confinement as it is. Any other is refused.
    pub arguments: &'static [&'static str],
    /// True if a verifier must be started outside the room, because nothing else keeps the room's memory files out.
    pub beside: bool,
    /// Reads one event of its stream.
    pub read: fn(&Value, &mut Told),
    /// Its own record on disk, where the stream is not complete.
    pub transcript: Option<Transcript>,
    /// The fault that an exit code means, for programs that type their failures so.
    pub exit_fault: Option<fn(i32) -> Option<u64>>,
}

/// A credential file.
#[derive(Debug, Clone, Copy)]
pub struct Login {
    /// The variable that names its folder, if there is one.
    pub variable: Option<&'static str>,
    /// Its folder below the user's home.
    pub folder: &'static str,
    /// Its name.
    pub file: &'static str,
    /// Where the program looks for it, below its private home.
    pub inside: &'static str,
}

/// A file lent for reading.
#[derive(Debug, Clone, Copy)]
pub struct Lent {
    /// Below the user's home.
    pub from: &'static str,
    /// Below the private home.
    pub to: &'static str,
}

/// A program's own record of a session.
#[derive(Debug, Clone, Copy)]
pub struct Transcript {
    /// The folder below the private home in which it lies, at any depth.
    pub folder: &'static str,
    /// What its name begins with.
    pub prefix: &'static str,
    /// Reads one line of it.
    pub read: fn(&Value, &mut Told),
}

/// Who names a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Session {
    /// We do, with a UUID.
    Ours,
    /// The program does, in its stream.
    Theirs,
}

/// A part of an argument list.
#[derive(Debug, Clone, Copy)]
pub enum Word {
    /// These, always.
    Fixed(&'static [&'static str]),
    /// These, where our box is closed around the program.
    Boxed(&'static [&'static str]),
    /// These, where it is not.
    Unboxed(&'static [&'static str]),
    /// This flag and the model, if one is set.
    Model(&'static str),
    /// This flag (if any) and the session's identity.
    Session(&'static str),
    /// This flag and the room.
    Room(&'static str),
    /// This flag and a folder of the private home.
    Home(&'static str, &'static str),
    /// The first, and the second with a variable's value as a TOML string after it; if the variable is set.
    Endpoint(&'static str, &'static str, &'static str),
    /// The arguments of the settings.
    Extra,
}

/// All of them.
pub const PROGRAMS: &[&Program] = &[
    &claude::PROGRAM,
    &codex::PROGRAM,
    &gemini::PROGRAM,
    &pi::PROGRAM,
    &copilot::PROGRAM,
    &opencode::PROGRAM,
    &qwen::PROGRAM,
];

/// What fills the words of an argument list.
#[derive(Clone, Copy)]
pub(super) struct Fill<'a> {
    pub(super) model: Option<&'a str>,
    pub(super) session: Option<&'a str>,
    pub(super) extra: &'a [String],
    pub(super) room: &'a Path,
    pub(super) home: &'a Path,
    pub(super) boxed: bool,
    pub(super) variable: &'a dyn Fn(&str) -> Option<String>,
}

impl Program {
    /// The program of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        PROGRAMS.iter().copied().find(|program| program.name == name)
    }
}

/// The argument list, without the program itself.
pub(super) fn arguments(words: &[Word], fill: &Fill<'_>) -> Vec<String> {
    let mut list: Vec<String> = Vec::new();
    let both = |flag: &str, value: String| [flag.to_owned(), value].into_iter().filter(|word| !word.is_empty());
    for word in words {
        match *word {
            Word::Fixed(words) => list.extend(words.iter().map(|word| (*word).to_owned())),
            Word::Boxed(words) if fill.boxed => list.extend(words.iter().map(|word| (*word).to_owned())),
            Word::Unboxed(words) if !fill.boxed => list.extend(words.iter().map(|word| (*word).to_owned())),
            Word::Boxed(_) | Word::Unboxed(_) => {}
            Word::Model(flag) => list.extend(fill.model.into_iter().flat_map(|model| both(flag, model.to_owned()))),
            Word::Session(flag) => list.extend(fill.session.into_iter().flat_map(|id| both(flag, id.to_owned()))),
            Word::Room(flag) => list.extend(both(flag, fill.room.display().to_string())),
            Word::Home(flag, folder) => list.extend(both(flag, fill.home.join(folder).display().to_string())),
            Word::Endpoint(flag, key, variable) => {
                let value = (fill.variable)(variable).map(|url| format!("{key}{}", Value::from(url)));
                list.extend(value.into_iter().flat_map(|value| both(flag, value)));
            }
            Word::Extra => list.extend(fill.extra.iter().cloned()),
        }
    }
    list
}

#[cfg(test)]
mod tests;
