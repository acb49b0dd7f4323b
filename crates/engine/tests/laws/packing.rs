//! Packing in the background: it comes when the inbox has grown or somebody asks, tells how it went, and ends.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use stemmata_engine::{Engine, ErrorKind, KeepPacked, PackKeeper};
use stemmata_store::{Packed, SqliteOptions, SqliteStore, Store, StoreError};
use stemmata_testkit::claude::ClaudeSession;

use crate::support::{Folder, bytes_of, engine_on, import, native};

type Heard = Receiver<Result<Packed, StoreError>>;

fn engine_at(home: &Path) -> Engine {
    let store = SqliteStore::open(home, SqliteOptions::default()).expect("a store");
    engine_on("m1", Arc::new(store) as Arc<dyn Store>)
}

fn kept(engine: &Engine, growth_bytes: u64) -> (PackKeeper, Heard) {
    let (tell, heard) = channel();
    let options = KeepPacked { growth_bytes, ..KeepPacked::default() };
    let keeper = engine.keep_packed(options, move |done| {
        let _nobody_listens = tell.send(done);
    });
    (keeper.expect("a thread"), heard)
}

fn next(heard: &Heard) -> u64 {
    heard.recv().expect("it goes on").expect("packed").contents
}

#[test]
fn the_inbox_is_packed_when_it_has_grown_and_on_request() {
    let folder = Folder::new();
    let engine = engine_at(folder.path());
    let write = |seed: u64| {
        let bytes = bytes_of(&ClaudeSession::new(seed).turns(4).build());
        let path = folder.write(&format!("{seed}.jsonl"), &bytes);
        (import(&engine, &path).session.tip.expect("a tip"), bytes)
    };
    let inbox = || engine.store().usage().expect("a read").inbox_bytes;
    // As large as it is told to grow, an inbox is packed at the beginning.
    let first = write(1);
    let grown = inbox();
    let (keeper, heard) = kept(&engine, grown);
    assert!(next(&heard) > 0);
    assert_eq!(inbox(), 0);
    drop(keeper);
    assert!(heard.recv().is_err(), "the thread has ended");

    // A smaller one is left alone until it is asked for.
    let second = write(2);
    let (keeper, heard) = kept(&engine, 100 * grown);
    assert_eq!(next(&heard), 0, "too little");
    keeper.request();
    assert!(next(&heard) > 0);
    assert_eq!(inbox(), 0);
    let error = engine.keep_packed(KeepPacked::default(), drop).expect_err("one is enough");
    assert_eq!(error.kind(), ErrorKind::Refused);
    drop(keeper);

    // Commits tell by how much it grows, those of clones too.
    let (keeper, heard) = kept(&engine.clone(), 1);
    assert_eq!(next(&heard), 0, "nothing is there");
    let third = write(3);
    while inbox() > 0 {
        next(&heard);
    }
    drop(keeper);
    for (tip, bytes) in [first, second, third] {
        assert_eq!(native(&engine, tip), bytes);
    }
    write(4);
    assert!(inbox() > 0, "nobody packs any more");
}

#[test]
fn who_packs_in_the_background_hears_of_failures_and_goes_on() {
    let folder = Folder::new();
    let engine = engine_at(folder.path());
    import(&engine, &folder.write("s.jsonl", &bytes_of(&ClaudeSession::new(1).turns(4).build())));
    // A file where the folder of packs should be.
    let in_the_way = folder.write("packs", b"");
    let (keeper, heard) = kept(&engine, u64::MAX);
    let _too_little = heard.recv().expect("it goes on");
    for _ in 0..2 {
        keeper.request();
        assert!(heard.recv().expect("it goes on").is_err(), "nothing can be written there");
    }
    std::fs::remove_file(in_the_way).expect("removed");
    keeper.request();
    assert!(next(&heard) > 0);
}
