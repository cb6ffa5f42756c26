//! What a program told about its own run: its answer, how its turn ended, what it used, which tools it called.
//!
//! Every field is the program's word. What it did not say is absent, never zero.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

/// How many tool calls are kept; the others are counted.
pub(super) const MOST_CALLS: usize = 1_000;
/// How many bytes of a call's input are kept.
const INPUT_BYTES: usize = 2_000;
/// How many bytes of a name, a model, a sentence are kept.
const WORD_BYTES: usize = 400;

/// All of it, as it comes in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Told {
    /// The session's identity.
    pub session: Option<String>,
    /// Name and version, of a program that says them in its stream.
    pub version: Option<String>,
    /// The model that answered.
    pub model: Option<String>,
    /// The final answer so far; counts only if the turn ended well.
    pub answer: Vec<u8>,
    /// How the turn ended; absent until the program says so.
    pub end: Option<End>,
    /// Tokens and cost.
    pub usage: Usage,
    /// The tool calls, in order, at most a thousand.
    pub tools: Vec<ToolCall>,
    /// All tool calls.
    pub tools_total: u64,
    /// Why the stream cannot be trusted at all.
    pub broken: Option<String>,
    /// Whatever else is worth a line.
    pub notes: Vec<String>,
    /// True once the model said or did anything: such a turn is not run again as a fresh one.
    pub began: bool,
    /// What the model said since its last tool call: its final message, where the final event holds no text.
    pub(super) said: String,
    /// The last fault named before the end; explains an end that names none.
    pub(super) fault: Option<Fault>,
}

/// A program's terminal event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// The turn is complete.
    Done {
        /// The event's name.
        event: String,
    },
    /// The turn failed, and the program says so.
    Failed {
        /// The event's name.
        event: String,
        /// What kind of failure.
        fault: Fault,
        /// In the program's words.
        why: String,
    },
}

/// A failure, as far as the program types it. Texts are never searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// The service asks to come back later, or the connection broke: worth another try.
    Transient,
    /// The credentials are missing or refused.
    Credentials,
    /// The request itself was refused.
    Refused,
    /// A limit of the program's own: turns, money, time.
    Limit,
    /// The program does not say.
    Untyped,
}

/// Tokens and cost, from the program's own totals.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Usage {
    /// Tokens read, cached ones included where the program counts them so.
    pub input_tokens: Option<u64>,
    /// Tokens written.
    pub output_tokens: Option<u64>,
    /// Of those read, the ones that came from a cache.
    pub cached_tokens: Option<u64>,
    /// Cost in US dollars.
    pub cost_usd: Option<Number>,
}

/// One tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct ToolCall {
    /// The tool's name.
    pub name: String,
    /// Its input as JSON, cut after 2 kB.
    pub input: String,
    /// What came of it.
    pub outcome: ToolOutcome,
    /// The exit code of a command; absent where the program does not say.
    pub exit: Option<i64>,
    /// When, as the program wrote it.
    pub at: Option<String>,
    /// Milliseconds it took.
    pub took_ms: Option<u64>,
    /// Links the call with its result.
    #[serde(skip)]
    pub(super) id: String,
    /// The file it read as a whole, as the program named it.
    #[serde(skip)]
    pub opened: Option<String>,
}

/// What came of a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ToolOutcome {
    /// It worked.
    Done,
    /// It failed, or was refused.
    Failed,
    /// Nobody said.
    Unknown,
}

impl Fault {
    /// The fault that an HTTP status means.
    pub(super) fn of_status(status: u64) -> Self {
        match status {
            401 | 403 => Self::Credentials,
            408 | 409 | 425 | 429 | 500..=599 => Self::Transient,
            400..=499 => Self::Refused,
            _ => Self::Untyped,
        }
    }

    /// Its stable name.
    pub fn word(self) -> &'static str {
        match self {
            Self::Transient => "transient",
            Self::Credentials => "credentials",
            Self::Refused => "refused",
            Self::Limit => "limit",
            Self::Untyped => "untyped",
        }
    }
}

impl Usage {
    /// Adds one step's figures; what neither says stays absent.
    pub(super) fn add(&mut self, step: &Self) {
        let sum = |all: &mut Option<u64>, one: Option<u64>| {
            if let Some(one) = one {
                *all = Some(all.unwrap_or(0).saturating_add(one));
            }
        };
        sum(&mut self.input_tokens, step.input_tokens);
        sum(&mut self.output_tokens, step.output_tokens);
        sum(&mut self.cached_tokens, step.cached_tokens);
        let cost = |number: &Option<Number>| number.as_ref().and_then(Number::as_f64);
        self.cost_usd = match (cost(&self.cost_usd), cost(&step.cost_usd)) {
            (Some(all), Some(one)) => Number::from_f64(all + one),
            _ => self.cost_usd.take().or_else(|| step.cost_usd.clone()),
        };
    }

    /// Its total if the program gave one. Programs write a zero where they know no price: that is no figure.
    pub(super) fn cost(value: &Value) -> Option<Number> {
        value.as_number().filter(|number| number.as_f64().is_some_and(|dollars| dollars > 0.0)).cloned()
    }
}

impl Told {
    /// The turn ended well. A failure that was told before stays.
    pub(super) fn done(&mut self, event: &str) {
        if !matches!(self.end, Some(End::Failed { .. })) {
            self.end = Some(End::Done { event: event.to_owned() });
        }
    }

    /// The turn failed; the first failure that is typed counts.
    pub(super) fn failed(&mut self, event: &str, fault: Fault, why: &str) {
        let fault = if fault == Fault::Untyped { self.fault.unwrap_or(fault) } else { fault };
        let typed = matches!(&self.end, Some(End::Failed { fault, .. }) if *fault != Fault::Untyped);
        if !typed {
            self.end = Some(End::Failed { event: event.to_owned(), fault, why: clipped(why, WORD_BYTES) });
        }
    }

    /// A tool was called.
    pub(super) fn called(&mut self, id: &str, name: &str, input: &Value) -> Option<&mut ToolCall> {
        self.began = true;
        self.tools_total += 1;
        if self.tools.len() >= MOST_CALLS {
            return None;
        }
        let input = if input.is_null() { String::new() } else { input.to_string() };
        self.tools.push(ToolCall {
            name: clipped(name, WORD_BYTES),
            input: clipped(&input, INPUT_BYTES),
            outcome: ToolOutcome::Unknown,
            exit: None,
            at: None,
            took_ms: None,
            id: clipped(id, WORD_BYTES),
            opened: None,
        });
        self.tools.last_mut()
    }

    /// The call with this id, the newest if a program repeats itself.
    pub(super) fn call(&mut self, id: &str) -> Option<&mut ToolCall> {
        self.tools.iter_mut().rev().find(|call| call.id == id)
    }

    /// The session's identity, if it is a word that is safe to hand back as an argument.
    pub(super) fn set_session(&mut self, id: Option<&str>) {
        let safe = |id: &&str| {
            (1..=100).contains(&id.len())
                && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
                && !id.starts_with('-')
        };
        if let Some(id) = id.filter(safe) {
            self.session = Some(id.to_owned());
        }
    }

    /// The model that answered.
    pub(super) fn set_model(&mut self, model: Option<&str>) {
        if let Some(model) = model.filter(|model| !model.is_empty()) {
            self.model = Some(clipped(model, WORD_BYTES));
        }
    }
}

impl ToolCall {
    /// Records its input, where that comes after its name.
    pub(super) fn asked(&mut self, input: &Value) {
        self.input = clipped(&input.to_string(), INPUT_BYTES);
    }

    /// Records how it went.
    pub(super) fn ended(&mut self, failed: bool) {
        self.outcome = if failed { ToolOutcome::Failed } else { ToolOutcome::Done };
        if failed {
            self.opened = None;
        }
    }

    /// Records when it happened.
    pub(super) fn at(&mut self, when: &Value) {
        let when = when.as_str().map(str::to_owned).or_else(|| when.as_u64().map(|ms| ms.to_string()));
        self.at = when.map(|when| clipped(&when, 40));
    }
}

/// At most this many bytes of a text, cut at a character, with a sign that it was cut.
pub(super) fn clipped(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = (0..=most).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    format!("{}…", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_was_not_said_is_absent_and_never_zero() {
        let usage = serde_json::to_value(Usage::default()).unwrap();
        assert_eq!(
            usage,
            json!({"input-tokens": null, "output-tokens": null, "cached-tokens": null, "cost-usd": null})
        );
        assert_eq!(Usage::cost(&json!(0)), None);
        assert_eq!(Usage::cost(&json!(0.25)), Number::from_f64(0.25));
        let mut sum = Usage::default();
        sum.add(&Usage { input_tokens: Some(3), ..Usage::default() });
        sum.add(&Usage { input_tokens: Some(4), cost_usd: Number::from_f64(0.5), ..Usage::default() });
        assert_eq!((sum.input_tokens, sum.output_tokens, sum.cost_usd), (Some(7), None, Number::from_f64(0.5)));
    }

    #[test]
    fn a_failure_once_told_is_not_taken_back() {
        let mut told = Told::default();
        told.failed("error", Fault::Untyped, "first");
        told.done("result");
        assert!(matches!(&told.end, Some(End::Failed { why, .. }) if why == "first"));
        told.failed("result", Fault::Transient, "typed");
        told.failed("late", Fault::Refused, "later");
        assert!(matches!(&told.end, Some(End::Failed { fault: Fault::Transient, .. })));
    }

    #[test]
    fn a_session_that_could_be_an_option_or_a_path_is_none() {
        let mut told = Told::default();
        for id in ["", "--resume", "../x", "a b", "x\n", &"a".repeat(101)] {
            told.set_session(Some(id));
            assert_eq!(told.session, None, "{id}");
        }
        told.set_session(Some("ses_dd20-7e61"));
        assert_eq!(told.session.as_deref(), Some("ses_dd20-7e61"));
    }

    #[test]
    fn calls_beyond_the_most_are_counted() {
        let mut told = Told::default();
        for n in 0..=MOST_CALLS {
            told.called(&n.to_string(), "Read", &json!({"path": "é".repeat(2_000)}));
        }
        assert_eq!((told.tools.len(), told.tools_total), (MOST_CALLS, MOST_CALLS as u64 + 1));
        assert!(told.tools[0].input.len() <= INPUT_BYTES + 4);
    }
}
