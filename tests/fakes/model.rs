//! A model server that says what a plan tells it to say, and remembers all that reached it.
//!
//! It speaks, on one port of 127.0.0.1, what the real coding agents speak: Anthropic Messages, OpenAI Responses, OpenAI
//! Chat Completions and Gemini, streamed and whole. Which turn of the plan answers a request follows from the tool rounds
//! in the request's own history, so that a retried or resumed conversation gets the same answer as the first.

mod anthropic;
mod chat;
mod gemini;
mod http;
mod plan;
mod responses;
#[cfg(test)]
mod tests;
mod wire;

pub(crate) use plan::{Plan, Said, ToolCall, Turn};
pub(crate) use wire::Wire;

use http::{Request, Response};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Read;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

/// No test waits for this; it only ends a test that would hang.
const LONG: Duration = Duration::from_secs(120);

/// A request as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// The protocol; none for anything that asks no model.
    pub(crate) wire: Option<Wire>,
    /// `POST`, …
    pub(crate) method: String,
    /// With its query.
    pub(crate) path: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    /// The body's own characters: what was planted is looked for here.
    pub(crate) text: String,
    /// The body, `null` if it had none.
    pub(crate) body: Value,
}

impl Seen {
    /// A header's value.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// A running server; it ends, with every connection, when this is dropped.
#[derive(Debug)]
pub(crate) struct Model {
    address: SocketAddr,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    plan: Plan,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    seen: Vec<Seen>,
    /// Requests to a model so far: the plan's first turns are counted by it.
    asked: usize,
    /// Requests that could not be read or answered: defects of this server or of what spoke to it.
    troubles: Vec<String>,
    /// Clients that closed a connection on which the server was silent.
    left: usize,
    /// Connections being served, by number: closing is a server's end.
    open: BTreeMap<usize, TcpStream>,
    closing: bool,
}

impl Model {
    /// Starts a server that follows this plan.
    pub(crate) fn start(plan: Plan) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared { plan, state: Mutex::default(), changed: Condvar::new() });
        let served = Arc::clone(&shared);
        let acceptor = std::thread::spawn(move || served.accept_all(&listener));
        Self { address, shared, acceptor: Some(acceptor) }
    }

    /// `http://127.0.0.1:<port>`.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// All requests so far, in the order they arrived.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        let state = self.shared.lock();
        assert!(state.troubles.is_empty(), "the model server: {:#?}", state.troubles);
        state.seen.clone()
    }

    /// Those that asked a model.
    pub(crate) fn asked(&self) -> Vec<Seen> {
        self.seen().into_iter().filter(|seen| seen.wire.is_some() && seen.method == "POST").collect()
    }

    /// Waits until a model was asked so often.
    pub(crate) fn wait_until_asked(&self, times: usize) {
        self.wait(&format!("{times} requests"), |state| state.asked >= times);
    }

    /// Waits until so many clients have left while the server was silent.
    pub(crate) fn wait_until_left(&self, times: usize) {
        self.wait(&format!("{times} clients to leave"), |state| state.left >= times);
    }

    fn wait(&self, what: &str, done: impl Fn(&State) -> bool) {
        let guard = self.shared.lock();
        let (_guard, waited) = self.shared.changed.wait_timeout_while(guard, LONG, |state| !done(state)).unwrap();
        assert!(!waited.timed_out(), "waited in vain for {what}");
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.closing = true;
        for connection in state.open.values() {
            let _ = connection.shutdown(Shutdown::Both);
        }
        drop(state);
        // Wakes the acceptor, which then sees that it is to end.
        drop(TcpStream::connect(self.address));
        let ended = self.acceptor.take().map(JoinHandle::join);
        assert!(std::thread::panicking() || matches!(ended, Some(Ok(()))), "the model server panicked");
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn accept_all(self: &Arc<Self>, listener: &TcpListener) {
        let mut serving = Vec::new();
        for (number, connection) in listener.incoming().map_while(Result::ok).enumerate() {
            let mut state = self.lock();
            if state.closing {
                break;
            }
            state.open.insert(number, connection.try_clone().unwrap());
            drop(state);
            let shared = Arc::clone(self);
            serving.push(std::thread::spawn(move || {
                let cut = shared.serve(&connection);
                // The other handle first: a connection closes with its last one.
                shared.lock().open.remove(&number);
                if cut {
                    http::reset(connection);
                }
            }));
        }
        for thread in serving {
            thread.join().unwrap();
        }
    }

    /// Answers requests on a connection until either side has had enough; true if it is to break and not to end.
    fn serve(&self, connection: &TcpStream) -> bool {
        while let Some(request) = http::read(connection).unwrap_or_else(|trouble| self.trouble(trouble)) {
            // A client that leaves in the middle of an answer is free to do so.
            match self.answer(&request) {
                Response::Silence { before } => {
                    let _ = http::stream(connection, &before);
                    self.stay_silent(connection);
                    return false;
                }
                Response::Cut { before } => {
                    let _ = http::stream(connection, &before);
                    return true;
                }
                Response::Stream(frames) => {
                    let _ = http::stream(connection, &frames);
                    return false;
                }
                Response::Whole { status, headers, body } => {
                    if http::whole(connection, status, &headers, &body).is_err() {
                        return false;
                    }
                }
            }
        }
        false
    }

    fn trouble(&self, what: String) -> Option<Request> {
        let mut state = self.lock();
        if !state.closing {
            state.troubles.push(what);
        }
        None
    }

    /// Reads on until the client or this server closes.
    fn stay_silent(&self, mut connection: &TcpStream) {
        let mut ignored = [0; 512];
        while connection.read(&mut ignored).is_ok_and(|read| read > 0) {}
        let mut state = self.lock();
        if !state.closing {
            state.left += 1;
            self.changed.notify_all();
        }
    }

    fn answer(&self, request: &Request) -> Response {
        let place = request.path.split('?').next().unwrap_or_default();
        let wire = Wire::of(place);
        let (text, body) = match request.json() {
            Ok(body) => body,
            Err(trouble) => {
                self.trouble(format!("{} {}: {trouble}", request.method, request.path));
                return Response::whole(400, &json!({"error": {"message": trouble}}));
            }
        };
        let mut state = self.lock();
        state.seen.push(Seen {
            wire,
            method: request.method.clone(),
            path: request.path.clone(),
            headers: request.headers.clone(),
            text: text.clone(),
            body: body.clone(),
        });
        let Some(wire) = wire.filter(|_| request.method == "POST") else {
            drop(state);
            return self.aside(place);
        };
        let nth = state.asked;
        state.asked += 1;
        self.changed.notify_all();
        drop(state);
        let turn = self.plan.turn(nth, wire.rounds(&body));
        wire.respond(&turn.with_token(&text), place, &body, nth)
    }

    /// What agents ask beside the model.
    fn aside(&self, place: &str) -> Response {
        if place.ends_with("/count_tokens") {
            return Response::whole(200, &json!({"input_tokens": 42}));
        }
        if place.ends_with(":countTokens") {
            return Response::whole(200, &json!({"totalTokens": 42}));
        }
        if place.trim_end_matches('/').ends_with("/models") {
            let entry = |id: &String| json!({"id": id, "object": "model", "type": "model", "display_name": id});
            let models: Vec<Value> = self.plan.models.iter().map(entry).collect();
            return Response::whole(200, &json!({"object": "list", "data": models, "models": [], "has_more": false}));
        }
        Response::whole(404, &json!({"error": {"type": "not_found_error", "message": "the plan has no such path"}}))
    }
}
