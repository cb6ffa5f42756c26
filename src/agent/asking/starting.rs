//! How a program is started: what it reads, with which arguments, in which folder, in which box.

use super::{Asking, Plan};
use crate::agent::acp;
use crate::agent::adapter::{Adapter, Plain, Streamed};
use crate::agent::choice::AgentKind;
use crate::agent::home::Home;
use crate::agent::program::{Fill, Program, arguments};
use crate::agent::role::Role;
use crate::agent::{REPORT_VARIABLE, WITHIN_VARIABLE};
use crate::host::process::{Launch, Limits};
use crate::host::sandbox::{Network, Profile};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

impl Asking<'_> {
    pub(super) fn adapter(&self, plan: &Plan, home: &Home) -> Result<Box<dyn Adapter>, String> {
        let brief = self.question.brief.to_vec();
        Ok(match &self.question.agent.kind {
            AgentKind::Command(_) => Box::new(Plain(brief)),
            AgentKind::Program(program) => Box::new(Streamed::read_by(program.read, brief)),
            AgentKind::Acp(speaker) => {
                let works = self.question.role == Role::Worker;
                let room = self.question.room.to_owned();
                let resume = match plan {
                    Plan::Resume(known) => Some(known.session.clone()),
                    Plan::Fresh(_) => None,
                };
                let order = acp::Order {
                    command: speaker.command.clone(),
                    cwd: if works { room.clone() } else { away(home)? },
                    room: (!works).then_some(room),
                    works,
                    resume,
                    model: self.question.agent.model.clone(),
                };
                Box::new(Streamed::read_by(acp::read, order.with(&brief)))
            }
        })
    }

    pub(super) fn launch(&self, plan: &Plan, home: &Home, adapter: &dyn Adapter) -> Result<Launch, String> {
        let question = self.question;
        let mut profile = match question.role {
            Role::Verifier => Profile::verifier(vec![home.folder().to_owned()]),
            Role::Worker => Profile::worker(question.room, home.folder()),
        };
        let mut env = home.environment(self.host, question.agent, question.room);
        env.push((WITHIN_VARIABLE.into(), "1".into()));
        if let (Role::Worker, Some(report)) = (question.role, question.report) {
            profile.write.extend(report.parent().map(Path::to_owned));
            env.push((REPORT_VARIABLE.into(), report.into()));
        }
        let hosts = question.agent.hosts(self.host, question.hosts);
        if question.agent.network {
            profile.network = Network::Open;
        } else if hosts.is_empty() {
            profile.network = Network::Off;
        } else {
            profile = profile.reaching(hosts);
        }
        if !question.confined {
            profile = profile.unconfined();
        }
        let (argv, beside) = match &question.agent.kind {
            AgentKind::Command(command) => (command.iter().map(OsString::from).collect(), false),
            AgentKind::Acp(_) => {
                (vec![self.host.helper.clone().into(), acp::RELAY_ARGUMENT.into()], question.role == Role::Verifier)
            }
            AgentKind::Program(program) => {
                (self.argv(program, plan, home)?, program.beside && question.role == Role::Verifier)
            }
        };
        let cwd = if beside { away(home)? } else { question.room.to_owned() };
        Ok(Launch {
            argv,
            cwd,
            env,
            stdin: adapter.stdin(),
            log: question.log.to_owned(),
            capture: adapter.capture(),
            limits: Limits { idle: question.idle, log_bytes: question.log_bytes, ..Limits::within(question.wall) },
            profile,
        })
    }

    fn argv(&self, program: &Program, plan: &Plan, home: &Home) -> Result<Vec<OsString>, String> {
        let agent = self.question.agent;
        let found = agent.located.as_ref().ok_or_else(|| format!("{} was not looked for", agent.name))?;
        let (words, session) = match (self.question.role, plan) {
            (Role::Verifier, _) => (program.verifier, None),
            (Role::Worker, Plan::Fresh(name)) => (program.worker, name.as_deref()),
            (Role::Worker, Plan::Resume(known)) => (program.resume, Some(known.session.as_str())),
        };
        let fill = Fill {
            model: agent.model.as_deref(),
            session,
            extra: &agent.args,
            room: self.question.room,
            home: &home.home(),
            boxed: self.question.confined && found.boxed,
            variable: &|name| self.host.env.text(name).map(str::to_owned),
        };
        let mut argv = vec![found.path.clone().into_os_string()];
        argv.extend(arguments(words, &fill).into_iter().map(OsString::from));
        Ok(argv)
    }
}

/// An empty folder to start in.
fn away(home: &Home) -> Result<PathBuf, String> {
    let folder = home.folder().join("away");
    std::fs::create_dir_all(&folder).map_err(|why| format!("cannot make {}: {why}", folder.display()))?;
    Ok(folder)
}
