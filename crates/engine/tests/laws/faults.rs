//! Invariant 5: a checkpoint is there whole, or not at all.

use std::sync::Arc;

use stemmata_engine::{CaptureOptions, Engine};
use stemmata_store::StoreIdentity;
use stemmata_store::conformance::builders::damages;
use stemmata_testkit::claude::ClaudeSession;
use stemmata_testkit::faulty::{Fault, FaultyStore};

use crate::support::{Folder, bytes_of, engine, engine_on, import, native};

type Faulty = FaultyStore<stemmata_testkit::memory::MemoryStore>;

fn faulty() -> (Arc<Faulty>, Engine) {
    let memory =
        stemmata_testkit::memory::MemoryStore::new(StoreIdentity { store_id: [1; 16], secret: [2; 32] });
    let store = Arc::new(FaultyStore::new(memory));
    (Arc::clone(&store), engine_on("m1", store))
}

#[test]
fn invariant_05_a_store_that_fails_at_each_write_in_turn_loses_nothing_and_recovers() {
    let folder = Folder::new();
    let bytes = bytes_of(&ClaudeSession::new(11).turns(6).compactions(2).build());
    let path = folder.write("s.jsonl", &bytes);
    let expected = import(&engine(), &path).session.tip;
    for fault in [Fault::Before, Fault::After] {
        let mut number = 1;
        loop {
            let (store, engine) = faulty();
            store.fail(number, fault);
            let failed = engine.capture(&path, &CaptureOptions::import()).is_err();
            assert_eq!(damages(store.inner()), [], "after fault {number}");
            let captured = import(&engine, &path);
            assert_eq!(captured.session.tip, expected, "after fault {number}");
            assert_eq!(native(&engine, captured.session.tip.expect("a tip")), bytes);
            if !failed {
                break;
            }
            number += 1;
        }
        assert!(number > 2, "the workload makes several writes");
    }
}
