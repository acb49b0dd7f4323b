//! Stores of earlier versions: each opens, is brought up to date, and gives every native as it was.

use std::fs;
use std::path::{Path, PathBuf};

use super::erase::wish;
use super::ledger::{all, ledger, topic};
use super::support::{damages, open, read};
use stemmata_model::{CommitId, MachineId, Payload, Timestamp};
use stemmata_store::maintain::forget::Forget;
use stemmata_store::{
    Commits, EventLog, Page, Placement, SessionFilter, SessionKey, SqliteOptions, SqliteStore, Upkeep, Write,
};
use tempfile::TempDir;

/// The frozen stores, one folder a version.
fn fixtures() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut found: Vec<PathBuf> =
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    found.sort();
    found
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let path = entry.expect("an entry").path();
        let to = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy(&path, &to);
        } else if path.file_name().is_some_and(|name| name != "natives.txt") {
            fs::copy(&path, &to).expect("a copy");
        }
    }
}

/// Asserts that a store gives every native that stands in a list: id, SHA-256, bytes.
#[track_caller]
fn assert_natives(store: &SqliteStore, list: &Path) {
    let text = fs::read_to_string(list).expect("a list");
    assert!(text.lines().count() > 3, "{text}");
    for line in text.lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        let id: CommitId = fields[0].parse().expect("an id");
        let mut chain = store.ancestors(id, 1000).expect("a chain");
        chain.reverse();
        // A native begins at the nearest snapshot.
        let is_snapshot = |own: &stemmata_model::Commit| {
            matches!(own.core.commit_type, stemmata_model::CommitType::Snapshot { .. })
        };
        let start = chain.iter().rposition(is_snapshot).unwrap_or(0);
        let chain = &chain[start..];
        let native: Vec<u8> =
            chain.iter().flat_map(|own| read(store, own.core.native_artifact()).expect("a read")).collect();
        assert_eq!(native.len().to_string(), fields[2], "{line}");
        assert_eq!(sha256(&native), fields[1], "{line}");
    }
}

#[test]
fn every_version_opens_is_brought_up_to_date_and_gives_its_natives() {
    let fixtures = fixtures();
    assert!(!fixtures.is_empty());
    for fixture in fixtures {
        let home = TempDir::new().expect("a directory");
        let dir = home.path().join("store");
        copy(&fixture, &dir);
        let plan = SqliteStore::migration_plan(&dir, &SqliteOptions::default()).expect("a plan");
        let version = fixture.file_name().expect("a name").to_string_lossy().into_owned();
        assert_eq!(format!("v{}", plan.found), version);
        let store = open(&dir);
        assert_eq!(damages(&store), [], "{version}");
        assert_natives(&store, &fixture.join("natives.txt"));
        drop(store);
        let plan = SqliteStore::migration_plan(&dir, &SqliteOptions::default()).expect("a plan");
        assert!(plan.steps.is_empty(), "{plan:?}");

        // On demand: with a backup, which is of the old version and goes back.
        let dir = home.path().join("again");
        copy(&fixture, &dir);
        let backup = home.path().join("again.before");
        SqliteStore::migrate(&dir, &backup, &SqliteOptions::default()).expect("a migration");
        assert_natives(&open(&dir), &fixture.join("natives.txt"));
    }
}

/// What ledgers of the store of version 6 say, for ever: what was trimmed, what was forgotten, and the rest.
#[test]
fn the_events_of_version_6_are_read() {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/v6");
    let home = TempDir::new().expect("a directory");
    let dir = home.path().join("store");
    copy(&fixture, &dir);
    let store = open(&dir);
    let project = ledger("project");
    let known = store.ledger(&project).expect("a read").expect("a ledger");
    assert_eq!((known.last, known.root.as_deref()), (11, Some("/srv/app")));
    assert_eq!(known.marks, ["remote:example.org/app"]);
    let events = all(&store, "project");
    let told: Vec<String> = events
        .iter()
        .map(|event| match &event.payload {
            Payload::Plain { text, data } => {
                format!("{} {}", text.as_deref().expect("text"), data.as_ref().expect("data"))
            }
            Payload::Line { line, .. } => line.to_string(),
            Payload::Gone(gone) => format!("{} bytes are gone, forgotten: {}", gone.bytes, gone.forgotten),
        })
        .collect();
    let plain = |words: &str| format!("event {words} {{\"n\":9007199254740993}}");
    let line = |words: &str| format!("{{\"said\":\"event {words}\"}}");
    assert_eq!(
        told,
        [
            plain("0 of SESSION_STARTED"),
            "32 bytes are gone, forgotten: false".to_owned(),
            "33 bytes are gone, forgotten: true".to_owned(),
            plain("2 of user_turn"),
            "44 bytes are gone, forgotten: true".to_owned(),
            line("3 of user_turn"),
            "33 bytes are gone, forgotten: true".to_owned(),
            plain("4 of user_turn"),
            "44 bytes are gone, forgotten: true".to_owned(),
            "37 bytes are gone, forgotten: true".to_owned(),
            plain("6 of AGENT_OUTPUT"),
        ]
    );
    assert!(!events[10].replayable && events[9].replayable);
    let receipt = store.receipt(&project, &topic("user_turn")).expect("a read").expect("a receipt");
    assert_eq!((receipt.events, receipt.through.get()), (2, 3));
    assert_eq!(store.saved_states(&project, "").expect("a read").len(), 1);
    let covered = store.last_covered(&project).expect("a read").expect("a commit that covers it");
    assert_eq!(covered.through.get(), 9);
    assert_eq!(store.coverage(covered.commit).expect("a read"), Some(covered));
    assert_eq!(store.ledger_marked("remote:example.org/app").expect("a read"), Some(project));
    assert_eq!(all(&store, "cluster").len(), 1);
}

fn sha256(bytes: &[u8]) -> String {
    // The constants are the first bits of the roots of primes, as the standard says.
    let primes: Vec<u32> = (2..400_u32).filter(|own| (2..*own).all(|by| own % by != 0)).collect();
    let bits = |root: f64| -> u32 {
        let fraction = root.fract() * 4_294_967_296.0;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below 2 to the 32")]
        let bits = fraction as u32;
        bits
    };
    let mut state: Vec<u32> = primes.iter().take(8).map(|own| bits(f64::from(*own).sqrt())).collect();
    let keys: Vec<u32> = primes.iter().take(64).map(|own| bits(f64::from(*own).cbrt())).collect();
    let mut padded = bytes.to_vec();
    padded.push(0x80);
    while padded.len() % 64 != 56 {
        padded.push(0);
    }
    padded.extend_from_slice(&(u64::try_from(bytes.len()).expect("a length") * 8).to_be_bytes());
    for block in padded.chunks(64) {
        let mut words: Vec<u32> =
            block.chunks(4).map(|word| u32::from_be_bytes(word.try_into().expect("four bytes"))).collect();
        for at in 16..64 {
            let (x, y) = (words[at - 15], words[at - 2]);
            let low = x.rotate_right(7) ^ x.rotate_right(18) ^ (x >> 3);
            let high = y.rotate_right(17) ^ y.rotate_right(19) ^ (y >> 10);
            words.push(words[at - 16].wrapping_add(low).wrapping_add(words[at - 7]).wrapping_add(high));
        }
        let mut now: Vec<u32> = state.clone();
        for (key, word) in keys.iter().zip(&words) {
            let (a, e) = (now[0], now[4]);
            let first = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
            let choice = (e & now[5]) ^ (!e & now[6]);
            let left = now[7].wrapping_add(first).wrapping_add(choice).wrapping_add(*key).wrapping_add(*word);
            let second = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
            let right = second.wrapping_add((a & now[1]) ^ (a & now[2]) ^ (now[1] & now[2]));
            now.rotate_right(1);
            now[0] = left.wrapping_add(right);
            now[4] = now[4].wrapping_add(left);
        }
        for (sum, own) in state.iter_mut().zip(&now) {
            *sum = sum.wrapping_add(*own);
        }
    }
    state.iter().map(|word| format!("{word:08x}")).collect()
}

#[test]
fn the_hash_of_the_lists_is_the_standard_s() {
    assert_eq!(sha256(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

/// Cursors and placements lay under their path and machine once.
#[test]
fn what_belongs_to_a_transcript_is_found_as_it_lay_before_and_lies_once_when_it_is_written() {
    for fixture in fixtures() {
        let home = TempDir::new().expect("a directory");
        let dir = home.path().join("store");
        copy(&fixture, &dir);
        let store = open(&dir);
        let database = || rusqlite::Connection::open(dir.join("stemmata.db")).expect("a database");
        let (path, machine): (String, String) = database()
            .query_row("SELECT path, machine FROM placement", [], |row| Ok((row.get(0)?, row.get(1)?)))
            .expect("a placement");
        let machine = MachineId::new(machine).expect("a name");
        let rows = |table: &str| -> (i64, i64) {
            let sql = format!("SELECT count(*), count(*) FILTER (WHERE typeof(path) = 'blob') FROM {table}");
            database().query_row(&sql, [], |row| Ok((row.get(0)?, row.get(1)?))).expect("a count")
        };
        let sessions = store.sessions(&SessionFilter::default(), Page { skip: 0, rows_max: 100 });
        let keys: Vec<SessionKey> = sessions.expect("a read").into_iter().map(|known| known.key).collect();
        let read = |key: &SessionKey| store.cursor(key).expect("a read");
        let with: Vec<&SessionKey> = keys.iter().filter(|key| read(key).is_some()).collect();
        let placed = || store.placement(&machine, &path).expect("a read");
        let before = placed().expect("a placement");
        assert!(with.len() > 1 && (rows("cursor").1, rows("placement")) == (0, (1, 0)), "{fixture:?}");

        // An older placement changes nothing of it, a newer one is it.
        let older = Placement { taken_bytes: 1, placed_at: Timestamp::EPOCH, ..before.clone() };
        store.commit_batch(vec![Write::Placement(Box::new(older))]).expect("a batch");
        assert_eq!((placed().as_ref(), rows("placement")), (Some(&before), (1, 0)));
        let newer = Placement { taken_bytes: 2, ..before };
        store.commit_batch(vec![Write::Placement(Box::new(newer.clone()))]).expect("a batch");
        assert_eq!((placed(), rows("placement")), (Some(newer), (1, 1)));

        let expected = Write::ExpectCursor { key: with[0].clone(), value: read(with[0]) };
        let written = Write::Cursor { key: with[0].clone(), value: vec![9] };
        store.commit_batch(vec![expected, written]).expect("a batch");
        let all = i64::try_from(with.len()).expect("small");
        assert_eq!((read(with[0]), rows("cursor")), (Some(vec![9]), (all, 1)));
        assert_eq!(damages(&store), []);

        let forget =
            Forget { sessions: vec![with[0].clone()], unread: vec![with[1].clone()], ..wish(&[], &[]) };
        store.forget(&forget).expect("a forgetting");
        assert_eq!((read(with[0]), read(with[1]), rows("cursor").0), (None, None, all - 2));
    }
}
