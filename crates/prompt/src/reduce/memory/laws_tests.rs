//! The laws of memories: those of every reducer, and that the order of import does not matter.

use proptest::prelude::*;
use stemmata_model::{Event, SessionId};

use super::*;
use crate::reduce::laws_tests::{check, check_nonsense, data, streams};

/// Bytes of a saved state at most: what a store takes.
const STATE_BYTES_MAX: usize = 16 * 1024 * 1024;

fn folded(session: &str, events: &[Event]) -> SessionMemory {
    let mut memory = SessionMemory::new(&SessionId::new(session).expect("a name"), None);
    for event in events {
        memory.event(event);
    }
    memory
}

/// Each session's own events.
fn by_session(events: &[Event]) -> Vec<(String, Vec<Event>)> {
    let of = |name: &str| events.iter().filter(|event| event.session.as_str() == name).cloned().collect();
    ["s1", "s2", "s3"].into_iter().map(|name| (name.to_owned(), of(name))).collect()
}

proptest! {
    #[test]
    fn the_memory_keeps_the_laws(events in streams()) {
        check::<MemoryReducer>(&events, STATE_BYTES_MAX)?;
    }

    #[test]
    fn the_memory_reads_what_it_wrote_or_refuses(value in data()) {
        check_nonsense::<MemoryReducer>(&value)?;
    }

    #[test]
    fn neither_the_order_of_import_nor_older_states_matter(
        events in streams(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 3),
        order in Just((0..6).collect::<Vec<usize>>()).prop_shuffle(),
    ) {
        let sessions = by_session(&events);
        let whole: Vec<SessionMemory> = sessions.iter().map(|(name, events)| folded(name, events)).collect();
        let older = sessions.iter().zip(&cuts).map(|((name, events), cut)| {
            folded(name, events.get(..cut.index(events.len() + 1)).unwrap_or_default())
        });
        let expected = ProjectMemory::merge(&whole, []);
        let all: Vec<SessionMemory> = whole.iter().cloned().chain(older).collect();
        let shuffled = order.iter().filter_map(|at| all.get(*at));
        let merged = ProjectMemory::merge(shuffled, []);
        prop_assert_eq!(merged.to_json().to_string(), expected.to_json().to_string());
        prop_assert_eq!(merged.text(5_000), expected.text(5_000));
    }

    #[test]
    fn a_project_of_blocks_says_what_its_sessions_say(
        events in streams(),
        blocks in prop::collection::vec(0_usize..3, 3),
    ) {
        let sessions = by_session(&events);
        let all: Vec<SessionMemory> = sessions.iter().map(|(name, events)| folded(name, events)).collect();
        let of = |number: usize| {
            let own = all.iter().zip(&blocks).filter(|(_, block)| **block == number).map(|(one, _)| one);
            let memory = ProjectMemory::merge(own, []);
            let block = Block { memory, silent: [format!("silent {number}")].into() };
            let loaded = Block::load(MemoryReducer::VERSION, &block.save()).expect("what was saved can be loaded");
            assert_eq!(loaded, block);
            loaded
        };
        let [first, second, loose] = [of(0), of(1), of(2)];
        let merged = Block::merge([&first, &second]);
        prop_assert_eq!(merged.silent.len(), 2);
        let merged = ProjectMemory::merge_blocks([], [], [], [&merged.memory, &loose.memory]);
        prop_assert_eq!(merged, ProjectMemory::merge(&all, []));
    }

    #[test]
    fn a_session_goes_on_from_its_saved_state(events in streams(), cut in any::<prop::sample::Index>()) {
        let (head, tail) = events.split_at(cut.index(events.len() + 1));
        let saved = folded("s1", head).save();
        let mut loaded = SessionMemory::load(MemoryReducer::VERSION, &saved).expect("what was saved can be loaded");
        for event in tail {
            loaded.event(event);
        }
        prop_assert_eq!(loaded.save(), folded("s1", &events).save());
    }

    #[test]
    fn a_text_stays_within_its_bound(events in streams(), chars_max in 0_usize..2_000) {
        let memory = ProjectMemory::merge([&folded("s1", &events)], []);
        prop_assert!(memory.text(chars_max).chars().count() <= chars_max);
        prop_assert!(memory.text(usize::MAX).chars().count() < 1_000_000, "as much as anybody asks for");
    }
}

#[test]
fn a_memory_is_bounded_whatever_it_is_told() {
    use crate::reduce::laws_tests::{event, plain};
    use serde_json::json;
    let ledger = LedgerId::new("l").expect("a name");
    let mut memory = MemoryReducer::new(&ledger);
    let long = "\u{1f3fa}".repeat(600);
    for seq in 1..=1_500_u64 {
        let session = format!("session-{}-{}", seq % 40, "x".repeat(400));
        let payload = match seq % 4 {
            0 => plain(&format!("let's use kiln {seq} {long}"), &json!({})),
            1 => {
                plain("", &json!({ "decision": format!("{seq}{long}"), "reason": long, "supersedes": long }))
            }
            2 => plain(
                "",
                &json!({ "name": "Write", "call_id": "c", "arguments": { "file_path": format!("a/{seq}.rs") }, "output": "" }),
            ),
            _ => plain(
                "",
                &json!({ "name": "Bash", "call_id": long, "arguments": { "command": format!("make {seq} {long}") }, "exit_code": 2, "output": long }),
            ),
        };
        let topic = match seq % 4 {
            0 => topics::USER_TURN,
            1 => topics::DECISION_EVENT,
            _ => topics::TOOL_EVENT,
        };
        memory.apply(&event(seq, &session, topic, payload));
    }
    let saved = memory.save();
    assert!(saved.as_str().len() <= STATE_BYTES_MAX, "{} bytes", saved.as_str().len());
    assert_eq!(
        (memory.sessions().len(), memory.settled().decisions.len()),
        (SESSIONS_MAX, Bounds::PROJECT.decisions_max)
    );
    assert_eq!(MemoryReducer::load(&ledger, MemoryReducer::VERSION, &saved), Ok(memory));
}
