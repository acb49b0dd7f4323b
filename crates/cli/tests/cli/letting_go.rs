//! What lets go of stored things, and what makes the rest smaller: `forget`, `gc`, `pack`, and `du` after it.

use serde_json::{Value, json};

use crate::stage::Stage;
use crate::story::{self, SESSION, Story, go_on};

/// A second session, of another project.
const OTHER: &str = "07e40000-0000-4000-8000-000000000002";

/// A stage with a session, and its tip.
fn stage() -> (Stage, String) {
    let stage = Stage::new();
    let path = stage.home.write("a.jsonl", story::retry("/home/ann/shop").text().as_bytes());
    let tip = stage.import(&path)["tip"].as_str().unwrap().to_owned();
    (stage, tip)
}

fn import_other(stage: &Stage) -> String {
    let mut story = Story::new(OTHER, "/home/ann/garden");
    story.user("Which seeds are left?").assistant("Beans.");
    let path = stage.home.write("other.jsonl", story.text().as_bytes());
    stage.import(&path)["tip"].as_str().unwrap().to_owned()
}

/// Returns the sessions that hold something.
fn sessions(stage: &Stage) -> Vec<String> {
    let listed = stage.json(&["list"]);
    let listed = listed["sessions"].as_array().unwrap().iter().filter(|session| session["tip"].is_string());
    listed.map(|session| session["session_id"].as_str().unwrap().to_owned()).collect()
}

/// Runs at another time than the stage's.
fn json_at(stage: &Stage, now: &str, args: &[&str]) -> Value {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_stemma"));
    command.env_clear().envs(stage.home.environment()).current_dir(stage.home.project());
    let output = command.args(args).args(["--json", "--test-now", now]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_session_is_forgotten_and_may_come_back_only_when_that_is_taken_back() {
    let (stage, tip) = stage();
    import_other(&stage);
    let path = stage.home.path().join("a.jsonl");
    let path = path.to_str().unwrap();
    insta::assert_snapshot!("forget_dry_run", stage.told(&["forget", SESSION, "--dry-run"]));
    insta::assert_snapshot!("forget_without_yes", stage.told(&["forget", SESSION]));
    stage.run(&["forget", SESSION, "--json"]).code(2).complains(&["`--dry-run`", "`--yes`"]);
    assert_eq!(sessions(&stage).len(), 2, "nothing happened yet");
    insta::assert_snapshot!("forget_yes", stage.told(&["forget", SESSION, "--yes"]));
    assert_eq!(sessions(&stage), [OTHER]);
    stage.run(&["show", &tip]).code(3);
    let again = stage.json(&["import", path]);
    assert_eq!(again["totals"]["new_commits"], 0, "{again}");
    insta::assert_snapshot!("forget_import_after", stage.told(&["import", path]));
    insta::assert_snapshot!("forget_undo", stage.told(&["forget", "--undo", SESSION]));
    stage
        .run(&["forget", "--undo", SESSION])
        .code(3)
        .complains(&["no forgotten commit, session or transcript"]);
    stage.run(&["import", path]).ok();
    assert_eq!(stage.native(&tip), std::fs::read(path).unwrap());
    stage.run(&["verify"]).ok();
}

/// As everywhere the beginning of an id is enough; of sessions the store has only a hash.
#[test]
fn a_forgetting_is_taken_back_by_the_beginning_of_a_commits_id() {
    let (stage, tip) = stage();
    stage.run(&["forget", &tip, "--yes"]).ok();
    stage.run(&["forget", "--undo", "3f2a"]).code(3).complains(&["whole id"]);
    let beginning = &tip[..tip.len() - 12];
    stage.run(&["forget", "--undo", beginning]).ok();
    stage.run(&["forget", "--undo", beginning]).code(3);
}

#[test]
fn what_a_client_still_has_is_said_once_and_a_part_of_its_id_takes_the_forgetting_back() {
    let stage = Stage::new();
    let folder = "home/.claude/projects/-home-ann-shop";
    let text = story::retry("/home/ann/shop").text();
    stage.home.write(&format!("{folder}/{SESSION}.jsonl"), text.as_bytes());
    let twin = format!("{}ffff", &SESSION[..SESSION.len() - 4]);
    stage.home.write(&format!("{folder}/{twin}.jsonl"), text.replace(SESSION, &twin).as_bytes());
    stage.run(&["import"]).ok();
    let left = stage.json(&["forget", &twin, "--dry-run"])["transcripts_left"].clone();
    assert!(left[0].as_str().unwrap().ends_with(&format!("{twin}.jsonl")), "{left}");
    let told = stage.run(&["forget", SESSION, "--yes"]).ok();
    for wanted in [
        format!("Stays on disk: ~/.claude/projects/-home-ann-shop/{SESSION}.jsonl"),
        format!("--undo {SESSION}`"),
    ] {
        assert!(told.text().contains(&wanted), "{}", told.text());
    }
    let import = || {
        let said = stage.run(&["import"]).ok();
        format!("{}{}", said.text(), said.stderr)
    };
    assert!(import().contains("was forgotten"));
    assert!(!import().contains("was forgotten"), "once is enough");
    stage.run(&["forget", &twin, "--yes"]).ok();
    stage
        .run(&["forget", "--undo", &SESSION[..6]])
        .code(4)
        .complains(&["is ambiguous", "ffff.jsonl  forgotten"]);
    // Both are of one moment, as the clock of a stage stands: what undoes one undoes the other.
    stage.run(&["forget", "--undo", &twin[twin.len() - 6..]]).ok();
    assert!(import().contains("2 new"));
    std::fs::remove_file(stage.home.path().join(format!("{folder}/{twin}.jsonl"))).unwrap();
    let told = stage.run(&["forget", &twin, "--yes"]).ok();
    assert!(!told.text().contains("on disk"), "{}", told.text());
}

#[test]
fn a_plan_in_json_is_what_happens() {
    let (stage, tip) = stage();
    let mut plan = stage.json(&["forget", &tip, "--dry-run"]);
    assert_eq!((&plan["dry_run"], &plan["sessions"]), (&json!(true), &json!([])));
    let ids = |value: &Value| value.as_array().unwrap().len();
    assert_eq!(ids(&plan["removed"]) + ids(&plan["cut"]), 1, "{plan}");
    plan["dry_run"] = json!(false);
    let digest = plan.as_object_mut().unwrap().remove("digest").unwrap();
    assert!(digest.as_str().unwrap().starts_with("plan-"), "{digest}");
    assert_eq!(stage.json(&["forget", &tip, "--yes"]), plan);
    let rest = stage.json(&["forget", "--project", "/home/ann", "--yes"]);
    assert_eq!(rest["sessions"], json!([SESSION]));
    assert_eq!(stage.json(&["du"])["commits"], 0);
    assert_eq!(
        stage.json(&["forget", "--undo", SESSION])["lifted"].as_u64().map(|count| count > 2),
        Some(true)
    );
}

#[test]
fn what_is_pinned_is_not_forgotten_by_accident() {
    let (stage, tip) = stage();
    stage.run(&["pin", &tip]).ok();
    stage.run(&["tag", &tip, "fix"]).ok();
    insta::assert_snapshot!("forget_pinned", stage.told(&["forget", SESSION, "--yes"]));
    let asked = stage.run(&["forget", "fix", "--dry-run"]).code(5);
    assert!(asked.text().contains("Would forget: "), "{}", asked.text());
    asked.complains(&["is pinned", "hint: `stemma forget fix --even-pinned` forgets"]);
    assert_eq!(sessions(&stage), [SESSION]);
    stage.run(&["forget", SESSION, "--yes", "--even-pinned"]).ok();
    assert_eq!(sessions(&stage), Vec::<String>::new());
}

#[test]
fn a_branch_keeps_what_it_needs_unless_it_is_cut_everywhere() {
    let (stage, tip) = stage();
    let placed = stage.json(&["fork", &tip, "--here"]);
    let path = placed["path"].as_str().unwrap();
    let fork = placed["session_id"].as_str().unwrap();
    go_on(path);
    stage.run(&["import", path]).ok();
    let listed = stage.json(&["list", "--all"])["sessions"].clone();
    let short = listed.as_array().unwrap().iter().find(|session| session["session_id"] == fork);
    let short =
        short.map_or_else(|| fork[..8].to_owned(), |own| own["short_id"].as_str().unwrap().to_owned());
    let told =
        |args: &[&str]| stage.told(args).replace(fork, "[FORK]").replace(&format!("{short}  "), "[FORK]  ");
    insta::assert_snapshot!("forget_branch_dry_run", told(&["forget", SESSION, "--dry-run"]));
    let kept = stage.json(&["forget", SESSION, "--dry-run"]);
    assert!(!kept["kept"].as_array().unwrap().is_empty(), "{kept}");
    assert_eq!(kept["branches"][0]["session_id"], fork);
    insta::assert_snapshot!("forget_everywhere", told(&["forget", SESSION, "--everywhere", "--yes"]));
    let said = stage.run(&["native", &tip, "--out", "-"]).complains(&["forgotten"]);
    assert!(said.code != 0 && said.stdout.is_empty());
    assert!(std::path::Path::new(path).exists(), "no file of the client's is touched");
    stage.run(&["verify"]).ok();
}

#[test]
fn retention_lets_go_in_two_steps() {
    let (stage, tip) = stage();
    let garden = import_other(&stage);
    insta::assert_snapshot!("gc_nothing_configured", stage.told(&["gc", "--dry-run"]));
    stage.run(&["config", "set", "retention.projects", "/home/ann/shop=30"]).ok();
    assert_eq!(stage.json(&["gc"])["retired"], json!([]), "it is of today");
    let april = "2026-04-20T12:00:00Z";
    let plan = json_at(&stage, april, &["gc", "--dry-run"]);
    assert_eq!((&plan["retired"][0]["session_id"], &plan["dry_run"]), (&json!(SESSION), &json!(true)));
    assert_eq!(json_at(&stage, april, &["gc", "--dry-run"]), plan, "a dry run changes nothing");
    let first = json_at(&stage, april, &["gc", "--yes"]);
    assert_eq!((&first["condemned"], &first["deleted"]["commits"]), (&plan["condemned"], &json!(0)));
    assert!(first["condemned"]["commits"].as_u64() > Some(1), "{first}");
    assert!(!stage.native(&tip).is_empty(), "it can be read as long as it is only condemned");
    // Neither before the grace is over, nor with one of their own.
    let early = json_at(&stage, "2026-05-01T12:00:00Z", &["gc", "--yes"]);
    assert_eq!(
        (&early["waiting"]["commits"], &early["deleted"]["commits"]),
        (&first["condemned"]["commits"], &json!(0))
    );
    let done = json_at(&stage, "2026-05-04T12:00:00Z", &["gc", "--yes"]);
    assert_eq!(done["deleted"]["commits"], first["condemned"]["commits"], "{done}");
    stage.run(&["native", &tip, "--out", "-"]).code(3);
    assert_eq!(sessions(&stage), [OTHER]);
    assert!(!stage.native(&garden).is_empty());
    stage.run(&["verify"]).ok();
}

#[test]
fn gc_says_what_it_does() {
    let (stage, _) = stage();
    stage.run(&["config", "set", "retention.sessions_days", "1"]).ok();
    let told = |args: &[&str]| {
        let mut all = args.to_vec();
        all.extend(["--test-now", "2026-04-20T12:00:00Z"]);
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_stemma"));
        command.env_clear().envs(stage.home.environment()).current_dir(stage.home.project());
        String::from_utf8(command.args(all).output().unwrap().stdout).unwrap()
    };
    insta::assert_snapshot!("gc_dry_run", told(&["gc", "--dry-run"]));
    assert_eq!(told(&["gc"]), "", "something would be deleted, and nobody confirmed it");
    assert!(told(&["gc", "--yes"]).contains("Condemned: "));
    let second = told(&["gc", "--grace-days", "0", "--yes"]);
    assert!(second.contains("Deleted: ") && !second.contains("Waiting"), "{second}");
    assert_eq!(told(&["gc"]), "Nothing to collect.\n");
}

#[test]
fn packing_moves_everything_and_du_tells_where_it_is() {
    let (stage, tip) = stage();
    let before = stage.json(&["du"]);
    assert_eq!((&before["packs"], &before["packed_bytes"]), (&json!(0), &json!(0)));
    let packed = stage.json(&["pack"]);
    assert_eq!(
        (&packed["packs"], &packed["busy"], &packed["damaged"]),
        (&json!(1), &json!(false), &json!(0))
    );
    assert_eq!(packed["inbox_bytes"], before["inbox_bytes"]);
    let after = stage.json(&["du"]);
    assert_eq!((&after["packs"], &after["inbox_bytes"]), (&json!(1), &json!(0)));
    assert_eq!(after["physical_bytes"], packed["physical_bytes"]);
    for same in ["logical_bytes", "distinct_bytes", "commits", "sessions", "contents"] {
        assert_eq!(after[same], before[same], "{same}");
    }
    assert_eq!(stage.native(&tip), std::fs::read(stage.home.path().join("a.jsonl")).unwrap());
    insta::assert_snapshot!("pack_again", stage.told(&["pack"]));
    stage.run(&["pack", "--level", "20"]).code(2);
    // What comes after goes to the inbox again, and the next packing takes it.
    import_other(&stage);
    let grown = stage.json(&["du"]);
    assert_ne!(grown["inbox_bytes"], 0);
    assert!(stage.told(&["pack"]).starts_with("exit 0\nPacked "), "it says what it did");
    stage.run(&["verify"]).ok();
}

/// Returns the files below the store's folder that hold some bytes.
pub(crate) fn files_with(stage: &Stage, needle: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![stage.home.stemmata_home()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if std::fs::read(&path).unwrap().windows(needle.len()).any(|window| window == needle) {
                found.push(path.display().to_string());
            }
        }
    }
    found
}

#[test]
fn words_of_a_forgotten_commit_are_in_no_file_and_do_not_come_back() {
    let stage = Stage::new();
    let needle = b"xylograph-7f3k9q";
    let mut story = Story::new(SESSION, "/home/ann/shop");
    story.user("Print the xylograph-7f3k9q for me").assistant("It is printed.").user("Now the other one");
    let path = stage.home.write("a.jsonl", format!("{}\n", story.lines()[..2].join("\n")).as_bytes());
    let look = stage.import(&path)["tip"].as_str().unwrap().to_owned();
    stage.run(&["update", &look, "--summary", "about xylograph-7f3k9q"]).ok();
    stage.home.write("a.jsonl", story.text().as_bytes());
    stage.import(&path);
    let chain = stage.json(&["log", SESSION]);
    let first = chain["commits"].as_array().unwrap().last().unwrap()["id"].as_str().unwrap().to_owned();
    let named = |stage: &Stage| {
        [&["list", "--all"][..], &["log", "--json"], &["show", &first, "--meta", "--json"]]
            .iter()
            .any(|args| stage.run(args).ok().stdout.windows(needle.len()).any(|window| window == needle))
    };
    assert!(!files_with(&stage, needle).is_empty() && named(&stage), "its title is there");
    stage.run(&["pack"]).ok();
    stage.run(&["forget", &first, "--everywhere", "--yes"]).ok();
    assert_eq!(files_with(&stage, needle), Vec::<String>::new());
    assert!(!named(&stage));
    story.assistant("Here is the other one.").user("And a third");
    stage.home.write("a.jsonl", story.text().as_bytes());
    stage.run(&["import", path.to_str().unwrap()]).ok();
    stage.run(&["import", "--full", path.to_str().unwrap()]).ok();
    assert_eq!(files_with(&stage, needle), Vec::<String>::new());
    assert!(!named(&stage));
    assert_eq!(stage.json(&["list"])["sessions"][0]["title"], "Now the other one");
    stage.run(&["verify"]).ok();
}

#[test]
fn a_session_that_retention_emptied_is_only_listed_with_all() {
    let (stage, _) = stage();
    stage.run(&["config", "set", "retention.sessions_days", "1"]).ok();
    for _ in 0..2 {
        json_at(&stage, "2026-04-20T12:00:00Z", &["gc", "--grace-days", "0", "--yes"]);
    }
    let listed = |args: &[&str]| stage.json(args)["sessions"].as_array().unwrap().len();
    assert_eq!((listed(&["list"]), listed(&["list", "--all"])), (0, 1));
    assert!(stage.run(&["list"]).ok().stderr.contains("No sessions"));
}

#[test]
fn chains_are_told_with_what_they_share() {
    let (stage, _) = stage();
    import_other(&stage);
    insta::assert_snapshot!("du_chains", stage.told(&["du", "--chains"]));
}

/// A project goes with what its ledger says, and what goes is shown.
#[test]
fn a_project_is_forgotten_with_its_events() {
    let stage = Stage::new();
    let dir = stage.home.project().to_str().unwrap().to_owned();
    stage.run(&["decide", "Retries stop after five attempts"]).ok();
    stage.run(&["events", "append", "NOTE", "elsewhere", "--ledger", "crew"]).ok();
    let ledger = stage.json(&["events", "tail"])["ledger"].as_str().unwrap().to_owned();
    insta::assert_snapshot!(
        "forget_project_dry_run",
        stage.told(&["forget", "--project", &dir, "--dry-run"])
    );
    let plan = stage.json(&["forget", "--project", &dir, "--dry-run"]);
    let done = stage.json(&["forget", "--project", &dir, "--yes"]);
    for told in [plan, done] {
        assert_eq!((&told["events"], &told["ledgers"]), (&json!(2), &json!([ledger])), "{told}");
    }
    let left =
        |ledger: &str| stage.json(&["events", "query", "--ledger", ledger])["events"][1]["payload"].clone();
    assert_eq!((left(&ledger), left("crew")), (json!("forgotten"), json!("plain")));
    insta::assert_snapshot!("forget_project_again", stage.told(&["forget", "--project", &dir, "--yes"]));
}

/// After `ledger.engine` was changed, the ledgers of the former engine still hold events: every command that forgets reaches them.
/// Has turns of other sessions, so that the numbers of what commits cover go further here than in the other engine's ledger.
fn others_turn(stage: &Stage) {
    for number in 0..3 {
        let other = json!({"ledger": "c", "session": format!("o{number}"), "agent": "w", "template": "t"});
        let said = json!({"id": format!("o{number}-1"), "role": "user", "text": "go"});
        let begin = json!({"turn": other, "said": said}).to_string();
        stage.feed(&["turn", "begin"], begin.as_bytes()).ok();
        let answer = json!({"id": format!("o{number}-2"), "role": "assistant", "text": "gone"});
        let end = json!({"turn": other, "entries": [answer]}).to_string();
        stage.feed(&["turn", "end"], end.as_bytes()).ok();
    }
}

/// A scan finds what events of both engines hold, page by page as at once.
fn scan_finds_both(stage: &Stage) {
    let scan = |args: &[&str]| stage.run(&[&["scan", "--json"], args].concat()).json();
    let scanned = scan(&["s"]);
    let found = |of: &Value| of["findings"].as_array().unwrap().len();
    assert_eq!(scanned["events"], 6, "{scanned}");
    let all = found(&scan(&["--all"]));
    let of_events = scanned["findings"].as_array().unwrap().iter().filter(|found| found["event"].is_string());
    assert_eq!((of_events.count(), all - found(&scanned)), (4, 4), "of events, and of states");
    let (mut told, mut after) = (0, None::<String>);
    loop {
        let mut args = vec!["--all", "--limit", "1"];
        args.extend(after.iter().flat_map(|after| ["--after", after.as_str()]));
        let page = scan(&args);
        told += found(&page);
        after = page["next"].as_str().map(str::to_owned);
        if after.is_none() {
            break;
        }
    }
    assert_eq!(told, all);
}

#[test]
fn what_is_forgotten_goes_from_ledgers_of_both_engines() {
    const WORD: &[u8] = b"quillfish-93418";
    for (before, now) in [("files", "store"), ("store", "files")] {
        for act in [
            &["forget", "s", "--everywhere"][..],
            &["events", "forget", "s", "--everywhere"],
            &["scrub", "--all"],
        ] {
            let stage = Stage::new();
            let turn = |verb: &str, more: Value| {
                let mut request =
                    json!({"turn": {"ledger": "c", "session": "s", "agent": "w", "template": "t"}});
                request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
                stage.feed(&["turn", verb], request.to_string().as_bytes()).ok();
            };
            for engine in [before, now] {
                stage.run(&["config", "set", "ledger.engine", engine]).ok();
                if engine == before {
                    others_turn(&stage);
                }
                let id = format!("{engine}-1");
                turn("begin", json!({"said": {"id": id, "role": "user", "text": "go quillfish-93418"}}));
                let answer =
                    json!({"id": format!("{engine}-2"), "role": "assistant", "text": "of quillfish-93418"});
                turn("end", json!({"entries": [answer]}));
            }
            assert!(!files_with(&stage, WORD).is_empty());
            stage.run(&["verify"]).ok();
            let rules = "[[rules]]\nkind = 'fish'\nkeywords = ['quillfish']\nregex = 'quillfish-[0-9]{5}'\n";
            if act[0] == "scrub" {
                std::fs::File::create(stage.home.stemmata_home().join("secrets.toml"))
                    .and_then(|mut file| std::io::Write::write_all(&mut file, rules.as_bytes()))
                    .unwrap();
                scan_finds_both(&stage);
            }
            let planned = stage.json(&[act, &["--dry-run"]].concat());
            let done = stage.json(&[act, &["--yes"]].concat());
            if act[0] == "events" {
                assert_eq!(planned["events"], done["events"]);
                // The commits hold it still, and are named.
                let held = done["held_by"].as_array().unwrap().clone();
                assert!(!held.is_empty(), "{done}");
                for id in held {
                    stage.run(&["forget", id.as_str().unwrap(), "--everywhere", "--yes"]).ok();
                }
            }
            assert_eq!(files_with(&stage, WORD), [""; 0], "{before}, {now}, {act:?}: {done}");
        }
    }
}

#[test]
fn a_project_is_forgotten_with_its_events_of_both_engines() {
    for (before, now) in [("files", "store"), ("store", "files")] {
        let stage = Stage::new();
        let dir = stage.home.project().to_str().unwrap().to_owned();
        for engine in [before, now] {
            stage.run(&["config", "set", "ledger.engine", engine]).ok();
            stage.run(&["decide", "Retries stop after quillfish-93418"]).ok();
        }
        let plan = stage.json(&["forget", "--project", &dir, "--dry-run"]);
        assert_eq!(plan["events"], 4, "{plan}");
        stage.run(&["forget", "--project", &dir, "--yes"]).ok();
        assert_eq!(files_with(&stage, b"quillfish-93418"), [""; 0], "{before}, {now}");
    }
}

/// `events forget` empties events, and commits keep the same words: the answer names those commits and the command that deletes them.
#[test]
fn what_commits_hold_of_forgotten_events_is_named() {
    let stage = Stage::new();
    let turn = |verb: &str, more: Value| {
        let mut request = json!({"turn": {"ledger": "c", "session": "s", "agent": "w", "template": "t"}});
        request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        stage.feed(&["turn", verb], request.to_string().as_bytes()).ok().json()
    };
    turn("begin", json!({"said": {"id": "u1", "role": "user", "text": "go"}}));
    let ended = turn("end", json!({"entries": [{"id": "a1", "role": "assistant", "text": "of quillfish"}]}));
    let ctx = ended["ctx"].as_str().unwrap().to_owned();
    let args = ["events", "forget", "--event", ended["last"].as_str().unwrap(), "--ledger", "c"];
    assert_eq!(stage.json(&[&args[..], &["--dry-run"]].concat())["held_by"], json!([ctx]));
    let told = stage.told(&[&args[..], &["--yes"]].concat());
    assert!(told.contains("stays in 1 commit: ctx-") && told.contains("`stemma forget ctx-"), "{told}");
    assert!(
        !files_with(&stage, b"quillfish").is_empty()
            || stage.run(&["show", &ctx]).ok().text().contains("quillfish")
    );
    // A store that a restore moved aside is named as well.
    let to = stage.home.path().join("backup");
    stage.run(&["backup", to.to_str().unwrap()]).ok();
    stage.run(&["restore", to.to_str().unwrap(), "--yes"]).ok();
    let forgot = stage.json(&["forget", "s", "--yes"]);
    let left = forgot["stores_left"][0].as_str().unwrap_or_default().to_owned();
    assert!(left.contains("store.before-restore-"), "{forgot}");
}
