//! Reading and checking strategies: what is taken, what is refused and where, what is doubtful.

use proptest::prelude::*;
use stemmata_model::{Timestamp, Tokens, Topic, topics};

use super::source::Strategy;
use super::*;

/// The example of seed 000, as its document has it.
const EXAMPLE: &str = include_str!("seed.json");

fn json(text: &str) -> Result<Strategy, StrategyError> {
    parse(text, DocumentFormat::Json)
}

fn findings(text: &str) -> Vec<(Severity, FindingCode, usize)> {
    let checked = check(text, DocumentFormat::of(text), CheckOptions::default());
    checked.findings.iter().map(|one| (one.severity, one.code, one.at.line)).collect()
}

#[test]
fn the_example_of_the_seed_is_read_unchanged_and_nothing_is_wrong_with_it() {
    let strategy = json(EXAMPLE).expect("a strategy");
    assert_eq!(strategy.max_tokens, Tokens(100_000));
    let topics: Vec<&str> = strategy.sources.iter().map(|source| source.topic.as_str()).collect();
    let expected = ["ISSUE_OPENED", "STATE_SNAPSHOT", "PLAN_READY", "VALIDATION_RESULT", "WORKER_PROGRESS"];
    assert_eq!(topics, expected);
    let fourth = strategy.sources.get(3).expect("a source");
    assert_eq!(fourth.full(), Window { selection: Selection::Latest, amount: Some(5) });
    assert_eq!(fourth.compact(), Window { selection: Selection::Latest, amount: Some(1) });
    assert_eq!((fourth.since, fourth.priority()), (Some(Since::LastTaskEnd), Priority::High));
    assert_eq!(fourth.at, Position { line: 7, column: 7 });
    assert_eq!(fourth.cap(strategy.max_tokens), strategy.max_tokens, "a topic has the whole budget");
    assert_eq!(findings(EXAMPLE), []);
}

#[test]
fn one_strategy_has_four_forms() {
    let bare = EXAMPLE.trim_end().trim_start_matches("{\n  \"contextStrategy\":").trim_end_matches('}');
    let bare = format!("{}}}", bare.trim_end().trim_end_matches('}'));
    let strategy = json(EXAMPLE).expect("a strategy");
    let toml = "context_strategy.max_tokens = 100000\n\
        [[contextStrategy.sources]]\ntopic = \"X\"\n";
    assert!(parse(toml, DocumentFormat::Toml).is_err(), "the wrapper is written in one way within a file");
    let source = |topic: &str, rest: &str| {
        format!("[[sources]]\ntopic = \"{topic}\"\nstrategy = \"latest\"\n{rest}\n")
    };
    let toml = [
        "max_tokens = 100_000".to_owned(),
        source("ISSUE_OPENED", "priority = \"required\"\namount = 1"),
        source("STATE_SNAPSHOT", "priority = \"required\"\namount = 1"),
        source("PLAN_READY", "priority = \"required\"\namount = 1"),
        source(
            "VALIDATION_RESULT",
            "priority = \"high\"\nsince = \"last_task_end\"\namount = 5\ncompact_amount = 1",
        ),
        source(
            "WORKER_PROGRESS",
            "priority = \"medium\"\nsince = \"last_task_end\"\namount = 3\ncompactAmount = 1",
        ),
    ]
    .join("\n");
    let wrapped = toml.replace("[[sources]]", "[[contextStrategy.sources]]");
    let wrapped = wrapped.replace("max_tokens = 100_000", "[contextStrategy]\nmax_tokens = 100_000");
    for text in [bare, toml, wrapped] {
        let other =
            parse(&text, DocumentFormat::of(&text)).unwrap_or_else(|error| panic!("{error} in {text}"));
        let placeless = |strategy: &Strategy| {
            let sources = strategy.sources.iter().cloned();
            sources.map(|source| Source { at: Position::START, ..source }).collect::<Vec<_>>()
        };
        assert_eq!(placeless(&other), placeless(&strategy), "{text}");
        assert_eq!(other.max_tokens, strategy.max_tokens);
    }
}

#[test]
fn what_is_wrong_is_said_with_its_place_and_the_choices() {
    let source = |fields: &str| format!("{{\"sources\": [\n  {{\"topic\": \"X\", {fields}}}\n]}}");
    for (text, place, words) in [
        ("", "line 1, column 1", "a list `sources`, and this one has none"),
        ("{", "line 1, column 1", "not JSON: EOF while parsing an object"),
        ("{\"sources\": [\n{},]}", "line 2, column 4", "not JSON: expected value"),
        ("{}", "line 1, column 1", "a list `sources`, and this one has none"),
        ("{\"sources\": 5}", "line 1, column 13", "`sources` is a number, not a list"),
        ("{\"sources\": [5]}", "line 1, column 14", "a source is a number, not a table"),
        ("{\"sources\": [{}]}", "line 1, column 14", "a source has a `topic`"),
        ("{\"sources\": [], \"sources\": []}", "line 1, column 17", "`sources` occurs twice"),
        (
            "{\"sources\": [], \"maxTokens\": 0}",
            "line 1, column 30",
            "`maxTokens` is 0; it is a whole number from 1",
        ),
        ("{\"sources\": [], \"maxTokens\": 1.5}", "line 1, column 30", "`maxTokens` is 1.5"),
        ("{\"sources\": [], \"maxTokens\": 1e99}", "line 1, column 30", "`maxTokens` is 1e99"),
        ("{\"sources\": [], \"maxTokens\": \"many\"}", "line 1, column 30", "`maxTokens` is text"),
        ("{\"sources_\": []}", "line 1, column 2", "no field `sources_`"),
        ("{\"sources\": [], \"maxToken\": 5}", "line 1, column 17", "did you mean `maxTokens`?"),
        ("{\"contextStrategy\": {\"sources\": []}, \"id\": 1}", "line 1, column 38", "has no field `id`"),
        (&source("\"topics\": 1"), "line 2, column 18", "did you mean `topic`?"),
        (&source("\"colour\": 1"), "line 2, column 18", "the fields are `topic`, `sender`"),
        (
            &source("\"amount\": -1"),
            "line 2, column 28",
            "`amount` is -1; it is a whole number from 0 to 4096",
        ),
        (&source("\"amount\": 5000"), "line 2, column 28", "`amount` is 5000"),
        (&source("\"limit\": -3"), "line 2, column 27", "`limit` is -3"),
        (
            &source("\"compactAmount\": 0"),
            "line 2, column 35",
            "`compactAmount` is 0; it is a whole number from 1",
        ),
        (&source("\"strategy\": \"newest\""), "line 2, column 30", "one of `latest`, `oldest`, `all`"),
        (&source("\"priority\": \"urgent\""), "line 2, column 30", "`required`, `high`, `medium`, `low`"),
        (
            &source("\"since\": \"yesterday\""),
            "line 2, column 27",
            "`cluster_start`, `last_task_end`, `last_agent_start`",
        ),
        (&source("\"since\": -5"), "line 2, column 27", "`-5` is not a `since`"),
        (&source("\"since\": 99999999999999999"), "line 2, column 27", "is not a `since`"),
        (&source("\"since\": true"), "line 2, column 27", "`since` is true or false"),
        (&source("\"cap\": \"200%\""), "line 2, column 25", "`1%` to `100%`"),
        (&source("\"cap\": 0"), "line 2, column 25", "`cap` is 0"),
        (
            &source("\"cap\": 5, \"floor\": \"50%\""),
            "line 2, column 37",
            "`floor` is 50000 tokens, more than the section's cap, 5 tokens",
        ),
        (&source("\"floor\": 100001"), "line 2, column 27", "more than the section's cap"),
        (&source("\"sender\": \"\""), "line 2, column 28", "`sender` is not a name"),
        ("{\"sources\": [{\"topic\": \"\"}]}", "line 1, column 24", "`topic` is not a name"),
        ("maxTokens = 5\nsources = 3\n", "line 2, column 11", "`sources` is a number"),
        ("maxTokens = \n", "line 1, column 13", "not TOML"),
        ("[1, 2]", "line 1, column 1", "a strategy is a list, not a table"),
        ("\"sources\"\n", "line 1, column 1", "a strategy is text, not a table"),
        ("[[sources]]\ntopic = \"X\"\namount = -1\n", "line 3, column 10", "`amount` is -1"),
    ] {
        let error = parse(text, DocumentFormat::of(text)).expect_err(text).to_string();
        assert!(error.starts_with(place), "{text}\n{error}");
        assert!(error.contains(words), "{text}\n{error}");
    }
}

#[test]
fn a_strategy_has_bounds() {
    let long = format!("{{\"sources\": []{}}}", " ".repeat(10_000_000));
    let error = json(&long).expect_err("too long").to_string();
    assert!(error.contains("10000015 bytes, more than 1048576"), "{error}");
    let many = vec!["{\"topic\": \"X\"}"; SOURCES_MAX + 1].join(",");
    assert!(
        json(&format!("{{\"sources\": [{many}]}}"))
            .expect_err("too many")
            .message
            .contains("65 sources, at most 64")
    );
    let deep = format!("{{\"sources\": {}{}}}", "[".repeat(100), "]".repeat(100));
    assert!(json(&deep).expect_err("too deep").message.contains("nested deeper"));
    let deep = format!("sources = {}{}", "[".repeat(60), "]".repeat(60));
    assert!(parse(&deep, DocumentFormat::Toml).expect_err("too deep").message.contains("nested deeper"));
    let floors = "{\"maxTokens\": 100, \"sources\": [{\"topic\": \"X\", \"floor\": 60}, {\"topic\": \"Y\", \"floor\": \"50%\"}]}";
    assert!(json(floors).expect_err("too much").message.contains("the floors together are 110 tokens"));
    let wrong = vec!["{\"tpic\": \"X\"}"; SOURCES_MAX].join(",");
    let checked =
        check(&format!("{{\"sources\": [{wrong}]}}"), DocumentFormat::Json, CheckOptions::default());
    assert_eq!(checked.findings.len(), FINDINGS_MAX);
}

#[test]
fn defaults_are_those_of_the_seed() {
    let strategy = json("{\"sources\": [{\"topic\": \"X\"}, {\"topic\": \"Y\", \"limit\": 3}, {\"topic\": \"Z\", \"strategy\": \"oldest\"}]}")
        .expect("a strategy");
    assert_eq!(strategy.max_tokens, MAX_TOKENS_DEFAULT);
    let windows: Vec<(Window, Window)> =
        strategy.sources.iter().map(|source| (source.full(), source.compact())).collect();
    let window = |selection, amount| Window { selection, amount };
    assert_eq!(
        windows,
        [
            (window(Selection::All, None), window(Selection::Latest, Some(1))),
            (window(Selection::Latest, Some(3)), window(Selection::Latest, Some(1))),
            (window(Selection::Oldest, None), window(Selection::Oldest, Some(1))),
        ]
    );
    let caps: Vec<u64> = ["X", "turns", "state", "retriever"]
        .iter()
        .map(|topic| {
            let text = format!("{{\"sources\": [{{\"topic\": \"{topic}\"}}]}}");
            json(&text).expect("a strategy").sources.first().expect("a source").cap(Tokens(1_000)).0
        })
        .collect();
    assert_eq!(caps, [1_000, 600, 300, 300]);
}

#[test]
fn five_topics_have_a_priority_of_their_own_and_every_other_one_is_medium() {
    for (topic, expected) in [
        ("STATE_SNAPSHOT", Priority::Required),
        ("ISSUE_OPENED", Priority::Required),
        ("PLAN_READY", Priority::Required),
        ("VALIDATION_RESULT", Priority::High),
        ("IMPLEMENTATION_READY", Priority::High),
        ("WORKER_PROGRESS", Priority::Medium),
        ("INVESTIGATION_COMPLETE", Priority::Medium),
        ("MY_OWN", Priority::Medium),
        ("PLAN_READY_SOON", Priority::Medium),
    ] {
        let text = format!("{{\"sources\": [{{\"topic\": \"{topic}\"}}]}}");
        let strategy = json(&text).expect("a strategy");
        assert_eq!(strategy.sources.first().map(Source::priority), Some(expected), "{topic}");
    }
}

#[test]
fn since_is_an_anchor_or_a_time() {
    let at = |micros| Timestamp::from_micros(micros);
    let anchors = Anchors { cluster_start: at(1), last_task_end: at(2), last_agent_start: at(3) };
    let resolved = |since: &str| since.parse::<Since>().map(|since| since.resolve(&anchors).as_micros());
    for (text, micros) in [
        ("cluster_start", 1),
        ("last_task_end", 2),
        ("last_agent_start", 3),
        ("2026-01-01T00:00:04Z", 1_767_225_604_000_000),
        ("2026-01-01", 1_767_225_600_000_000),
    ] {
        assert_eq!(resolved(text), Ok(micros), "{text}");
    }
    for text in ["", "yesterday", "Last_Task_End", "2026-13-01", "2026-01-01T00:00:00", "12é4567890"] {
        assert!(resolved(text).is_err(), "{text}");
    }
    assert_eq!(Since::from_millis(5), Ok(Since::Time(at(5_000))));
}

#[test]
fn the_troubleshooting_cases_of_the_seed_are_found_with_their_lines() {
    let text = r#"{"sources": [
      { "topic": "WORKER_PROGRESS", "strategy": "latest" },
      { "topic": "ISSUE_OPENED", "priority": "high", "amount": 1, "compactAmount": 1 },
      { "topic": "VALIDATION_RESLT", "priority": "low", "limit": 2, "compactAmount": 1 },
      { "topic": "state", "priority": "required", "amount": 3 },
      { "topic": "ISSUE_OPENED", "priority": "required", "amount": 1 },
      { "topic": "DECISION", "priority": "high", "amount": 0 }
    ]}"#;
    let warning = |code, line| (Severity::Warning, code, line);
    let mut expected = vec![
        warning(FindingCode::MissingAnchor, 1),
        warning(FindingCode::ImplicitPriority, 2),
        warning(FindingCode::LatestWithoutAmount, 2),
        warning(FindingCode::NoCompactAmount, 2),
        warning(FindingCode::VolatileBeforeStable, 3),
        warning(FindingCode::Deprecated, 4),
        warning(FindingCode::UnknownTopic, 4),
        warning(FindingCode::VolatileBeforeStable, 4),
        warning(FindingCode::NoEffect, 5),
        warning(FindingCode::VolatileBeforeStable, 5),
        warning(FindingCode::DuplicateSource, 6),
        warning(FindingCode::VolatileBeforeStable, 6),
        warning(FindingCode::UnknownTopic, 7),
        warning(FindingCode::NoEffect, 7),
        warning(FindingCode::VolatileBeforeStable, 7),
    ];
    let mut found = findings(text);
    for list in [&mut expected, &mut found] {
        list.sort_by_key(|(_, code, line)| (*line, *code));
    }
    assert_eq!(found, expected);
    let checked = check(text, DocumentFormat::Json, CheckOptions::default());
    let near = checked.findings.iter().find(|one| one.code == FindingCode::UnknownTopic).expect("a finding");
    assert_eq!(near.suggestion.as_deref(), Some("did you mean `VALIDATION_RESULT`?"));
    assert!(checked.is_usable(), "a warning stops nothing");
}

#[test]
fn what_a_ledger_has_is_not_unknown_and_a_planner_needs_no_plan() {
    let text = r#"{"sources": [
      { "topic": "ISSUE_OPENED", "priority": "required" }, { "topic": "STATE_SNAPSHOT", "priority": "required" },
      { "topic": "MY_OWN", "priority": "low", "compactAmount": 1 }
    ]}"#;
    let own = [Topic::new("MY_OWN").expect("a name")];
    let codes = |options| -> Vec<FindingCode> {
        check(text, DocumentFormat::Json, options).findings.iter().map(|one| one.code).collect()
    };
    assert_eq!(codes(CheckOptions::default()), [FindingCode::MissingAnchor, FindingCode::UnknownTopic]);
    assert_eq!(codes(CheckOptions { ledger_topics: &own, is_planner: true }), []);
}

#[test]
fn what_ships_is_sound_and_has_the_state_as_a_required_source() {
    for Shipped { name, text } in SHIPPED {
        let options = CheckOptions { is_planner: name == "planner", ..CheckOptions::default() };
        let checked = check(text, DocumentFormat::of(text), options);
        assert_eq!(checked.findings, [], "{name}");
        let strategy = shipped(name).expect("a strategy");
        assert_eq!(checked.strategy.as_ref(), Some(&strategy));
        let state = if name == "live" { "state" } else { topics::STATE_SNAPSHOT };
        let has_state = strategy
            .sources
            .iter()
            .any(|source| source.topic.as_str() == state && source.priority() == Priority::Required);
        assert!(has_state, "{name}");
    }
    assert_eq!(shipped("nobody"), None);
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(text in "\\PC{0,200}|[\\[\\]{}\":, \n=a-z0-9]{0,80}") {
        for format in [DocumentFormat::Json, DocumentFormat::Toml] {
            let checked = check(&text, format, CheckOptions::default());
            prop_assert_eq!(checked.strategy.is_some(), parse(&text, format).is_ok());
            for finding in checked.findings {
                prop_assert!(finding.at.line >= 1 && finding.at.column >= 1);
            }
        }
    }

    #[test]
    fn an_error_s_place_is_where_the_value_is(before in "[ \n\té]{0,30}") {
        let text = format!("{{\"sources\":{before}true}}");
        let error = json(&text);
        if before.contains('é') {
            prop_assert!(error.is_err());
        } else {
            let line = before.matches('\n').count() + 1;
            prop_assert_eq!(error.map_err(|error| error.at.line), Err(line));
        }
    }
}

/// A text of one line, `{"contextStrategy":null}`, once ended the process.
#[test]
fn a_text_that_says_nothing_is_refused_with_a_reason() {
    for text in [
        "{\"contextStrategy\":null}",
        "{\"context_strategy\":null}",
        "{\"sources\":null}",
        "{\"contextStrategy\":{\"sources\":null,\"maxTokens\":null}}",
        "{\"sources\":[null]}",
        "{\"sources\":[{\"topic\":null}]}",
        "null",
        "{}",
        "",
    ] {
        for format in [DocumentFormat::Json, DocumentFormat::Toml] {
            let checked = check(text, format, CheckOptions::default());
            let has_error = checked.findings.iter().any(|finding| finding.severity == Severity::Error);
            assert!(checked.strategy.is_none() && has_error, "{text}: {checked:?}");
            assert!(!parse(text, format).expect_err("refused").message.is_empty(), "{text}");
            assert!(crate::profile::Profile::parse(text, format).is_err(), "{text}");
        }
    }
}

fn any_json() -> impl proptest::strategy::Strategy<Value = String> {
    use proptest::prelude::*;
    let names = [
        "contextStrategy",
        "sources",
        "maxTokens",
        "topic",
        "amount",
        "since",
        "id",
        "role",
        "skipHints",
        "outputSchema",
    ];
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("1".to_owned()),
        Just("-1".to_owned()),
        Just("\"x\"".to_owned()),
        Just("true".to_owned())
    ];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        let field = (proptest::sample::select(names.to_vec()), inner.clone());
        prop_oneof![
            prop::collection::vec(inner, 0..3).prop_map(|items| format!("[{}]", items.join(","))),
            prop::collection::vec(field, 0..4).prop_map(|fields| {
                let fields: Vec<String> =
                    fields.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
                format!("{{{}}}", fields.join(","))
            }),
        ]
    })
}

proptest::proptest! {
    #[test]
    fn no_json_is_refused_without_a_reason(text in any_json()) {
        let checked = check(&text, DocumentFormat::Json, CheckOptions::default());
        let has_error = checked.findings.iter().any(|finding| finding.severity == Severity::Error);
        proptest::prop_assert!(checked.strategy.is_some() != has_error, "{text}: {checked:?}");
        let parsed = parse(&text, DocumentFormat::Json);
        proptest::prop_assert_eq!(parsed.is_ok(), checked.strategy.is_some());
        let _profile = crate::profile::Profile::parse(&text, DocumentFormat::Json);
    }
}
