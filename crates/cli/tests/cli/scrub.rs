//! `scan` and `scrub`, the store's own rules, and what is left of a vault, as their user meets them.

use crate::stage::Stage;
use crate::story::{SESSION, Story};

/// No shipped rule knows it.
const SECRET: &str = "ACME-771234";

const RULES: &str = "[[rules]]\nkind = 'ticket'\nkeywords = ['ACME-']\nregex = 'ACME-[0-9]{6}'\n";

/// A session with a secret in it, imported before anybody knew, and its tip.
fn leaked() -> (Stage, String) {
    let stage = Stage::new();
    let mut story = Story::new(SESSION, "/home/ann/shop");
    story.user("Look at the tickets.").assistant(&format!("There is {SECRET} alone."));
    story.user("And now?").assistant("Done.");
    let path = stage.home.write("a.jsonl", story.text().as_bytes());
    let tip = stage.import(&path)["tip"].as_str().unwrap().to_owned();
    (stage, tip)
}

fn rules(stage: &Stage, text: &str) {
    let home = stage.database().parent().unwrap().parent().unwrap().to_owned();
    std::fs::write(home.join("secrets.toml"), text).unwrap();
}

#[test]
fn what_leaked_is_found_shown_and_replaced() {
    let (stage, tip) = leaked();
    stage.run(&["scan"]).ok();
    rules(&stage, RULES);
    let scan = stage.run(&["scan", "--json"]).code(11);
    assert!(!scan.text().contains(SECRET));
    let found = scan.json();
    assert_eq!(found["findings"].as_array().unwrap().len(), 1, "{found}");
    assert_eq!(found["findings"][0]["kind"], "ticket");
    stage.run(&["scan", SESSION]).code(11);
    stage.run(&["scan", &tip]).code(11);
    stage.run(&["scrub", SESSION, "--json"]).code(2).complains(&["`--dry-run`", "`--yes`"]);
    let plan = stage.json(&["scrub", SESSION, "--dry-run"]);
    assert_eq!((&plan["dry_run"], &plan["dirty"]), (&true.into(), &1.into()), "{plan}");
    let done = stage.json(&["scrub", SESSION, "--yes"]);
    assert_eq!(done["rewritten"], plan["rewritten"]);
    stage.run(&["scan"]).ok();
    // The old id leads to what it became, and says so.
    let shown = stage.run(&["show", &tip, "--json"]).ok().complains(&["was scrubbed of secrets"]);
    assert_ne!(shown.json()["commit"]["id"], tip.as_str());
    assert!(!String::from_utf8(stage.native(&tip)).unwrap().contains(SECRET));
    // The transcript itself is the client's, and is read as it was: nothing is taken in twice.
    let again = stage.json(&["import", stage.home.path().join("a.jsonl").to_str().unwrap()]);
    assert_eq!(again["totals"]["new_commits"], 0, "{again}");
    stage.run(&["verify"]).ok();
    assert_eq!(stage.json(&["scrub", "--all", "--yes"])["rewritten"], 0);
}

#[test]
fn a_rule_that_makes_no_sense_blocks_and_is_named() {
    let (stage, _) = leaked();
    rules(&stage, "[[rules]]\nkind = 'ticket'\nkeywords = ['ACME-']\nregex = 'ACME-['\n");
    let mut story = Story::new("5e55104e-0000-4000-8000-000000000009", "/home/ann/shop");
    story.user("Another one.").assistant("Yes.");
    let path = stage.home.write("b.jsonl", story.text().as_bytes());
    let told = stage.run(&["import", path.to_str().unwrap()]).code(5).text();
    for text in ["secrets.toml:4: rule `ticket`", "at column 6"] {
        assert!(told.contains(text), "{told}");
    }
    stage.run(&["scan"]).code(5).complains(&["secrets.toml:4"]);
    stage.run(&["status"]).ok();
    stage.run(&["list"]).ok();
}

/// Earlier versions kept what they replaced.
#[test]
fn what_is_left_of_a_vault_is_told_once_and_removed() {
    let stage = Stage::new();
    let vault = stage.home.stemmata_home().join("vault");
    let left = |stage: &Stage| {
        std::fs::create_dir_all(&vault).unwrap();
        std::fs::write(vault.join("values-00000001"), b"sealed").unwrap();
        stage.home.write("home/.config/stemmata/config.toml", b"[secrets]\nvault = true\n");
    };
    stage.run(&["list"]).ok();
    left(&stage);
    stage.run(&["list"]).ok().complains(&[
        "an earlier version kept",
        "`stemma forget --vault`",
        "`secrets.vault`",
    ]);
    let again = stage.run(&["list"]).ok();
    assert!(!again.stderr.contains("earlier version"), "{}", again.stderr);
    stage.run(&["forget", "--vault"]).code(2).complains(&["`--dry-run`", "`--yes`"]);
    let would = stage.json(&["forget", "--vault", "--dry-run"]);
    assert_eq!((&would["files"], &would["bytes"], vault.exists()), (&1.into(), &6.into(), true), "{would}");
    assert!(stage.run(&["forget", "--vault", "--yes"]).ok().text().contains("Overwrote and removed"));
    assert!(!vault.exists());
    assert!(
        stage.run(&["forget", "--vault", "--yes"]).ok().text().contains("No secrets of earlier versions")
    );
    left(&stage);
    assert!(stage.run(&["uninstall", "--all"]).ok().text().contains("Overwrote and removed"));
    assert!(!vault.exists());
}

/// A secret that rules learn of when an event holds it already.
#[test]
fn what_an_event_holds_is_found_and_forgotten() {
    let stage = Stage::new();
    let append = |text: &str| {
        let args =
            ["events", "append", "NOTE", text, "--ledger", "crew", "--session", "bot-7", "--from", "ann"];
        stage.run(&args).ok();
    };
    append(&format!("look at {SECRET}"));
    append("nothing of note");
    insta::assert_snapshot!("scan_events_clean", stage.told(&["scan"]));
    rules(&stage, RULES);
    let scan = stage.run(&["scan", "--json"]).code(11);
    assert!(!scan.text().contains(SECRET));
    let found = &scan.json()["findings"][0];
    for (name, value) in
        [("ledger", "crew"), ("event", "2"), ("session_id", "bot-7"), ("field", "text"), ("kind", "ticket")]
    {
        assert_eq!(found[name], value, "{found}");
    }
    assert!(found["commit"].is_null(), "{found}");
    let shown = stage.told(&["scan"]);
    assert!(shown.contains("crew#2  session bot-7  its text  ticket  "), "{shown}");
    assert_eq!(stage.run(&["scan", "--limit", "1", "--json"]).code(11).json()["next"], "crew#2");
    stage.run(&["scan", "--after", "crew#2"]).ok();
    insta::assert_snapshot!("scrub_events_dry_run", stage.told(&["scrub", "--all", "--dry-run"]));
    insta::assert_snapshot!("scrub_events", stage.told(&["scrub", "--all", "--yes"]));
    insta::assert_snapshot!("scrub_events_again", stage.told(&["scrub", "--all", "--yes"]));
    let events = stage.json(&["events", "query", "--ledger", "crew"]);
    let payloads: Vec<&str> =
        events["events"].as_array().unwrap().iter().map(|event| event["payload"].as_str().unwrap()).collect();
    assert_eq!(payloads, ["plain", "forgotten", "plain"]);
    stage.run(&["scan"]).ok();
}

/// What is redacted in the store is still in the client's own file, so somebody has to rotate it.
#[test]
fn the_clients_own_files_are_scanned_and_never_quoted() {
    let stage = Stage::new();
    stage.run(&["scan", "--clients"]).ok().complains(&[]);
    rules(&stage, RULES);
    let mut story = Story::new(SESSION, "/home/ann/shop");
    story.user("Look at the tickets.").assistant(&format!("There is {SECRET} alone."));
    story.user("And now?").assistant(&format!("{SECRET} again."));
    let folder = stage.home.claude_config().join("projects").join("-home-ann-shop");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(format!("{SESSION}.jsonl"));
    std::fs::write(&path, story.text()).unwrap();
    let before = std::fs::read(&path).unwrap();

    let said = stage.run(&["scan", "--clients"]).code(11).complains(&["rotate"]);
    let text = said.text();
    assert!(text.contains("line 2  ticket") && text.contains("1 secret at 2 places in 1 file"), "{text}");
    assert!(!text.contains(SECRET) && !said.stderr.contains(SECRET), "{text}");
    let found = stage.run(&["scan", "--clients", "--json"]).code(11).json();
    let lines: Vec<u64> =
        found["findings"].as_array().unwrap().iter().filter_map(|one| one["line"].as_u64()).collect();
    assert_eq!(lines, [2, 4], "{found}");
    assert_eq!(found["findings"][0]["path"], path.to_str().unwrap());
    assert_eq!((&found["findings"][0]["client"], &found["complete"]), (&"claude-code".into(), &true.into()));
    let first = stage.run(&["scan", "--clients", "--limit", "1", "--json"]).code(11).json();
    assert_eq!((first["findings"].as_array().unwrap().len(), &first["complete"]), (1, &false.into()));
    assert_eq!(std::fs::read(&path).unwrap(), before);
}
