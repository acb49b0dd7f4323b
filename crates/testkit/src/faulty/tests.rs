//! What fails, and what does not.

use crate::memory::MemoryStore;
use stemmata_store::{Commits, NewContent};

use super::*;

#[test]
fn the_batch_that_was_named_fails_and_no_other() {
    for (fault, applied) in [(Fault::Before, false), (Fault::After, true)] {
        let store = FaultyStore::new(MemoryStore::default());
        let write = |text: &str| {
            let content = NewContent::literal(text.as_bytes().to_vec());
            (content.id(), store.commit_batch(vec![Write::Content(content)]))
        };
        assert!(write("first").1.is_ok());
        store.fail(2, fault);
        assert!(write("second").1.is_ok());
        let (third, failed) = write("third");
        assert!(matches!(failed, Err(StoreError::Full { .. })), "{failed:?}");
        assert_eq!(store.content_length(third).expect("a read").is_some(), applied);
        assert!(write("third").1.is_ok(), "it fails once");
        assert_eq!(store.batches(), 4);
    }
}

#[test]
fn a_lost_content_is_missing_and_no_other() {
    let store = FaultyStore::new(MemoryStore::default());
    let contents = ["first", "second"].map(|text| NewContent::literal(text.as_bytes().to_vec()));
    let [first, second] = [contents[0].id(), contents[1].id()];
    store.commit_batch(contents.into_iter().map(Write::Content).collect()).expect("stored");
    store.lose(first);
    let read = |id| store.read_content(id, None, &mut |_| Ok(()));
    assert!(matches!(read(first), Err(StoreError::ContentMissing(named)) if named == first));
    assert_eq!(store.content_length(first).expect("a read"), None);
    assert!(read(second).is_ok() && store.content_length(second).expect("a read").is_some());
}
