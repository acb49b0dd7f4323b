//! Vectors beside a server that gives some, refuses, and gives too few.

use serde_json::{Value, json};
use stemmata_llm::ModelEmbedder;
use stemmata_prompt::retrieve::Embedder as _;
use stemmata_testkit::model_server::{Answer, ModelServer};

fn embedder(server: &ModelServer) -> ModelEmbedder {
    let key = Some("made-up-key-of-a-test");
    ModelEmbedder::new(&format!("{}/v1", server.url()), "small", key).expect("an endpoint")
}

fn vectors(of: &[[f32; 2]]) -> Answer {
    let data: Vec<Value> =
        of.iter().enumerate().map(|(index, values)| json!({"index": index, "embedding": values})).collect();
    Answer::Json(json!({ "data": data }))
}

#[test]
fn texts_become_vectors_without_their_secrets() {
    let server = ModelServer::of(vec![vectors(&[[1.0, 0.0], [0.0, 1.0]])]);
    let secret = format!("the token is {}{}", "ghp_", "0123456789abcdefghijklmnopqrstuvwxyz");
    let made = embedder(&server).embed(&["kiln", &secret]).expect("vectors");
    assert_eq!(made, [[1.0, 0.0], [0.0, 1.0]]);
    let asked = server.asked();
    assert_eq!((asked.len(), asked[0].path.as_str()), (1, "/v1/embeddings"));
    assert_eq!((&asked[0].body["model"], &asked[0].body["input"][0]), (&json!("small"), &json!("kiln")));
    let sent = asked[0].body["input"][1].as_str().expect("a text");
    assert!(sent.starts_with("the token is ") && !sent.contains("ghp_"), "{sent}");
    let has_key = |(name, value): &(String, String)| name == "authorization" && value.ends_with("of-a-test");
    assert!(asked[0].headers.iter().any(has_key));
}

#[test]
fn what_is_no_answer_to_all_texts_is_an_error_that_says_so() {
    let refusal = Answer::Status(400, Vec::new(), json!({"error": {"message": "no such model"}}).to_string());
    for (answer, reason) in [(vectors(&[[1.0, 0.0]]), "not one for each of 2"), (refusal, "no such model")] {
        let server = ModelServer::of(vec![answer]);
        let error = embedder(&server).embed(&["one", "two"]).expect_err("refused");
        let says = |part: &str| error.reason.contains(part);
        assert!(says(reason) && says("/v1/embeddings") && !error.is_down, "{error:?}");
    }
    for (status, is_down) in [(401, false), (404, false), (429, false), (500, true), (503, true)] {
        let server = ModelServer::of(vec![Answer::Status(status, Vec::new(), "no".to_owned())]);
        let error = embedder(&server).embed(&["one"]).expect_err("refused");
        assert_eq!(error.is_down, is_down, "{status}");
    }
    assert!(ModelEmbedder::new("http://example.org/v1", "small", Some("key")).is_err(), "a key in the clear");
}
