//! Agent programs that replay an event stream: the adapters' tests need no network and no installation.

use super::repo::write_script;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// A program of one of the known names, for a folder of its own on the `PATH`.
///
/// It says a version, reads its brief and writes its stream, in which `@TOKEN@` becomes the brief's token. What it was
/// started with goes to its standard error, and so into the log: arguments, variables, and all files of its home.
#[derive(Debug, Clone)]
#[must_use]
pub(crate) struct FakeAgent {
    name: String,
    version: String,
    stream: String,
    step: String,
    code: u8,
}

impl FakeAgent {
    /// One whose turn consists of these events.
    pub(crate) fn telling(name: &str, events: &[Value]) -> Self {
        let stream = events.iter().fold(String::new(), |mut all, event| {
            let _ = writeln!(all, "{event}");
            all
        });
        Self { name: name.to_owned(), version: "1.2.3".to_owned(), stream, step: String::new(), code: 0 }
    }

    /// One that answers this in its own form, after it has read this file.
    pub(crate) fn answering(name: &str, answer: &str, file: &str) -> Self {
        Self::telling(name, &turn(name, answer, file))
    }

    /// Runs these shell lines before the stream is written. `$brief` holds the brief, `$token` the token.
    pub(crate) fn doing(mut self, step: &str) -> Self {
        self.step.push_str(step);
        self.step.push('\n');
        self
    }

    /// Leaves with this code.
    pub(crate) fn exiting(mut self, code: u8) -> Self {
        self.code = code;
        self
    }

    /// Says this version.
    pub(crate) fn version(mut self, version: &str) -> Self {
        version.clone_into(&mut self.version);
        self
    }

    /// Cuts the stream after this many bytes.
    pub(crate) fn cut_after(mut self, bytes: usize) -> Self {
        self.stream.truncate(bytes);
        self
    }

    /// How many bytes its stream has.
    pub(crate) fn stream_bytes(&self) -> usize {
        self.stream.len()
    }

    /// Writes the program below this folder; a `PATH` that begins with it.
    pub(crate) fn install(&self, root: &Path) -> OsString {
        let Self { name, version, stream, step, code } = self;
        let script = format!(
            "#!/bin/sh\n\
             if [ \"$1\" = --version ]; then echo '{name} {version}'; exit 0; fi\n\
             brief=$(cat)\n\
             token=$(printf '%s\\n' \"$brief\" | sed -n 's/.*The token for your answer is `\\([0-9a-f]*\\)`.*/\\1/p' | head -n 1)\n\
             {{ echo \"started in $(pwd)\"; echo \"arguments: $*\"; env | sed 's/^/variable: /'; \
             (cd \"$HOME\" && find . -type f | sort | sed 's/^/home: /'); }} >&2\n\
             {step}\
             printf '%s\\n' \"$(cat <<'END OF THE STREAM'\n{stream}\nEND OF THE STREAM\n)\" | sed \"s/@TOKEN@/$token/g\"\n\
             exit {code}\n"
        );
        write_script(&program_path(root, name), &script);
        path(root)
    }
}

/// Where a fake program of this name lies.
pub(crate) fn program_path(root: &Path, name: &str) -> PathBuf {
    root.join("agents").join(name)
}

/// A `PATH` that begins with the fake programs.
pub(crate) fn path(root: &Path) -> OsString {
    let mut path = root.join("agents").into_os_string();
    path.push(":");
    path.push(super::repo::search_path());
    path
}

/// A complete turn in a program's own form: one file read, then the answer.
pub(crate) fn turn(name: &str, answer: &str, file: &str) -> Vec<Value> {
    match name {
        "claude" | "qwen" => {
            let tool = if name == "claude" { "Read" } else { "read_file" };
            vec![
                json!({"type": "system", "subtype": "init", "session_id": "s-1", "model": "m-1"}),
                json!({"type": "assistant", "timestamp": "2026-01-01T00:00:00Z", "message": {"model": "m-1", "content": [
                    {"type": "tool_use", "id": "c1", "name": tool, "input": {"file_path": file}}]}}),
                json!({"type": "user", "message": {"content": [
                    {"type": "tool_result", "tool_use_id": "c1", "is_error": false, "content": "x"}]}}),
                json!({"type": "result", "subtype": "success", "is_error": false, "result": answer, "session_id": "s-1",
                    "total_cost_usd": 0.25, "usage": {"input_tokens": 11, "output_tokens": 7}}),
            ]
        }
        "codex" => vec![
            json!({"type": "thread.started", "thread_id": "s-1"}),
            json!({"type": "item.completed", "item": {"id": "i1", "type": "agent_message", "text": answer}}),
            json!({"type": "turn.completed", "usage": {"input_tokens": 11, "output_tokens": 7}}),
        ],
        "gemini" => vec![
            json!({"type": "init", "session_id": "s-1", "model": "m-1"}),
            json!({"type": "tool_use", "tool_id": "c1", "tool_name": "read_file", "parameters": {"file_path": file}}),
            json!({"type": "tool_result", "tool_id": "c1", "status": "success"}),
            json!({"type": "message", "role": "assistant", "content": answer}),
            json!({"type": "result", "status": "success", "stats": {"input_tokens": 11, "output_tokens": 7}}),
        ],
        "pi" => vec![
            json!({"type": "session", "id": "s-1"}),
            json!({"type": "tool_execution_start", "toolCallId": "c1", "toolName": "read", "args": {"path": file}}),
            json!({"type": "tool_execution_end", "toolCallId": "c1", "isError": false, "result": {}}),
            json!({"type": "message_end", "message": {"role": "assistant", "model": "m-1", "stopReason": "stop",
                "content": [{"type": "text", "text": answer}], "usage": {"input": 11, "output": 7}}}),
            json!({"type": "agent_settled", "aborted": false}),
        ],
        "copilot" => vec![
            json!({"type": "tool.execution_start", "data": {"toolCallId": "c1", "toolName": "view",
                "arguments": {"path": file}}}),
            json!({"type": "tool.execution_complete", "data": {"toolCallId": "c1", "success": true}}),
            json!({"type": "assistant.message", "data": {"model": "m-1", "content": answer, "toolRequests": []}}),
            json!({"type": "result", "sessionId": "s-1", "exitCode": 0}),
        ],
        "opencode" => vec![
            json!({"type": "step_start", "sessionID": "s-1", "part": {}}),
            json!({"type": "tool_use", "part": {"callID": "c1", "tool": "read", "state": {"status": "completed",
                "input": {"filePath": file}}}}),
            json!({"type": "step_finish", "part": {"reason": "tool-calls", "tokens": {"input": 1, "output": 1}}}),
            json!({"type": "step_start", "sessionID": "s-1", "part": {}}),
            json!({"type": "text", "part": {"text": answer}}),
            json!({"type": "step_finish", "part": {"reason": "stop", "tokens": {"input": 10, "output": 6}}}),
        ],
        other => panic!("no turn in the form of {other}"),
    }
}
