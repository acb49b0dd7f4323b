//! Invariant 5: a checkpoint is there whole, or not at all.

use std::sync::Arc;

use stemmata_engine::CaptureOptions;
use stemmata_store::Store;
use stemmata_testkit::claude::ClaudeSession;
use stemmata_testkit::faulty::{Fault, FaultyStore};

use crate::support::{Folder, bytes_of, engine, engine_on, import, memory, native};

#[test]
fn invariant_05_a_store_that_fails_at_each_write_in_turn_loses_nothing_and_recovers() {
    let folder = Folder::new();
    let bytes = bytes_of(&ClaudeSession::new(11).turns(6).compactions(2).build());
    let path = folder.write("s.jsonl", &bytes);
    let expected = import(&engine(), &path).session.tip;
    for fault in [Fault::Before, Fault::After] {
        for number in 0.. {
            let memory = memory();
            let faulty = Arc::new(FaultyStore::new(Arc::clone(&memory) as Arc<dyn Store>, number, fault));
            let broken = engine_on("m1", faulty);
            let failed = broken.capture(&path, &CaptureOptions::import()).is_err();
            let mut damage = Vec::new();
            memory.verify(&mut |found| damage.push(found)).expect("verified");
            assert!(damage.is_empty(), "after fault {number}: {damage:?}");
            let healed = engine_on("m1", memory);
            let captured = import(&healed, &path);
            assert_eq!(captured.session.tip, expected, "after fault {number}");
            assert_eq!(native(&healed, captured.session.tip.expect("a tip")), bytes);
            if !failed {
                assert!(number > 1, "the workload makes several writes");
                break;
            }
        }
    }
}
