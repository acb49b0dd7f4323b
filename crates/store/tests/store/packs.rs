//! Packs of the SQLite store: what moves into them comes back, and the database shrinks.

use stemmata_model::{ArtifactId, CommitId, Timestamp, artifact_id};
use stemmata_store::{ContentPart, NewContent, PackOptions, Packed, SqliteStore, Store, Write};
use tempfile::TempDir;

use crate::support::{chain, checkpoint, damages, open, read};

pub(crate) fn pack(store: &SqliteStore) -> Packed {
    store.pack(&PackOptions::new(Timestamp::from_micros(1_790_000_000_000_000))).expect("packed")
}

fn artifacts(store: &dyn Store, ids: &[CommitId]) -> Vec<ArtifactId> {
    ids.iter().map(|id| store.commit(*id).expect("a read").expect("there").core.artifact).collect()
}

#[test]
fn what_is_packed_comes_back_and_the_database_shrinks() {
    let home = TempDir::new().expect("a directory");
    let store = open(home.path());
    let ids = chain(&store, "a", 300, 4000);
    let contents = artifacts(&store, &ids);
    let bytes: Vec<Vec<u8>> = contents.iter().map(|id| read(&store, *id).expect("a read")).collect();
    let before = store.usage().expect("a read");
    let packed = pack(&store);
    assert_eq!((packed.contents, packed.packs, packed.busy, packed.damaged), (300, 1, false, 0));
    assert!(packed.blocks == 2 && packed.pack_bytes * 3 < packed.inbox_bytes * 2, "{packed:?}");
    assert_eq!(pack(&store), Packed::default(), "nothing is left to do");
    for (id, bytes) in contents.iter().zip(&bytes) {
        assert_eq!(&read(&store, *id).expect("a read"), bytes);
        assert_eq!(
            store.content_length(*id).expect("a read"),
            Some(u64::try_from(bytes.len()).expect("small"))
        );
    }
    let after = store.usage().expect("a read");
    assert!(after.physical_bytes * 10 < before.physical_bytes * 8, "{before:?} {after:?}");
    assert_eq!(damages(&store), []);
    drop(store);
    let store = open(home.path());
    assert_eq!(read(&store, contents[7]).expect("a read"), bytes[7]);
}

#[test]
fn contents_in_packs_are_known_to_writes() {
    let home = TempDir::new().expect("a directory");
    let store = open(home.path());
    let first = NewContent::literal(b"0123456789".repeat(40));
    let id = first.id();
    store.commit_batch(vec![Write::Content(first.clone())]).expect("stored");
    pack(&store);
    assert_eq!(store.commit_batch(vec![Write::Content(first)]).expect("known").new_contents, 0);
    let (_, batch) = checkpoint("b", None, 0, 900);
    store.commit_batch(batch).expect("stored");
    let whole = [b"0123456789".repeat(2), b"new".to_vec(), b"789".to_vec()].concat();
    let parts = vec![
        ContentPart::Slice { of: id, offset: 0, length: 20 },
        ContentPart::Bytes(b"new".to_vec()),
        ContentPart::Slice { of: id, offset: 397, length: 3 },
    ];
    let composed = artifact_id(&whole);
    store.commit_batch(vec![Write::Content(NewContent::composed(composed, parts))]).expect("stored");
    for _ in 0..2 {
        assert_eq!(read(&store, composed).expect("a read"), whole);
        assert_eq!(damages(&store), []);
        pack(&store);
    }
}
