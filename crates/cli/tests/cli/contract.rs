//! The contract for scripts: fields and exit codes that must not change.

use std::collections::BTreeSet;

use serde_json::Value;
use stemmata_testkit::claude::ClaudeSession;

use crate::stage::Stage;
use crate::story;

fn fields(value: &Value) -> BTreeSet<&str> {
    value.as_object().expect("an object").keys().map(String::as_str).collect()
}

#[track_caller]
fn has(value: &Value, wanted: &[&str]) {
    let found = fields(value);
    for field in wanted {
        assert!(found.contains(field), "`{field}` is not in {found:?}");
    }
}

#[test]
fn import_prints_one_object_with_sessions_and_totals() {
    let stage = Stage::new();
    let good = stage.home.write("in/a.jsonl", story::retry("/home/ann/shop").text().as_bytes());
    stage.home.write("in/b.jsonl", b"no transcript\n");
    let bad = stage.home.write("c.jsonl", b"no transcript\n");
    let folder = good.parent().unwrap();
    let said = stage.run(&["import", folder.to_str().unwrap(), bad.to_str().unwrap(), "--json"]).code(10);
    let result = said.json();
    assert_eq!(
        fields(&result),
        BTreeSet::from(["sessions", "failures", "skipped", "excluded", "left_out", "totals"])
    );
    let session = &result["sessions"][0];
    has(
        session,
        &["path", "session_id", "format", "tip", "commits", "entries", "bytes_in", "bytes_redacted", "notes"],
    );
    has(&result["totals"], &["sessions", "commits", "bytes_in", "bytes_stored", "notes"]);
    assert_eq!(session["path"], good.to_str().unwrap());
    assert_eq!(session["format"], "claude-code-v1");
    assert_eq!(session["tip"].as_str().unwrap().len(), 30);
    assert_eq!(session["bytes_in"].as_u64().unwrap(), std::fs::metadata(&good).unwrap().len());
    assert_eq!(result["skipped"].as_array().unwrap().len(), 1);
    has(&result["failures"][0], &["path", "error", "causes", "hint", "exit_code"]);
    assert_eq!(result["failures"][0]["path"], bad.to_str().unwrap());
    assert_eq!(said.stderr, "");
}

#[test]
fn commits_have_the_fields_of_the_model_with_whole_ids_everywhere() {
    let stage = Stage::new();
    let path = stage.home.write("a.jsonl", story::retry("/home/ann/shop").text().as_bytes());
    let tip = stage.import(&path)["tip"].as_str().unwrap().to_owned();
    let shown = stage.json(&["show", &tip[..12]]);
    let logged = stage.json(&["log", &tip]);
    let history = stage.json(&["history", &tip]);
    let sessions = stage.json(&["log"]);
    for commit in
        [&shown, &logged["commits"][0], &history["commits"][0], &sessions["sessions"][0]["tip_commit"]]
    {
        has(
            commit,
            &[
                "id",
                "parent",
                "commit_type",
                "artifact",
                "format",
                "template",
                "created_at",
                "principal",
                "machine",
                "session_id",
                "checkpoint",
                "message_count",
                "token_count",
                "summary",
                "tags",
                "pinned",
                "closure",
                "rules",
            ],
        );
        assert_eq!(commit["id"], tip.as_str());
        assert_eq!(commit["artifact"].as_str().unwrap().len(), 68);
        assert_eq!(fields(&commit["summary"]), BTreeSet::from(["text", "source"]));
    }
    let root = history["commits"].as_array().unwrap().last().unwrap();
    assert!(!fields(root).contains("parent"), "a root has no parent");
    let ids = |page: &Value| {
        page["commits"].as_array().unwrap().iter().map(|one| one["id"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&history), ids(&logged), "`log` numbers the prompts beside");
}

#[test]
fn du_verify_and_fork_print_what_they_promise() {
    let stage = Stage::new();
    let path = stage.home.write("a.jsonl", story::retry("/home/ann/shop").text().as_bytes());
    let session = stage.import(&path);
    let usage = stage.json(&["du"]);
    assert_eq!(usage["logical_bytes"], session["bytes_in"]);
    assert!(usage["physical_bytes"].as_u64().unwrap() > 0);
    let verified = stage.json(&["verify"]);
    assert_eq!((&verified["ok"], &verified["damages"]), (&true.into(), &serde_json::json!([])));
    let placed = stage.json(&["fork", session["tip"].as_str().unwrap(), "--here"]);
    let wanted = [
        "ctx",
        "session_id",
        "path",
        "format",
        "bytes",
        "messages",
        "resume_command",
        "cwd",
        "own_session",
        "dry_run",
        "sidecars",
        "notes",
    ];
    assert_eq!(fields(&placed), BTreeSet::from(wanted));
}

#[test]
fn every_json_answer_has_the_documented_fields_and_no_others() {
    let stage = Stage::new();
    stage.home.write_session(&ClaudeSession::new(3).turns(3).compactions(1).subagents(1).build());
    let imported = stage.json(&["import"]);
    let tip = stage.json(&["log"])["sessions"][0]["tip"].as_str().unwrap().to_owned();
    let out = stage.home.path().join("out").to_str().unwrap().to_owned();
    let described = stemmata_api::schema::responses();
    let chains = stage.json(&["du", "--chains"]);
    for (shape, value) in [
        ("Import", imported.clone()),
        ("Imported", imported["sessions"][0].clone()),
        ("Totals", imported["totals"].clone()),
        ("Session", stage.json(&["list"])["sessions"][0].clone()),
        ("Session", stage.json(&["log"])["sessions"][0].clone()),
        ("Commit", stage.json(&["show", &tip])),
        ("Commit", stage.json(&["history", &tip])["commits"][0].clone()),
        ("Commit", stage.json(&["tree", &tip])["nodes"][0].clone()),
        ("Materialized", stage.json(&["materialize", &tip, "--out", &out])),
        ("Native", stage.json(&["native", &tip, "--out", &out])),
        ("Placed", stage.json(&["fork", &tip, "--here"])),
        ("Diff", stage.json(&["diff", &tip])),
        ("Status", stage.json(&["status"])),
        ("Du", stage.json(&["du"])),
        ("DuChains", chains.clone()),
        ("DuChain", chains["chains"][0].clone()),
        ("DuTotal", chains["total"].clone()),
        ("DuSidecars", chains["sidecars"].clone()),
        ("Sidecars", stage.json(&["sidecars", &tip])),
        ("Verify", stage.json(&["verify"])),
        ("Configuration", stage.json(&["config"])),
    ] {
        let described = described.iter().find(|described| described.name == shape);
        let known = &described.unwrap_or_else(|| panic!("{shape} is not described")).fields;
        let found = fields(&value);
        for field in &found {
            assert!(known.iter().any(|known| known.name == *field), "`{field}` of {shape} is not described");
        }
        for field in known.iter().filter(|field| !field.is_optional) {
            assert!(found.contains(field.name.as_str()), "`{}` of {shape} is always there", field.name);
        }
    }
}
