//! Cursors come back from every stored form, and are small at rest.

use proptest::prelude::*;
use stemmata_model::{CommitId, FormatId, MachineId, Principal, SessionId, Template, Timestamp};
use stemmata_store::{SessionKey, SessionOrigin};

use super::*;
use crate::capture::captured::UnreadRecords;
use crate::capture::ingest::ChainTotals;

/// Written by the version before: a reader for it stays.
const VERSION_ONE: &str = r#"{"v":1,"format":"claude-code-v1","rules":"1111111111111111111111111111111122222222222222222222222222222222","granularity":"every:3","closed_bytes":70,"closed_line":8,"tip":"ctx-00000000000000000000000000","splitter":"7b7d","seen_bytes":90,"provisional":[["ctx-00000000000000000000000000",20]],"device":1,"inode":2,"length":90,"modified_s":-2,"modified_ns":5,"head":"3333333333333333444444444444444455555555555555556666666666666666","tail":"7777777777777777888888888888888899999999999999990000000000000000","redacted_bytes":3,"commits":4,"messages":5,"entries":6,"bytes":70,"seen_entries":7,"seen_redacted_bytes":8}"#;

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
fn a_cursor_of_version_one_is_read() {
    let read = Cursor::decode(VERSION_ONE.as_bytes()).expect("a cursor");
    let none = CommitId::from_bytes([0; 16]);
    assert_eq!(read.rules, RulesMark([0x11; 16]));
    assert_eq!((read.granularity, read.closed_bytes, read.closed_line), (Granularity::Every(3), 70, 8));
    assert_eq!((read.tip, &read.provisional), (Some(none), &vec![Provisional { commit: none, bytes: 20 }]));
    assert_eq!(read.stamp, FileStamp { device: 1, inode: 2, length: 90, modified_ns: -1_999_999_995 });
    assert_eq!((read.head, read.tail), ([0x33; 8], [0x77; 8]));
    assert_eq!(read.totals, ChainTotals { commits: 4, messages: 5, entries: 6, bytes: 70 });
    assert_eq!((read.redacted_bytes, read.seen_entries, read.seen_redacted_bytes), (3, 7, 8));
    assert_eq!(read.splitter.whole(), b"{}");
    let session = session("a title");
    let again = Cursor::decode(&read.encode(&session)).and_then(|again| again.unpacked(Some(&session)));
    assert_eq!(again, Some(read));
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
