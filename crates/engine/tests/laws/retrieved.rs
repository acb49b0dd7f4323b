//! What a prompt retrieves: nothing of a branch that was left, nothing that the turn says itself, and never in silence.

use stemmata_api::v1::TurnTask;
use stemmata_engine::prompt::assemble::TaskFacts;
use stemmata_engine::prompt::strategy::{DocumentFormat, Strategy, parse};
use stemmata_engine::{
    BeginTurn, Engine, EngineError, PromptMade, PromptOf, PromptWanted, RecallNote, RecallWanted,
    SearchFilter, SearchForm, SearchNote, SearchQuery, SettleBudget, TurnContext, TurnMade, TurnOf, Wanted,
};
use stemmata_model::{Entry, EntryId, Estimate, Part, Role, TicketId, Tokens, topics};
use tempfile::TempDir;

use crate::contexts::{event, forked_on, ledger, profile, said, take, turn};
use crate::search::{indexed, settle};
use crate::support::{Folder, answer, engine, import, new_store, user};

const STRATEGY: &str = "maxTokens = 50000\n[[sources]]\ntopic = \"state\"\n[[sources]]\ntopic = \"retriever\"\namount = 40\n[[sources]]\ntopic = \"turns\"\nstrategy = \"latest\"\namount = 40\n";

fn strategy() -> Strategy {
    parse(STRATEGY, DocumentFormat::Toml).expect("a strategy")
}

/// Begins a turn and returns its prompt.
fn prompt_of(engine: &Engine, of: TurnOf, context: TurnContext, text: &str) -> PromptMade {
    let (profile, strategy) = (profile(), strategy());
    let prompt = Some(PromptWanted::new(&profile, &strategy, &Estimate));
    let said = said(&format!("{}-asks", of.session), Role::User, text);
    let begun = engine.begin_turn(&BeginTurn { context, prompt, ..BeginTurn::new(of, said) }).expect("begun");
    begun.prompt.expect("a prompt was asked for")
}

/// Returns the section of what was retrieved.
fn retrieved(prompt: &PromptMade) -> &str {
    let Some((_, behind)) = prompt.text.split_once("\n## Retrieved\n") else { return "" };
    behind.split("\n## ").next().unwrap_or_default()
}

#[test]
fn a_fork_retrieves_nothing_of_the_branch_it_left() {
    let (store, dir) = (new_store(), TempDir::new().expect("a folder"));
    let (engine, base, left) = forked_on(indexed(&store, dir.path()));
    take(&engine, "other", "quarry", Vec::new());
    settle(&engine);
    let task = "Cobol, Store times as words or numbers, Measure the parser, exploded linker, left or base is answered, quarry";
    let fork = TurnContext::Fork { ctx: base, at: None };
    let prompt = prompt_of(&engine, turn("new"), fork, task);
    // What turns and the state say is retrieved no second time.
    let found = prompt.text.replace(task, "");
    for (words, is_known) in [
        ("Cobol", false),
        ("exploded", false),
        ("left is answered", false),
        ("Store times as words", false),
        ("Store times as numbers", true),
        ("quarry is answered", true),
    ] {
        assert_eq!(found.contains(words), is_known, "{words}: {found}");
    }
    let prompt = prompt_of(&engine, turn("again"), TurnContext::Resume(left), task);
    let found = prompt.text.replace(task, "");
    for words in ["Cobol", "left is answered", "quarry is answered"] {
        assert!(found.contains(words), "{words}: {found}");
    }
}

/// Four entries in one commit, and a turn after them. A fork within the first commit begins a chain of its own.
fn one_turn(engine: &Engine) -> stemmata_model::CommitId {
    let call = Part::ToolCall {
        call_id: "c".to_owned(),
        name: "Bash".to_owned(),
        arguments: "{\"command\":\"lynx\"}".to_owned(),
    };
    let found = Part::ToolResult {
        call_id: "c".to_owned(),
        is_error: false,
        parts: vec![Part::Text("marmot".to_owned())],
    };
    let entry = |id: &str, role, part| Entry::said(EntryId::new(id).expect("a name"), role, vec![part]);
    engine
        .begin_turn(&BeginTurn::new(turn("m"), said("e1", Role::User, "where is the ibex")))
        .expect("begun");
    let entries = vec![
        entry("e2", Role::Assistant, call),
        entry("e3", Role::Tool, found),
        entry("e4", Role::Assistant, Part::Text("the heron has it".to_owned())),
    ];
    let ended = engine.end_turn(&turn("m"), TurnMade { entries, ..TurnMade::default() }).expect("ended");
    take(engine, "m", "quokka", Vec::new());
    ended.checkpoint.expect("a commit").id
}

#[test]
fn a_fork_within_the_first_commit_retrieves_nothing_of_the_branch_it_left() {
    let (store, dir) = (new_store(), TempDir::new().expect("a folder"));
    let engine = indexed(&store, dir.path());
    let base = one_turn(&engine);
    take(&engine, "other", "gecko", Vec::new());
    settle(&engine);
    let words = ["ibex", "lynx", "marmot", "heron", "quokka"];
    let task = "ibex lynx marmot heron quokka gecko wombat";
    for (number, at) in ["e2", "e3", "e4"].into_iter().enumerate() {
        let fork = || TurnContext::Fork { ctx: base, at: Some(at.to_owned()) };
        let prompt = prompt_of(&engine, turn(&format!("fork-{at}")), fork(), task);
        let found = retrieved(&prompt);
        assert!(found.contains("gecko is answered"), "what is no branch of it: {found}");
        for (position, word) in words.into_iter().enumerate() {
            // `e2` is the second word's: the fork keeps it and what came before it.
            let is_known = position < number + 2;
            assert!(
                is_known || !prompt.text.replace(task, "").contains(word),
                "{at}: {word}: {}",
                prompt.text
            );
        }
    }
    // What a fork says is told neither to another fork nor to the session that it left, forked again or not.
    let entries = vec![said("f", Role::Assistant, "wombat of the fork")];
    engine.end_turn(&turn("fork-e3"), TurnMade { entries, ..TurnMade::default() }).expect("ended");
    settle(&engine);
    let again = TurnContext::Fork { ctx: base, at: Some("e3".to_owned()) };
    for (session, context) in [("left", TurnContext::Resume(base)), ("again", again)] {
        let prompt = prompt_of(&engine, turn(session), context, task);
        assert!(!retrieved(&prompt).contains("wombat"), "{session}: {}", prompt.text);
    }
    // Another session is told of it.
    let prompt = prompt_of(&engine, turn("aside"), TurnContext::None, task);
    assert!(retrieved(&prompt).contains("wombat of the fork"), "{}", prompt.text);
}

#[test]
fn no_source_repeats_what_began_the_turn() {
    let (store, dir) = (new_store(), TempDir::new().expect("a folder"));
    let engine = indexed(&store, dir.path());
    take(&engine, "s", "first", Vec::new());
    settle(&engine);
    for (session, words) in [("s", "mend the zebra queue"), ("t", "paint the gnu shed")] {
        let prompt = prompt_of(&engine, turn(session), TurnContext::None, words);
        assert_eq!(prompt.text.matches(words).count(), 1, "{}", prompt.text);
    }
}

/// Two conversations are not told as one, and a session that only a client knows has the turns of its transcript.
#[test]
fn recent_turns_are_those_of_one_session() {
    let engine = engine();
    take(&engine, "s", "ibex", Vec::new());
    take(&engine, "t", "heron", Vec::new());
    let strategy =
        parse("[[sources]]\ntopic = \"turns\"\namount = 40\n", DocumentFormat::Toml).expect("a strategy");
    let profile = profile();
    let made = |session: Option<&str>| {
        let session = session.and_then(|name| stemmata_model::SessionId::new(name).ok());
        let of = PromptOf { ledger: ledger(), session, tip: None };
        engine.assemble(&of, &PromptWanted::new(&profile, &strategy, &Estimate))
    };
    let newest = made(None).expect("a prompt");
    assert!(newest.text.contains("heron is answered") && !newest.text.contains("ibex"), "{}", newest.text);
    assert!(
        newest.notes.iter().any(|note| note.message.contains("the newest one, `t`")),
        "{:?}",
        newest.notes
    );
    let named = made(Some("s")).expect("a prompt");
    assert!(named.text.contains("ibex is answered") && !named.text.contains("heron"), "{}", named.text);
    assert!(named.notes.is_empty(), "{:?}", named.notes);
    let folder = Folder::new();
    let text = user(1, None, "where is the lynx") + &answer(2, 1, "behind the oak");
    let text = text.replace(r#""sessionId":"s""#, r#""sessionId":"captured""#);
    let captured = import(&engine, &folder.write("s.jsonl", text.as_bytes())).session.session;
    let told = made(Some(captured.as_str())).expect("a prompt");
    assert!(told.text.contains("behind the oak"), "{}", told.text);
    let missing = made(Some("nobody")).map(drop);
    assert!(matches!(missing, Err(EngineError::NotFound { what: Wanted::Session, .. })), "{missing:?}");
}

/// The state has recent turns, and so has the source of turns: each is told once, and those that only the state has stay.
#[test]
fn state_and_turns_say_each_turn_once() {
    let engine = engine();
    take(&engine, "t", "walrus", Vec::new());
    for name in ["ibex", "heron"] {
        take(&engine, "s", name, Vec::new());
    }
    let prompt = prompt_of(&engine, turn("s"), TurnContext::None, "go on");
    for words in ["ibex please", "ibex is answered", "heron please", "heron is answered"] {
        assert_eq!(prompt.text.matches(words).count(), 1, "{words}: {}", prompt.text);
    }
    assert!(prompt.text.contains("walrus is answered"), "another session's: {}", prompt.text);
    // The same of a session that goes on from a context.
    let tip = take(&engine, "s", "otter", Vec::new());
    let prompt = prompt_of(&engine, turn("fork"), TurnContext::Resume(tip), "go on there");
    assert_eq!(prompt.text.matches("ibex is answered").count(), 1, "{}", prompt.text);
}

/// What turns and state say is no find: the retriever gives its places to what the prompt lacks.
#[test]
fn nothing_is_retrieved_that_turns_or_state_say() {
    let (store, dir) = (new_store(), TempDir::new().expect("a folder"));
    let engine = indexed(&store, dir.path());
    for name in ["ibex", "heron"] {
        take(&engine, "s", name, Vec::new());
    }
    settle(&engine);
    let prompt = prompt_of(&engine, turn("s"), TurnContext::None, "which of ibex and heron was it");
    for words in ["ibex please", "ibex is answered", "heron please", "heron is answered"] {
        assert_eq!(prompt.text.matches(words).count(), 1, "{words}: {}", prompt.text);
    }
    let items = || prompt.trace.candidates.iter().flat_map(|one| &one.items);
    let says = |words: &str| items().any(|item| item.reasons.iter().any(|reason| reason == words));
    assert!(says("left out: recent turns have it"), "{:?}", prompt.trace);
}

/// Turns that a prompt has no room for are not left out of its state and of what it retrieves on their account.
#[test]
fn a_turn_that_has_no_room_among_turns_is_said_elsewhere() {
    let (store, dir) = (new_store(), TempDir::new().expect("a folder"));
    let engine = indexed(&store, dir.path());
    let names = ["ibex", "heron", "walrus", "otter", "gecko", "quokka"];
    for name in names {
        take(&engine, "s", name, Vec::new());
    }
    settle(&engine);
    let profile = profile();
    for (turns, is_whole) in [("amount = 40", true), ("amount = 40\ncap = 20\ncompactAmount = 1", false)] {
        let text = format!(
            "maxTokens = 50000\n[[sources]]\ntopic = \"state\"\npriority = \"required\"\n[[sources]]\ntopic = \"turns\"\nstrategy = \"latest\"\n{turns}\n"
        );
        let strategy = parse(&text, DocumentFormat::Toml).expect("a strategy");
        let prompt = Some(PromptWanted::new(&profile, &strategy, &Estimate));
        let said = said("asks", Role::User, "go on");
        let begun =
            engine.begin_turn(&BeginTurn { prompt, ..BeginTurn::new(turn("s"), said) }).expect("begun");
        let prompt = begun.prompt.expect("a prompt");
        for name in names {
            let count = prompt.text.matches(&format!("{name} is answered")).count();
            assert!(count == 1 || (count > 1 && !is_whole), "{name}: {count}: {}", prompt.text);
        }
        engine.end_turn(&turn("s"), TurnMade::default()).expect("ended");
    }
}

/// People say «go on»: what they go on with is looked for.
#[test]
fn the_current_task_is_looked_for_with_what_began_the_turn() {
    let (store, dir) = (new_store(), TempDir::new().expect("a folder"));
    let engine = indexed(&store, dir.path());
    take(&engine, "other", "quagga", Vec::new());
    settle(&engine);
    let (profile, strategy) = (profile(), strategy());
    let current =
        TurnTask { id: "T1".to_owned(), text: "comb the quagga".to_owned(), depends_on: Vec::new() };
    let asked = |task: TaskFacts, session: &str| {
        let prompt = Some(PromptWanted::new(&profile, &strategy, &Estimate));
        let begin =
            BeginTurn { prompt, task, ..BeginTurn::new(turn(session), said(session, Role::User, "go on")) };
        engine.begin_turn(&begin).expect("begun").prompt.expect("a prompt")
    };
    let found = asked(TaskFacts { current: Some(current), ..TaskFacts::NONE }, "s");
    let items = found.trace.candidates.iter().flat_map(|one| &one.items);
    assert!(items.filter(|item| item.score_permille.is_some()).count() > 0, "{:?}", found.trace);
}

/// What began a turn is in no commit until a step is stored: neither index has it.
#[test]
fn what_no_step_has_stored_yet_is_recalled() {
    let (store, dir) = (new_store(), TempDir::new().expect("a folder"));
    let engine = indexed(&store, dir.path());
    // More turns than a memory keeps in its window.
    let begun = said("open", Role::User, "weave the quagga basket");
    engine.begin_turn(&BeginTurn::new(turn("open"), begun)).expect("begun");
    for number in 0..30 {
        take(&engine, &format!("s{}", number % 5), &format!("turn{number}"), Vec::new());
    }
    settle(&engine);
    let own = ledger();
    let wanted = RecallWanted::new("quagga basket", Some(&own), Tokens(600), &Estimate);
    let pack = engine.recall(&wanted).expect("a pack");
    assert_eq!(pack.text.matches("weave the quagga basket").count(), 1, "{}", pack.text);
    let query = |text: &str| SearchQuery {
        text: text.to_owned(),
        form: SearchForm::Words,
        filter: SearchFilter::default(),
        is_unfinished: false,
        is_spread: false,
        hits_max: 10,
        budget: SettleBudget::All,
    };
    let step = &mut |_, _, _| std::ops::ControlFlow::Continue(());
    let found = engine.search(&query("weave quagga"), step).expect("an answer");
    let open_turn = SearchNote::OpenTurn { session: "open".to_owned() };
    assert!(found.hits.is_empty() && found.notes.contains(&open_turn), "{:?}", found.notes);
    let found = engine.search(&query("weave zebu"), step).expect("an answer");
    assert!(!found.notes.contains(&open_turn), "{:?}", found.notes);
    // The session that asks knows it, and once it is in a commit it is found there.
    let open = turn("open").session;
    let asked = RecallWanted { session: Some(&open), ..wanted };
    let pack = engine.recall(&asked).expect("a pack");
    assert!(!pack.items.iter().any(|item| item.kind == "hit"), "{}", pack.text);
    let entries = vec![said("woven", Role::Assistant, "It is woven.")];
    engine.end_turn(&turn("open"), TurnMade { entries, ..TurnMade::default() }).expect("ended");
    settle(&engine);
    let pack = engine.recall(&RecallWanted { session: None, ..asked }).expect("a pack");
    assert_eq!(pack.text.matches("weave the quagga basket").count(), 1, "{}", pack.text);
}

/// What turns say of their tasks is remembered, whichever session said it.
#[test]
fn tasks_that_turns_name_are_recalled() {
    let engine = engine();
    let current = |id: &str, text: &str| {
        Some(TurnTask { id: id.to_owned(), text: text.to_owned(), depends_on: Vec::new() })
    };
    let begin = |session: &str, number: u32, task: TaskFacts| {
        let begun = said(&format!("q{number}"), Role::User, "go on");
        engine.begin_turn(&BeginTurn { task, ..BeginTurn::new(turn(session), begun) }).expect("begun");
        engine.end_turn(&turn(session), TurnMade::default()).expect("ended");
    };
    begin("s", 1, TaskFacts { current: current("T1", "glaze the quagga bowl"), ..TaskFacts::NONE });
    begin("s", 2, TaskFacts { current: current("T2", "fire the quagga bowl"), ..TaskFacts::NONE });
    let own = ledger();
    let pack = || {
        let wanted = RecallWanted::new("quagga bowl", Some(&own), Tokens(600), &Estimate);
        engine.recall(&wanted).expect("a pack").text
    };
    let text = pack();
    assert!(text.contains("[open] glaze the quagga") && text.contains("[begun] fire the quagga"), "{text}");
    begin("other", 3, TaskFacts { completed: vec!["T1".to_owned()], ..TaskFacts::NONE });
    let text = pack();
    assert!(text.contains("[done] glaze the quagga") && text.contains("[begun] fire the quagga"), "{text}");
}

#[test]
fn thread_and_ticket_of_a_turn_count_in_what_it_retrieves() {
    let (store, dir) = (new_store(), TempDir::new().expect("a folder"));
    let engine = indexed(&store, dir.path());
    let of = |session: &str| TurnOf { ticket: TicketId::new("T-7").ok(), ..turn(session) };
    let entries = vec![said("a", Role::Assistant, "The kiln is lit.")];
    engine.begin_turn(&BeginTurn::new(of("one"), said("q", Role::User, "light the kiln"))).expect("begun");
    let events = vec![event("one", "NOTE", "the kiln needs celadon", "{}").with_links(&of("one").links())];
    engine.end_turn(&of("one"), TurnMade { entries, events, ..TurnMade::default() }).expect("ended");
    settle(&engine);
    let prompt = prompt_of(&engine, of("two"), TurnContext::None, "is the kiln lit, and the celadon");
    let candidates = prompt.trace.candidates.iter().filter(|one| one.id.contains("retriever"));
    let items: Vec<_> = candidates.flat_map(|one| &one.items).collect();
    let by_ticket =
        items.iter().filter(|item| item.reasons.iter().any(|reason| reason.starts_with("ticket"))).count();
    assert!(by_ticket >= 2, "the turn and the event: {items:#?}");
}

#[test]
fn a_prompt_says_what_its_retrieval_lacks() {
    let engine = engine();
    take(&engine, "s", "first", Vec::new());
    let prompt = prompt_of(&engine, turn("t"), TurnContext::None, "what was first");
    assert!(prompt.notes.iter().any(|note| note.message.contains("there is no index")), "{:?}", prompt.notes);
    // An index that cannot be read is neither a failure nor a silence, for a prompt and for a pack.
    let (store, dir) = (new_store(), TempDir::new().expect("a folder"));
    let engine = indexed(&store, dir.path());
    take(&engine, "s", "first", Vec::new());
    settle(&engine);
    drop(engine);
    for file in std::fs::read_dir(dir.path()).expect("a folder") {
        let path = file.expect("a file").path();
        if path.is_file() {
            let mut file = std::fs::File::create(&path).expect("a file");
            std::io::Write::write_all(&mut file, b"nonsense").expect("written");
        }
    }
    let engine = indexed(&store, dir.path());
    let pack =
        engine.recall(&RecallWanted::new("first", Some(&ledger()), Tokens(400), &Estimate)).expect("a pack");
    assert!(pack.notes.iter().any(|note| matches!(note, RecallNote::Search(_))), "{:?}", pack.notes);
}

#[test]
fn no_reasoning_comes_along_with_what_is_retrieved() {
    let (store, dir) = (new_store(), TempDir::new().expect("a folder"));
    let engine = indexed(&store, dir.path());
    let thinks = |id: &str, text: Option<&str>| {
        let thinking =
            Part::Thinking { text: "hmm the secret celadon".to_owned(), signature: None, encrypted: None };
        let parts = [Some(thinking), text.map(|text| Part::Text(text.to_owned()))].into_iter().flatten();
        Entry::said(EntryId::new(id).expect("a name"), Role::Assistant, parts.collect())
    };
    let entries =
        vec![thinks("alone", None), thinks("both", Some("The celadon is done.")), thinks("after", None)];
    engine.begin_turn(&BeginTurn::new(turn("s"), said("q", Role::User, "fire it"))).expect("begun");
    engine.end_turn(&turn("s"), TurnMade { entries, ..TurnMade::default() }).expect("ended");
    settle(&engine);
    let prompt = prompt_of(&engine, turn("t"), TurnContext::None, "how is the celadon");
    assert!(retrieved(&prompt).contains("The celadon is done."), "{}", prompt.text);
    assert!(!prompt.text.contains("hmm"), "{}", prompt.text);
    assert!(!prompt.text.contains("worker:\n\n"), "a message that says nothing: {}", prompt.text);
}

#[test]
fn events_with_data_alone_are_found() {
    let (store, dir) = (new_store(), TempDir::new().expect("a folder"));
    let engine = indexed(&store, dir.path());
    let plan = event("s", topics::PLAN_READY, "", "{\"plan\":{\"steps\":[\"lay the xyzzy pipes\"]},\"n\":1}");
    take(&engine, "s", "first", vec![plan]);
    settle(&engine);
    for form in [SearchForm::Words, SearchForm::Literal] {
        let query = SearchQuery {
            text: "xyzzy".to_owned(),
            form,
            filter: SearchFilter::default(),
            is_unfinished: false,
            is_spread: false,
            hits_max: 5,
            budget: SettleBudget::All,
        };
        let found = engine.search(&query, &mut |_, _, _| std::ops::ControlFlow::Continue(())).expect("found");
        assert_eq!(found.hits.len(), 1, "{form:?} {:?}", found.notes);
        assert!(found.hits[0].snippet.contains("xyzzy pipes"), "{}", found.hits[0].snippet);
    }
}
