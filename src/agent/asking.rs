//! The one skeleton: a home, a launch, an ear, a judgement of how it ended; again after a transient failure, and afresh
//! where a session could not go on.

mod starting;

use super::aftermath::complete;
use super::choice::AgentKind;
use super::command::is_of_the_claim;
use super::home::Home;
use super::program::Session;
use super::record::{AgentRecord, Resumed, TryRecord};
use super::role::Role;
use super::session::{Identity, uuid};
use super::told::{End, Fault, Told};
use super::{AgentReply, LARGEST_ANSWER, Question};
use crate::host::Host;
use crate::host::process::{self, Ended, Ending, LogFile, run_watched};
use crate::host::sandbox::Level;
use std::time::Duration;

/// Which session a try belongs to.
#[derive(Debug, Clone)]
enum Plan {
    /// A new one, under this name if we name it.
    Fresh(Option<String>),
    /// One that has had turns before.
    Resume(Identity),
}

/// Asks an agent. Infallible: what goes wrong is part of the reply.
pub fn ask(host: &Host, question: &Question<'_>) -> AgentReply {
    let mut asking = Asking::new(host, question);
    match asking.run() {
        Ok((ended, told)) => asking.reply(ended, told),
        Err(why) => {
            let ended = unstarted(question, why);
            asking.note_try(&ended, &Told::default());
            asking.reply(ended, Told::default())
        }
    }
}

struct Asking<'a> {
    host: &'a Host,
    question: &'a Question<'a>,
    tries: Vec<TryRecord>,
    resumed: Resumed,
    took: Duration,
    strays: u32,
    notes: Vec<String>,
}

impl<'a> Asking<'a> {
    fn new(host: &'a Host, question: &'a Question<'a>) -> Self {
        let (took, strays) = (Duration::ZERO, 0);
        Self { host, question, tries: Vec::new(), resumed: Resumed::Fresh, took, strays, notes: Vec::new() }
    }

    fn run(&mut self) -> Result<(Ended, Told), String> {
        if let Some(command) = self.question.agent.kind.command()
            && let Some(why) = is_of_the_claim(command, self.question.room)
        {
            return Err(why);
        }
        let mut plan = self.first_plan()?;
        let mut retries = 0;
        loop {
            let (ended, told) = self.once(&plan)?;
            self.note_try(&ended, &told);
            if let Some(fresh) = self.afresh(&plan, &ended, &told)? {
                plan = fresh;
                continue;
            }
            if is_worth_another(&ended, &told) && retries < self.question.retries.most {
                let pause = self.question.retries.pause.saturating_mul(1 << retries.min(10));
                retries += 1;
                if self.host.cancel.wait(pause) {
                    plan = self.next_plan(plan, &told)?;
                    continue;
                }
            }
            self.remember(&plan, &ended, &told);
            return Ok((ended, told));
        }
    }

    /// A worker goes on where it was; everybody else begins.
    fn first_plan(&mut self) -> Result<Plan, String> {
        let Some(sessions) = self.question.sessions.filter(|_| self.question.role == Role::Worker) else {
            return self.fresh();
        };
        match sessions.resumable(self.question.agent) {
            Ok(Some(known)) if self.can_resume() => {
                self.resumed = Resumed::Yes;
                return Ok(Plan::Resume(known));
            }
            Ok(Some(_)) => {
                let why = format!("{} cannot go on with a session", self.question.agent.name);
                self.resumed = Resumed::Failed { why };
            }
            Ok(None) => {}
            Err(why) => self.resumed = Resumed::Failed { why },
        }
        self.fresh()
    }

    fn can_resume(&self) -> bool {
        match &self.question.agent.kind {
            AgentKind::Program(program) => !program.resume.is_empty(),
            // Whether it can is told by the agent, once it is asked.
            AgentKind::Acp(_) => true,
            AgentKind::Command(_) => false,
        }
    }

    fn fresh(&self) -> Result<Plan, String> {
        let ours = matches!(self.question.agent.kind, AgentKind::Program(program) if program.session == Session::Ours);
        Ok(Plan::Fresh(if ours && self.question.role == Role::Worker { Some(uuid()?) } else { None }))
    }

    /// A session that ended before the model did anything could not go on; the same turn is then a fresh one. Not if the
    /// service failed: it would fail a fresh one too.
    fn afresh(&mut self, plan: &Plan, ended: &Ended, told: &Told) -> Result<Option<Plan>, String> {
        let by_itself = matches!(ended.ending, Ending::Exited { .. });
        let service = matches!(fault_of(told), Some(Fault::Transient | Fault::Credentials | Fault::Limit));
        let done = matches!(told.end, Some(End::Done { .. }));
        if !matches!(plan, Plan::Resume(_)) || !by_itself || told.began || service || done {
            return Ok(None);
        }
        let said = match &told.end {
            Some(End::Failed { why, .. }) => format!(": {why}"),
            _ => String::new(),
        };
        let why = format!("the session did not go on (the program {}{said})", ended.ending.sentence());
        self.resumed = Resumed::Failed { why };
        self.fresh().map(Some)
    }

    /// A verifier begins again; a worker that had begun goes on with what it began.
    fn next_plan(&self, plan: Plan, told: &Told) -> Result<Plan, String> {
        let agent = self.question.agent;
        let worker = self.question.role == Role::Worker && self.question.sessions.is_some();
        match (&plan, &told.session) {
            (Plan::Resume(_), _) => Ok(plan),
            (Plan::Fresh(_), Some(session)) if worker && told.began && self.can_resume() => {
                let (name, session) = (agent.name.clone(), session.clone());
                let model = agent.model.clone();
                Ok(Plan::Resume(Identity {
                    agent: name,
                    version: None,
                    model,
                    session,
                    turns: 0,
                    without_transcript: false,
                }))
            }
            (Plan::Fresh(_), _) => self.fresh(),
        }
    }

    fn once(&mut self, plan: &Plan) -> Result<(Ended, Told), String> {
        let (host, question) = (self.host, self.question);
        let kept = match question.sessions.filter(|_| question.role == Role::Worker) {
            Some(sessions) => Some(sessions.home_of(question.agent)?),
            None => None,
        };
        let mut home = Home::new(host, kept.as_deref())?;
        if let Some(program) = question.agent.kind.program() {
            home.furnish(host, program, question.role)?;
        }
        let mut adapter = self.adapter(plan, &home)?;
        let launch = self.launch(plan, &home, adapter.as_ref())?;
        let ended = run_watched(host, &launch, &mut |stream, bytes| {
            if stream == process::Stream::Out {
                adapter.hear(bytes);
            }
        });
        let mut told = adapter.told(&ended);
        if let AgentKind::Program(program) = question.agent.kind {
            complete(program, &home.home(), &ended, &mut told);
        }
        self.notes = home.settle_up();
        Ok((ended, told))
    }

    fn note_try(&mut self, ended: &Ended, told: &Told) {
        self.took += ended.took;
        self.strays += ended.strays;
        let took_ms = u64::try_from(ended.took.as_millis()).unwrap_or(u64::MAX);
        self.tries.push(TryRecord { ending: ended.ending.clone(), fault: fault_of(told), took_ms });
    }

    /// A session that had a turn can go on; one whose turn failed before it began has nothing to go on with.
    fn remember(&mut self, plan: &Plan, ended: &Ended, told: &Told) {
        let Some(sessions) = self.question.sessions.filter(|_| self.question.role == Role::Worker) else { return };
        let (session, turns) = match plan {
            Plan::Resume(known) => (told.session.as_ref().unwrap_or(&known.session), known.turns),
            Plan::Fresh(name) => match told.session.as_ref().or(name.as_ref()) {
                Some(session) => (session, 0),
                None => return,
            },
        };
        let stopped = !matches!(ended.ending, Ending::NotStarted { .. });
        if told.began
            && stopped
            && let Err(why) = sessions.remember(self.question.agent, session, turns + 1)
        {
            self.notes.push(why);
        }
    }

    fn reply(self, ended: Ended, told: Told) -> AgentReply {
        let agent = self.question.agent;
        let located = agent.located.as_ref();
        let total = told.answer.len() as u64;
        let (answer_bytes, name) = match &agent.kind {
            AgentKind::Command(_) => (ended.stdout_total, "command"),
            AgentKind::Acp(_) => (total, "acp"),
            AgentKind::Program(program) => (total, program.name),
        };
        let mut answer = told.answer;
        answer.truncate(usize::try_from(LARGEST_ANSWER).unwrap_or(usize::MAX));
        let terminal = told.end.as_ref().map(|end| match end {
            End::Done { event } | End::Failed { event, .. } => event.clone(),
        });
        let record = AgentRecord {
            agent: name.to_owned(),
            path: located.map(|found| found.path.display().to_string()),
            version: located.map(|found| found.version.clone()).or(told.version),
            model_asked: agent.model.clone(),
            model: told.model,
            role: self.question.role,
            network: agent.network_meant(self.host, self.question.hosts),
            session: told.session,
            resumed: self.resumed,
            tries: self.tries,
            terminal,
            usage: told.usage,
            tools_total: told.tools_total,
            notes: [told.notes, self.notes].concat(),
            tools: told.tools.clone(),
        };
        AgentReply {
            ending: ended.ending,
            answer,
            answer_bytes,
            took: self.took,
            strays: self.strays,
            level: ended.level,
            contacts: ended.contacts,
            log: ended.log,
            record,
            opened: told.tools.into_iter().filter_map(|call| call.opened).collect(),
            end: told.end,
            broken: told.broken,
        }
    }
}

/// Typed by the program as transient, never guessed from its words.
fn is_worth_another(ended: &Ended, told: &Told) -> bool {
    matches!(ended.ending, Ending::Exited { .. }) && fault_of(told) == Some(Fault::Transient)
}

fn fault_of(told: &Told) -> Option<Fault> {
    match &told.end {
        Some(End::Failed { fault, .. }) => Some(*fault),
        _ => None,
    }
}

fn unstarted(question: &Question<'_>, why: String) -> Ended {
    // The digest of nothing: no log was made.
    let sha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855".to_owned();
    Ended {
        ending: Ending::NotStarted { why },
        took: Duration::ZERO,
        stdout: Vec::new(),
        turn: 0,
        stdout_total: 0,
        lines: 0,
        log: LogFile { path: question.log.to_owned(), bytes_total: 0, bytes_kept: 0, sha256 },
        strays: 0,
        level: Level::none("nothing was started"),
        contacts: Vec::new(),
    }
}
