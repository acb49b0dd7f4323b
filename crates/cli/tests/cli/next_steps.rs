//! What a newcomer gets wrong: the message names the thing, and says the next step.

use crate::stage::Stage;

const CONFIG: &str = "[templates.fixer]\nclient = \"claude-code\"\nstrategy = \"live\"\n";

fn stage() -> Stage {
    let stage = Stage::new();
    stage.home.write("home/.config/stemmata/config.toml", CONFIG.as_bytes());
    stage.run(&["events", "append", "PLAN_READY", "Refuse an empty file", "--ledger", "c1"]).ok();
    stage
}

#[test]
fn a_wrong_name_or_event_is_answered_with_those_that_there_are() {
    let stage = stage();
    let made = ["assemble", "--ledger", "c1", "--strategy", "worker"];
    let with = |more: &[&'static str]| [&made[..], more].concat();
    for (args, says, never) in [
        (vec!["assemble", "--ledger", "c1", "--template", "nosuch"], "there are fixer", "correct the file"),
        (vec!["start", "fixer"], "--print", "--in"),
        (with(&["--trigger", "400"]), "its last event is 3", "stemma list"),
        (
            vec!["context", "debug", "--ledger", "c1", "--strategy", "worker", "--diff", "400"],
            "its last event is 3",
            "through",
        ),
        (vec!["artifact", "read", "art-5b0e"], "64 letters", "64 to 64"),
        (vec!["recall", "plan", "--everywhere", "--max-tokens", "50"], "--max-tokens", "`max_tokens"),
    ] {
        let said = stage.run(&args);
        assert_ne!(said.code, 0, "{args:?}");
        assert!(said.stderr.contains(says) && !said.stderr.contains(never), "{args:?}: {}", said.stderr);
    }
    stage.run(&["strategy", "check", "worker"]).ok();
    let empty = stage.feed(&["turn", "begin", "--ledger", "c1"], b"\n");
    assert!(empty.stderr.contains("a JSON object on standard input"), "{}", empty.stderr);
    let nothing = stage.run(&["recall", "zzzqqqxxx", "--everywhere"]).ok().stderr;
    assert!(nothing.contains("nothing matches the task\n") && !nothing.contains("memory:"), "{nothing}");
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let stage = stage();
    let cut = stage.home.write("cut.json", b"{\"stemmata_checkpoint\": 1,");
    let said = stage.run(&["checkpoint", "--load", cut.to_str().unwrap()]);
    for part in ["cut.json", "it is cut", "write the file again"] {
        assert!(said.stderr.contains(part), "{}", said.stderr);
    }
    let large = stage.home.write("large.toml", &vec![b'#'; 2 << 20]);
    let said = stage.run(&["strategy", "check", large.to_str().unwrap()]);
    assert!(said.stderr.contains("shorten it"), "{}", said.stderr);
}

#[test]
fn what_was_said_beside_an_unanswered_call_is_in_the_next_prompt() {
    let stage = stage();
    let turn = "\"turn\":{\"ledger\":\"c1\",\"session\":\"q\",\"agent\":\"w\",\"template\":\"t\"}";
    let feed = |command: &str, rest: &str| {
        stage.feed(&["turn", command], format!("{{{turn},{rest}}}").as_bytes()).ok();
    };
    feed("begin", r#""said":{"id":"u1","role":"user","text":"Check it"}"#);
    feed(
        "step",
        r#""entries":[{"id":"a1","role":"assistant","text":"Plan B is chosen.","calls":[{"id":"c1","name":"sh","input":{}}]}]"#,
    );
    feed("end", r#""entries":[{"id":"a2","role":"assistant","text":"All fine."}]"#);
    let args = ["assemble", "--strategy", "live", "--say", "next", "--session", "q", "--ledger", "c1"];
    let prompt = stage.run(&args).ok().text();
    assert!(prompt.contains("Plan B is chosen.") && !prompt.contains("[call sh]"), "{prompt}");
    let debug = [&["context", "debug"], &args[1..]].concat();
    assert!(stage.told(&debug).contains("the call `c1`, which has no result"));
    assert!(stage.told(&["list", "--all"]).contains("Check it"));
}

#[test]
fn a_command_without_its_argument_names_the_usual_one() {
    let stage = Stage::new();
    for (command, usual) in [
        (&["doctor"][..], "hint: `stemma doctor --all`"),
        (&["install"], "hint: `stemma install --all`"),
        (&["diff"], "hint: `stemma diff @`"),
        (&["tag", "remove"], "hint: `stemma tag` lists"),
    ] {
        stage.run(command).code(2).complains(&[usual]);
    }
    stage.run(&["tag"]).ok().complains(&["No tags."]);
}

/// Small things that a newcomer met, each with what it says now.
#[test]
fn slips_are_answered_in_words() {
    let stage = Stage::new();
    let path = stage.home.write("a.jsonl", crate::story::retry("/home/ann/shop").text().as_bytes());
    let tip = stage.import(&path)["tip"].as_str().unwrap().to_owned();
    stage.run(&["tag", "add", &tip, "v1"]).ok();
    stage.run(&["tag", "remove", "v1"]).ok();
    stage.run(&["tag", "remove", "v1"]).code(3).complains(&["no tag is called `v1`", "`stemma tag` lists"]);
    stage.run(&["tag"]).ok().complains(&["No tags."]);
    stage.run(&["tag", "add", &tip, "v2"]).ok();
    stage.run(&["tag", "remove", &tip, "v2"]).ok();
    stage.run(&["list", "-n", "abc"]).code(2).complains(&["'abc'", "it is not a whole number"]);
    stage.run(&["exclude", "add", "/no/such/folder"]).ok().complains(&["there is no /no/such/folder now"]);
    stage.run(&["pause"]).ok();
    assert!(stage.run(&["unpause"]).ok().text().starts_with("Capture is on, but for:"));
    stage.run(&["exclude", "remove", "/no/such/folder"]).ok();
    stage.run(&["uninstall", "--all"]).ok().complains(&["What was captured stays in", "for good"]);
    assert!(stage.run(&["hook", "--help"]).ok().text().contains("Usage: stemma hook"));
    for value in ["on", "off", "1", "false"] {
        stage.run(&["config", "set", "store.allow_network", value]).ok();
        let config = stage.run(&["config"]).ok().text();
        assert!(
            config.lines().any(|line| line.starts_with("store.allow_network") && line.contains(value)),
            "{config}"
        );
    }
    stage
        .run(&["config", "set", "store.allow_network", "maybe"])
        .complains(&["`store.allow_network` is `on` or `off`"]);
    stage.home.write("home/project/f.txt", b"a\nb\n");
    stage.run(&["blame", "f.txt:2-1"]).complains(&["names no line", "counted from 1"]);
    assert!(stage.run(&["list", "retry"]).ok().text().contains("retry loop"));
    stage.run(&["list", "nosuchword"]).ok().complains(&["`stemma search nosuchword`"]);
}

/// Each command warned that nothing is logged.
#[test]
fn a_store_that_cannot_be_logged_in_says_so_in_status_alone() {
    let stage = Stage::new();
    stage.run(&["import"]).ok();
    let log = stage.home.stemmata_home().join("logs/stemma.log");
    let _none = std::fs::remove_file(&log);
    std::fs::create_dir_all(&log).unwrap();
    assert!(!stage.run(&["list"]).ok().stderr.contains("logged"));
    assert!(stage.run(&["status"]).ok().text().contains("nothing is logged"));
    let mut asked = stage.command(&["list"]);
    let said = crate::stage::said(asked.env("STEMMATA_LOG", "debug").output().unwrap());
    said.ok().complains(&["nothing is logged"]);
}

/// A loop of one's own has no transcript; its session says where it worked all the same.
#[test]
fn a_session_of_turns_is_resumed_where_it_worked() {
    let stage = Stage::new();
    stage.run(&["decision", "add", "One file for each day"]).ok();
    let ledgers = stage.json(&["ledger", "list"]);
    let ledger = ledgers["ledgers"][0]["id"].as_str().unwrap_or_else(|| panic!("{ledgers}")).to_owned();
    let turn =
        format!("\"turn\":{{\"ledger\":\"{ledger}\",\"session\":\"q\",\"agent\":\"w\",\"template\":\"t\"}}");
    let feed = |command: &str, rest: &str| {
        stage.feed(&["turn", command], format!("{{{turn},{rest}}}").as_bytes()).ok();
    };
    feed("begin", r#""said":{"id":"u1","role":"user","text":"Check it"}"#);
    feed("end", r#""entries":[{"id":"a2","role":"assistant","text":"All fine."}]"#);
    let said = stage.run(&["fork", "q", "--in", "claude-code", "--dry-run"]);
    assert!(!said.stderr.contains("does not say which directory"), "{}", said.stderr);
}
