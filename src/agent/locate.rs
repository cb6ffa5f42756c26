//! Where an agent program is, and which version.

use super::choice::{Agent, AgentError, AgentKind};
use super::home::{Home, without_the_room};
use crate::host::Host;
use crate::host::process::{Launch, Limits, run_to_end};
use crate::host::sandbox::Profile;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A program that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    /// The executable.
    pub path: PathBuf,
    /// What it says of itself.
    pub version: String,
    /// True if the box was closed around it when it said so.
    pub boxed: bool,
}

/// How long a program may take to say its version; those that need Node take a second.
const PATIENCE: Duration = Duration::from_secs(60);

/// Finds an agent's program and asks its version, in the box. Plain commands are left as they are.
///
/// # Errors
/// The program is missing, lies inside the repository, or does not say a version.
pub fn locate(host: &Host, agent: &mut Agent, repository: &Path, confined: bool) -> Result<(), AgentError> {
    let AgentKind::Program(program) = agent.kind else { return Ok(()) };
    let wanted = agent.executable.clone().unwrap_or_else(|| program.name.to_owned());
    let missing = |place: String| AgentError::Missing {
        agent: agent.name.clone(),
        program: wanted.clone(),
        place,
        install: program.install.to_owned(),
    };
    let found = if Path::new(&wanted).is_absolute() {
        is_program(Path::new(&wanted)).then(|| PathBuf::from(&wanted)).ok_or_else(|| missing("there".to_owned()))?
    } else {
        on_the_path(host, &wanted, repository).ok_or_else(|| missing("on the PATH".to_owned()))?
    };
    let path = native(&found, program.native);
    let inside = path.canonicalize().is_ok_and(|path| repository.canonicalize().is_ok_and(|top| path.starts_with(top)));
    if inside {
        return Err(AgentError::OfTheClaim { agent: agent.name.clone(), path: path.display().to_string() });
    }
    let (version, boxed) = version(host, agent, &path, confined).map_err(|why| AgentError::NoVersion {
        agent: agent.name.clone(),
        path: path.display().to_string(),
        why,
        install: program.install.to_owned(),
    })?;
    agent.located = Some(Located { path, version, boxed });
    Ok(())
}

fn on_the_path(host: &Host, name: &str, repository: &Path) -> Option<PathBuf> {
    let path = without_the_room(host.env.get("PATH").unwrap_or_default(), repository);
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|candidate| is_program(candidate))
}

fn is_program(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

/// The executable itself, where the one that was found is a package's launcher: a launcher that is ended leaves the
/// program running.
fn native(found: &Path, natives: &[&str]) -> PathBuf {
    let Ok(full) = found.canonicalize() else { return found.to_owned() };
    let modules = full.ancestors().filter(|folder| folder.file_name().is_some_and(|name| name == "node_modules"));
    modules
        .flat_map(|folder| natives.iter().map(move |native| folder.join(native)))
        .find(|candidate| is_program(candidate))
        .unwrap_or_else(|| found.to_owned())
}

fn version(host: &Host, agent: &Agent, path: &Path, confined: bool) -> Result<(String, bool), String> {
    let home = Home::new(host, None)?;
    let folder = home.folder().join("away");
    std::fs::create_dir_all(&folder).map_err(|why| format!("cannot make {}: {why}", folder.display()))?;
    let profile = Profile::verifier(vec![home.folder().to_owned()]);
    let log = tempfile::Builder::new().prefix("version-").tempdir_in(&host.scratch);
    let log = log.map_err(|why| format!("cannot make a folder in {}: {why}", host.scratch.display()))?;
    let launch = Launch {
        argv: vec![OsString::from(path), "--version".into()],
        cwd: folder,
        env: home.environment(host, agent, Path::new("/nonexistent")),
        stdin: Vec::new(),
        log: log.path().join("log"),
        capture: 4096,
        limits: Limits::within(PATIENCE),
        profile: if confined { profile } else { profile.unconfined() },
    };
    let ended = run_to_end(host, &launch);
    if !ended.ending.is_success() {
        return Err(format!("it {}", ended.ending.sentence()));
    }
    let said = String::from_utf8_lossy(&ended.stdout).into_owned();
    let version = said.split_whitespace().map(|word| word.trim_start_matches('v')).find(|word| is_version(word));
    let version = version.ok_or_else(|| format!("it printed {} bytes without one", ended.stdout_total))?;
    Ok((version.to_owned(), ended.level.enforced))
}

/// `1.2.3`, with whatever hangs on.
fn is_version(word: &str) -> bool {
    let mut parts = word.split('.');
    let number = |part: Option<&str>| part.is_some_and(|part| part.starts_with(|c: char| c.is_ascii_digit()));
    let clean = word.len() <= 60 && word.bytes().all(|b| b.is_ascii_alphanumeric() || b".-+".contains(&b));
    clean && number(parts.next()) && number(parts.next()) && number(parts.next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_told_from_other_words() {
        for (word, is) in
            [("2.1.332", true), ("0.171.0-beta.1+x", true), ("codex-cli", false), ("1.2", false), ("a.b.c", false)]
        {
            assert_eq!(is_version(word), is, "{word}");
        }
    }

    #[test]
    fn a_packages_launcher_gives_way_to_the_program_itself() {
        let folder = tempfile::tempdir().unwrap();
        let modules = folder.path().join("node_modules");
        let (launcher, native_file) = (modules.join("@x/agent/bin/agent.js"), modules.join("@x/agent-linux/agent"));
        for file in [&launcher, &native_file] {
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, "").unwrap();
            std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        let link = folder.path().join("agent");
        std::os::unix::fs::symlink(&launcher, &link).unwrap();
        assert_eq!(native(&link, &["@x/agent-linux/agent"]), native_file.canonicalize().unwrap());
        assert_eq!(native(&link, &["@x/other/agent"]), link);
    }
}
