//! Prompts, strategies, recall and turns over the facet: what is bad comes back by its code, at once and bounded.

use stemmata_api::v1::{
    AppendRequest, AssembleRequest, BeginTurnRequest, CheckStrategyRequest, ContextOf, ContextRequest,
    Durability, KeptPromptOf, NewEvent, PromptTrigger, RecallRequest, StrategyFormat, StrategyRequest,
    StrategySource, TraceDetail, TurnBegun, TurnContext, TurnEntry, TurnFork, TurnMadeRequest, TurnOf,
    TurnPrompt,
};
use stemmata_api::{Answer, Service};
use stemmata_model::{EventSeq, LedgerId, Party, SessionId, Template};

use crate::{MISSING, Stage, code};

const LEDGER: &str = "cluster";

fn ledger() -> LedgerId {
    LedgerId::new(LEDGER).expect("a name")
}

fn asked(strategy: &str) -> AssembleRequest {
    AssembleRequest {
        ledger: ledger(),
        session: None,
        strategy: StrategySource::Text(strategy.to_owned()),
        profile: None,
        agent: None,
        trigger: None,
        max_tokens: None,
        counter: None,
        model: None,
        after: None,
        through: None,
        task: None,
        iteration: None,
        records_metrics: false,
        trace: Some(TraceDetail::Full),
        messages: None,
    }
}

fn source(fields: &str) -> String {
    format!("{{\"sources\":[{{\"topic\":\"PLAN_READY\"{fields}}}]}}")
}

fn turn(session: &str) -> TurnOf {
    TurnOf {
        ledger: Some(ledger()),
        session: SessionId::new(session).ok(),
        agent: Party::new("worker").expect("a name"),
        template: Template::new("fixer").expect("a name"),
        thread: None,
        ticket: None,
        granularity: None,
    }
}

fn said(text: &str) -> TurnEntry {
    TurnEntry {
        id: Some("u1".to_owned()),
        role: "user".to_owned(),
        text: Some(text.to_owned()),
        thinking: None,
        calls: Vec::new(),
        results: Vec::new(),
        images: Vec::new(),
        kind: None,
        agent_visible: None,
        user_visible: None,
        model: None,
        usage: None,
        stop_reason: None,
        hint: None,
    }
}

fn begin(session: &str) -> BeginTurnRequest {
    BeginTurnRequest {
        turn: turn(session),
        request: None,
        context: None,
        said: said("go on"),
        phase: None,
        task: None,
        completed: Vec::new(),
        pin: false,
        prompt: None,
        window: None,
        messages: None,
    }
}

fn recall(text: &str) -> RecallRequest {
    RecallRequest {
        text: text.to_owned(),
        ledger: Some(ledger()),
        max_tokens: None,
        counter: None,
        model: None,
        thread: None,
        ticket: None,
        session: None,
        foreign: false,
        settle_ms: None,
    }
}

fn stage() -> Stage {
    let stage = Stage::new();
    let service: &dyn Service = stage.service.as_ref();
    let event = |topic: &str| NewEvent {
        topic: topic.to_owned(),
        text: Some("Refuse empty files".to_owned()),
        data: None,
        metadata: None,
        sender: Some("planner".to_owned()),
        receiver: None,
        session_id: None,
        thread: None,
        ticket: None,
    };
    let events = vec![event("ISSUE_OPENED"), event("PLAN_READY")];
    let request = AppendRequest { ledger: ledger(), events, expected: None, durability: Durability::None };
    service.append(&request).expect("appended");
    stage
}

/// Asserts the code of a problem, and that it says this.
#[track_caller]
fn refused<T: std::fmt::Debug>(answer: Answer<T>, wanted: &str, says: &str) {
    let problem = answer.as_ref().expect_err("refused");
    assert!(problem.detail.contains(says), "{says}: {}", problem.detail);
    assert_eq!(code(answer), wanted, "{says}");
}

#[test]
fn a_bad_strategy_or_profile_is_refused_with_its_place() {
    let stage = stage();
    let service: &dyn Service = stage.service.as_ref();
    let deep = format!("{{\"sources\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000));
    let many = format!("{{\"sources\":[{}]}}", vec!["{\"topic\":\"T\"}"; 100_000].join(","));
    let large = format!("{{\"sources\":[],\"x\":\"{}\"}}", "y".repeat(10 << 20));
    for (strategy, says) in [
        (source(",\"ammount\":1"), "did you mean `amount`"),
        (source(",\"amount\":-1"), "line 1, column 44: `amount` is -1"),
        (source(",\"amount\":1.5"), "`amount` is 1.5"),
        (source(",\"amount\":4097"), "`amount` is 4097"),
        (source(",\"since\":\"last_taks_end\""), "`last_task_end`"),
        ("{\"sources\":[{\"topic\":\"T\"}],\"maxTokens\":0}".to_owned(), "maxTokens"),
        ("{".to_owned(), "not JSON"),
        (deep, ""),
        (many, "more than"),
        (large, "more than"),
    ] {
        refused(service.assemble(&asked(&strategy)), "strategy_bad", says);
        let request = CheckStrategyRequest { text: strategy, role: None, ledger: None };
        let report = service.check_strategy(&request).expect("a report");
        assert!(!report.is_valid && !report.findings.is_empty(), "{says}");
    }
    let profile = |text: &str| AssembleRequest { profile: Some(text.to_owned()), ..asked(&source("")) };
    for (text, says) in [
        ("id = \"a\"\n", "`role`"),
        ("role = \"worker\"\n", "`id`"),
        ("id = \"a\"\nrole = \"b\"\noutputSchema = \"{\"\n", "line 3"),
    ] {
        refused(service.assemble(&profile(text)), "profile_bad", says);
    }
    let request = StrategyRequest { name: "wroker".to_owned(), format: StrategyFormat::Json };
    refused(service.strategy(&request), "strategy_not_found", "wroker");
}

#[test]
fn what_a_request_for_a_prompt_cannot_mean_is_refused() {
    let stage = stage();
    let service: &dyn Service = stage.service.as_ref();
    let with = |change: &dyn Fn(&mut AssembleRequest)| {
        let mut request = asked(&source(",\"amount\":1"));
        change(&mut request);
        service.assemble(&request)
    };
    refused(with(&|one| one.max_tokens = Some(0)), "bad_request", "at least 1");
    refused(with(&|one| one.counter = Some("nonsense".to_owned())), "bad_request", "`estimate`");
    refused(with(&|one| one.model = Some("gpt5".to_owned())), "model_unknown", "did you mean `gpt-5`?");
    refused(with(&|one| one.ledger = LedgerId::new("ghost").expect("a name")), "ledger_not_found", "ghost");
    refused(
        with(&|one| one.trigger = EventSeq::new(99).map(PromptTrigger::Event)),
        "no_event_with_text",
        "99",
    );
    let late = |one: &mut AssembleRequest| {
        one.trigger = EventSeq::new(2).map(PromptTrigger::Event);
        one.through = EventSeq::new(1);
    };
    refused(with(&late), "bad_request", "events through 1 only");
    for change in
        [&|one: &mut AssembleRequest| one.through = EventSeq::new(99), &|one: &mut AssembleRequest| {
            one.after = EventSeq::new(99);
        }] as [&dyn Fn(&mut AssembleRequest); 2]
    {
        let notes = with(change).expect("a prompt").notes;
        assert!(notes.iter().any(|note| note.message.contains("beyond what the ledger has")), "{notes:?}");
    }
    let crossed = |one: &mut AssembleRequest| {
        (one.through, one.after) = (EventSeq::new(1), EventSeq::new(2));
    };
    let notes: Vec<String> =
        with(&crossed).expect("a prompt").notes.into_iter().map(|note| note.message).collect();
    assert_eq!(notes, ["`after` is 2, behind `through`, which is 1: no event is between them"]);
    let missing = ContextRequest {
        of: ContextOf::Made(Box::new(asked(&source("")))),
        compares: true,
        before: EventSeq::new(99),
    };
    refused(service.context(&missing), "no_event_with_text", "its last event is");
    let future = asked(&source(",\"amount\":1,\"since\":\"2999-01-01T00:00:00Z\""));
    let made = service.assemble(&future).expect("a prompt");
    let trace = made.trace.expect("all of it was asked for");
    let plan = trace.candidates.iter().find(|one| one.id == "source:PLAN_READY:0").expect("listed");
    assert_eq!((plan.decision.as_str(), plan.reason.as_str()), ("skipped", "empty"));
    let of = ContextOf::Kept(KeptPromptOf { ledger: ledger(), session: None, model: None });
    let request = ContextRequest { of, compares: false, before: None };
    refused(service.context(&request), "context_not_kept", "no turn");
    for (request, code) in [
        (recall(""), "query_empty"),
        (recall(&"word ".repeat(4_000)), "query_too_long"),
        (RecallRequest { max_tokens: Some(63), ..recall("files") }, "bad_request"),
        (RecallRequest { ledger: LedgerId::new("ghost").ok(), ..recall("files") }, "ledger_not_found"),
        (RecallRequest { model: Some("nobody's".to_owned()), ..recall("files") }, "model_unknown"),
        (RecallRequest { counter: Some("o200k*11".to_owned()), ..recall("files") }, "bad_request"),
    ] {
        refused(service.recall(&request), code, "");
    }
}

#[test]
fn tokens_are_counted_as_the_model_counts_them_and_the_same_counter_gives_the_same_prompt() {
    let stage = stage();
    let service: &dyn Service = stage.service.as_ref();
    let made = |model: Option<&str>, counter: Option<&str>| {
        let request = AssembleRequest {
            model: model.map(str::to_owned),
            counter: counter.map(str::to_owned),
            ..asked(&source(",\"amount\":1"))
        };
        service.assemble(&request).expect("a prompt")
    };
    for (model, counter, from, margin) in [
        (None, "estimate", "shipped", 270),
        (Some("gpt-5-codex"), "o200k", "exact", 0),
        (Some("openai/gpt-4"), "cl100k", "exact", 0),
        (Some("claude-opus-4-5-20251101"), "o200k*1.180", "shipped", 150),
    ] {
        let prompt = made(model, None);
        assert_eq!(
            (prompt.counter.as_str(), prompt.trace.as_ref().and_then(|trace| trace.counter.as_deref())),
            (counter, Some(counter)),
            "{model:?}"
        );
        assert_eq!(
            (prompt.counted.from.as_str(), prompt.counted.margin_permille),
            (from, margin),
            "{model:?}"
        );
        let again = made(None, Some(counter));
        assert_eq!((again.prompt, again.trace), (prompt.prompt, prompt.trace), "{counter}");
    }
    let named = made(Some("gpt5"), Some("o200k*2"));
    assert_eq!(named.counter, "o200k*2.000", "who names a counter needs no model");
    let pack = service.recall(&RecallRequest { model: Some("o3".to_owned()), ..recall("empty files") });
    assert_eq!(pack.expect("a pack").counter, "o200k");
}

#[test]
fn a_model_shows_its_window_and_where_clients_compact_in_it() {
    let stage = stage();
    let service: &dyn Service = stage.service.as_ref();
    let prompt = TurnPrompt {
        strategy: StrategySource::Name("live".to_owned()),
        profile: None,
        max_tokens: None,
        counter: Some("cl100k".to_owned()),
        model: None,
        after: None,
        iteration: None,
        records_metrics: false,
        trace: None,
    };
    service.begin_turn(&BeginTurnRequest { prompt: Some(prompt), ..begin("s1") }).expect("begun");
    let report = |model: &str| {
        let model = Some(model.to_owned());
        let of = ContextOf::Kept(KeptPromptOf { ledger: ledger(), session: None, model });
        service.context(&ContextRequest { of, compares: false, before: None }).expect("a report")
    };
    assert_eq!(report("gpt-5").counter.as_deref(), Some("cl100k"), "the counter is kept with the prompt");
    for (model, tokens, clients) in [
        ("gpt-5", Some(400_000), vec![("codex", Some(232_560)), ("pi", Some(383_616))]),
        ("claude-opus-4-5", Some(200_000), vec![("claude-code", None), ("pi", Some(183_616))]),
        ("gemini-3", Some(1_048_576), vec![("pi", Some(1_032_192))]),
        ("nobody's", None, vec![]),
    ] {
        let window = report(model).window.expect("a window");
        assert_eq!((window.tokens, window.source.is_some()), (tokens, tokens.is_some()), "{model}");
        let marks = window.clients.iter().map(|one| one.assumed).chain([window.assumed]);
        assert!(
            marks.into_iter().all(|mark| mark == (model == "gemini-3")),
            "only a family's window is assumed"
        );
        let found: Vec<(&str, Option<u64>)> =
            window.clients.iter().map(|one| (one.client.as_str(), one.compacts_at)).collect();
        assert_eq!(found, clients, "{model}");
    }
}

#[test]
fn a_turn_begins_once_and_never_twice_from_another_context() {
    let stage = stage();
    let service: &dyn Service = stage.service.as_ref();
    let prompt = TurnPrompt {
        strategy: StrategySource::Name("live".to_owned()),
        profile: None,
        max_tokens: None,
        counter: None,
        model: None,
        after: None,
        iteration: None,
        records_metrics: false,
        trace: None,
    };
    let request = BeginTurnRequest { prompt: Some(prompt), ..begin("s1") };
    let begun = service.begin_turn(&request).expect("begun");
    let again = service.begin_turn(&request).expect("again");
    // A busy machine may say of the first that the index was behind.
    let text = |begun: &TurnBegun| begun.prompt.as_ref().map(|made| made.prompt.clone());
    assert_eq!((&again.said, &again.session, text(&again)), (&begun.said, &begun.session, text(&begun)));
    let answer = TurnEntry { role: "assistant".to_owned(), id: Some("a1".to_owned()), ..said("done") };
    let made = TurnMadeRequest {
        turn: turn("s1"),
        request: None,
        entries: vec![answer],
        events: Vec::new(),
        ends: false,
        window: None,
    };
    let ended = service.end_turn(&made).expect("ended");
    let head = ended.ctx.expect("a commit");
    let ctx = head.to_string();
    let resume = |ctx: &str, session: &str| BeginTurnRequest {
        context: Some(TurnContext::Resume(ctx.to_owned())),
        ..begin(session)
    };
    refused(service.begin_turn(&resume(&ctx, "s1")), "session_taken", "begin another session");
    refused(service.begin_turn(&resume(MISSING, "s2")), "commit_not_found", "");
    let fork = |at: &str| {
        let fork = TurnFork { ctx: ctx.clone(), at: Some(at.to_owned()) };
        BeginTurnRequest { context: Some(TurnContext::Fork(fork)), ..begin("s3") }
    };
    refused(service.begin_turn(&fork("nowhere-at-all")), "entry_not_found", "nowhere-at-all");
    let second = service.begin_turn(&resume(&ctx, "s2")).expect("resumed");
    assert_eq!((second.head, second.session.as_str()), (Some(head), "s2"));
    let nameless = TurnMadeRequest { turn: TurnOf { session: None, ..turn("s1") }, ..made.clone() };
    refused(service.step(&nameless), "bad_request", "`session`");
    let silent = TurnEntry { text: Some(String::new()), ..said("x") };
    refused(
        service.step(&TurnMadeRequest { entries: vec![silent], ..made.clone() }),
        "bad_request",
        "says nothing",
    );
    let robot = TurnEntry { role: "robot".to_owned(), ..said("x") };
    refused(service.step(&TurnMadeRequest { entries: vec![robot], ..made }), "bad_request", "entry 1");
    let long = BeginTurnRequest { completed: vec!["x".to_owned(); 65], ..begin("s4") };
    refused(service.begin_turn(&long), "out_of_bounds", "");
}

/// The model was told the earlier rules, and a continuation that does not repeat the new ones would leave it with those.
#[test]
fn a_continuation_says_the_profile_again_where_it_changed() {
    let stage = stage();
    let service: &dyn Service = stage.service.as_ref();
    let profile = |rules: &str| format!("id = \"worker\"\nrole = \"worker\"\ninstructions = \"{rules}\"\n");
    let taken = |number: usize, rules: &str, after: Option<EventSeq>| {
        let prompt = TurnPrompt {
            strategy: StrategySource::Text(source(",\"amount\":1")),
            profile: Some(profile(rules)),
            max_tokens: None,
            counter: None,
            model: None,
            after,
            iteration: None,
            records_metrics: false,
            trace: None,
        };
        let prompted = TurnEntry { id: Some(format!("u{number}")), ..said("go on") };
        let request = BeginTurnRequest { said: prompted, prompt: Some(prompt), ..begin("c") };
        let begun = service.begin_turn(&request).expect("begun");
        let id = Some(format!("a{number}"));
        let answer = TurnEntry { id, role: "assistant".to_owned(), ..said("done") };
        let made = TurnMadeRequest {
            turn: turn("c"),
            request: None,
            entries: vec![answer],
            events: Vec::new(),
            ends: false,
            window: None,
        };
        service.end_turn(&made).expect("ended");
        (begun.said, begun.prompt.expect("a prompt").prompt)
    };
    let (first, text) = taken(1, "OLD RULES", None);
    assert!(text.contains("OLD RULES"), "{text}");
    let (second, text) = taken(2, "OLD RULES", Some(first));
    assert!(!text.contains("OLD RULES"), "the model has them: {text}");
    let (_, text) = taken(3, "NEW RULES", Some(second));
    assert!(text.contains("NEW RULES"), "{text}");
}

#[test]
fn a_prompt_over_its_budget_or_cut_says_so() {
    let stage = stage();
    let service: &dyn Service = stage.service.as_ref();
    let codes = |request: &AssembleRequest| -> Vec<String> {
        let made = service.assemble(request).expect("a prompt");
        made.notes.into_iter().map(|note| note.code.as_str().to_owned()).collect()
    };
    let plain = asked(&source(",\"amount\":1"));
    assert_eq!(codes(&plain), [""; 0]);
    assert_eq!(codes(&AssembleRequest { max_tokens: Some(5), ..plain.clone() }), ["over_budget"]);
    let long = PromptTrigger::Said("word ".repeat(150_000));
    let cut = AssembleRequest { trigger: Some(long), max_tokens: Some(900_000), ..plain };
    assert_eq!(codes(&cut), ["truncated"]);
}
