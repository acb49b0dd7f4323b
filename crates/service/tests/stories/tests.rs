//! The stories, each told once.

use std::sync::Arc;

use stemmata_api::Control;
use stemmata_api::v1::NativeRequest;
use stemmata_service::{Host, ImportRequest, Machine, PolicyChange, Reader};
use stemmata_testkit::claude::{ClaudeSession, Transcript};

use crate::stage::Stage;
use crate::{chains, give_back, maintain, registry, rows};

#[test]
fn chains_are_found_read_and_grown() {
    let stage = Stage::new();
    let session = ClaudeSession::new(7).turns(14).compactions(1).subagents(1).build();
    chains::first(stage.service.as_ref(), &session, &|| stage.import(&session));
}

#[test]
fn an_operation_answers_by_its_row_as_by_its_method() {
    let stage = Stage::new();
    let session = ClaudeSession::new(7).turns(6).compactions(1).subagents(1).build();
    rows::strict(stage.service.as_ref());
    stage.import(&session);
    rows::strict(stage.service.as_ref());
    rows::alike(stage.service.as_ref(), &session);
}

#[test]
fn what_was_recorded_is_given_back() {
    let (stage, other) = (Stage::new(), Stage::new());
    let session = ClaudeSession::new(11).turns(8).compactions(1).build();
    give_back::back(stage.service.as_ref(), other.service.as_ref(), &session, &|session| {
        stage.import(session);
    });
}

#[test]
fn a_pointer_is_moved_by_who_knows_where_it_points() {
    let stage = Stage::new();
    let session = ClaudeSession::new(21).turns(6).build();
    registry::pointers(stage.service.as_ref(), &session, &|session| stage.import(session));
}

#[test]
fn what_destroys_is_in_the_audit_log() {
    let stage = Stage::new();
    let [kept, gone] = [22, 23].map(|seed| ClaudeSession::new(seed).turns(3).build());
    registry::audited(stage.service.as_ref(), [&kept, &gone], &|session| stage.import(session));
}

#[test]
fn what_destroys_is_done_only_as_it_was_shown() {
    let stage = Stage::new();
    let [kept, gone] = [3, 5].map(|seed| ClaudeSession::new(seed).turns(4).build());
    let import = |session: &Transcript| stage.import(session);
    maintain::plans(stage.service.as_ref(), [&kept, &gone], &import, &|| stage.write_rule());
}

/// A server lives long: it went on with the rules and the exclusions of its first minute.
#[test]
fn rules_and_exclusions_that_are_written_later_count_for_what_is_stored_next() {
    let stage = Stage::new();
    let keeps_secret = |session: &str| {
        let wish = chains::by_hand(session);
        let made = stage.service.checkpoint(&wish, &mut maintain::SECRET.as_bytes()).expect("a commit");
        let mut out = Vec::new();
        let request = NativeRequest::of(made.id.to_string());
        stage.service.native(&request, &mut out, &Control::none()).expect("bytes");
        out == maintain::SECRET.as_bytes()
    };
    assert!(keeps_secret("first"));
    stage.write_rule();
    assert!(!keeps_secret("second"));
    let host = Host::new(Arc::clone(&stage.home), Machine::alone());
    let path = stage.write(&ClaudeSession::new(2).build());
    let request = ImportRequest {
        paths: vec![path.clone()],
        are_named: false,
        full: true,
        granularity: None,
        threads: Some(1),
        briefs: false,
        reader: Reader::Program,
    };
    let import = || host.import(&request, &Control::none()).expect("imported").totals;
    let before = import();
    assert_eq!((before.sessions, before.excluded), (1, 0));
    host.policy(Some(PolicyChange::Exclude(path.display().to_string()))).expect("excluded");
    let after = import();
    assert_eq!((after.sessions, after.excluded), (0, 1));
}
