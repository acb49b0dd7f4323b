//! Lines that hold several records, as two writers or a newline that was lost leave them: all of them are shown and carried, and
//! what the client loses is said.

use stemmata_model::{Entry, Granularity};

use crate::adapter::{Adapter, IdKind, PlanStop, Severity};
use crate::chain_tests::{checked, commits, place, planned, request};
use crate::codex::Codex;
use crate::gemini::Gemini;
use crate::pi::Pi;

/// Two turns of each format, one line a record.
fn sessions() -> Vec<(&'static dyn Adapter, Vec<u8>)> {
    vec![
        (&Pi::V3, crate::pi::samples_tests::session("HUAUA", 3)),
        (&Gemini, crate::gemini::samples_tests::session("HUAUA")),
        (&Codex::LEGACY, crate::codex::samples_tests::rollout("HUAUA", false)),
        (&Codex::PAGINATED, crate::codex::samples_tests::rollout("HUAUA", true)),
    ]
}

fn seen(entries: &[Entry]) -> Vec<String> {
    let seen = entries.iter().filter(|entry| entry.meta.visibility.agent);
    seen.map(|entry| format!("{:?}", entry.parts)).collect()
}

/// Puts the lines from `first` on, `count` of them, on one line.
fn joined(bytes: &[u8], first: usize, count: usize, between: &[u8]) -> Vec<u8> {
    let lines = bytes.split_inclusive(|byte| *byte == b'\n').enumerate();
    let is_joined = |at: usize| at >= first && at + 1 < first + count;
    let line = |(at, line): (usize, &[u8])| {
        if is_joined(at) { [line.trim_ascii_end(), between].concat() } else { line.to_vec() }
    };
    lines.flat_map(line).collect()
}

#[test]
fn every_record_of_a_line_is_shown_carried_and_said_to_be_lost() {
    for (adapter, whole) in sessions() {
        let format = adapter.format();
        let wanted = seen(&adapter.decode(&whole).entries);
        assert_eq!(wanted.len(), 4, "{format}");
        for (first, count, between) in
            [(1, 2, ""), (2, 2, ""), (1, 3, ","), (2, 3, "\0\0"), (3, 2, " {\"torn\":")]
        {
            let bytes = joined(&whole, first, count, between.as_bytes());
            let what = format!("{format} {first} {count} {between:?}");
            let decoded = adapter.decode(&bytes);
            assert_eq!(seen(&decoded.entries), wanted, "{what}");
            assert_eq!(decoded.notes.len(), 1, "{what}: {:?}", decoded.notes);
            let mut ids = 0;
            let mut lines = bytes.split(|byte| *byte == b'\n');
            lines
                .by_ref()
                .for_each(|line| adapter.ids(line, &mut |kind, _| ids += usize::from(kind == IdKind::Entry)));
            let named = adapter
                .decode(&whole)
                .entries
                .iter()
                .filter(|entry| !entry.id.as_str().starts_with("line-"))
                .count();
            assert_eq!(ids, named, "{what}");
            // The client drops all of the line, and of a tree perhaps what stands before; doctor says so.
            let found = checked(adapter, &bytes);
            assert!(found.messages_sent <= 4 - count as u64, "{what}: {found:?}");
            assert_eq!(found.messages_present, 4, "{what}: {found:?}");
            assert!(!found.is_accepted(), "{what}");
            // What is handed on has a line for each.
            let (plan, context) = planned(adapter, &bytes, PlanStop::Compaction);
            assert_eq!(seen(&adapter.decode(&context).entries), wanted, "{what}");
            assert_eq!(plan.notes.len(), 1, "{what}: {:?}", plan.notes);
            let (out, _) = place(adapter, &request("/new/place"), &context);
            let found = checked(adapter, &out);
            assert_eq!((found.messages_sent, found.messages_present), (4, 4), "{what}: {found:?}");
            assert!(
                found.findings.iter().all(|finding| finding.severity < Severity::Fatal),
                "{what}: {found:?}"
            );
        }
    }
}

#[test]
fn what_is_found_in_a_line_closes_no_commit() {
    for (adapter, whole) in sessions() {
        // The second prompt stands behind the first answer, on its line.
        let bytes = joined(&whole, 2, 2, b"");
        let count = |bytes: &[u8]| commits(adapter, Granularity::Turn, bytes).len();
        assert_eq!((count(&whole), count(&bytes)), (2, 1), "{}", adapter.format());
    }
}
