//! The summarizer beside a server that answers, refuses and knows a window.

use std::time::Duration;

use serde_json::{Value, json};
use stemmata_llm::{Api, Client, Endpoint, Limits, ModelSummarizer, Waits};
use stemmata_prompt::compact::{SummarizeError, Summarizer as _, SummaryAsked, SummaryOf};
use stemmata_redact::Scrubber;
use stemmata_testkit::model_server::{Answer, Asked, ModelServer};

struct Never;

impl Waits for Never {
    fn wait(&self, _: Duration) {}
}

fn summarizer(server: &ModelServer) -> ModelSummarizer {
    let base_url = format!("{}/v1", server.url());
    let endpoint = Endpoint {
        api: Api::OpenAi,
        base_url,
        model: "made-up".to_owned(),
        key: None,
        limits: Limits::default(),
    };
    ModelSummarizer::new(
        Client::new(endpoint, Scrubber::builtin(), Box::new(Never)).expect("an endpoint"),
        None,
    )
}

fn answer(text: &str, finish: &str) -> Answer {
    Answer::Json(json!({"choices": [{"message": {"content": text}, "finish_reason": finish}]}))
}

fn asked(conversation: &str) -> SummaryAsked<'_> {
    SummaryAsked {
        of: SummaryOf::Conversation,
        block: "the record",
        conversation,
        focus: None,
        chars_max: 1_000,
    }
}

/// Says that more than so many bytes are too long, as vLLM does.
fn with_window(bytes_max: usize) -> ModelServer {
    ModelServer::start(move |asked: &Asked| {
        let said = asked.body["messages"][1]["content"].as_str().unwrap_or_default();
        if said.len() <= bytes_max {
            return answer("Goal: retries", "stop");
        }
        let message =
            "This model's maximum context length is 4096 tokens. However, you requested 9999 tokens.";
        Answer::Status(400, Vec::new(), json!({"object": "error", "message": message}).to_string())
    })
}

#[test]
fn a_model_writes_a_summary() {
    let server = ModelServer::of(vec![answer("Goal: retries\nNext steps: tests", "stop")]);
    let text = summarizer(&server).summarize(&asked("[User]: five retries")).expect("an answer");
    assert_eq!(text, "Goal: retries\nNext steps: tests");
    let body: Value = server.asked().remove(0).body;
    let said = body["messages"][1]["content"].as_str().unwrap_or_default();
    assert!(said.contains("[User]: five retries") && said.contains("the record"), "{said}");
}

#[test]
fn an_input_that_is_too_long_is_shortened_from_its_beginning_and_sent_again() {
    let conversation = "[User]: an old word\n\n".repeat(300) + "[User]: the newest";
    let server = with_window(5_500);
    assert!(summarizer(&server).summarize(&asked(&conversation)).is_ok());
    let asked_of = server.asked();
    assert_eq!(asked_of.len(), 2);
    assert!(asked_of[1].body["messages"][1]["content"].as_str().unwrap_or_default().contains("the newest"));
    let server = with_window(10);
    let error = summarizer(&server).summarize(&asked(&conversation)).expect_err("nothing fits");
    assert!(matches!(error, SummarizeError::TooLong { .. }), "{error}");
    assert_eq!(server.asked().len(), 3);
}

#[test]
fn answers_that_are_none_are_errors() {
    for (reply, want) in [
        (answer("  ", "stop"), SummarizeError::Empty),
        (
            answer("I won't", "content_filter"),
            SummarizeError::Failed { reason: "the model refused to summarize".to_owned() },
        ),
    ] {
        let server = ModelServer::of(vec![reply]);
        assert_eq!(summarizer(&server).summarize(&asked("x")), Err(want));
    }
    let server = ModelServer::of(vec![answer("Goal: whole\nProgress: cut in the mid", "length")]);
    assert_eq!(summarizer(&server).summarize(&asked("x")), Ok("Goal: whole".to_owned()));
}

#[test]
fn nothing_is_sent_of_a_conversation_whose_newest_entry_is_larger_than_the_window() {
    let server = ModelServer::of(vec![answer("Goal: none", "stop")]);
    let error = summarizer(&server).summarize(&asked(" \n")).expect_err("there is nothing to summarize");
    assert!(matches!(error, SummarizeError::TooLong { .. }), "{error}");
    assert_eq!(server.asked().len(), 0);
}
