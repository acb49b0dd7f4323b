//! The client beside a server that answers, refuses and misbehaves.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use stemmata_llm::{
    Api, ChatRequest, Client, Endpoint, Key, Limits, LlmError, Message, Stop, Tool, ToolCall, Waits,
};
use stemmata_redact::Scrubber;
use stemmata_testkit::model_server::{Answer, ModelServer};

/// Notes how long it would have waited.
#[derive(Clone, Default)]
struct Noted(Arc<Mutex<Vec<Duration>>>);

impl Waits for Noted {
    fn wait(&self, duration: Duration) {
        self.0.lock().expect("no test panics with it").push(duration);
    }
}

impl Noted {
    fn millis(&self) -> Vec<u128> {
        self.0.lock().expect("no test panics with it").iter().map(Duration::as_millis).collect()
    }
}

const KEY: &str = "made-up-key-of-a-test";

fn client(server: &ModelServer, api: Api, limits: Limits) -> (Client, Noted) {
    let path = if api == Api::OpenAi { "/v1" } else { "" };
    let noted = Noted::default();
    let endpoint = Endpoint {
        api,
        base_url: format!("{}{path}", server.url()),
        model: "made-up".to_owned(),
        key: Some(Key::new(KEY).expect("a key")),
        limits,
    };
    (Client::new(endpoint, Scrubber::builtin(), Box::new(noted.clone())).expect("an endpoint"), noted)
}

fn said(text: &str) -> ChatRequest {
    ChatRequest {
        messages: vec![Message::User(text.to_owned())],
        max_output_tokens: 100,
        ..ChatRequest::default()
    }
}

fn completion(text: &str) -> Answer {
    Answer::Json(json!({
        "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 12, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 8}},
    }))
}

fn refusal(status: u16, body: &Value) -> Answer {
    Answer::Status(status, Vec::new(), body.to_string())
}

/// A conversation with a call and its answer.
fn conversation() -> ChatRequest {
    let call = |id: &str| ToolCall {
        id: id.to_owned(),
        name: "ls".to_owned(),
        arguments: r#"{"dir":"."}"#.to_owned(),
    };
    let answer =
        |id: &str, is_error| Message::Tool { call_id: id.to_owned(), text: "a b".to_owned(), is_error };
    ChatRequest {
        system: "Be brief.".to_owned(),
        messages: vec![
            Message::User("list it".to_owned()),
            Message::Assistant { text: String::new(), calls: vec![call("c1"), call("c2")] },
            answer("c1", false),
            answer("c2", true),
        ],
        tools: vec![Tool {
            name: "ls".to_owned(),
            description: "Lists files.".to_owned(),
            parameters: json!({"type": "object"}),
        }],
        max_output_tokens: 50,
    }
}

#[test]
fn chat_completions_are_written_and_read() {
    let call = json!({"id": "", "type": "function", "function": {"name": "ls", "arguments": {"dir": "src"}}});
    let server = ModelServer::of(vec![Answer::Json(json!({
        "choices": [{"message": {"content": null, "tool_calls": [call]}, "finish_reason": "stop"}],
    }))]);
    let (client, _) = client(&server, Api::OpenAi, Limits::default());
    let reply = client.chat(&conversation()).unwrap();
    let want =
        ToolCall { id: "call_0".to_owned(), name: "ls".to_owned(), arguments: r#"{"dir":"src"}"#.to_owned() };
    assert_eq!(
        (reply.text.as_str(), reply.calls, reply.stop, reply.usage),
        ("", vec![want], Stop::ToolUse, None)
    );
    let asked = server.asked().remove(0);
    assert_eq!(asked.path, "/v1/chat/completions");
    assert!(asked.headers.contains(&("authorization".to_owned(), format!("Bearer {KEY}"))));
    let roles: Vec<_> =
        asked.body["messages"].as_array().unwrap().iter().map(|message| &message["role"]).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool", "tool"]);
    assert_eq!(asked.body["messages"][2]["content"], Value::Null);
    assert_eq!(asked.body["tools"][0]["function"]["name"], "ls");
    assert_eq!(asked.body["max_tokens"], 50);
}

#[test]
fn messages_are_written_and_read() {
    let server = ModelServer::of(vec![Answer::Json(json!({
        "content": [
            {"type": "thinking", "thinking": "hm"},
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "t1", "name": "ls", "input": {"dir": "src"}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 5, "output_tokens": 7, "cache_read_input_tokens": 11, "cache_creation_input_tokens": 1},
    }))]);
    let (client, _) = client(&server, Api::Anthropic, Limits::default());
    let reply = client.chat(&conversation()).unwrap();
    assert_eq!((reply.text.as_str(), reply.calls.len(), reply.stop), ("I look.", 1, Stop::ToolUse));
    let usage = reply.usage.unwrap();
    assert_eq!((usage.input_tokens, usage.cached_tokens, usage.output_tokens), (5, 12, 7));
    let asked = server.asked().remove(0);
    assert_eq!(asked.path, "/v1/messages");
    assert!(asked.headers.contains(&("x-api-key".to_owned(), KEY.to_owned())));
    let messages = asked.body["messages"].as_array().unwrap();
    // Both answers stand in one message: roles must alternate.
    assert_eq!(messages.len(), 3);
    assert_eq!(messages[1]["content"][0]["input"]["dir"], ".");
    assert_eq!(messages[2]["content"].as_array().unwrap().len(), 2);
    assert_eq!(messages[2]["content"][1]["is_error"], true);
    assert_eq!(asked.body["system"], "Be brief.");
}

#[test]
fn a_busy_server_is_asked_again_as_it_wishes() {
    let busy = Answer::Status(429, vec![("retry-after".to_owned(), "2".to_owned())], "{}".to_owned());
    let server = ModelServer::of(vec![busy, refusal(529, &json!({})), completion("yes")]);
    let (client, noted) = client(&server, Api::OpenAi, Limits::default());
    let reply = client.chat(&said("well?")).unwrap();
    assert_eq!((reply.text.as_str(), reply.stop), ("yes", Stop::End));
    let usage = reply.usage.unwrap();
    assert_eq!((usage.input_tokens, usage.cached_tokens, usage.output_tokens), (4, 8, 3));
    assert_eq!(noted.millis(), [2000, 1000]);
}

#[test]
fn what_cannot_pass_is_asked_once() {
    let body =
        json!({"error": {"message": "maximum context length is 4096", "code": "context_length_exceeded"}});
    let server = ModelServer::of(vec![refusal(400, &body)]);
    let (client, noted) = client(&server, Api::OpenAi, Limits::default());
    let LlmError::Refused { status, .. } = client.chat(&said("x")).unwrap_err() else { panic!("refused") };
    assert_eq!((status.status, status.code.as_str()), (400, "context_length_exceeded"));
    assert_eq!((server.asked().len(), noted.millis().len()), (1, 0));
}

#[test]
fn a_server_that_misbehaves_is_an_error_within_the_limits() {
    let limits = Limits {
        attempt_timeout: Duration::from_millis(300),
        attempts_max: 2,
        reply_bytes_max: 10_000,
        ..Limits::default()
    };
    for (answer, code) in [
        (Answer::Silence, "timed_out"),
        (Answer::Closed, "unreachable"),
        (Answer::Cut, "unreachable"),
        (Answer::Blanks(1 << 20), "reply_bad"),
        (Answer::Blanks(0), "reply_bad"),
        (Answer::Json(json!({"choices": []})), "reply_bad"),
        (Answer::Json(json!([1, 2])), "reply_bad"),
        (refusal(500, &json!({"error": "boom"})), "refused"),
    ] {
        let server = ModelServer::of(vec![answer.clone()]);
        let (client, noted) = client(&server, Api::OpenAi, limits);
        let error = client.chat(&said("x")).unwrap_err();
        assert_eq!(error.code(), code, "{answer:?}: {error}");
        assert_eq!((server.asked().len(), noted.millis().len()), (2, 1), "{answer:?}");
    }
}

#[test]
fn secrets_do_not_leave() {
    let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let server = ModelServer::of(vec![completion("ok")]);
    let (client, _) = client(&server, Api::OpenAi, Limits::default());
    let mut request = conversation();
    request.system = format!("token {token}");
    request.messages.push(Message::User(format!("use {token}")));
    let arguments = json!({"command": format!("curl -H 'authorization: token {token}'")}).to_string();
    let call = ToolCall { id: "c3".to_owned(), name: "bash".to_owned(), arguments };
    request.messages.push(Message::Assistant { text: token.clone(), calls: vec![call] });
    request.messages.push(Message::Tool { call_id: "c3".to_owned(), text: token.clone(), is_error: false });
    client.chat(&request).unwrap();
    let body = server.asked().remove(0).body.to_string();
    assert!(!body.contains(&token) && body.contains("list it"), "{body}");
}

#[test]
fn a_key_that_a_server_repeats_is_in_no_error() {
    let theirs = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let escaped = KEY.replace('-', "\\u002d");
    let said = |field: &str| json!({"error": {field: format!("k Bearer {KEY} {theirs}")}}).to_string();
    let long = json!({"error": {"message": "no", "code": format!("{}{KEY}", "x".repeat(90))}}).to_string();
    let many = json!({"error": {"message": "no", "type": "y".repeat(60_000)}}).to_string();
    let html = format!("<pre>authorization: Bearer {KEY}</pre>");
    let json = format!(r#"{{"error":{{"message":"{escaped}","code":"{escaped}"}}}}"#);
    let completion = json!({"choices": KEY}).to_string();
    // No JSON as a whole, so all of it is quoted: with the key as JSON, a link and HTML write it.
    let forms = [escaped.clone(), KEY.replace('-', "%2D"), KEY.replace('-', "&#45;")];
    let raw = format!("<pre>{}</pre>", forms.join(" "));
    let refused = [said("message"), said("code"), said("type"), long, many, html, json, raw];
    let answers = refused.into_iter().map(|body| (401, body)).chain([(200, completion)]);
    for (status, body) in answers {
        let header = vec![("x-echo".to_owned(), KEY.to_owned()), ("retry-after".to_owned(), KEY.to_owned())];
        let server = ModelServer::of(vec![Answer::Status(status, header, body)]);
        let (client, _) = client(&server, Api::OpenAi, Limits { attempts_max: 1, ..Limits::default() });
        let error = client.chat(&self::said("x")).unwrap_err();
        let text = format!("{error} {error:?}");
        assert!(!text.contains("of-a-test") && !text.contains("made") && !text.contains(&theirs), "{error}");
        assert!(error.to_string().chars().count() < 800, "{error}");
    }
}

#[test]
fn a_key_that_a_server_repeats_is_in_no_answer() {
    let escaped = KEY.replace('-', "&#45;");
    let text = format!("The gateway is opened by {KEY}, {} or {escaped}.", KEY.to_uppercase());
    let call = json!({"id": KEY, "function": {"name": KEY, "arguments": format!("{{\"k\":\"{KEY}\"}}")}});
    let open_ai = json!({"choices": [{"message": {"content": text, "tool_calls": [call]}}]});
    let block = json!({"type": "tool_use", "id": KEY, "name": KEY, "input": {"k": KEY}});
    let anthropic = json!({"content": [{"type": "text", "text": text}, block]});
    for (api, body) in [(Api::OpenAi, open_ai), (Api::Anthropic, anthropic)] {
        let server = ModelServer::of(vec![Answer::Json(body)]);
        let (client, _) = client(&server, api, Limits::default());
        let reply = client.chat(&said("x")).expect("an answer");
        assert_eq!(reply.text, "The gateway is opened by …, … or ….");
        let call = reply.calls.first().expect("a call");
        assert_eq!([&call.id, &call.name, &call.arguments], ["…", "…", r#"{"k":"…"}"#]);
    }
}

#[test]
fn a_redirect_is_not_followed_with_the_key() {
    let elsewhere = ModelServer::of(vec![completion("stolen")]);
    let to = vec![("location".to_owned(), format!("{}/v1/chat/completions", elsewhere.url()))];
    let server = ModelServer::of(vec![Answer::Status(307, to, String::new())]);
    let (client, _) = client(&server, Api::OpenAi, Limits::default());
    assert!(client.chat(&said("x")).is_err());
    assert!(elsewhere.asked().is_empty());
}

#[test]
fn what_is_too_large_is_not_sent() {
    let server = ModelServer::of(vec![completion("ok")]);
    let (client, _) = client(&server, Api::OpenAi, Limits { request_bytes_max: 1000, ..Limits::default() });
    let error = client.chat(&said(&"word ".repeat(1000))).unwrap_err();
    assert_eq!((error.code(), server.asked().len()), ("request_too_large", 0));
}
