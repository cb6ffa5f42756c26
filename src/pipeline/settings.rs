//! The settings in force: project (at the base) ← user ← environment ← flags.

use super::{VerifyError, VerifyRequest};
use crate::agent::{Agent, locate, settle_agent};
use crate::config::{Layer, PROJECT_FILE, SandboxRequirement, Settings, SettingsError, policy_digest, settle};
use crate::host::digest::digest;
use crate::host::git::{EntryKind, Repo};
use crate::host::ids::TreeId;
use crate::host::path::RepoPath;
use crate::receipts::Origin;
use crate::verdict::EMBEDDED;
use crate::verifier::VERIFIER_PROMPT;
use std::fs;
use std::path::PathBuf;

/// Settings, where they came from, and their digest.
#[derive(Debug)]
pub(super) struct Settled {
    pub(super) settings: Settings,
    pub(super) verifier: Verifier,
    pub(super) sources: Vec<String>,
    pub(super) digest: String,
    /// See [`policy_digest`].
    pub(super) policy: String,
}

/// Who judges.
#[derive(Debug, Clone)]
pub(super) enum Verifier {
    /// The embedded one.
    Mechanical,
    /// An agent, and who is asked, in order, when it cannot answer at all.
    Agent { agent: Box<Agent>, fallback: Vec<Agent>, worker: Option<Box<Agent>> },
}

impl Verifier {
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Mechanical => EMBEDDED,
            Self::Agent { agent, .. } => &agent.name,
        }
    }
}

impl Verifier {
    /// Who judges, in which version, with which model.
    pub(super) fn identity(&self) -> String {
        match self {
            Self::Mechanical => EMBEDDED.to_owned(),
            Self::Agent { agent, .. } => agent.identity(),
        }
    }
}

impl Settled {
    /// Finds the verifier's program and its version: before anything runs, so that a missing one is told at once.
    pub(super) fn find_verifier(&mut self, repo: &Repo) -> Result<(), VerifyError> {
        let confined = self.settings.sandbox.require != Some(SandboxRequirement::None);
        match &mut self.verifier {
            Verifier::Mechanical => Ok(()),
            Verifier::Agent { agent, .. } => Ok(locate(repo.host(), agent, repo.top(), confined)?),
        }
    }
}

fn choose(settings: &Settings) -> Result<Verifier, VerifyError> {
    let named = settings.verifier.as_deref().or(settings.agents.verifier.as_deref());
    let name = named.unwrap_or(EMBEDDED);
    if settings.verifiers.contains_key(EMBEDDED) {
        return Err(VerifyError::ReservedVerifier);
    }
    // Also where nobody will be asked: a name that means nothing is told at once.
    let worker = settings.agents.worker.as_deref().map(|name| settle_agent(name, settings)).transpose()?;
    let fallback: Result<Vec<Agent>, _> =
        settings.agents.fallback.iter().map(|name| settle_agent(name, settings)).collect();
    let fallback = fallback?;
    if name == EMBEDDED {
        return Ok(Verifier::Mechanical);
    }
    let agent = Box::new(settle_agent(name, settings)?);
    Ok(Verifier::Agent { agent, fallback, worker: worker.map(Box::new) })
}

/// The project's settings in a tree. Rules that stand behind a link or in a folder would be no rules, and nobody would see it.
pub(super) fn project_layer(repo: &Repo, tree: &TreeId) -> Result<Option<Layer>, VerifyError> {
    let path = RepoPath::from(PROJECT_FILE);
    let name = format!("base:{PROJECT_FILE}");
    let what = match repo.entry(tree, &path)?.map(|entry| entry.kind()) {
        None => return Ok(None),
        Some(EntryKind::File) => {
            let bytes = repo.file(tree, &path, 2 << 20)?.unwrap_or_default();
            return Ok(Some(Layer { name, bytes }));
        }
        Some(EntryKind::Link) => "a link",
        Some(EntryKind::Folder) => "a folder",
        Some(_) => "no file",
    };
    Err(SettingsError::NoFile { source_name: name, what }.into())
}

pub(super) fn settle_settings(
    request: &VerifyRequest,
    repo: &Repo,
    base_tree: &TreeId,
) -> Result<Settled, VerifyError> {
    let env = &repo.host().env;
    let mut layers = Vec::new();
    layers.extend(project_layer(repo, base_tree)?);
    // The merge gate takes nothing from the machine it runs on: the base and its own flags alone.
    let own = request.origin != Origin::Ci;
    if let Some(file) = users_file(repo).filter(|_| own) {
        match fs::read(&file) {
            Ok(bytes) => layers.push(Layer { name: "user:settings.yaml".to_owned(), bytes }),
            Err(why) if why.kind() == std::io::ErrorKind::NotFound => {}
            Err(why) => return Err(VerifyError::UserSettings { path: file, why }),
        }
    }
    let words = |verifier: Option<&str>, tests: Option<&str>| {
        let mut map = serde_json::Map::new();
        if let Some(name) = verifier {
            map.insert("verifier".to_owned(), name.into());
        }
        if let Some(command) = tests {
            map.insert("tests".to_owned(), serde_json::json!({ "command": command }));
        }
        // JSON is YAML: the words are quoted by a serialiser, not by hand.
        (!map.is_empty()).then(|| serde_json::Value::Object(map).to_string().into_bytes())
    };
    let said = |name| env.text(name).filter(|_| own);
    let environment = words(said("COUNTERSIGN_VERIFIER"), said("COUNTERSIGN_TESTS"));
    let flags = words(request.verifier.as_deref(), request.tests.as_deref());
    for (name, bytes) in [("environment", environment), ("flags", flags)] {
        layers.extend(bytes.map(|bytes| Layer { name: name.to_owned(), bytes }));
    }
    let mut settings = settle(&layers)?;
    settings.tests.command_said = match (&request.tests, said("COUNTERSIGN_TESTS")) {
        (Some(_), _) => Some("flag: --tests"),
        (None, Some(_)) => Some("environment: COUNTERSIGN_TESTS"),
        (None, None) => None,
    };
    let verifier = choose(&settings)?;
    // Said or left to the default, it is the same rule.
    settings.verifier = Some(verifier.name().to_owned());
    let canonical = serde_json::to_vec(&settings).unwrap_or_default();
    let mut sources = vec!["defaults".to_owned()];
    sources.extend(layers.into_iter().map(|layer| layer.name));
    let policy = policy_digest(&settings, verifier.name(), VERIFIER_PROMPT);
    Ok(Settled { digest: digest(&canonical), policy, verifier, settings, sources })
}

/// Larger programs are known by their size and their time of change.
const LARGEST_PROGRAM: u64 = 64 << 20;

impl Verifier {
    /// What the verifier's files are now: its program, as `PATH` finds it, and every argument that names a file. The same
    /// command line with another program is another judge.
    pub(super) fn files(&self, repo: &Repo) -> String {
        let Self::Agent { agent, .. } = self else { return String::new() };
        let command = match (agent.kind.command(), &agent.located) {
            (Some(command), _) => command.to_vec(),
            (None, Some(found)) => vec![found.path.display().to_string()],
            (None, None) => Vec::new(),
        };
        let path = repo.host().env.get("PATH").map(ToOwned::to_owned).unwrap_or_default();
        let found = |word: &str| -> Option<PathBuf> {
            let beside = repo.top().join(word);
            let named = if word.contains('/') {
                None
            } else {
                std::env::split_paths(&path).map(|folder| folder.join(word)).find(|file| file.is_file())
            };
            named.or_else(|| beside.is_file().then_some(beside))
        };
        let words = command.iter().map(|word| {
            // `--prompt=FILE` names a file as well.
            let value = word.split_once('=').map_or(word.as_str(), |(_, value)| value);
            found(word).or_else(|| found(value)).map_or_else(String::new, |file| fingerprint(&file))
        });
        words.collect::<Vec<_>>().join("\n")
    }
}

fn fingerprint(file: &std::path::Path) -> String {
    match fs::metadata(file) {
        Ok(data) if data.len() <= LARGEST_PROGRAM => {
            fs::read(file).map_or_else(|why| format!("unreadable: {why}"), |bytes| digest(&bytes))
        }
        Ok(data) => format!("{} bytes, changed {:?}", data.len(), data.modified().ok()),
        Err(why) => format!("unreadable: {why}"),
    }
}

/// `$XDG_CONFIG_HOME/countersign/settings.yaml`, or the same under `~/.config`.
fn users_file(repo: &Repo) -> Option<PathBuf> {
    let env = &repo.host().env;
    let folder = env.get("XDG_CONFIG_HOME").filter(|v| !v.is_empty()).map(PathBuf::from);
    let folder = folder.or_else(|| env.get("HOME").map(|home| PathBuf::from(home).join(".config")))?;
    Some(folder.join("countersign/settings.yaml"))
}
