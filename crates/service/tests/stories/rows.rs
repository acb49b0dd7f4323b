//! Operations asked by their rows, as a server does with a request in JSON: the same answers as by their methods.

use serde::Serialize;
use serde::de::DeserializeOwned;
use stemmata_api::operation::{Apply, EmptyRequest, Row, rows};
use stemmata_api::v1::{
    Changed, FindRequest, Forget, ForgetRequest, HistoryRequest, SearchFilter, SearchForm, SearchRequest,
    SessionsRequest, ShowRequest, StrategyFormat, StrategyRequest, TagsRequest, UpdateRequest,
};
use stemmata_api::{Answer, Control, Parts, Problem, Service};
use stemmata_testkit::claude::Transcript;

use crate::{MISSING, code};

/// Asks by the row of a name.
fn by_row<Q: Serialize, A: DeserializeOwned>(service: &dyn Service, name: &str, request: &Q) -> Answer<A> {
    let row = rows().find(|row| row.head().name == name).expect("a row");
    let answer = row.call(service, &row.head().parts(request), &Control::none())?;
    Ok(serde_json::from_slice(&answer).expect("an answer of its type"))
}

fn body(json: &str) -> Parts {
    Parts { body: Some(json.as_bytes().to_vec()), ..Parts::default() }
}

/// No row takes what is no request of its operation, whatever stands in the store.
pub(crate) fn strict(service: &dyn Service) {
    let call = |row: &dyn Row, request: &str| -> Problem {
        let answer = row.call(service, &body(request), &Control::none());
        *answer.expect_err(row.head().name)
    };
    for row in rows() {
        let wanted = if row.flow().is_some() { "not_supported" } else { "bad_request" };
        for request in ["null", "[]", "[[]]", "\"x\"", r#"{"moon_phase":1}"#] {
            assert_eq!(call(row, request).code, wanted, "{}: {request}", row.head().name);
        }
    }
}

/// A value that its field cannot have is refused by its field, before the service is asked.
fn fields(service: &dyn Service) {
    let turn = r#""turn":{"ledger":"l","session":"s","agent":"a","template":"t""#;
    for (name, request, code, field) in [
        (
            "prompts.assemble",
            r#"{"ledger":"a\nb","strategy":{"name":"live"}}"#.to_owned(),
            "bad_name",
            "ledger",
        ),
        (
            "prompts.assemble",
            r#"{"ledger":"l","strategy":{"name":"live"},"through":"0"}"#.to_owned(),
            "bad_request",
            "through",
        ),
        ("prompts.recall", r#"{"text":"x","ticket":"a\nb"}"#.to_owned(), "bad_name", "ticket"),
        (
            "prompts.step",
            format!(r#"{{{turn},"granularity":"hourly"}}}}"#),
            "bad_request",
            "turn.granularity",
        ),
        ("prompts.step", format!(r#"{{{turn},"thread":""}}}}"#), "bad_name", "turn.thread"),
    ] {
        let row = rows().find(|row| row.head().name == name).expect("a row");
        let problem = row.call(service, &body(&request), &Control::none()).expect_err(&request);
        assert_eq!(
            (problem.code.as_str(), problem.about.get("field").map(String::as_str)),
            (code, Some(field)),
            "{request}"
        );
    }
}

/// Tells the story of a session that is there.
pub(crate) fn alike(service: &dyn Service, session: &Transcript) {
    fields(service);
    let all = SessionsRequest { with_subagents: true, ..SessionsRequest::all() };
    assert_eq!(by_row(service, "chains.sessions", &all), service.sessions(&all));
    let find = FindRequest::of(&*session.session_id);
    let found = service.find(&find);
    assert_eq!(by_row(service, "chains.find", &find), found);
    let ctx = found.expect("found").ctx.to_string();
    for (ctx, entries) in [(ctx.as_str(), true), (ctx.as_str(), false), (MISSING, false)] {
        let show = ShowRequest { ctx: ctx.to_owned(), entries };
        assert_eq!(by_row(service, "chains.show", &show), service.show(&show));
    }
    let history = HistoryRequest { ctx: ctx.clone(), numbered: true, skip: 1, limit: Some(2) };
    assert_eq!(by_row(service, "chains.history", &history), service.history(&history));
    assert_eq!(by_row(service, "maintain.usage", &EmptyRequest {}), service.usage());
    let search = SearchRequest {
        text: "the".to_owned(),
        form: SearchForm::Words,
        filter: SearchFilter::all(),
        is_unfinished: false,
        limit: Some(3),
        settle_ms: None,
    };
    assert_eq!(by_row(service, "search.search", &search), service.search(&search, &Control::none()));
    for name in ["planner", "nobody"] {
        let strategy = StrategyRequest { name: name.to_owned(), format: StrategyFormat::Toml };
        assert_eq!(by_row(service, "prompts.strategy", &strategy), service.strategy(&strategy));
    }
    changed(service, &ctx);
    forgotten(service, &ctx);
}

/// What a row writes, a method reads.
fn changed(service: &dyn Service, ctx: &str) {
    let update = UpdateRequest {
        ctx: ctx.to_owned(),
        summary: None,
        add_tags: vec!["by-row".to_owned()],
        remove_tags: Vec::new(),
        notes: Vec::new(),
        pin: None,
        thread: None,
        ticket: None,
    };
    let changed: Changed = by_row(service, "chains.update", &update).expect("changed");
    assert_eq!(changed.tags, ["by-row"]);
    let tags = TagsRequest { prefix: "by-".to_owned() };
    assert_eq!(service.tags(&tags).expect("tags").tags.len(), 1);
}

/// A plan is shown by one row and applied by the other, once.
fn forgotten(service: &dyn Service, ctx: &str) {
    let request = ForgetRequest {
        reference: Some(ctx.to_owned()),
        path: None,
        project: None,
        everywhere: false,
        even_pinned: true,
    };
    let planned: Forget = by_row(service, "maintain.plan_forget", &request).expect("a plan");
    assert_eq!(Ok(&planned), service.plan_forget(&request).as_ref());
    let apply = Apply { request, plan: planned.digest.expect("a digest") };
    let gone: Forget = by_row(service, "maintain.apply_forget", &apply).expect("forgotten");
    assert_eq!(gone.removed, planned.removed);
    let again: Answer<Forget> = by_row(service, "maintain.apply_forget", &apply);
    assert!(["plan_stale", "reference_not_found", "commit_forgotten"].contains(&&*code(again)));
}
