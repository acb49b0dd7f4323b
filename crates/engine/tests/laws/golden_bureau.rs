//! What seed 001's own program answered, asked of our engine: each vector holds, or is a deviation that is listed here with
//! its reason. One that is listed and holds fails too.
//!
//! The vectors are `golden/bureau_context.json` and `golden/bureau_cas.json` beside the corpus. Nothing of them is kept
//! here but their names.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use stemmata_engine::{CheckpointRequest, Engine, EngineError, Stop};
use stemmata_model::{CommitId, CommitType, FormatId, SessionId, Template, Timestamp, Trigger, artifact_id};

use crate::golden_ledger::{Vectors, check, compare, golden};
use crate::support::{engine, native};

/// Vectors that come out otherwise, and why.
const DEVIATIONS: &[(&str, &str)] = &[
    ("id/ctx-094c68c1", IDS),
    ("id/ctx-1a607b41", IDS),
    ("id/ctx-6f0f93b4", IDS),
    ("id/ctx-7f97f46d", IDS),
    ("id/ctx-9e1ab3d0", IDS),
    ("id/ctx-d653b124", IDS),
    ("id/ctx-da11283c", IDS),
    ("hash/empty", WHOLE_HASH),
    ("hash/hello", WHOLE_HASH),
    ("hash/lcg_300000", WHOLE_HASH),
    ("hash/zeros_1024", WHOLE_HASH),
    ("content/lcg_100000", WHOLE_HASH),
    ("content/lcg_1000000", WHOLE_HASH),
    ("content/lcg_300000", WHOLE_HASH),
    ("content/zeros_500000", WHOLE_HASH),
    ("emptyWrite", "a commit may hold nothing: a turn that changed no byte is a turn"),
    ("missing parent accepted?", "a parent must exist, or the chain ends in nothing"),
    ("materialize/B default (no compaction)", "a line end is added only where a line follows"),
    ("materialize/C default", BOUNDARY),
    ("materialize/C default/commits", BOUNDARY),
    ("materialize/D default", BOUNDARY),
    ("materialize/D default/commits", BOUNDARY),
    ("materialize/D by an UNAUTHORISED other principal (no grant)", BOUNDARY),
    ("materialize/D by an UNAUTHORISED other principal (no grant)/commits", BOUNDARY),
];

const IDS: &str =
    "an id is a function of everything that was understood, with 128 bits (docs/format/commit.md)";
const WHOLE_HASH: &str =
    "a content's id is the BLAKE3 of its bytes, however they are cut when they are stored";
const BOUNDARY: &str =
    "in Claude Code's format a compaction is the boundary that the client writes, and these lines are none";

fn format(name: &str) -> FormatId {
    FormatId::new(name).expect("a name")
}

fn request(parent: Option<CommitId>, bytes: Vec<u8>, of: &str) -> CheckpointRequest {
    let template = Template::new("bureau/template:reviewer").expect("a name");
    let session = SessionId::new("golden").expect("a name");
    CheckpointRequest {
        parent,
        created_at: Some(Timestamp::from_micros(1_772_280_000_000_000)),
        trigger: Trigger::TurnBoundary,
        reasons: stemmata_model::Reasons::NONE,
        ..CheckpointRequest::delta(bytes, format(of), template, session)
    }
}

/// Makes the chain of the vectors; returns which commit of ours each of theirs is.
fn make_chain(engine: &Engine, golden: &Value) -> BTreeMap<String, CommitId> {
    let mut ids: BTreeMap<String, CommitId> = BTreeMap::new();
    for (second, commit) in (0..).zip(golden["chain"].as_array().expect("commits")) {
        let text = |key: &str| commit[key].as_str().expect("text");
        let commit_type = match text("type") {
            "compaction" => CommitType::Compaction,
            "snapshot" => CommitType::Snapshot { restated_entries: 0 },
            _ => CommitType::Delta,
        };
        let parent = Some(text("parent")).filter(|parent| !parent.is_empty()).map(|parent| ids[parent]);
        let made = engine.checkpoint(&CheckpointRequest {
            commit_type,
            created_at: Some(Timestamp::from_micros(1_772_280_000_000_000 + second * 1_000_000)),
            messages: commit["messageCount"].as_u64(),
            tokens: commit["tokenCount"].as_u64(),
            ..request(parent, text("data").as_bytes().to_vec(), "claude-code-v1")
        });
        ids.insert(text("id").to_owned(), made.expect("a commit").id);
    }
    ids
}

fn materializations(golden: &Value, vectors: &mut Vectors) {
    let engine = engine();
    let ids = make_chain(&engine, golden);
    let of_label = |label: &str| {
        let commits = golden["chain"].as_array().expect("commits");
        let own = commits.iter().find(|commit| commit["label"] == label.get(..1).unwrap_or_default());
        own.and_then(|commit| ids.get(commit["id"].as_str()?)).copied()
    };
    for vector in golden["materialize"].as_array().expect("vectors") {
        let label = vector["label"].as_str().expect("a label");
        let ctx = of_label(label).unwrap_or_else(|| CommitId::from_bytes([9; 16]));
        let stop = match vector["stop"].as_str().expect("a stop") {
            "" => Stop::Compaction,
            "root" => Stop::Root,
            id => Stop::Ancestor(ids[id]),
        };
        let wanted = vector["outputFormat"].as_str().filter(|wanted| !wanted.is_empty()).map(format);
        let mut out = Vec::new();
        let name = format!("materialize/{label}");
        match engine.materialize(Some(ctx), wanted.as_ref(), stop, &mut out) {
            Ok(made) => {
                check(vectors, &name, &vector["content"], &json!(String::from_utf8_lossy(&out)));
                check(vectors, format!("{name}/commits"), &vector["commitCount"], &json!(made.commits_read));
            }
            Err(_) => check(vectors, &name, &json!(vector["error"].is_string()), &json!(true)),
        }
    }
    for (label, id) in &ids {
        let is_prefixed = id.to_string().starts_with(label.as_str());
        check(vectors, format!("id/{label}"), &json!(true), &json!(is_prefixed));
    }
}

fn checkpoint_errors(golden: &Value, vectors: &mut Vectors) {
    for vector in golden["checkpointErrors"].as_array().expect("vectors") {
        let case = vector["case"].as_str().expect("a case");
        // The other cases cannot be asked: the types of a request do not say them.
        if case.starts_with("missing parent") {
            let made =
                engine().checkpoint(&request(Some(CommitId::from_bytes([9; 16])), b"{}\n".to_vec(), "x-v1"));
            check(vectors, case, &json!(vector["error"].is_string()), &json!(made.is_err()));
        }
    }
}

fn joined(golden: &Value, vectors: &mut Vectors) {
    let bytes = |key: &str| {
        let hex = golden["cborConcat"][key].as_str().expect("hex").as_bytes();
        let digit = |digit: &u8| char::from(*digit).to_digit(16).expect("a digit");
        hex.chunks(2)
            .map(|pair| u8::try_from(digit(&pair[0]) * 16 + digit(&pair[1])).expect("a byte"))
            .collect()
    };
    let engine = engine();
    let first =
        engine.checkpoint(&request(None, bytes("delta1Hex"), "bureau-agent-v1")).expect("a commit").id;
    let tip =
        engine.checkpoint(&request(Some(first), bytes("delta2Hex"), "bureau-agent-v1")).expect("a commit").id;
    let whole: Vec<u8> = bytes("contentHex");
    check(vectors, "cborConcat", &json!(whole), &json!(native(&engine, tip)));
}

/// Returns the bytes that a name of the vectors stands for.
fn input(name: &str) -> Vec<u8> {
    let length = |name: &str| name.parse().expect("a length");
    match name.split_once('_') {
        Some(("zeros", count)) => vec![0; length(count)],
        Some((_, count)) => {
            let mut state = 1_u32;
            let next = || {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                u8::try_from(state >> 24).expect("a byte")
            };
            std::iter::repeat_with(next).take(length(count)).collect()
        }
        None if name == "empty" => Vec::new(),
        None => name.as_bytes().to_vec(),
    }
}

fn contents(golden: &Value, vectors: &mut Vectors) {
    for vector in golden["hashes"].as_array().expect("vectors") {
        let name = vector["input"].as_str().expect("a name");
        let id = artifact_id(&input(name)).to_string();
        check(
            vectors,
            format!("hash/{name}"),
            &vector["fileHashSingleChunk"],
            &json!(id.trim_start_matches("art-")),
        );
    }
    for vector in golden["chunking"].as_array().expect("vectors") {
        let name = vector["input"].as_str().expect("a name");
        let bytes = input(name);
        let id = artifact_id(&bytes).to_string();
        check(vectors, format!("content/{name}"), &vector["fileHash"], &json!(id.trim_start_matches("art-")));
        // Whatever its hash and however it is cut, it comes back.
        let engine = engine();
        let made = engine.checkpoint(&request(None, bytes.clone(), "unknown-v1")).expect("a commit").id;
        check(
            vectors,
            format!("content/{name}/read"),
            &json!(bytes.len()),
            &json!(native(&engine, made).len()),
        );
    }
    let empty = engine().checkpoint(&request(None, Vec::new(), "unknown-v1"));
    check(
        vectors,
        "emptyWrite",
        &json!("error"),
        &json!(empty.map_or_else(
            |error: EngineError| {
                drop(error);
                "error"
            },
            |_| "stored"
        )),
    );
}

#[test]
fn every_vector_of_seed_001_holds_or_deviates_for_a_reason() {
    let (Some(context), Some(cas)) = (golden("bureau_context.json"), golden("bureau_cas.json")) else {
        return;
    };
    let mut vectors = Vectors::new();
    materializations(&context, &mut vectors);
    checkpoint_errors(&context, &mut vectors);
    joined(&context, &mut vectors);
    contents(&cas, &mut vectors);
    assert!(vectors.len() > 30, "{}", vectors.len());
    compare("seed 001", &vectors, DEVIATIONS);
}
