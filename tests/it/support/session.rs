//! Transcripts in the form of the real programs, written call by call.

use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The first record's time, in seconds since 1970: two seconds after a test repository's first commit.
const FIRST_SECOND: u64 = 1_700_000_003;

/// Whose form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Claude,
    Codex,
    Gemini,
    Copilot,
}

/// A session that is being written.
#[derive(Debug, Clone)]
pub(crate) struct Session {
    form: Form,
    cwd: PathBuf,
    lines: Vec<Value>,
    calls: usize,
}

/// The id of every session here.
pub(crate) const SESSION: &str = "5e551011-0000-4000-8000-000000000001";

impl Session {
    pub(crate) fn new(form: Form, cwd: &Path) -> Self {
        let mut session = Self { form, cwd: cwd.to_owned(), lines: Vec::new(), calls: 0 };
        let cwd = cwd.to_str().unwrap();
        match form {
            Form::Claude => {}
            Form::Codex => session.push(json!({"type": "session_meta", "payload": {"id": SESSION, "cwd": cwd}})),
            Form::Gemini => {
                let at = session.now();
                session.push(json!({"sessionId": SESSION, "projectHash": "p", "startTime": at}));
            }
            Form::Copilot => {
                session.push(json!({"type": "session.start", "data": {"sessionId": SESSION, "context": {"cwd": cwd}}}));
            }
        }
        session.asked("Go on.")
    }

    fn now(&self) -> String {
        let second = FIRST_SECOND + self.lines.len() as u64;
        let (minutes, rest) = ((second - 1_700_000_000) / 60, (second - 1_700_000_000) % 60);
        // 1 700 000 000 is 2023-11-14 22:13:20 UTC.
        let seconds = 20 + rest;
        let minute = 13 + minutes + seconds / 60;
        format!("2023-11-14T22:{minute:02}:{:02}.500Z", seconds % 60)
    }

    /// Adds a record, chained to the one before in the way of its program.
    fn push(&mut self, mut record: Value) {
        let (number, at) = (self.lines.len(), self.now());
        let parent = number.checked_sub(1).map(|before| format!("u{before}"));
        let fields = record.as_object_mut().unwrap();
        match self.form {
            Form::Claude => {
                fields.insert("uuid".into(), json!(format!("u{number}")));
                fields.insert("parentUuid".into(), json!(parent));
                fields.insert("sessionId".into(), json!(SESSION));
                fields.insert("cwd".into(), json!(self.cwd.to_str().unwrap()));
                fields.insert("timestamp".into(), json!(at));
            }
            Form::Copilot => {
                fields.insert("id".into(), json!(format!("u{number}")));
                fields.insert("parentId".into(), json!(parent));
                fields.insert("timestamp".into(), json!(at));
            }
            Form::Codex | Form::Gemini => {
                fields.insert("timestamp".into(), json!(at));
            }
        }
        self.lines.push(record);
    }

    /// Somebody asks for something.
    pub(crate) fn asked(mut self, text: &str) -> Self {
        self.push(match self.form {
            Form::Claude => json!({"type": "user", "message": {"role": "user", "content": text}}),
            Form::Codex => json!({"type": "event_msg", "payload": {"type": "user_message", "message": text}}),
            Form::Gemini => json!({"id": format!("m{}", self.lines.len()), "type": "user", "content": text}),
            Form::Copilot => json!({"type": "user.message", "data": {"content": text}}),
        });
        self
    }

    /// The agent says something.
    pub(crate) fn says(mut self, text: &str) -> Self {
        self.push(match self.form {
            Form::Claude => {
                json!({"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": text}]}})
            }
            Form::Codex => {
                json!({"type": "event_msg", "payload": {"type": "task_complete", "turn_id": "1", "last_agent_message": text}})
            }
            Form::Gemini => json!({"id": format!("m{}", self.lines.len()), "type": "gemini", "content": text}),
            Form::Copilot => json!({"type": "assistant.message", "data": {"content": text}}),
        });
        self
    }

    /// A command that ran and ended so.
    pub(crate) fn ran(self, command: &str, exit: i32, output: &str) -> Self {
        let tool = match self.form {
            Form::Claude => "Bash",
            Form::Codex => "exec_command",
            Form::Gemini => "run_shell_command",
            Form::Copilot => "bash",
        };
        let name = if self.form == Form::Codex { "cmd" } else { "command" };
        self.call(tool, &json!({ name: command }), Some((exit, output)))
    }

    /// A command that was started, and whose end nobody asked for.
    pub(crate) fn started(mut self, command: &str) -> Self {
        assert_eq!(self.form, Form::Claude, "only Claude's form is written here");
        self.calls += 1;
        let id = format!("t{}", self.calls);
        let input = json!({"command": command, "run_in_background": true});
        self.push(json!({"type": "assistant", "message": {"content": [{"type": "tool_use", "id": id, "name": "Bash", "input": input}]}}));
        self.push(json!({"type": "user", "toolUseResult": {"stdout": "", "stderr": "", "interrupted": false, "backgroundTaskId": "b1"},
            "message": {"content": [{"type": "tool_result", "tool_use_id": id, "content": "running"}]}}));
        self
    }

    /// A file that a tool says it wrote, below the folder of the session.
    pub(crate) fn wrote(self, path: &str) -> Self {
        let full = self.cwd.join(path).to_str().unwrap().to_owned();
        match self.form {
            Form::Claude => self.call("Write", &json!({"file_path": full, "content": "x"}), None),
            Form::Gemini => self.call("write_file", &json!({"file_path": full, "content": "x"}), None),
            Form::Copilot => self.call("create", &json!({"path": full}), None),
            Form::Codex => self.patched(path),
        }
    }

    fn patched(mut self, path: &str) -> Self {
        self.calls += 1;
        let id = format!("t{}", self.calls);
        let patch = format!("*** Begin Patch\n*** Update File: {path}\n*** End Patch");
        self.push(json!({"type": "response_item", "payload": {"type": "custom_tool_call", "name": "apply_patch",
            "input": patch, "call_id": id, "status": "completed"}}));
        self.push(json!({"type": "response_item", "payload": {"type": "custom_tool_call_output", "call_id": id,
            "output": "{\"output\":\"Success\",\"metadata\":{\"exit_code\":0}}"}}));
        self
    }

    /// Any call; `shell` holds the exit code and the output of a command.
    pub(crate) fn call(mut self, tool: &str, input: &Value, shell: Option<(i32, &str)>) -> Self {
        self.calls += 1;
        let id = format!("t{}", self.calls);
        let (exit, output) = shell.unwrap_or((0, "done"));
        match self.form {
            Form::Claude => {
                self.push(json!({"type": "assistant", "message": {"content": [{"type": "tool_use", "id": id, "name": tool, "input": input}]}}));
                let text = if exit == 0 { output.to_owned() } else { format!("Exit code {exit}\n{output}") };
                self.push(json!({"type": "user", "message": {"content": [
                    {"type": "tool_result", "tool_use_id": id, "is_error": exit != 0, "content": text}]}}));
            }
            Form::Codex => {
                self.push(json!({"type": "response_item", "payload": {"type": "function_call", "name": tool,
                    "arguments": input.to_string(), "call_id": id}}));
                let text =
                    format!("Chunk ID: 1\nWall time: 1 seconds\nProcess exited with code {exit}\nOutput:\n{output}\n");
                self.push(json!({"type": "response_item", "payload": {"type": "function_call_output", "call_id": id, "output": text}}));
            }
            Form::Gemini => {
                let code = if exit == 0 { String::new() } else { format!("\nExit Code: {exit}") };
                let text = if shell.is_some() { format!("Output:\n{output}{code}") } else { output.to_owned() };
                let result = json!([{"functionResponse": {"response": {"output": text}}}]);
                self.push(
                    json!({"id": format!("m{}", self.lines.len()), "type": "gemini", "content": "", "toolCalls": [
                    {"id": id, "name": tool, "args": input, "status": "success", "result": result}]}),
                );
            }
            Form::Copilot => {
                self.push(json!({"type": "tool.execution_start", "data": {"toolCallId": id, "toolName": tool, "arguments": input}}));
                let mut data = json!({"toolCallId": id, "success": true, "result": {"content": output}});
                if shell.is_some() {
                    data["shellExecution"] = json!({"exitCode": exit});
                }
                self.push(json!({"type": "tool.execution_complete", "data": data}));
            }
        }
        self
    }

    /// Its lines, one record each.
    pub(crate) fn text(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }
}
