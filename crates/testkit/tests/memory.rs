//! The store in memory is a backend like any other: written outside of the store's crate, it passes the suite of each part.

use std::sync::Arc;

use stemmata_store::{Commits, Follow, Upkeep, conformance};
use stemmata_testkit::memory::MemoryStore;

#[test]
fn memory_conforms() {
    conformance::run(&mut || Arc::new(MemoryStore::default()));
}

#[test]
fn a_part_is_held_to_its_suite_alone() {
    conformance::commits(&mut || Arc::new(MemoryStore::default()) as Arc<dyn Commits>);
    conformance::follow(&mut || Arc::new(MemoryStore::default()) as Arc<dyn Follow>);
    conformance::upkeep(&mut || Arc::new(MemoryStore::default()) as Arc<dyn Upkeep>);
}
