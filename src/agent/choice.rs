//! Which agent is meant: a built-in name, or a name of the settings.

use super::acp::{PREFIX, Speaker};
use super::arguments::first_refused;
use super::locate::Located;
use super::program::{PROGRAMS, Program};
use crate::config::{Settings, VerifierProgram};
use crate::host::Host;
use crate::host::path::escape;
use crate::host::sandbox::Endpoint;

/// A settled agent.
#[derive(Debug, Clone)]
pub struct Agent {
    /// Its name, as it was asked for.
    pub name: String,
    /// What it is.
    pub kind: AgentKind,
    /// The model to ask for, or of a plain command: the model it says it uses.
    pub model: Option<String>,
    /// Further arguments, all permitted.
    pub args: Vec<String>,
    /// Variables it may see beside the allow-list and its own.
    pub env: Vec<String>,
    /// True if it may reach the whole network.
    pub network: bool,
    /// Hosts it may reach beside its model's.
    pub allow_hosts: Vec<Endpoint>,
    /// The executable named in the settings; looked up on the `PATH` otherwise.
    pub executable: Option<String>,
    /// Where it was found, once it was looked for.
    pub located: Option<Located>,
}

/// What an agent is.
#[derive(Debug, Clone)]
pub enum AgentKind {
    /// Any program: brief on standard input, answer on standard output.
    Command(Vec<String>),
    /// One of the programs we know.
    Program(&'static Program),
    /// Any program that speaks the Agent Client Protocol.
    Acp(Speaker),
}

/// Why an agent cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// No such name.
    #[error("there is no agent named {name}; use {known}, or describe one under `verifiers:` in the settings")]
    Unknown {
        /// The name.
        name: String,
        /// Those that exist.
        known: String,
    },
    /// A contradictory description.
    #[error("`verifiers: {{{name}: …}}` in the settings {why}")]
    Description {
        /// The name.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// An argument that could loosen the confinement.
    #[error(
        "{agent}: the argument `{argument}` of the settings is not known to be harmless; permitted are {permitted}"
    )]
    Argument {
        /// The agent.
        agent: String,
        /// The argument.
        argument: String,
        /// All that are permitted.
        permitted: String,
    },
    /// The program is not installed.
    #[error("{agent} is not installed: there is no `{program}` {place}; install it: {install}")]
    Missing {
        /// The agent.
        agent: String,
        /// The executable.
        program: String,
        /// Where it was looked for.
        place: String,
        /// How to get it.
        install: String,
    },
    /// The program does not start, or does not say its version.
    #[error("{agent} is at {path}, but `{path} --version` says no version: {why}; install it anew: {install}")]
    NoVersion {
        /// The agent.
        agent: String,
        /// The executable.
        path: String,
        /// What happened.
        why: String,
        /// How to get it.
        install: String,
    },
    /// The program lies inside the repository that is judged.
    #[error("{agent}: {path} lies inside the judged repository; the work under judgement may not bring its judge")]
    OfTheClaim {
        /// The agent.
        agent: String,
        /// The executable.
        path: String,
    },
}

impl AgentError {
    /// True if the machine lacks something, false if the settings are wrong.
    pub fn is_of_the_machine(&self) -> bool {
        matches!(self, Self::Missing { .. } | Self::NoVersion { .. })
    }
}

/// Settles which agent a name means.
///
/// # Errors
/// No such name, a contradictory description, or an argument that is not permitted.
pub fn settle_agent(name: &str, settings: &Settings) -> Result<Agent, AgentError> {
    if let Some(described) = settings.verifiers.get(name) {
        return described_agent(name, described);
    }
    if let Some(command) = name.strip_prefix(PREFIX) {
        let command = command.split_whitespace().map(str::to_owned).collect();
        let described = VerifierProgram { agent: Some("acp".to_owned()), command, ..VerifierProgram::default() };
        return described_agent(name, &described);
    }
    match Program::named(name) {
        Some(_) => described_agent(name, &VerifierProgram::default()),
        None => Err(AgentError::Unknown { name: escape(name.as_bytes()), known: known(settings) }),
    }
}

fn known(settings: &Settings) -> String {
    let mut names: Vec<&str> = vec!["mechanical"];
    names.extend(PROGRAMS.iter().map(|program| program.name));
    names.extend(settings.verifiers.keys().map(String::as_str).filter(|name| Program::named(name).is_none()));
    names.push("acp:COMMAND");
    names.join(", ")
}

fn described_agent(name: &str, described: &VerifierProgram) -> Result<Agent, AgentError> {
    let wrong = |why: &str| AgentError::Description { name: escape(name.as_bytes()), why: why.to_owned() };
    let command = &described.command;
    // An entry under a built-in name without a command only adds to what we know of that program.
    let kind = match described.agent.as_deref().or_else(|| command.is_empty().then_some(name)) {
        None | Some("command") => AgentKind::Command(nonempty(command).ok_or_else(|| wrong("has no command"))?),
        Some("acp") => AgentKind::Acp(Speaker::of(nonempty(command).ok_or_else(|| wrong("has no command"))?)),
        Some(word) => AgentKind::Program(Program::named(word).ok_or_else(|| {
            wrong(&format!("names no agent program: `{}`; give `agent:` or `command:`", escape(word.as_bytes())))
        })?),
    };
    let executable = match (&kind, command.as_slice()) {
        (AgentKind::Program(_), [one]) => Some(one.clone()),
        (AgentKind::Program(_), [_, _, ..]) => {
            return Err(wrong("gives a command of several words for a known program; put arguments under `args:`"));
        }
        _ => None,
    };
    if let AgentKind::Program(program) = &kind
        && let Some(argument) = first_refused(program.arguments, &described.args)
    {
        let permitted = if program.arguments.is_empty() { "none".to_owned() } else { program.arguments.join(", ") };
        return Err(AgentError::Argument {
            agent: escape(name.as_bytes()),
            argument: escape(argument.as_bytes()),
            permitted,
        });
    }
    if !matches!(kind, AgentKind::Program(_)) && !described.args.is_empty() {
        return Err(wrong("has `args:`, which are for the known programs; put them into `command:`"));
    }
    Ok(Agent {
        name: name.to_owned(),
        network: described.network,
        kind,
        model: described.model.clone(),
        args: described.args.clone(),
        env: described.env.clone(),
        allow_hosts: described.allow_hosts.clone(),
        executable,
        located: None,
    })
}

fn nonempty(command: &[String]) -> Option<Vec<String>> {
    command.first().is_some_and(|program| !program.is_empty()).then(|| command.to_vec())
}

impl AgentKind {
    /// The program whose keys, log-in and places it takes.
    pub(super) fn program(&self) -> Option<&'static Program> {
        match self {
            Self::Command(_) => None,
            Self::Program(program) => Some(program),
            Self::Acp(speaker) => speaker.like,
        }
    }

    /// The command line, of an agent that the settings describe by one.
    pub fn command(&self) -> Option<&[String]> {
        match self {
            Self::Command(command) => Some(command),
            Self::Acp(speaker) => Some(&speaker.command),
            Self::Program(_) => None,
        }
    }
}

impl Agent {
    /// What two agents must share to be one judge in two coats: the program, and the model asked of it.
    pub fn is_same_model_as(&self, other: &Self) -> bool {
        let program = |agent: &Self| match &agent.kind {
            AgentKind::Program(program) => vec![program.name.to_owned()],
            AgentKind::Command(command) => command.clone(),
            AgentKind::Acp(speaker) => speaker.like.map_or(speaker.command.clone(), |like| vec![like.name.to_owned()]),
        };
        program(self) == program(other) && self.model == other.model
    }

    /// The places it may reach: its model's and those of the settings. None: no network at all.
    pub fn hosts(&self, host: &Host, more: &[Endpoint]) -> Vec<Endpoint> {
        let mut hosts = self.allow_hosts.clone();
        if let Some(program) = self.kind.program() {
            let set: Vec<Endpoint> =
                program.endpoints.iter().filter_map(|name| endpoint_of(host.env.text(name)?)).collect();
            if set.is_empty() {
                hosts.extend(program.hosts.iter().filter_map(|name| name.parse().ok()));
            }
            hosts.extend(set);
        }
        if !hosts.is_empty() {
            hosts.extend(more.iter().cloned());
        }
        hosts.sort();
        hosts.dedup();
        hosts
    }

    /// What its network is meant to be, in words.
    pub(super) fn network_meant(&self, host: &Host, more: &[Endpoint]) -> String {
        let hosts: Vec<String> = self.hosts(host, more).iter().map(ToString::to_string).collect();
        match hosts.join(", ") {
            _ if self.network => "open, as the settings say".to_owned(),
            hosts if hosts.is_empty() => "off".to_owned(),
            hosts => format!("listed: {hosts}"),
        }
    }

    /// What a judgement depends on beside the settings: which program in which version.
    pub fn identity(&self) -> String {
        let found = self.located.as_ref().map_or_else(String::new, |found| format!(" {}", found.version));
        let model = self.model.as_ref().map_or_else(String::new, |model| format!(" ({model})"));
        format!("{}{found}{model}", self.name)
    }
}

/// The host and port of a URL.
fn endpoint_of(url: &str) -> Option<Endpoint> {
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let place = authority.rsplit('@').next()?;
    let named = place.rsplit_once(':').is_some_and(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()));
    if named || scheme != "http" { place.parse().ok() } else { Endpoint::new(place, 80).ok() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Layer, settle};

    fn agent(name: &str, yaml: &str) -> Result<Agent, AgentError> {
        let bytes = yaml.as_bytes().to_vec();
        settle_agent(name, &settle(&[Layer { name: "x".to_owned(), bytes }]).unwrap())
    }

    #[test]
    fn a_built_in_name_needs_no_settings_and_takes_what_they_add() {
        let plain = agent("claude", "").unwrap();
        assert!(matches!(plain.kind, AgentKind::Program(program) if program.name == "claude"));
        assert!(!plain.network && plain.executable.is_none());
        let more =
            "verifiers: {claude: {model: m, args: [--effort, high]}, mine: {agent: codex, command: [/opt/codex]}}";
        let added = agent("claude", more).unwrap();
        assert_eq!((added.model.as_deref(), added.args.len()), (Some("m"), 2));
        let mine = agent("mine", more).unwrap();
        assert!(matches!(mine.kind, AgentKind::Program(program) if program.name == "codex"));
        assert_eq!(mine.executable.as_deref(), Some("/opt/codex"));
        let own = agent("codex", "verifiers: {codex: {command: [/opt/judge, --strict]}}").unwrap();
        assert!(matches!(own.kind, AgentKind::Command(command) if command.len() == 2), "a described command is meant");
    }

    #[test]
    fn a_speaker_of_the_protocol_is_named_by_its_command_or_described() {
        let named = agent("acp:/opt/agent --acp", "").unwrap();
        assert!(matches!(&named.kind, AgentKind::Acp(speaker) if speaker.command == ["/opt/agent", "--acp"]));
        assert!(named.kind.program().is_none(), "nobody knows its keys");
        let described = agent("mine", "verifiers: {mine: {agent: acp, command: [gemini, --acp], model: m}}").unwrap();
        assert_eq!(
            (described.kind.program().map(|like| like.name), described.model.as_deref()),
            (Some("gemini"), Some("m"))
        );
        assert!(described.is_same_model_as(&agent("gemini", "verifiers: {gemini: {model: m}}").unwrap()));
    }

    #[test]
    fn a_models_place_is_read_from_its_url() {
        for (url, place) in [
            ("http://127.0.0.1:4000/v1", Some("127.0.0.1:4000")),
            ("https://models.example.org", Some("models.example.org:443")),
            ("http://user@models.example.org/x", Some("models.example.org:80")),
            ("http://[::1]:9/x", Some("[::1]:9")),
            ("models.example.org", None),
        ] {
            assert_eq!(endpoint_of(url).map(|place| place.to_string()).as_deref(), place, "{url}");
        }
    }

    #[test]
    fn what_cannot_be_meant_is_refused_by_name() {
        for (name, yaml, word) in [
            ("nobody", "", "use mechanical, claude, codex, gemini, pi, copilot, opencode, qwen"),
            ("acp:", "", "no command"),
            ("x", "verifiers: {x: {agent: acp, command: [a], args: [-v]}}", "`args:`"),
            ("x", "verifiers: {x: {}}", "names no agent program: `x`"),
            ("x", "verifiers: {x: {agent: nobody}}", "`nobody`"),
            ("x", "verifiers: {x: {command: ['']}}", "no command"),
            ("x", "verifiers: {x: {command: [j], args: [-v]}}", "`args:`"),
            ("x", "verifiers: {x: {agent: claude, command: [a, b]}}", "several words"),
            (
                "claude",
                "verifiers: {claude: {args: [--dangerously-skip-permissions]}}",
                "--dangerously-skip-permissions",
            ),
            ("claude", "verifiers: {claude: {args: [--mcp-config, x.json]}}", "--effort V"),
            ("gemini", "verifiers: {gemini: {args: [-y]}}", "permitted are none"),
        ] {
            let why = agent(name, yaml).unwrap_err();
            assert!(why.to_string().contains(word), "{why}");
            assert!(!why.is_of_the_machine());
        }
    }

    #[test]
    fn no_program_lets_the_settings_loosen_what_confines_it() {
        let loose = [
            "--dangerously-skip-permissions",
            "--permission-mode=bypassPermissions",
            "--dangerously-bypass-approvals-and-sandbox",
            "-s",
            "--sandbox",
            "--yolo",
            "-y",
            "--approval-mode=yolo",
            "--mcp-config",
            "--settings",
            "--add-dir",
            "--allowedTools",
            "--tools",
            "--plugin-dir",
            "--allow-all-tools",
            "--resume",
            "--continue",
            "-e",
            "--agent",
        ];
        for program in PROGRAMS {
            for argument in loose {
                let given = [argument.to_owned(), "x".to_owned()];
                assert!(first_refused(program.arguments, &given).is_some(), "{}: {argument}", program.name);
            }
        }
    }
}
