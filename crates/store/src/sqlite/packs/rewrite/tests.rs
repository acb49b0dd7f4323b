//! Rewriting packs without some of their contents: what stays is read back, what goes is in no file.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use proptest::prelude::*;
use stemmata_model::{ArtifactId, Timestamp};
use tempfile::TempDir;

use super::*;
use crate::maintain::pack::PackOptions;
use crate::seam::{Commits, OnDisk, Upkeep};
use crate::sqlite::failure::During;
use crate::sqlite::packs::remove_leftovers;
use crate::sqlite::{SqliteOptions, SqliteStore};
use crate::write::{NewContent, Write};

const NOW: Timestamp = Timestamp::from_micros(1_790_000_000_000_000);

fn bytes_of(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(2) + 1;
    std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        b"stemma pack block base content chain "[usize::from(state.to_le_bytes()[6] % 37)]
    })
    .take(length)
    .collect()
}

fn store_all(store: &SqliteStore, contents: &[Vec<u8>]) -> Vec<ArtifactId> {
    let new: Vec<NewContent> = contents.iter().map(|bytes| NewContent::literal(bytes.clone())).collect();
    let ids = new.iter().map(NewContent::id).collect();
    store.commit_batch(new.into_iter().map(Write::Content).collect()).expect("stored");
    ids
}

fn rows(store: &SqliteStore) -> BTreeMap<ArtifactId, i64> {
    let reader = store.pool.reader().expect("a reader");
    reader
        .within_read(|connection| {
            let mut statement = connection.prepare("SELECT hash, row FROM packed").during("a test")?;
            let found = statement.query_map([], |row| Ok((ArtifactId::from_bytes(row.get(0)?), row.get(1)?)));
            found.and_then(Iterator::collect).during("a test")
        })
        .expect("rows")
}

fn rewrite(store: &SqliteStore, gone: &BTreeSet<i64>, garbage: Garbage) -> (u64, u64) {
    let maintained = store.maintained();
    let _lock = store.packs.lock().expect("a lock").expect("free");
    let prepared = prepare(&maintained, gone, Policy { garbage, level: Some(3) }).expect("prepared");
    let swap =
        store.group.with_writer(|writer| writer.maintain(|connection| apply(connection, &prepared, NOW)));
    assert_eq!(swap.expect("applied"), Swap::Done);
    remove_leftovers(&maintained).expect("removed");
    prepared.bytes()
}

fn read(store: &SqliteStore, id: ArtifactId) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = store.read_content(id, None, &mut |piece| {
        bytes.extend_from_slice(piece);
        Ok(())
    });
    read.is_ok().then_some(bytes)
}

fn packs_in(home: &Path) -> Vec<Vec<u8>> {
    let files =
        fs::read_dir(home.join("packs")).expect("a folder").map(|entry| entry.expect("an entry").path());
    let packs = files.filter(|path| path.extension().is_some_and(|suffix| suffix == "pack"));
    packs.map(|path| fs::read(path).expect("a pack")).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.div_ceil(5)))]
    #[test]
    fn what_goes_is_gone_and_all_else_comes_back(
        runs in proptest::collection::vec(proptest::collection::vec((0..40_000_usize, any::<bool>()), 1..40), 1..4),
    ) {
        let home = TempDir::new().expect("a directory");
        let store = SqliteStore::open(home.path(), SqliteOptions::default()).expect("a store");
        let mut kept = Vec::new();
        let mut gone = Vec::new();
        let mut seed = 0;
        for run in runs {
            let contents: Vec<Vec<u8>> = run.iter().map(|(length, _)| { seed += 1; bytes_of(seed, length + 8) }).collect();
            let ids = store_all(&store, &contents);
            for ((id, bytes), (_, goes)) in ids.into_iter().zip(contents).zip(run) {
                if goes { gone.push(id) } else { kept.push((id, bytes)) }
            }
            store.pack(&PackOptions::new(NOW)).expect("packed");
        }
        let rows = rows(&store);
        let going: BTreeSet<i64> = gone.iter().map(|id| rows[id]).collect();
        rewrite(&store, &going, Garbage::Keep);
        for id in &gone {
            prop_assert_eq!(store.content_length(*id).expect("a read"), None);
        }
        for (id, bytes) in &kept {
            let back = read(&store, *id);
            prop_assert_eq!(back.as_ref(), Some(bytes));
        }
        let mut damages = Vec::new();
        store.verify(&mut |damage| damages.push(damage)).expect("readable");
        prop_assert_eq!(damages, vec![]);
        let named = store.usage().expect("a read");
        prop_assert_eq!(packs_in(home.path()).len() as u64, named.packs);
        let on_disk: u64 = packs_in(home.path()).iter().map(|pack| pack.len() as u64).sum();
        prop_assert_eq!(on_disk, named.packed_bytes);
    }
}

#[test]
fn what_is_prepared_for_packs_that_changed_is_refused() {
    let home = TempDir::new().expect("a directory");
    let store = SqliteStore::open(home.path(), SqliteOptions::default()).expect("a store");
    let ids = store_all(&store, &[bytes_of(1, 9000), bytes_of(2, 9000), bytes_of(3, 9000)]);
    store.pack(&PackOptions::new(NOW)).expect("packed");
    let rows = rows(&store);
    let policy = Policy { garbage: Garbage::Keep, level: None };
    let (first, second) = (BTreeSet::from([rows[&ids[0]]]), BTreeSet::from([rows[&ids[1]]]));
    let stale = prepare(&store.maintained(), &first, policy).expect("prepared");
    rewrite(&store, &second, Garbage::Keep);
    let swap = store.group.with_writer(|writer| writer.maintain(|connection| apply(connection, &stale, NOW)));
    assert_eq!(swap.expect("looked at"), Swap::Stale);
    assert_eq!(read(&store, ids[2]), Some(bytes_of(3, 9000)));
    assert!(prepare(&store.maintained(), &BTreeSet::new(), policy).expect("prepared").is_empty());
}

#[test]
fn packs_that_are_mostly_garbage_are_merged_when_asked() {
    let home = TempDir::new().expect("a directory");
    let store = SqliteStore::open(home.path(), SqliteOptions::default()).expect("a store");
    let contents: Vec<Vec<u8>> = (0..30).map(|seed| bytes_of(seed, 300_000)).collect();
    let ids = store_all(&store, &contents);
    store.pack(&PackOptions::new(NOW)).expect("packed");
    let rows = rows(&store);
    store
        .group
        .with_writer(|writer| {
            writer.maintain(|connection| {
                // As after a crash that left rows without their bytes' removal.
                for id in &ids[..20] {
                    connection.execute("DELETE FROM packed WHERE row = ?1", [rows[id]]).during("a test")?;
                }
                Ok(())
            })
        })
        .expect("removed");
    assert_eq!(rewrite(&store, &BTreeSet::new(), Garbage::Keep), (0, 0));
    let (before, after) = rewrite(&store, &BTreeSet::new(), Garbage::Half);
    assert!(after * 2 < before, "{before} {after}");
    assert_eq!(rewrite(&store, &BTreeSet::new(), Garbage::All), (0, 0), "nothing is left to drop");
    for (id, bytes) in ids.iter().zip(&contents).skip(20) {
        assert_eq!(read(&store, *id).as_ref(), Some(bytes));
    }
}
