//! An agent's private home: what it finds there is what we put there, and nothing of the user's.

use super::choice::Agent;
use super::login::{Loan, lend};
use super::program::Program;
use super::role::Role;
use crate::host::Host;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Variables that decide where a program keeps things; all point into its private home.
const HOMES: &[(&str, &str)] = &[
    ("HOME", "home"),
    ("TMPDIR", "tmp"),
    ("XDG_CONFIG_HOME", "home/.config"),
    ("XDG_CACHE_HOME", "home/.cache"),
    ("XDG_DATA_HOME", "home/.local/share"),
    ("XDG_STATE_HOME", "home/.local/state"),
];

/// What a program takes for its home, in the folder of a [`Home`].
pub(super) fn of_program(folder: &Path) -> PathBuf {
    folder.join("home")
}

/// A file that is lent may have at most this many bytes.
const LARGEST_LENT: u64 = 1 << 20;

/// A private home with a folder for temporary files beside it. Gone when dropped, unless it is kept for a session.
#[derive(Debug)]
pub(super) struct Home {
    folder: PathBuf,
    temporary: Option<tempfile::TempDir>,
    loan: Option<Loan>,
    notes: Vec<String>,
}

impl Home {
    /// A fresh one, or the one that is kept in this folder.
    pub(super) fn new(host: &Host, kept: Option<&Path>) -> Result<Self, String> {
        let (folder, temporary) = if let Some(kept) = kept {
            (kept.to_owned(), None)
        } else {
            let made = tempfile::Builder::new().prefix("verifier-").tempdir_in(&host.scratch);
            let made = made.map_err(|why| format!("cannot make a folder in {}: {why}", host.scratch.display()))?;
            (made.path().to_owned(), Some(made))
        };
        for (_, inside) in HOMES {
            let made = std::fs::create_dir_all(folder.join(inside));
            made.map_err(|why| format!("cannot make {inside} in {}: {why}", folder.display()))?;
        }
        Ok(Self { folder, temporary, loan: None, notes: Vec::new() })
    }

    /// The whole folder: all that its program may write.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// What the program takes for its home.
    pub(super) fn home(&self) -> PathBuf {
        of_program(&self.folder)
    }

    /// Puts in what the program needs: its files for this role, and where no key is set, the credential file alone.
    pub(super) fn furnish(&mut self, host: &Host, program: &Program, role: Role) -> Result<(), String> {
        let home = self.home();
        let has_key = program
            .keys
            .iter()
            .chain(program.aliases.iter().map(|(_, from)| from))
            .any(|key| host.env.text(key).is_some());
        if !has_key && let Some(login) = &program.login {
            self.loan = lend(host, login, &home)?;
        }
        let auth = if self.loan.is_some() && !has_key { program.auth.1 } else { program.auth.0 };
        let files = match role {
            Role::Verifier => program.verifier_files,
            Role::Worker => program.worker_files,
        };
        for (path, text) in files {
            put(&home.join(path), text.replace("@AUTH", auth).as_bytes())?;
        }
        for lent in program.lent {
            let Some(from) = host.env.get("HOME").map(|user| Path::new(user).join(lent.from)) else { continue };
            let small = std::fs::symlink_metadata(&from).is_ok_and(|m| m.is_file() && m.len() <= LARGEST_LENT);
            if small {
                let bytes = std::fs::read(&from).map_err(|why| format!("cannot read {}: {why}", from.display()))?;
                put(&home.join(lent.to), &bytes)?;
            }
        }
        Ok(())
    }

    /// The allow-list, the variables of this agent, the private home. Later ones win.
    pub(super) fn environment(&self, host: &Host, agent: &Agent, room: &Path) -> Vec<(OsString, OsString)> {
        let mut env: Vec<(OsString, OsString)> = host.env.for_child();
        let mut set = |name: &str, value: OsString| {
            env.retain(|(known, _)| known != OsStr::new(name));
            env.push((name.into(), value));
        };
        if let Some(program) = agent.kind.program() {
            for name in program.keys.iter().chain(program.endpoints) {
                if let Some(value) = host.env.get(name) {
                    set(name, value.to_owned());
                }
            }
            for (name, from) in program.aliases.iter().filter(|(name, _)| host.env.text(name).is_none()) {
                if let Some(value) = host.env.get(from) {
                    set(name, value.to_owned());
                }
            }
            let home = self.home();
            for (name, value) in program.fixed {
                let value = match value.strip_prefix("@HOME/") {
                    Some(inside) => home.join(inside).into_os_string(),
                    None => OsString::from(value),
                };
                set(name, value);
            }
        }
        for name in &agent.env {
            let fixed = agent.kind.program().is_some_and(|program| program.fixed.iter().any(|(f, _)| f == name));
            if let Some(value) = host.env.get(name).filter(|_| !fixed) {
                set(name, value.to_owned());
            }
        }
        env.retain(|(name, _)| !HOMES.iter().any(|(home, _)| name == home));
        for (name, value) in &mut env {
            if name == "PATH" {
                *value = without_the_room(value, room);
            }
        }
        env.extend(HOMES.iter().map(|(name, inside)| (OsString::from(name), self.folder.join(inside).into())));
        env
    }

    /// Takes back what was lent, and says what is worth saying about it.
    pub(super) fn settle_up(&mut self) -> Vec<String> {
        if let Some(loan) = self.loan.take() {
            self.notes.extend(loan.give_back());
        }
        std::mem::take(&mut self.notes)
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // A kept home never keeps a credential.
        let _ = self.settle_up();
        drop(self.temporary.take());
    }
}

fn put(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let made = path.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| std::fs::write(path, bytes));
    made.map_err(|why| format!("cannot write {}: {why}", path.display()))
}

/// A `PATH` without relative places: the program runs inside the claim's tree, where they would mean the claim's files.
pub(super) fn without_the_room(path: &OsStr, room: &Path) -> OsString {
    let kept: Vec<&[u8]> = path
        .as_bytes()
        .split(|b| *b == b':')
        .filter(|place| place.starts_with(b"/") && !Path::new(OsStr::from_bytes(place)).starts_with(room))
        .collect();
    OsString::from_vec(kept.join(&b':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_places_leave_the_search_path() {
        let kept = without_the_room(OsStr::new("/usr/bin::.:bin:/room/bin:/bin"), Path::new("/room"));
        assert_eq!(kept, "/usr/bin:/bin");
    }
}
