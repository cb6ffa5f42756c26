//! The relay's side of the protocol: one session, one question, and an answer to each request for permission.

use super::Order;
use crate::host::process::piped::Piped;
use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    ContentBlock, Implementation, InitializeRequest, InitializeResponse, LoadSessionRequest, NewSessionRequest,
    PermissionOptionKind, PromptRequest, RequestPermissionOutcome, RequestPermissionRequest, RequestPermissionResponse,
    ResourceLink, ResumeSessionRequest, SelectedPermissionOutcome, SessionConfigKind, SessionConfigOption,
    SessionConfigOptionCategory, SessionConfigValueId, SessionId, SessionNotification, SetSessionConfigOptionRequest,
    TextContent, ToolKind,
};
use agent_client_protocol::{Agent, Client, Error, Lines, on_receive_notification, on_receive_request};
use futures::channel::mpsc;
use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{ChildStdin, ChildStdout};
use std::sync::{Arc, Mutex, PoisonError};

/// A longer line of the agent's is no message.
const LONGEST_LINE: u64 = 32 << 20;

/// Where the relay's events go. Silent while an earlier session is told again.
#[derive(Clone)]
struct Out(Arc<Mutex<Sink>>);

struct Sink {
    to: Box<dyn Write + Send>,
    silent: bool,
}

impl Out {
    fn tell(&self, event: &Value) {
        let mut sink = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Nobody listens any more: the box is about to end us.
        let _ = writeln!(sink.to, "{event}").and_then(|()| sink.to.flush());
    }

    fn hush(&self, silent: bool) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).silent = silent;
    }

    fn is_silent(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).silent
    }

    fn failed(&self, during: &str, error: &Error) {
        let more = error.data.as_ref().map(|data| data.as_str().map_or_else(|| data.to_string(), str::to_owned));
        let message = more.map_or_else(|| error.message.clone(), |more| format!("{}: {more}", error.message));
        self.tell(&json!({ "acp": "error", "during": during, "code": error.code, "message": message }));
    }
}

/// Has the conversation. What goes wrong is told.
pub(super) fn have(order: Order, question: String, output: impl Write + Send + 'static) {
    let out = Out(Arc::new(Mutex::new(Sink { to: Box::new(output), silent: false })));
    let words: Vec<OsString> = order.command.iter().map(OsString::from).collect();
    let piped = match Piped::start(&words) {
        Ok(piped) => piped,
        Err(why) => {
            let program = order.command.first().map_or("", String::as_str);
            out.tell(
                &json!({ "acp": "error", "during": "start", "message": format!("cannot start {program}: {why}") }),
            );
            return;
        }
    };
    let (stdin, stdout, leaving) = piped.split();
    let transport = Lines::new(writer(stdin).sink_map_err(io::Error::other), reader(stdout));
    let (updates, permissions, during) = (out.clone(), out.clone(), out.clone());
    let works = order.works;
    let conversation = Client
        .v1()
        .name("countersign")
        .on_receive_notification(
            async move |told: SessionNotification, _| {
                if !updates.is_silent() {
                    updates.tell(&json!({ "acp": "update", "update": told.update }));
                }
                Ok(())
            },
            on_receive_notification!(),
        )
        .on_receive_request(
            async move |asked: RequestPermissionRequest, responder, _| {
                let outcome = permitted(&asked, works);
                let granted = is_granted(&asked, &outcome);
                let id = &asked.tool_call.tool_call_id;
                permissions.tell(&json!({ "acp": "permission", "toolCallId": id, "granted": granted }));
                responder.respond(RequestPermissionResponse::new(outcome))
            },
            on_receive_request!(),
        )
        .connect_with(transport, async move |agent: ConnectionTo<Agent>| {
            turn(&agent, &order, question, &during).await;
            Ok(())
        });
    if let Err(error) = futures::executor::block_on(conversation) {
        out.tell(&json!({ "acp": "error", "during": "connection", "message": error.message }));
    }
    leaving.wait();
}

/// Lines go to the agent from a thread of their own: a full pipe must not keep us from listening.
fn writer(mut stdin: ChildStdin) -> mpsc::UnboundedSender<String> {
    let (sender, mut lines) = mpsc::unbounded::<String>();
    std::thread::spawn(move || {
        while let Some(line) = futures::executor::block_on(lines.next()) {
            let written = stdin.write_all(line.as_bytes()).and_then(|()| {
                if line.ends_with('\n') { Ok(()) } else { stdin.write_all(b"\n") }?;
                stdin.flush()
            });
            if written.is_err() {
                break;
            }
        }
    });
    sender
}

fn reader(stdout: ChildStdout) -> mpsc::UnboundedReceiver<io::Result<String>> {
    let (sender, lines) = mpsc::unbounded();
    std::thread::spawn(move || {
        let mut stdout = BufReader::new(stdout);
        loop {
            let mut line = Vec::new();
            let read = stdout.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line);
            let told = match read {
                Ok(0) => break,
                Ok(_) if line.ends_with(b"\n") => line,
                Ok(length) if length as u64 == LONGEST_LINE => {
                    let why = format!("one line of the agent's has more than {LONGEST_LINE} bytes");
                    let _ = sender.unbounded_send(Err(io::Error::other(why)));
                    break;
                }
                Ok(_) => line,
                Err(why) => {
                    let _ = sender.unbounded_send(Err(why));
                    break;
                }
            };
            // Many agents greet or warn on this output before they speak: a line that is no object is none of ours.
            let text = String::from_utf8_lossy(told.trim_ascii());
            if text.starts_with(['{', '[']) && sender.unbounded_send(Ok(text.into_owned())).is_err() {
                break;
            }
        }
    });
    lines
}

/// What is answered to a request for permission: a worker may do everything once (the box says where), a judge may read.
fn permitted(asked: &RequestPermissionRequest, works: bool) -> RequestPermissionOutcome {
    let reads = matches!(asked.tool_call.fields.kind, Some(ToolKind::Read | ToolKind::Search | ToolKind::Think));
    let kinds = if works || reads {
        [PermissionOptionKind::AllowOnce, PermissionOptionKind::AllowAlways]
    } else {
        [PermissionOptionKind::RejectOnce, PermissionOptionKind::RejectAlways]
    };
    let found = kinds.iter().find_map(|kind| asked.options.iter().find(|option| option.kind == *kind));
    found.map_or(RequestPermissionOutcome::Cancelled, |option| {
        RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(option.option_id.clone()))
    })
}

fn is_granted(asked: &RequestPermissionRequest, outcome: &RequestPermissionOutcome) -> bool {
    let RequestPermissionOutcome::Selected(selected) = outcome else { return false };
    let chosen = asked.options.iter().find(|option| option.option_id == selected.option_id);
    chosen.is_some_and(|option| {
        matches!(option.kind, PermissionOptionKind::AllowOnce | PermissionOptionKind::AllowAlways)
    })
}

/// One turn: introduce ourselves, begin or go on with a session, ask, and tell how it ended.
async fn turn(agent: &ConnectionTo<Agent>, order: &Order, question: String, out: &Out) {
    if let Err((during, error)) = whole_turn(agent, order, question, out).await {
        out.hush(false);
        out.failed(during, &error);
    }
}

type Failed = (&'static str, Error);

async fn whole_turn(agent: &ConnectionTo<Agent>, order: &Order, question: String, out: &Out) -> Result<(), Failed> {
    let version = env!("CARGO_PKG_VERSION");
    let hello = InitializeRequest::new(ProtocolVersion::V1).client_info(Implementation::new("countersign", version));
    let known = agent.send_request(hello).block_task().await.map_err(|why| ("initialize", why))?;
    out.tell(&json!({ "acp": "initialized", "agent": known.agent_info }));
    let (session, options) = match &order.resume {
        Some(session) => go_on(agent, order, &known, session, out).await?,
        None => begin(agent, order, &known).await?,
    };
    out.tell(&json!({ "acp": "session", "id": session }));
    if let Some(model) = &order.model {
        choose(agent, &session, &options, model).await?;
        out.tell(&json!({ "acp": "model", "id": model }));
    }
    let mut blocks = vec![ContentBlock::Text(TextContent::new(question))];
    if let Some(room) = &order.room {
        // Memory files are found from the session's own folder upwards, so a judge works beside the tree and is shown it.
        let link = ResourceLink::new("the tree under judgement", format!("file://{}", room.display()));
        blocks.push(ContentBlock::ResourceLink(link));
    }
    let asked = PromptRequest::new(session, blocks);
    let done = agent.send_request(asked).block_task().await.map_err(|why| ("session/prompt", why))?;
    out.tell(&json!({ "acp": "end", "stopReason": done.stop_reason }));
    Ok(())
}

type Begun = (SessionId, Vec<SessionConfigOption>);

async fn begin(agent: &ConnectionTo<Agent>, order: &Order, known: &InitializeResponse) -> Result<Begun, Failed> {
    let mut asked = NewSessionRequest::new(order.cwd.clone());
    let more = known.agent_capabilities.session_capabilities.additional_directories.is_some();
    asked.additional_directories.extend(order.room.clone().filter(|_| more));
    let made = agent.send_request(asked).block_task().await.map_err(|why| ("session/new", why))?;
    Ok((made.session_id, made.config_options.unwrap_or_default()))
}

/// Goes on with a session: by what is made for that, else by having it told again.
async fn go_on(
    agent: &ConnectionTo<Agent>,
    order: &Order,
    known: &InitializeResponse,
    session: &str,
    out: &Out,
) -> Result<Begun, Failed> {
    let id = SessionId::new(session.to_owned());
    let options = if known.agent_capabilities.session_capabilities.resume.is_some() {
        let asked = ResumeSessionRequest::new(id.clone(), order.cwd.clone());
        let resumed = agent.send_request(asked).block_task().await.map_err(|why| ("session/resume", why))?;
        resumed.config_options
    } else if known.agent_capabilities.load_session {
        out.hush(true);
        let asked = LoadSessionRequest::new(id.clone(), order.cwd.clone());
        let loaded = agent.send_request(asked).block_task().await.map_err(|why| ("session/load", why))?;
        out.hush(false);
        loaded.config_options
    } else {
        let why = Error::method_not_found().data("the agent can neither resume nor load a session".to_owned());
        return Err(("session/load", why));
    };
    Ok((id, options.unwrap_or_default()))
}

/// Chooses the model, where the agent offers a choice that has it.
async fn choose(
    agent: &ConnectionTo<Agent>,
    session: &SessionId,
    options: &[SessionConfigOption],
    model: &str,
) -> Result<(), Failed> {
    let is_choice = |option: &&SessionConfigOption| {
        option.category == Some(SessionConfigOptionCategory::Model)
            && matches!(option.kind, SessionConfigKind::Select(_))
    };
    let Some(choice) = options.iter().find(is_choice) else {
        let why = format!("the settings ask for the model {model}, and the agent offers no choice of models");
        return Err(("session/set_config_option", Error::invalid_params().data(why)));
    };
    let asked = SetSessionConfigOptionRequest::new(
        session.clone(),
        choice.id.clone(),
        SessionConfigValueId::new(model.to_owned()),
    );
    let chosen = agent.send_request(asked).block_task().await;
    chosen.map(|_| ()).map_err(|why| ("session/set_config_option", why))
}
