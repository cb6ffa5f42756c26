//! The `README_DELTA` of a report: its shape checked, then applied to a text (agentheim.md §3.2 and §5.12).
//!
//! A change names a section and holds operations: `append` adds a bullet to the section's list, `replace` rewrites the
//! bullet with a given bold lead-in. Nothing is ever removed: where a `replace` meets a text that somebody else has
//! changed meanwhile, both texts stay.

mod apply;
mod outline;

pub use apply::{Applied, Disposition, FALLBACK_SECTION, Finding, Footing, Step, apply_delta, check_delta};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

#[cfg(test)]
mod tests;

/// The most operations one report may carry. Each is applied to the whole text, so their number is bounded.
pub const MAX_OPS: usize = 200;

/// The document a change is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// The context's `README.md`.
    Readme,
    /// `context-map.md`; it takes `append` only.
    ContextMap,
}

impl Target {
    /// The name in a report.
    pub fn file_name(self) -> &'static str {
        match self {
            Self::Readme => "README.md",
            Self::ContextMap => "context-map.md",
        }
    }
}

/// One operation on a section.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "op")]
pub enum Op {
    /// Add a bullet at the end of the section's list.
    Append {
        /// The bullet, starting with `- `.
        body: String,
    },
    /// Rewrite one bullet.
    Replace {
        /// The bullet's bold lead-in, up to the first `(`.
        anchor: String,
        /// The bullet as the worker read it.
        expected: String,
        /// The bullet as it shall read.
        body: String,
    },
}

impl Op {
    pub(super) fn body(&self) -> &str {
        match self {
            Self::Append { body } | Self::Replace { body, .. } => body,
        }
    }
}

/// Operations on one section of one document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Change {
    /// Its place in the report's array, from 0.
    pub entry: usize,
    /// The document.
    pub document: Target,
    /// The text of the `## ` heading.
    pub section: String,
    /// The operations that are well-formed, with their place in the entry, from 0.
    pub ops: Vec<(usize, Op)>,
}

/// A part of the delta that has not the shape it needs; it is left out of the changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct BadOp {
    /// Where: `README_DELTA[0].ops[1].body`.
    pub at: String,
    /// What belongs there.
    pub expected: String,
    /// What stands there.
    pub observed: String,
}

/// Gives the entries of `README_DELTA` a shape; what has none is named.
///
/// At most [`MAX_OPS`] operations are taken; the rest is named as too many.
pub fn read_delta(entries: &[Value]) -> (Vec<Change>, Vec<BadOp>) {
    let mut reader = Reader { bad: Vec::new(), left: MAX_OPS };
    let changes = entries.iter().enumerate().filter_map(|(at, entry)| reader.change(at, entry)).collect();
    (changes, reader.bad)
}

struct Reader {
    bad: Vec<BadOp>,
    left: usize,
}

impl Reader {
    fn refuse(&mut self, at: &str, expected: &str, observed: impl Into<String>) {
        self.bad.push(BadOp { at: at.to_owned(), expected: expected.to_owned(), observed: observed.into() });
    }

    fn change(&mut self, entry: usize, value: &Value) -> Option<Change> {
        let at = format!("README_DELTA[{entry}]");
        let object = self.object(&at, value)?;
        self.unknown_keys(&at, object, &["document", "section", "ops"]);
        let document = match object.get("document") {
            None => Some(Target::Readme),
            Some(Value::String(name)) if name == "README.md" => Some(Target::Readme),
            Some(Value::String(name)) if name == "context-map.md" => Some(Target::ContextMap),
            Some(other) => {
                self.refuse(&format!("{at}.document"), "`README.md` or `context-map.md`", shown(other));
                None
            }
        };
        let section = self.section(&format!("{at}.section"), object);
        let ops = self.ops(&at, object, document);
        Some(Change { entry, document: document?, section: section?, ops: ops? })
    }

    fn object<'v>(&mut self, at: &str, value: &'v Value) -> Option<&'v Map<String, Value>> {
        if value.as_object().is_none() {
            self.refuse(at, "an object", shown(value));
        }
        value.as_object()
    }

    fn unknown_keys(&mut self, at: &str, object: &Map<String, Value>, known: &[&str]) {
        for key in object.keys().filter(|key| !known.contains(&key.as_str())) {
            self.refuse(at, &format!("only the keys {}", known.join(", ")), format!("the key {key:?}"));
        }
    }

    fn section(&mut self, at: &str, object: &Map<String, Value>) -> Option<String> {
        let text = self.text(at, object.get("section"))?;
        let name = text.trim();
        if name.contains(['\n', '\r']) || name.starts_with('#') {
            self.refuse(at, "the text of a `## ` heading, without the marks", format!("{text:?}"));
            return None;
        }
        Some(name.to_owned())
    }

    fn text(&mut self, at: &str, value: Option<&Value>) -> Option<String> {
        match value {
            Some(Value::String(text)) if !text.trim().is_empty() => Some(text.clone()),
            other => {
                self.refuse(at, "a text that is not blank", other.map_or("nothing".to_owned(), shown));
                None
            }
        }
    }

    fn ops(&mut self, at: &str, object: &Map<String, Value>, document: Option<Target>) -> Option<Vec<(usize, Op)>> {
        let at = format!("{at}.ops");
        let list = match object.get("ops") {
            Some(Value::Array(list)) if !list.is_empty() => list,
            other => {
                self.refuse(&at, "a list with at least one operation", other.map_or("nothing".to_owned(), shown));
                return None;
            }
        };
        if list.len() > self.left {
            self.refuse(&at, &format!("at most {MAX_OPS} operations in a report"), format!("{} here", list.len()));
            return None;
        }
        self.left -= list.len();
        let ops = list.iter().enumerate();
        Some(ops.filter_map(|(n, op)| self.op(&format!("{at}[{n}]"), op, document).map(|op| (n, op))).collect())
    }

    fn op(&mut self, at: &str, value: &Value, document: Option<Target>) -> Option<Op> {
        let object = self.object(at, value)?;
        match object.get("op").and_then(Value::as_str) {
            Some("append") => {
                self.unknown_keys(at, object, &["op", "body"]);
                Some(Op::Append { body: self.body(at, object, document)? })
            }
            Some("replace") if document == Some(Target::ContextMap) => {
                self.refuse(&format!("{at}.op"), "`append`: context-map.md takes nothing else", "\"replace\"");
                None
            }
            Some("replace") => {
                self.unknown_keys(at, object, &["op", "anchor", "expected", "body"]);
                let anchor = self.text(&format!("{at}.anchor"), object.get("anchor"));
                let expected = self.text(&format!("{at}.expected"), object.get("expected"));
                let body = self.body(at, object, document);
                Some(Op::Replace { anchor: anchor?, expected: expected?, body: body? })
            }
            _ => {
                let observed = object.get("op").map_or("nothing".to_owned(), shown);
                self.refuse(&format!("{at}.op"), "`append` or `replace`", observed);
                None
            }
        }
    }

    /// A body must stay what it is where it is put: it opens no section and leaves no code fence open.
    fn body(&mut self, at: &str, object: &Map<String, Value>, document: Option<Target>) -> Option<String> {
        let at = format!("{at}.body");
        let text = self.text(&at, object.get("body"))?;
        let body = text.trim_end().trim_start_matches(['\n', '\r']);
        // A context map is not made of lists only, so only a README needs a bullet.
        let fault = outline::body_fault(body, document == Some(Target::Readme));
        if let Some(expected) = fault {
            self.refuse(&at, expected, clipped(body));
            return None;
        }
        Some(body.to_owned())
    }
}

fn shown(value: &Value) -> String {
    clipped(&value.to_string())
}

fn clipped(text: &str) -> String {
    const KEPT: usize = 80;
    let head: String = text.chars().take(KEPT).collect();
    if head.len() < text.len() { format!("{head}…") } else { head }
}
