//! The memory backend keeps every promise of the seam.

use stemmata_store::{MemoryStore, conformance};

#[test]
fn memory_conforms() {
    conformance::run(&mut || Box::new(MemoryStore::default()));
}
