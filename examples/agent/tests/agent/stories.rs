//! What the agent lives through.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex};

use stemmata_testkit::model_server::{Answer, Asked, ModelServer};

use crate::model::{self, answer, check_pairs, shell, too_long};
use crate::process::{Process, Running, kill};

const WINDOW: usize = 16_000;
const TURNS: usize = 24;
const TASK: &str = "Port the parser to the new grammar, and keep all 214 tests green.";

/// Requests at which the process is killed while it waits for the answer.
const KILLED_WAITING: [usize; 3] = [2, 17, 40];
/// Turns in which the first command kills the agent that runs it.
const KILLED_BY_TOOL: [usize; 3] = [1, 9, 19];

/// Two commands a turn, then the answer. What turn it is says the newest prompt in the request.
fn script(running: Running) -> impl FnMut(&Asked) -> Answer + Send {
    let mut requests = 0;
    let mut killed = BTreeSet::new();
    let mut called = BTreeMap::new();
    move |asked| {
        requests += 1;
        if KILLED_WAITING.contains(&requests) {
            kill(&running);
            return Answer::Closed;
        }
        let turn = model::turn_of(asked);
        if KILLED_BY_TOOL.contains(&turn) && killed.insert(turn) {
            return answer(asked, "", &[shell("kill -9 $PPID"), shell("echo never runs")]);
        }
        let results = called.entry(turn).or_insert(0);
        if *results == 2 {
            return answer(asked, &format!("done {turn}"), &[]);
        }
        let marker = turn * 10 + *results;
        *results += 1;
        answer(
            asked,
            "I look at it.",
            &[shell(&format!("echo result-{marker}; seq 1{turn:02}000 1{turn:02}600"))],
        )
    }
}

fn address(server: &ModelServer) -> String {
    format!("{}/v1", server.url())
}

#[test]
fn a_session_outgrows_its_window_and_survives_kill_9() {
    let folder = tempfile::tempdir().unwrap();
    let running: Running = Arc::new(Mutex::new(None));
    let server = ModelServer::start(script(Arc::clone(&running)));
    let window = WINDOW.to_string();
    let endpoint = address(&server);
    let mut agent = Process::start(folder.path(), &["--endpoint", &endpoint, "--window", &window], &running);
    agent.say(&format!("{TASK} turn 0: begin"), "done 0");
    agent.say("Never touch the file golden.bin. turn 1: pin this", "done 1");
    let listed = agent.say("/context debug", " tokens, ");
    let number = listed
        .lines()
        .find(|line| line.contains("golden.bin"))
        .and_then(|line| line.split_whitespace().next());
    agent.say(&format!("/pin {}", number.unwrap()), "pinned");
    for turn in 2..TURNS {
        agent.say(&format!("turn {turn}: go on"), &format!("done {turn}"));
    }
    assert_eq!(agent.starts, 1 + KILLED_WAITING.len() + KILLED_BY_TOOL.len());
    drop(agent);
    check_requests(&server.asked());
    check_history(folder.path(), &running, &endpoint);
}

/// Every request holds what happened so far, or what stands for it.
fn check_requests(asked: &[Asked]) {
    let mut shortened = 0;
    for (at, request) in asked.iter().enumerate() {
        check_pairs(request);
        assert!(model::tokens(request) <= WINDOW, "request {at} has {} tokens", model::tokens(request));
        let text = model::text(request);
        assert!(text.contains(TASK), "request {at} has lost the task");
        assert!(model::turn_of(request) < TURNS, "request {at} has lost the prompt");
        assert!(model::turn_of(request) < 2 || text.contains("golden.bin"), "request {at} has lost the pin");
        let Some(before) = at.checked_sub(1).and_then(|before| asked.get(before)) else { continue };
        // What was sent is sent again, with what came of it behind it; unless the window was made smaller.
        let (before, now) = (model::messages(before), model::messages(request));
        shortened += usize::from(!now.starts_with(before));
    }
    assert!(shortened >= 3, "the window was made smaller {shortened} times");
    assert!(
        shortened * 5 < asked.len(),
        "{shortened} of {} requests broke the provider's cache",
        asked.len()
    );
    for killed in KILLED_WAITING {
        let [waiting, again] = [killed - 1, killed].map(|at| model::messages(&asked[at]));
        assert_eq!(waiting, again, "what was asked when the process died is asked again");
    }
    let is_told = |asked: &&Asked| model::text(asked).contains("interrupted: the agent stopped before");
    assert!(asked.iter().any(|asked| is_told(&asked)), "the model hears of the call that was cut off");
}

/// Nothing of what was said and done is lost, wherever the window is.
fn check_history(folder: &Path, running: &Running, endpoint: &str) {
    let mut agent = Process::start(folder, &["--endpoint", endpoint], running);
    let tip = agent.say("/checkpoint", "ctx-");
    drop(agent);
    let tip = tip.trim().trim_start_matches("> ").to_owned();
    let history = history(folder, &tip);
    for turn in 0..TURNS {
        assert!(history.contains(&format!("done {turn}\"")), "the answer of turn {turn}");
        for result in 0..2 {
            let is_there = history.contains(&format!("result-{}\\n", turn * 10 + result));
            assert!(is_there || KILLED_BY_TOOL.contains(&turn), "result {result} of turn {turn}");
        }
    }
}

fn history(folder: &Path, tip: &str) -> String {
    use stemmata_engine::{Home, HomeOptions, MachineFacts, OpenFor, RandomIds, Settings, Stop, SystemClock};
    let options = HomeOptions {
        settings: Settings::of_texts("[identity]\nuser = \"agent\"\n", &|_| None).unwrap(),
        machine: MachineFacts { mark: None, host_name: "agent".to_owned(), user_id: 0 },
        temp: None,
        open_for: OpenFor::Command,
        clock: Arc::new(SystemClock),
        ids: Arc::new(RandomIds),
    };
    let home = Home::open(&folder.join("data"), options).unwrap();
    let mut bytes = Vec::new();
    home.engine().unwrap().materialize(Some(tip.parse().unwrap()), None, Stop::Root, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn a_context_that_the_provider_refuses_is_made_smaller_and_sent_once_more() {
    let folder = tempfile::tempdir().unwrap();
    let running: Running = Arc::new(Mutex::new(None));
    let mut called = BTreeSet::new();
    let server = ModelServer::start(move |asked| match (model::tokens(asked), model::turn_of(asked)) {
        (_, 99) => too_long(),
        (4_096.., _) => too_long(),
        (_, turn) if called.insert(turn) => {
            answer(asked, "", &[shell(&format!("seq 1{turn:02}000 1{turn:02}260"))])
        }
        (_, turn) => answer(asked, &format!("done {turn}"), &[]),
    });
    let endpoint = address(&server);
    let mut agent = Process::start(folder.path(), &["--endpoint", &endpoint, "--window", "32000"], &running);
    for turn in 0..12 {
        agent.say(&format!("turn {turn}: go on"), &format!("done {turn}"));
    }
    let refused: Vec<usize> = server
        .asked()
        .iter()
        .enumerate()
        .filter(|(_, asked)| model::tokens(asked) >= 4_096)
        .map(|(at, _)| at)
        .collect();
    assert!(!refused.is_empty(), "no request was too long");
    assert!(refused.windows(2).all(|pair| pair[0] + 1 < pair[1]), "refused twice in a row: {refused:?}");
    server.asked().iter().for_each(check_pairs);
    // A provider that refuses everything: the turn fails, the agent does not.
    let before = server.asked().len();
    agent.write("turn 99: go on");
    assert!(agent.say("/zones", "of 32000 tokens").contains("of 32000 tokens"));
    assert!(server.asked().len() - before <= 2, "once, and once more");
}

#[test]
fn a_command_that_the_model_calls_does_not_get_the_key() {
    let folder = tempfile::tempdir().unwrap();
    let running: Running = Arc::new(Mutex::new(None));
    let mut has_called = false;
    // Cargo sets the variable for its tests.
    let variable = "CARGO_MANIFEST_DIR";
    let server = ModelServer::start(move |asked| {
        let command = format!("echo \"key=[${variable}]\"");
        let calls = if has_called { vec![] } else { vec![shell(&command)] };
        has_called = true;
        answer(asked, "done", &calls)
    });
    let arguments = ["--endpoint", &address(&server), "--key-env", variable];
    Process::start(folder.path(), &arguments, &running).say("go", "done");
    let asked = server.asked();
    let results = model::text(asked.last().unwrap());
    assert!(results.contains("key=[]"), "{results}");
}

#[test]
fn a_model_that_calls_tools_without_end_is_stopped_and_stays_so() {
    let folder = tempfile::tempdir().unwrap();
    let running: Running = Arc::new(Mutex::new(None));
    let server = ModelServer::start(|asked| match model::turn_of(asked) {
        0 => answer(asked, "", &[shell("true")]),
        turn => answer(asked, &format!("done {turn}"), &[]),
    });
    let endpoint = address(&server);
    Process::start(folder.path(), &["--endpoint", &endpoint], &running).say("turn 0: begin", "[stopped: ");
    let before = server.asked().len();
    let mut agent = Process::start(folder.path(), &["--endpoint", &endpoint], &running);
    agent.say("/zones", "of 32768 tokens");
    assert_eq!(server.asked().len(), before, "the next start goes on with it");
    agent.say("turn 1: go on", "done 1");
    server.asked().iter().for_each(check_pairs);
}

#[test]
fn commands_show_the_window_and_go_back_and_on() {
    let folder = tempfile::tempdir().unwrap();
    let running: Running = Arc::new(Mutex::new(None));
    let server = ModelServer::start(|asked| {
        let users = model::messages(asked).iter().filter(|message| message["role"] == "user").count();
        let long = "The parser in src/parse.rs reads the header first.\n".repeat(60);
        answer(asked, &format!("{long}heard {users}, last {}", model::said_last(asked)), &[])
    });
    let endpoint = address(&server);
    let mut agent = Process::start(folder.path(), &["--endpoint", &endpoint], &running);
    agent.say("one", "heard 1, last one");
    let first = agent.say("/checkpoint", "ctx-").trim().trim_start_matches("> ").to_owned();
    agent.say("two", "heard 2, last two");
    agent.say("/fork @3", "goes on from");
    agent.say("another two", "heard 2, last another two");
    agent.say(&format!("/restore {first}"), "goes on from");
    agent.say("a third way", "heard 2, last a third way");
    agent.say("more", "heard 3, last more");
    agent.say("/compact", "/uncompact is the way back");
    agent.say("/uncompact", "going on from");
    agent.say("after", "heard 4, last after");
    assert!(agent.say("/help", "/quit").contains("/restore COMMIT"));
    assert!(agent.say("/zones", "the provider refuses more").contains("safe"));
}
