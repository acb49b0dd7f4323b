//! Cursors come back from every stored form, and are small at rest.

use proptest::prelude::*;
use stemmata_model::{CommitId, FormatId, MachineId, Principal, SessionId, Template, Timestamp};
use stemmata_store::{SessionKey, SessionOrigin};

use super::*;
use crate::capture::captured::UnreadRecords;
use crate::capture::ingest::ChainTotals;

fn session(title: &str) -> Session {
    Session {
        key: SessionKey { machine: MachineId::new("m").expect("a name"), path: "/p".to_owned() },
        session: SessionId::new("9b2c5e9e-6e0a-4c37-9b1f-0a4b8f3f9f7e").expect("a name"),
        parent_session: None,
        format: FormatId::new("claude-code-v1").expect("a name"),
        template: Template::new("claude-code").expect("a name"),
        principal: Principal::new("a@b/c").expect("a name"),
        granularity: Granularity::Turn,
        origin: SessionOrigin::Imported,
        title: Some(title.to_owned()),
        cwd: Some("/home/ann/projects/pottery/shop".to_owned()),
        git_branch: Some("feature/glaze".to_owned()),
        version: Some("2.1.34".to_owned()),
        started_at: Some(Timestamp::from_micros(1_790_000_000_000_000)),
        last_at: Some(Timestamp::from_micros(1_790_000_100_000_000)),
        tip: None,
        commits: 0,
        messages: 0,
        bytes: 0,
    }
}

fn cursor(splitter: Vec<u8>, numbers: [u64; 4], tip: Option<[u8; 16]>, modified_ns: i128) -> Cursor {
    Cursor {
        format: "claude-code-v1".to_owned(),
        rules: RulesMark([5; 16]),
        earlier_bytes: numbers[1] / 1_000_000,
        granularity: Granularity::Every(3),
        closed_bytes: numbers[0],
        closed_line: 2,
        tip: tip.map(CommitId::from_bytes),
        splitter: SplitterState::Whole(splitter),
        seen_bytes: numbers[1],
        provisional: vec![Provisional { commit: CommitId::from_bytes([7; 16]), bytes: numbers[2] }],
        stamp: FileStamp { device: 1, inode: numbers[3], length: 5, modified_ns },
        head: [4; 8],
        tail: [9; 8],
        redacted_bytes: 3,
        totals: ChainTotals { commits: 1, messages: 2, entries: 3, bytes: 4 },
        seen_entries: 5,
        seen_redacted_bytes: 6,
        is_version_known: numbers[0].is_multiple_of(2),
        unread: UnreadSoFar::default(),
    }
}

/// A splitter's state at rest: what the row says, too.
fn state_of(session: &Session, lines: u64, more: &str) -> Vec<u8> {
    let micros = |time: Option<Timestamp>| time.map(Timestamp::as_micros);
    serde_json::json!({
        "v": 1, "lines": lines, "message": null,
        "facts": {
            "session": session.session.as_str(), "agent": null, "subagent": false, "cwd": session.cwd,
            "branch": session.git_branch, "version": session.version, "title": session.title, "rank": 1,
            "first": micros(session.started_at), "last": micros(session.last_at), "more": more,
        },
    })
    .to_string()
    .into_bytes()
}

proptest! {
    #[test]
    fn a_cursor_comes_back_and_any_bytes_are_one_or_none(
        raw in proptest::collection::vec(any::<u8>(), 0..300),
        is_state: bool,
        (lines, title, more) in (any::<u64>(), ".{0,200}", ".{0,20}"),
        numbers: [u64; 4],
        tip: Option<[u8; 16]>,
        modified_ns in -1_000_000_000_000_i128..4_000_000_000_000_000_000,
        cut in 0..900_usize,
    ) {
        let session = session(&title);
        let state = if is_state { state_of(&session, lines, &more) } else { raw };
        let cursor = cursor(state, numbers, tip, modified_ns);
        let stored = cursor.encode(&session);
        let back = Cursor::decode(&stored).and_then(|back| back.unpacked(Some(&session)));
        prop_assert_eq!(back.as_ref(), Some(&cursor));
        let part = Cursor::decode(&stored[..cut.min(stored.len() - 1)]);
        drop(part.and_then(|part| part.unpacked(Some(&session))));
        // Only what the row says is left out of it.
        prop_assert!(!is_state || stored.len() < 300, "{} bytes", stored.len());
    }
}

#[test]
fn what_is_not_understood_is_kept_and_costs_no_other_cursor_a_byte() {
    let session = session("a title");
    let plain = cursor(b"{}".to_vec(), [1, 2, 3, 4], None, 5);
    assert_eq!(plain.encode(&session).first(), Some(&2));
    let closed = UnreadRecords { unknown: vec![("hologram".to_owned(), 2)], unreadable: 1 };
    let seen = closed.plus(&UnreadRecords {
        unknown: vec![("user/hologram".to_owned(), 1), ("hologram".to_owned(), 3)],
        unreadable: 0,
    });
    assert_eq!(seen.unknown, [("hologram".to_owned(), 5), ("user/hologram".to_owned(), 1)]);
    let cursor = Cursor { unread: UnreadSoFar { closed, seen }, ..plain };
    let stored = cursor.encode(&session);
    let back = Cursor::decode(&stored).and_then(|back| back.unpacked(Some(&session)));
    assert_eq!(back, Some(cursor));
    (0..stored.len()).for_each(|cut| drop(Cursor::decode(&stored[..cut])));
}

#[test]
fn a_cursor_knows_no_more_than_its_row_and_is_none_without_one() {
    let whole = session("a title");
    let stored = cursor(state_of(&whole, 3, ""), [1, 2, 3, 4], None, 0).encode(&whole);
    let read = || Cursor::decode(&stored).expect("a cursor");
    assert!(read().unpacked(Some(&whole)).is_some());
    let untitled = read().unpacked(Some(&Session { title: None, ..whole })).expect("a cursor");
    let state: serde_json::Value = serde_json::from_slice(untitled.splitter.whole()).expect("JSON");
    assert_eq!((&state["facts"]["title"], &state["facts"]["rank"]), (&serde_json::Value::Null, &1.into()));
    assert_eq!(read().unpacked(None), None);
}
