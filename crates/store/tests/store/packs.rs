//! Packs of the SQLite store: what moves into them comes back, and the database shrinks.

use std::fs;
use std::path::{Path, PathBuf};

use stemmata_model::{ArtifactId, CommitId, Timestamp, artifact_id};
use stemmata_store::{
    Commits, ContentPart, NewContent, OnDisk, PackOptions, Packed, SqliteStore, Store, StoreError, Upkeep,
    Write,
};
use tempfile::TempDir;

use crate::erase::{noise, wish};
use crate::support::{chain, checkpoint, damages, new_commit, open, read};

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

fn pack_files(home: &TempDir) -> Vec<PathBuf> {
    let entries = fs::read_dir(home.path().join("packs")).expect("a folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut paths: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|suffix| suffix == "pack")).collect();
    paths.sort();
    paths
}

#[test]
fn a_damaged_cut_or_missing_pack_is_named_and_all_else_is_read() {
    let home = TempDir::new().expect("a directory");
    let store = open(home.path());
    let kept = artifacts(&store, &chain(&store, "kept", 40, 3000));
    pack(&store);
    let first = pack_files(&home);
    let lost = artifacts(&store, &chain(&store, "lost", 40, 30_000));
    pack(&store);
    drop(store);
    let file = pack_files(&home).into_iter().find(|path| !first.contains(path)).expect("a second pack");
    let name = file.file_name().expect("a name").to_string_lossy().into_owned();
    let sound = fs::read(&file).expect("a pack");
    let third = sound.len() / 3;
    let mut flipped = sound.clone();
    flipped[third] ^= 4;
    let states =
        [Some(&flipped[..]), Some(&sound[..third]), Some(&sound[..sound.len() - 1]), Some(&[][..]), None];
    for bytes in states {
        fs::remove_file(&file).expect("removed");
        if let Some(bytes) = bytes {
            put(&file, bytes);
        }
        let store = open(home.path());
        for id in &kept {
            read(&store, *id).expect("it is in another pack");
        }
        let found = damages(&store);
        assert!(found.iter().any(|damage| damage.check == "pack" && damage.object == name), "{found:?}");
        let read_back: Vec<_> = lost.iter().map(|id| (id, read(&store, *id))).collect();
        for (id, result) in &read_back {
            match result {
                Ok(_) => {}
                Err(StoreError::Corrupt { artifact, reason }) => {
                    assert!(artifact == *id && reason.contains(&name), "{reason}");
                }
                Err(other) => panic!("{other}"),
            }
        }
        let whole = read_back.iter().all(|(_, result)| result.is_ok());
        assert!(!whole || bytes.is_some_and(|bytes| bytes.len() == sound.len() - 1));
        if bytes.is_none() {
            put(&file, &sound);
        }
    }
    fs::remove_file(&file).expect("removed");
    put(&file, &sound);
    assert_eq!(damages(&open(home.path())), []);
}

fn put(path: &Path, bytes: &[u8]) {
    let mut file = fs::File::create(path).expect("made");
    std::io::Write::write_all(&mut file, bytes).expect("written");
}

#[test]
fn every_bit_of_a_pack_is_guarded() {
    let home = TempDir::new().expect("a directory");
    let store = open(home.path());
    chain(&store, "a", 12, 900);
    pack(&store);
    drop(store);
    let [file] = &pack_files(&home)[..] else { panic!("one pack") };
    let sound = fs::read(file).expect("a pack");
    for at in (0..sound.len()).step_by(sound.len() / 60) {
        let mut flipped = sound.clone();
        flipped[at] ^= 1 << (at % 8);
        put(file, &flipped);
        assert_ne!(damages(&open(home.path())), [], "byte {at}");
    }
}

#[test]
fn what_a_crash_leaves_is_no_damage_and_goes_with_the_next_packing() {
    let home = TempDir::new().expect("a directory");
    let store = open(home.path());
    chain(&store, "a", 5, 900);
    pack(&store);
    put(&home.path().join("packs").join(format!("{}.pack", "ab".repeat(32))), b"left over");
    put(&home.path().join("packs/new.tmp"), b"half");
    let verified = store.verify(&mut |damage| panic!("{damage:?}")).expect("readable");
    assert_eq!(verified.leftover_files, 1);
    chain(&store, "b", 5, 900);
    assert_eq!(pack(&store).contents, 5);
    let names = fs::read_dir(home.path().join("packs")).expect("a folder").count();
    assert_eq!(names, 3, "two packs and the lock");
    assert_eq!(store.usage().expect("a read").packs, 2);
}

#[test]
fn a_short_last_block_is_taken_up_and_costs_stay_those_of_what_is_new() {
    let home = TempDir::new().expect("a directory");
    let store = open(home.path());
    let mut last = None;
    let mut ids = Vec::new();
    let (mut written, mut new) = (0, 0);
    for step in 0..120 {
        let (id, batch) = checkpoint("a", last, step, 6000);
        store.commit_batch(batch).expect("stored");
        last = Some(id);
        ids.push(id);
        let packed = pack(&store);
        written += packed.pack_bytes;
        new += packed.inbox_bytes;
    }
    let contents = artifacts(&store, &ids);
    for (step, id) in (0..).zip(&contents) {
        assert_eq!(read(&store, *id).expect("a read"), read_new(step));
    }
    assert!(written < new * 6, "{written} bytes were written for {new} new ones");
    assert_eq!(damages(&store), []);
}

fn read_new(step: u64) -> Vec<u8> {
    let (_, batch) = checkpoint("a", None, step, 6000);
    match batch.into_iter().next() {
        Some(Write::Content(content)) => match content.into_parts().into_iter().next() {
            Some(ContentPart::Bytes(bytes)) => bytes,
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

/// A row that had no bytes when packing went by is packed once it has some again, whoever brings them.
#[test]
fn what_fills_a_hole_is_packed() {
    let home = TempDir::new().expect("a directory");
    let store = open(home.path());
    let (first, half) = (noise(1, 900), noise(2, 900));
    let whole = [half.clone(), noise(3, 900)].concat();
    let literal = NewContent::literal(whole.clone());
    let of = literal.id();
    let made = [half.clone(), b"and more".to_vec()].concat();
    let parts =
        vec![ContentPart::Slice { of, offset: 0, length: 900 }, ContentPart::Bytes(b"and more".to_vec())];
    let put = |bytes: &[u8], micros: i64| {
        let content = NewContent::literal(bytes.to_vec());
        let commit = new_commit(None, content.id(), micros);
        let id = commit.core.id();
        store.commit_batch(vec![Write::Content(content), Write::Commit(commit)]).expect("stored");
        id
    };
    let holes = [put(&first, 1), put(&half, 2)];
    let gone = put(&whole, 3);
    let stays = artifact_id(&made);
    let batch =
        vec![Write::Content(NewContent::composed(stays, parts)), Write::Commit(new_commit(None, stays, 4))];
    store.commit_batch(batch).expect("stored");
    pack(&store);
    store.forget(&wish(&[], &holes)).expect("forgotten");
    pack(&store);
    assert_eq!(store.usage().expect("a read").inbox_bytes, 0);
    put(&first, 5);
    assert_ne!(store.usage().expect("a read").inbox_bytes, 0, "the row has bytes again");
    assert_eq!(pack(&store).contents, 1);
    assert_eq!(store.usage().expect("a read").inbox_bytes, 0);
    store.forget(&wish(&[gone], &[])).expect("forgotten");
    assert_eq!(read(&store, stays).expect("a read"), made);
    assert_eq!(pack(&store).contents, 1, "what was copied out of a pack");
    assert_eq!(store.usage().expect("a read").inbox_bytes, 0);
    assert_eq!((read(&store, stays).expect("a read"), damages(&store)), (made, vec![]));
}

/// What an interrupted forgetting or packing left in the folder is removed by whatever lets go next.
#[test]
fn stray_files_go_with_the_next_forgetting_or_collection() {
    let home = TempDir::new().expect("a directory");
    let store = open(home.path());
    let ids = chain(&store, "a", 3, 900);
    pack(&store);
    let folder = home.path().join("packs");
    let files = || {
        let mut names: Vec<String> = fs::read_dir(&folder)
            .expect("a folder")
            .map(|entry| entry.expect("a file").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    };
    let own = files();
    let pack_name = own.iter().find(|name| name.as_str() != "lock").expect("a pack").clone();
    let stray = || {
        let named = pack_name.replace(|letter: char| letter.is_ascii_digit(), "0");
        for name in ["new.tmp", &named] {
            fs::copy(folder.join(&pack_name), folder.join(name)).expect("a copy");
        }
        assert_eq!(files().len(), own.len() + 2);
    };
    stray();
    store.forget(&wish(&[], &[])).expect("nothing to forget");
    assert_eq!(files(), own);
    stray();
    let collect = stemmata_store::maintain::collect::Collect {
        retired: Vec::new(),
        now: Timestamp::from_micros(1_790_000_000_000_000),
        grace_us: 0,
        expect: None,
        dry_run: false,
    };
    assert_eq!(store.collect(&collect).expect("collected").files_removed, 2);
    assert_eq!(files(), own);
    stray();
    assert_eq!(pack(&store).contents, 0);
    assert_eq!(files(), own, "also where there is nothing to pack");
    fs::copy(folder.join(&pack_name), folder.join("new.tmp")).expect("a copy");
    drop(store);
    let store = open(home.path());
    assert_eq!(files(), own, "and by opening, where it has no name yet");
    assert_eq!((artifacts(&store, &ids).len(), damages(&store)), (3, vec![]));
}
