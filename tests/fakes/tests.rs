//! The server itself, asked by a client that knows no more than the protocols do.

use super::*;
use std::io::Write;

const PATHS: [(&str, Wire); 4] = [
    ("/v1/messages?beta=true", Wire::Anthropic),
    ("/v1/responses", Wire::Responses),
    ("/v1/chat/completions", Wire::Chat),
    ("/v1beta/models/m:streamGenerateContent?alt=sse", Wire::Gemini),
];

/// Sends one request; all that came back, or the fault.
fn ask(model: &Model, head: &str, body: &str) -> std::io::Result<String> {
    let mut connection = TcpStream::connect(model.address)?;
    connection
        .write_all(format!("{head} HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{body}", body.len()).as_bytes())?;
    connection.shutdown(Shutdown::Write)?;
    let mut answer = String::new();
    connection.read_to_string(&mut answer)?;
    Ok(answer)
}

fn post(model: &Model, path: &str, body: &Value) -> std::io::Result<String> {
    ask(model, &format!("POST {path}"), &body.to_string())
}

fn data(answer: &str) -> Vec<Value> {
    let lines = answer.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|line| *line != "[DONE]");
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The text of a streamed answer, put together as a client does.
fn streamed_text(wire: Wire, answer: &str) -> String {
    let piece = |event: &Value| match wire {
        Wire::Anthropic => event["delta"]["text"].clone(),
        Wire::Responses => event["delta"].clone(),
        Wire::Chat => event["choices"][0]["delta"]["content"].clone(),
        Wire::Gemini => event["candidates"][0]["content"]["parts"][0]["text"].clone(),
    };
    data(answer).iter().filter_map(|event| piece(event).as_str().map(str::to_owned)).collect()
}

#[test]
fn each_protocol_streams_a_text_of_any_size_and_the_token_of_its_brief() {
    let long = "ä line\n".repeat(300_000);
    for (path, wire) in PATHS {
        let model = Model::start(Plan::answering(format!("@TOKEN@ {long}")));
        let brief = "The token for your answer is `00aa`. The token for your answer is `11bb`.";
        let answer = post(&model, path, &json!({"stream": true, "model": "m", "messages": brief})).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("content-type: text/event-stream"));
        assert_eq!(streamed_text(wire, &answer), format!("11bb {long}"), "{wire:?}");
        let [seen] = &model.asked()[..] else { panic!("{wire:?}") };
        assert_eq!((seen.wire, seen.path.as_str(), seen.header("host")), (Some(wire), path, Some("x")));
        assert_eq!(seen.body["messages"], brief);
        assert!(seen.text.contains("`00aa`"));
    }
}

#[test]
fn each_protocol_answers_whole_where_no_stream_is_asked_for() {
    let call = ToolCall::new("Write", json!({"path": "a"}));
    let said = Said { text: Some("let me see".to_owned()), tools: vec![call] };
    let model = Model::start(Plan::of([Turn::Says(said)]));
    for (path, pointer) in [
        ("/v1/messages", "/content/1/input/path"),
        ("/v1/responses", "/output/1/arguments"),
        ("/v1/chat/completions", "/choices/0/message/tool_calls/0/function/arguments"),
        ("/v1beta/models/m:generateContent", "/candidates/0/content/parts/1/functionCall/args/path"),
    ] {
        let answer = post(&model, path, &json!({"model": "m"})).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("content-length: {}", body.len())));
        let body: Value = serde_json::from_str(body).unwrap();
        let found = body.pointer(pointer).unwrap_or_else(|| panic!("{path}: {body:#}")).as_str().unwrap();
        assert!(found == "a" || found == r#"{"path":"a"}"#, "{path}: {found}");
    }
}

#[test]
fn the_turn_follows_from_the_requests_own_history_and_first_turns_from_their_number() {
    let tool = |name: &str| Turn::calls([ToolCall::new(name, json!({}))]);
    let plan = Plan::of([tool("one"), tool("two"), Turn::says("the end")]).first(Turn::fails(500));
    let person = json!({"role": "user", "content": "do it"});
    let used = json!({"role": "assistant", "content": [{"type": "text", "text": "x"}, {"type": "tool_use"}]});
    let result = json!({"role": "user", "content": [{"type": "tool_result"}]});
    let anthropic = |rounds: usize| {
        let mut messages = vec![person.clone(), used.clone(), result.clone(), person.clone()];
        messages.extend(std::iter::repeat_n([used.clone(), result.clone()], rounds).flatten());
        json!({"stream": true, "messages": messages})
    };
    let responses = |rounds: usize| {
        let round = [
            json!({"type": "function_call"}),
            json!({"type": "local_shell_call"}),
            json!({"type": "function_call_output"}),
        ];
        let mut input = vec![json!({"type": "function_call"}), json!({"role": "user", "content": "do it"})];
        input.extend(std::iter::repeat_n(round, rounds).flatten());
        json!({"stream": true, "input": input})
    };
    let chat = |rounds: usize| {
        let round = [json!({"role": "assistant", "tool_calls": [{}]}), json!({"role": "tool"})];
        let mut messages = round.to_vec();
        messages.push(person.clone());
        messages.extend(std::iter::repeat_n(round, rounds).flatten());
        json!({"stream": true, "messages": messages})
    };
    let gemini = |rounds: usize| {
        let round = [
            json!({"role": "model", "parts": [{"functionCall": {}}]}),
            json!({"role": "user", "parts": [{"functionResponse": {}}]}),
        ];
        let mut contents = round.to_vec();
        contents.push(json!({"role": "user", "parts": [{"text": "do it"}]}));
        contents.extend(std::iter::repeat_n(round, rounds).flatten());
        json!({"contents": contents})
    };
    let body = |wire, rounds| match wire {
        Wire::Anthropic => anthropic(rounds),
        Wire::Responses => responses(rounds),
        Wire::Chat => chat(rounds),
        Wire::Gemini => gemini(rounds),
    };
    for (path, wire) in PATHS {
        let model = Model::start(plan.clone());
        assert!(post(&model, path, &body(wire, 1)).unwrap().starts_with("HTTP/1.1 500 "));
        for (rounds, says) in [(0, "\"one\""), (1, "\"two\""), (2, "the end"), (7, "the end"), (0, "\"one\"")] {
            let answer = post(&model, path, &body(wire, rounds)).unwrap();
            assert!(answer.contains(says), "{wire:?} after {rounds} rounds: {answer}");
        }
        assert_eq!(model.asked().len(), 6);
    }
}

#[test]
fn faults_breaks_and_rubbish_are_what_they_are_said_to_be() {
    for (path, wire) in PATHS {
        let body = json!({"stream": true});
        let limited = Turn::Fails { status: 429, retry_after: Some(7) };
        let model = Model::start(Plan::of([limited]));
        let answer = post(&model, path, &body).unwrap();
        assert!(answer.starts_with("HTTP/1.1 429 ") && answer.contains("\r\nretry-after: 7\r\n"), "{answer}");
        assert!(answer.contains("planned fault 429"));

        let model = Model::start(Plan::of([Turn::Breaks { after: "half a".to_owned() }]));
        let mut connection = TcpStream::connect(model.address).unwrap();
        let text = body.to_string();
        write!(connection, "POST {path} HTTP/1.1\r\ncontent-length: {}\r\n\r\n{text}", text.len()).unwrap();
        let mut answer = Vec::new();
        let ended = connection.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer).into_owned();
        assert!(ended.is_err(), "a reset is no end: {answer}");
        // What the reset overtakes is lost; what arrived is the beginning and no end.
        assert!("half a".starts_with(&streamed_text(wire, &answer)), "{answer}");
        for end in ["message_stop", "response.completed", "finish_reason\":\"stop", "STOP"] {
            assert!(!answer.contains(end), "{answer}");
        }

        let model = Model::start(Plan::of([Turn::Rubbish("<html>".to_owned())]));
        assert!(post(&model, path, &body).unwrap().ends_with("\r\n\r\n<html>"));
    }
}

#[test]
fn silence_lasts_until_the_client_leaves_or_the_server_ends() {
    let plan = || Plan::of([Turn::Hangs { after: Some("half".to_owned()) }]);
    let send = |model: &Model| {
        let mut connection = TcpStream::connect(model.address).unwrap();
        write!(connection, "POST /v1/messages HTTP/1.1\r\ncontent-length: 15\r\n\r\n{{\"stream\":true}}").unwrap();
        connection
    };
    let model = Model::start(plan());
    let mut connection = send(&model);
    model.wait_until_asked(1);
    let mut heard = String::new();
    while !heard.contains("half") {
        let mut some = [0; 256];
        let read = connection.read(&mut some).unwrap();
        assert!(read > 0, "it ended: {heard}");
        heard.push_str(&String::from_utf8_lossy(&some[..read]));
    }
    drop(connection);
    model.wait_until_left(1);

    let model = Model::start(plan());
    let mut connection = send(&model);
    model.wait_until_asked(1);
    drop(model);
    let mut rest = Vec::new();
    let _ = connection.read_to_end(&mut rest);
    assert!(!String::from_utf8_lossy(&rest).contains("message_stop"));
}

#[test]
fn what_is_asked_beside_the_model_is_answered_and_unreadable_requests_are_said_aloud() {
    let model = Model::start(Plan::answering("x"));
    for (head, words) in [
        ("GET /v1/models", "stub-model"),
        ("POST /v1/messages/count_tokens", "input_tokens"),
        ("POST /v1beta/models/m:countTokens", "totalTokens"),
        ("GET /v1/messages", "404"),
        ("POST /elsewhere", "404"),
    ] {
        assert!(ask(&model, head, "{}").unwrap().contains(words), "{head}");
    }
    assert_eq!((model.seen().len(), model.asked().len()), (5, 0));
    assert!(ask(&model, "POST /v1/messages", "no json").unwrap().starts_with("HTTP/1.1 400 "));
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| model.seen())).is_err());
}

#[test]
fn a_connection_serves_one_request_after_another_and_reads_chunks() {
    let model = Model::start(Plan::answering("x"));
    let mut connection = TcpStream::connect(model.address).unwrap();
    for _ in 0..2 {
        let chunked =
            "POST /v1/messages HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n3\r\n{\"a\r\n4;x=y\r\n\":1}\r\n0\r\n\r\n";
        connection.write_all(chunked.as_bytes()).unwrap();
        let mut answer = String::new();
        while !answer.contains("\"stop_reason\":\"end_turn\"") {
            let mut some = [0; 4096];
            let read = connection.read(&mut some).unwrap();
            assert!(read > 0, "it closed: {answer}");
            answer.push_str(&String::from_utf8_lossy(&some[..read]));
        }
    }
    assert_eq!(model.asked().iter().map(|seen| seen.text.as_str()).collect::<Vec<_>>(), ["{\"a\":1}"; 2]);
}
