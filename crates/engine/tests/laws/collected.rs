//! Invariant 10: collection plans, prints, condemns, then deletes, and keeps what something needs.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use proptest::prelude::*;
use stemmata_engine::{Clock, CollectOptions, CollectReport, Engine, Identity, RetentionRules, Update};
use stemmata_model::{CommitId, MachineId, Principal, Timestamp};
use stemmata_store::conformance::builders::damages;
use stemmata_testkit::claude::ClaudeSession;

use crate::support::{CountingIds, Folder, bytes_of, import, native, new_store, placing, usage};

const DAY_US: i64 = 24 * 3_600 * 1_000_000;

const GRACE_DAYS: u32 = 14;

/// A clock that goes when it is told to.
struct Calendar(AtomicI64);

impl Clock for Calendar {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::Relaxed))
    }
}

/// Why something keeps a session that its age would let go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Need {
    Nothing,
    Pin,
    Tag,
    /// A copy was placed from it, and what its client appended was captured.
    Fork,
}

fn needs() -> impl Strategy<Value = Vec<(u64, Need)>> {
    let need = prop_oneof![Just(Need::Nothing), Just(Need::Pin), Just(Need::Tag), Just(Need::Fork)];
    proptest::collection::vec((0..10_000_u64, need), 1..5)
}

fn collect(engine: &Engine, dry_run: bool) -> CollectReport {
    let rules = RetentionRules { sessions_days: Some(400), ..RetentionRules::default() };
    let plan = engine.plan_collect(&CollectOptions { rules, grace_days: GRACE_DAYS }).expect("a plan");
    if dry_run { plan.report } else { engine.apply_collect(plan).expect("collected") }
}

/// Makes something need a session. A fork's copy is younger than the rule, and the fork's own commits need all before them.
fn need(engine: &Engine, folder: &Folder, tip: CommitId, need: Need) {
    let by = Principal::new("ada").expect("a name");
    let update = match need {
        Need::Nothing => return,
        Need::Pin => Update { pin: Some(true), ..Update::default() },
        Need::Tag => Update { add_tags: vec![format!("t-{tip}")], ..Update::default() },
        Need::Fork => {
            let placed = engine.place(tip, &placing(folder)).expect("placed");
            let line = format!(
                "{{\"type\":\"user\",\"uuid\":\"{tip}\",\"parentUuid\":null,\"timestamp\":\"2028-05-01T00:00:00.000Z\",\"cwd\":\"/new/place\",\"sessionId\":\"{}\",\"message\":{{\"role\":\"user\",\"content\":\"go on\"}}}}\n",
                placed.session
            );
            let mut file = std::fs::OpenOptions::new().append(true).open(&placed.path).expect("a file");
            std::io::Write::write_all(&mut file, line.as_bytes()).expect("written");
            import(engine, &placed.path);
            return;
        }
    };
    engine.update(tip, update, &by).expect("updated");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases((ProptestConfig::default().cases * 3).div_ceil(8)))]

    #[test]
    fn invariant_10_collection_plans_condemns_then_deletes_and_keeps_what_is_needed(wanted in needs()) {
        let folder = Folder::new();
        // A few weeks after the youngest record of a made-up session, and well within the rule for a fork of today.
        let clock = Arc::new(Calendar(AtomicI64::new(1_800_000_000_000_000)));
        let identity = Identity {
            machine: MachineId::new("m1").expect("a name"), machine_label: "m1".to_owned(), user: "ada".to_owned(), former: Vec::new(),
        };
        let engine = Engine::over(new_store(), Arc::clone(&clock) as Arc<dyn Clock>, Arc::new(CountingIds::default()), identity);
        let mut sessions = Vec::new();
        for (number, (seed, why)) in wanted.iter().enumerate() {
            let bytes = bytes_of(&ClaudeSession::new(seed * 10 + number as u64).turns(3).compactions(seed % 2).build());
            let path = folder.write(&format!("{number}.jsonl"), &bytes);
            let tip = import(&engine, &path).session.tip.expect("a tip");
            if *why != Need::Fork {
                need(&engine, &folder, tip, *why);
            }
            std::fs::remove_file(path).expect("gone");
            sessions.push((tip, bytes, *why));
        }
        clock.0.fetch_add(500 * DAY_US, Ordering::Relaxed);
        // A record of a time to come would not make a fork young.
        for (tip, _, why) in sessions.iter().filter(|(_, _, why)| *why == Need::Fork) {
            need(&engine, &folder, *tip, *why);
        }
        let before = usage(&engine);
        let plan = collect(&engine, true);
        prop_assert_eq!(usage(&engine), before, "a plan changes nothing");
        let first = collect(&engine, false);
        prop_assert_eq!(&plan.retired, &first.retired, "the plan is what happens");
        prop_assert_eq!(plan.collected.condemned, first.collected.condemned);
        for days in [0, i64::from(GRACE_DAYS) - 1] {
            clock.0.fetch_add(days * DAY_US, Ordering::Relaxed);
            prop_assert_eq!(collect(&engine, false).collected.deleted.commits, 0, "the grace is not over");
            for (tip, bytes, _) in &sessions {
                prop_assert_eq!(&native(&engine, *tip), bytes, "what is condemned can be read");
            }
        }
        clock.0.fetch_add(2 * DAY_US, Ordering::Relaxed);
        let last = collect(&engine, false);
        prop_assert_eq!(last.collected.deleted.commits, first.collected.condemned.commits);
        for (tip, bytes, why) in &sessions {
            let is_there = engine.store().commit(*tip).expect("read").is_some();
            prop_assert_eq!(is_there, *why != Need::Nothing, "{:?}", why);
            if is_there {
                prop_assert_eq!(&native(&engine, *tip), bytes);
            }
        }
        prop_assert_eq!(damages(engine.store()), []);
    }
}
