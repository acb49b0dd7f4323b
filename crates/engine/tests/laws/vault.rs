//! The vault: what is stored does not depend on it, what was replaced comes back where it stood and nowhere else, and what is
//! forgotten is forgotten there too.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use stemmata_engine::{
    CaptureOptions, Engine, ErrorKind, ForgetOptions, ForgetTarget, PlaceOptions, Placed, ScrubTarget, Stop,
    StoreRules, Vault, VaultPurge, VaultStatus,
};
use stemmata_model::{CommitId, NoteCode, Principal, Trigger};
use stemmata_redact::Scrubber;
use stemmata_store::{Patience, Store};
use stemmata_testkit::claude::{ClaudeSession, Secret};
use stemmata_testkit::rng::Rng;

use crate::support::{
    Folder, answer, bytes_of, chain, engine_on, import, memory, native, new_store, placing, user, uuid,
};

/// An engine with a vault in a folder.
fn kept(store: &Arc<dyn Store>, folder: &Folder) -> Engine {
    engine_on("m1", Arc::clone(store) as _).with_vault(Vault::at(vault(folder), true))
}

fn vault(folder: &Folder) -> PathBuf {
    folder.path().join("vault")
}

fn with_secrets(folder: &Folder) -> PlaceOptions {
    PlaceOptions { with_secrets: true, ..placing(folder) }
}

fn status(engine: &Engine) -> VaultStatus {
    engine.vault_status().expect("a status").expect("a vault")
}

/// A session with other secrets in each of its prompts and answers.
fn leaky(session: &ClaudeSession, seed: u64) -> (Vec<u8>, Vec<String>) {
    let mut rng = Rng::new(seed);
    let mut secrets = Vec::new();
    let mut transcript = session.build();
    for (number, line) in transcript.lines.iter_mut().enumerate() {
        let kind = [Secret::GitHubToken, Secret::ApiKey, Secret::Assignment][number % 3];
        let (said, secret) = kind.draw(&mut rng);
        for mark in [r#""content":""#, r#""text":""#, r#""stdout":""#] {
            if line.contains(mark) {
                *line = line.replacen(mark, &format!("{mark}take {said} then "), 1);
                secrets.push(secret);
                break;
            }
        }
    }
    let bytes = bytes_of(&transcript);
    // What the rules do not find is no business of the vault.
    let clean = scrubbed(&bytes);
    secrets.retain(|secret| !holds(&clean, secret));
    (bytes, secrets)
}

/// What a scrubber makes of a whole file.
fn scrubbed(bytes: &[u8]) -> Vec<u8> {
    let scrubber = Scrubber::builtin();
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    lines.flat_map(|line| scrubber.scrub_line(line).expect("scrubbed").bytes.into_owned()).collect()
}

fn read(placed: &Placed) -> Vec<u8> {
    std::fs::read(&placed.path).expect("a file")
}

/// Returns the file as it is without what tells one placing from another.
fn nameless(placed: &Placed, bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace(placed.session.as_str(), "SESSION")
}

/// All bytes below a folder.
fn bytes_below(folder: &Path) -> Vec<u8> {
    let entries = std::fs::read_dir(folder).expect("a folder").flatten();
    entries.flat_map(|entry| std::fs::read(entry.path()).unwrap_or_default()).collect()
}

fn holds(bytes: &[u8], text: &str) -> bool {
    memchr::memmem::find(bytes, text.as_bytes()).is_some()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.div_ceil(16)))]

    /// The law of the vault: the store is the same with it and without.
    #[test]
    fn what_is_stored_does_not_depend_on_the_vault(seed in 0..10_000_u64) {
        let folder = Folder::new();
        let (bytes, _) = leaky(&ClaudeSession::new(seed).turns(3).compactions(seed % 2).rewinds(seed % 2), seed);
        let path = folder.write("s.jsonl", &bytes);
        // Cursors hold hashes that are keyed with the store's secret: these two have the same one.
        let (plain, other): (Arc<dyn Store>, Arc<dyn Store>) = (memory(), memory());
        let without = import(&engine_on("m1", Arc::clone(&plain) as _), &path);
        let with = import(&kept(&other, &folder), &path);
        prop_assert_eq!(&without.session, &with.session);
        prop_assert_eq!(without.bytes_stored, with.bytes_stored);
        let (one, two) = (engine_on("m1", plain as _), engine_on("m1", other as _));
        let tip = with.session.tip.expect("a tip");
        prop_assert_eq!(chain(&one, tip), chain(&two, tip));
        prop_assert_eq!(native(&one, tip), native(&two, tip));
        let key = &with.session.key;
        prop_assert_eq!(one.store().cursor(key).expect("a cursor"), two.store().cursor(key).expect("a cursor"));
        prop_assert_eq!(one.store().usage().expect("usage"), two.store().usage().expect("usage"));
    }

    /// Scrubbed again, what is placed with its secrets is what is placed without; and nothing of it stays replaced.
    #[test]
    fn what_was_replaced_comes_back_where_it_stood(seed in 0..10_000_u64) {
        let folder = Folder::new();
        let session = ClaudeSession::new(seed).turns(3).compactions(seed % 3).rewinds(seed % 2);
        let session = session.keep_messages(seed % 2 == 0);
        let (bytes, secrets) = leaky(&session, seed);
        let path = folder.write("s.jsonl", &bytes);
        let engine = kept(&new_store(), &folder);
        let tip = import(&engine, &path).session.tip.expect("a tip");
        let mut found = 0;
        for ctx in chain(&engine, tip).iter().map(|commit| commit.id) {
            for stop in [Stop::Compaction, Stop::Root] {
                let plain = engine.place(ctx, &PlaceOptions { stop, ..placing(&folder) }).expect("placed");
                let whole = engine.place(ctx, &PlaceOptions { stop, ..with_secrets(&folder) }).expect("placed");
                let (less, more) = (read(&plain), read(&whole));
                prop_assert!(holds(&less, "[REDACTED:") && !holds(&more, "[REDACTED:"), "{:?}", whole.notes);
                prop_assert_eq!(nameless(&plain, &less), nameless(&whole, &scrubbed(&more)));
                let told = format!("{:?}", whole.notes);
                prop_assert!(told.contains("put back "), "{}", told);
                found += secrets.iter().filter(|secret| holds(&more, secret)).count();
                prop_assert!(secrets.iter().all(|secret| !holds(&less, secret) && !told.contains(secret.as_str())));
            }
        }
        prop_assert!(found >= secrets.len().min(4), "{found} of {}", secrets.len());
    }
}

fn key(seed: u64) -> String {
    Secret::GitHubToken.draw(&mut Rng::new(seed)).0
}

/// Two closed turns and an open one, a key in each of their prompts.
fn story(keys: [&str; 3]) -> String {
    [
        user(1, None, &format!("first {}", keys[0])),
        answer(2, 1, "yes"),
        user(3, Some(2), &format!("second {} and {}", keys[1], keys[0])),
        answer(4, 3, "no"),
        user(5, Some(4), &format!("third {}", keys[2])),
    ]
    .concat()
}

#[test]
fn what_a_client_appends_to_restored_secrets_is_a_child_and_none_is_stored() {
    let (folder, store) = (Folder::new(), new_store());
    let keys = [key(1), key(2), key(3)];
    let text = story([&keys[0], &keys[1], &keys[2]]);
    let engine = kept(&store, &folder);
    let tip = import(&engine, &folder.write("s.jsonl", text.as_bytes())).session.tip.expect("a tip");
    let placed = engine.place(tip, &with_secrets(&folder)).expect("placed");
    let there = String::from_utf8(read(&placed)).expect("text");
    assert!(keys.iter().all(|key| there.contains(key)), "{there}");
    // A client goes on, and says one of them again.
    let name = placed.path.strip_prefix(folder.path()).expect("below").to_str().expect("text").to_owned();
    let more = answer(6, 5, &format!("used {}", keys[1]))
        .replace("\"sessionId\":\"s\"", &format!("\"sessionId\":\"{}\"", placed.session));
    folder.append(&name, more.as_bytes());
    let captured = import(&engine, &placed.path);
    let child = captured.session.tip.expect("a tip");
    let commit = engine.store().commit(child).expect("read").expect("there");
    assert_eq!(commit.core.parent, Some(tip), "{:?}", captured.notes);
    assert_eq!(captured.bytes_redacted, 40, "what was placed is not read again");
    for ctx in [tip, child] {
        let stored = native(&engine, ctx);
        assert!(keys.iter().all(|key| !holds(&stored, key)));
    }
    let again = engine.place(child, &with_secrets(&folder)).expect("placed");
    let there = String::from_utf8(read(&again)).expect("text");
    assert_eq!(there.matches(keys[1].as_str()).count(), 2, "{there}");
    let key = captured.session.key;
    let cursor = engine.store().cursor(&key).expect("read").expect("a cursor");
    assert!(keys.iter().all(|key| !holds(&cursor, key)));
}

#[test]
fn early_looks_and_forks_within_a_commit_have_theirs() {
    let (folder, store) = (Folder::new(), new_store());
    let keys = [key(1), key(2), key(3)];
    let engine = kept(&store, &folder);
    let mut looks = Vec::new();
    for line in story([&keys[0], &keys[1], &keys[2]]).split_inclusive('\n') {
        folder.append("s.jsonl", line.as_bytes());
        let options = CaptureOptions::live(Trigger::TurnBoundary);
        let captured = engine.capture(&folder.path().join("s.jsonl"), &options).expect("captured");
        looks.extend(captured.session.tip);
    }
    for look in &looks {
        let placed = engine.place(*look, &with_secrets(&folder)).expect("placed");
        assert!(!holds(&read(&placed), "[REDACTED:"), "{look}");
    }
    let tip = *looks.last().expect("a tip");
    for (entry, count) in [(2, 1), (4, 3)] {
        let options = PlaceOptions { at_entry: Some(uuid(entry)), ..with_secrets(&folder) };
        let placed = engine.place(tip, &options).expect("placed");
        let there = String::from_utf8(read(&placed)).expect("text");
        assert_eq!(there.matches("ghp_").count(), count, "{there}");
        assert!(!there.contains("[REDACTED:"), "{there}");
    }
}

#[test]
fn where_two_values_stood_in_the_same_content_neither_goes_back() {
    let (folder, store) = (Folder::new(), new_store());
    let engine = kept(&store, &folder);
    let (shared, one, two) = (key(1), key(2), key(3));
    let first = import(&engine, &folder.write("a.jsonl", story([&shared, &one, &shared]).as_bytes()));
    let placed = engine.place(first.session.tip.expect("a tip"), &with_secrets(&folder)).expect("placed");
    assert!(holds(&read(&placed), &one));
    let second = import(&engine, &folder.write("b.jsonl", story([&shared, &two, &shared]).as_bytes()));
    assert_eq!(first.session.tip, second.session.tip, "after replacing they are one");
    let placed = engine.place(first.session.tip.expect("a tip"), &with_secrets(&folder)).expect("placed");
    let there = String::from_utf8(read(&placed)).expect("text");
    assert!(!there.contains(&one) && !there.contains(&two), "{there}");
    assert_eq!(there.matches(shared.as_str()).count(), 3, "{there}");
    let told = format!("{:?}", placed.notes);
    assert!(
        told.contains("left 1 placeholder whose values") && told.contains("with several values"),
        "{told}"
    );
}

#[test]
fn a_translation_has_none_and_says_so() {
    let (folder, store) = (Folder::new(), new_store());
    let engine = kept(&store, &folder);
    let keys = [key(1), key(2), key(3)];
    let text = story([&keys[0], &keys[1], &keys[2]]);
    let tip = import(&engine, &folder.write("s.jsonl", text.as_bytes())).session.tip.expect("a tip");
    let options = PlaceOptions { runtime: Some("codex".to_owned()), ..with_secrets(&folder) };
    let placed = engine.place(tip, &options).expect("placed");
    let there = read(&placed);
    assert!(holds(&there, "[REDACTED:") && keys.iter().all(|key| !holds(&there, key)));
    let told = placed.notes.iter().find(|note| note.code == NoteCode::Redacted).expect("a note");
    assert!(told.message.contains("translated"), "{told}");
}

#[test]
fn its_files_are_the_owners_and_say_nothing_without_the_key() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let (folder, store) = (Folder::new(), new_store());
    let engine = kept(&store, &folder);
    let keys = [key(1), key(2), key(3)];
    let path = folder.write("s.jsonl", story([&keys[0], &keys[1], &keys[2]]).as_bytes());
    let tip = import(&engine, &path).session.tip.expect("a tip");
    let known = status(&engine);
    assert_eq!((known.keeps, known.values, known.places), (true, 3, 4), "{known:?}");
    assert_eq!(known.oldest, known.newest);
    let all = bytes_below(&vault(&folder));
    assert!(!all.is_empty() && keys.iter().all(|key| !holds(&all, key)));
    assert!(keys.iter().all(|key| !format!("{known:?} {engine}", engine = "").contains(key)));
    let mode = |path: &Path| std::fs::metadata(path).expect("there").mode() & 0o777;
    assert_eq!(mode(&vault(&folder)), 0o700);
    let files: Vec<PathBuf> =
        std::fs::read_dir(vault(&folder)).expect("a folder").flatten().map(|entry| entry.path()).collect();
    assert!(files.len() == 3 && files.iter().all(|file| mode(file) == 0o600), "{files:?}");
    // Nothing is kept twice, however often it is read.
    let full = CaptureOptions { full: true, ..CaptureOptions::import() };
    engine.capture(&path, &full).expect("captured");
    assert_eq!(status(&engine), known);
    // Another key is none.
    let key_file = files.iter().find(|file| file.to_string_lossy().contains("key-")).expect("a key");
    let mut secret = std::fs::read(key_file).expect("a key");
    secret[0] ^= 1;
    folder.write(&format!("vault/{}", key_file.file_name().expect("a name").to_string_lossy()), &secret);
    let error = engine.place(tip, &with_secrets(&folder)).expect_err("another key");
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    // What others may read is not used, and capture goes on all the same.
    std::fs::set_permissions(vault(&folder), std::fs::Permissions::from_mode(0o755)).expect("a mode");
    folder.append("s.jsonl", [answer(6, 5, "yes"), user(7, Some(6), &key(4))].concat().as_bytes());
    let captured = import(&engine, &path);
    assert_eq!(captured.bytes_redacted, 200);
    let told = captured.notes.iter().find(|note| note.code == NoteCode::Degraded).expect("a note");
    assert!(told.message.contains("open to others"), "{told}");
    std::fs::set_permissions(vault(&folder), std::fs::Permissions::from_mode(0o700)).expect("a mode");
    assert_eq!(engine.vault_purge(VaultPurge::All, None).expect("purged").places, 0, "nothing of it opened");
    assert_eq!(status(&engine).bytes, 0);
}

/// A vault whose last writing was cut off anywhere is a vault with less in it, and takes more.
#[test]
fn whatever_is_cut_off_hurts_nothing_else() {
    let (folder, store) = (Folder::new(), new_store());
    let engine = kept(&store, &folder);
    let first = folder.write("a.jsonl", story([&key(1), &key(2), &key(3)]).as_bytes());
    let tip = import(&engine, &first).session.tip.expect("a tip");
    let values = vault(&folder).join("values-00000001");
    let whole = std::fs::read(&values).expect("values");
    for length in (32..=whole.len()).step_by(7).chain([whole.len()]) {
        folder.write("vault/values-00000001", &whole[..length]);
        let placed = engine.place(tip, &with_secrets(&folder)).expect("placed");
        let is_whole = length == whole.len();
        assert_eq!(!holds(&read(&placed), "[REDACTED:"), is_whole, "{length} of {}", whole.len());
        let full = CaptureOptions { full: true, ..CaptureOptions::import() };
        engine.capture(&first, &full).expect("captured");
        assert_eq!((status(&engine).values, status(&engine).damaged), (3, 0), "cut at {length}");
    }
}

fn by() -> Principal {
    Principal::new("ada@m1").expect("a name")
}

#[test]
fn what_is_forgotten_scrubbed_or_purged_is_gone_from_it() {
    let (folder, store) = (Folder::new(), new_store());
    let engine = kept(&store, &folder);
    let one = import(&engine, &folder.write("a.jsonl", story([&key(1), &key(2), &key(3)]).as_bytes()));
    let other = story([&key(4), "ACME-123456", &key(5)]).replace("aaaaaaaa", "bbbbbbbb");
    let two = import(&engine, &folder.write("b.jsonl", other.as_bytes()));
    assert_eq!(status(&engine).values, 5);
    let generation = |name: &str| vault(&folder).join(name).exists();
    let options = ForgetOptions { everywhere: false, even_pinned: false, by: by() };
    let target = ForgetTarget::Session(one.session.key.clone());
    engine.plan_forget(&target, &options).expect("planned");
    assert_eq!(status(&engine).values, 5, "a plan changes nothing");
    engine.forget(&target, &options).expect("forgotten");
    assert_eq!(status(&engine).values, 2);
    assert!(generation("values-00000002") && generation("key-00000002"));
    assert!(!generation("values-00000001") && !generation("key-00000001"), "the old ones are gone");
    let tip = two.session.tip.expect("a tip");
    assert!(!holds(&read(&engine.place(tip, &with_secrets(&folder)).expect("placed")), "[REDACTED:"));
    // What a scrub rewrites is gone; what stays as it is keeps its own.
    let rules = "[[rules]]\nkind = 'ticket'\nkeywords = ['ACME-']\nregex = 'ACME-[0-9]{6}'\n";
    let rules = StoreRules { name: "secrets.toml".to_owned(), text: rules.to_owned() };
    let stricter = kept(&store, &folder).with_rules(rules);
    stricter.scrub(&ScrubTarget::All, &by()).expect("scrubbed");
    let session = stricter.store().session(&two.session.key).expect("read").expect("there");
    let elsewhere = PlaceOptions { config_dir: folder.path().join("other"), ..with_secrets(&folder) };
    let placed = stricter.place(session.tip.expect("a tip"), &elsewhere).expect("placed");
    let there = read(&placed);
    assert!(holds(&there, &key(5)) && holds(&there, "[REDACTED:ticket]") && !holds(&there, "ACME-"));
    // By age, and whole.
    let now = stemmata_model::Timestamp::from_micros(1_800_000_000_000_000);
    assert_eq!(stricter.vault_purge(VaultPurge::Before(now), None).expect("purged").places, 0);
    let later = stemmata_model::Timestamp::from_micros(1_800_000_000_000_001);
    assert!(stricter.vault_purge(VaultPurge::Before(later), None).expect("purged").places > 0);
    assert_eq!(status(&stricter).values, 0);
    let left: Vec<_> = std::fs::read_dir(vault(&folder)).expect("a folder").flatten().collect();
    assert_eq!(left.len(), 1, "only the lock: {left:?}");
}

/// A purge that was interrupted left files of two numbers: the newer ones count, and the older are gone with the next step.
#[test]
fn an_interrupted_purge_is_finished() {
    let (folder, store) = (Folder::new(), new_store());
    let engine = kept(&store, &folder);
    let one = import(&engine, &folder.write("a.jsonl", story([&key(1), &key(2), &key(3)]).as_bytes()));
    let other = story([&key(4), &key(6), &key(5)]).replace("aaaaaaaa", "bbbbbbbb");
    import(&engine, &folder.write("b.jsonl", other.as_bytes()));
    let old: Vec<(String, Vec<u8>)> = ["values-00000001", "key-00000001"]
        .map(|name| (name.to_owned(), std::fs::read(vault(&folder).join(name)).expect("a file")))
        .into();
    let options = ForgetOptions { everywhere: false, even_pinned: false, by: by() };
    engine.forget(&ForgetTarget::Session(one.session.key), &options).expect("forgotten");
    for (name, bytes) in &old {
        let path = folder.write(&format!("vault/{name}"), bytes);
        std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("a mode");
    }
    folder.write("vault/values-00000003.new", b"never became whole");
    folder.write("vault/key-00000003", &[7; 32]);
    assert_eq!(status(&engine).values, 3, "the newer ones count");
    let third = story([&key(7), &key(8), &key(9)]).replace("aaaaaaaa", "cccccccc");
    // A session of another name: that one was forgotten.
    let third = third.replace("\"sessionId\":\"s\"", "\"sessionId\":\"t\"");
    import(&engine, &folder.write("c.jsonl", third.as_bytes()));
    assert_eq!(status(&engine).values, 6);
    let mut names: Vec<String> = std::fs::read_dir(vault(&folder))
        .expect("a folder")
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(names, ["key-00000002", "lock", "values-00000002"]);
}

#[test]
fn without_a_vault_placing_says_that_nothing_came_back() {
    let (folder, store) = (Folder::new(), new_store());
    let engine = engine_on("m1", Arc::clone(&store) as _).with_vault(Vault::at(vault(&folder), false));
    let path = folder.write("s.jsonl", story([&key(1), &key(2), &key(3)]).as_bytes());
    let tip: CommitId = import(&engine, &path).session.tip.expect("a tip");
    assert!(!vault(&folder).exists(), "off is off");
    let placed = engine.place(tip, &with_secrets(&folder)).expect("placed");
    assert!(holds(&read(&placed), "[REDACTED:"));
    let told = placed.notes.iter().find(|note| note.code == NoteCode::Redacted).expect("a note");
    assert!(told.message.contains("secrets.vault"), "{told}");
    assert!(!vault(&folder).exists());
    // Turned on later, what is read again fills it.
    let full = CaptureOptions { full: true, ..CaptureOptions::import() };
    let later = kept(&store, &folder);
    assert_eq!(later.capture(&path, &full).expect("captured").session.tip, Some(tip));
    let elsewhere = PlaceOptions { config_dir: folder.path().join("other"), ..with_secrets(&folder) };
    let placed = later.place(tip, &elsewhere).expect("placed");
    assert!(!holds(&read(&placed), "[REDACTED:"));
}

/// Found in review: a hook waited for the vault's lock without end. What it cannot keep it does not store: nobody gives the
/// values back afterwards.
#[test]
fn a_hook_waits_for_the_vault_no_longer_than_for_the_store_and_leaves_the_session_whole() {
    let (store, folder) = (new_store(), Folder::new());
    let (first, _) = leaky(&ClaudeSession::new(3).turns(1), 3);
    let (bytes, secrets) = leaky(&ClaudeSession::new(3).turns(3), 3);
    let path = folder.write("3f9c1d20-5a5b-4c8e-9d1a-0b7e6f4a2c11.jsonl", &first);
    let command = kept(&store, &folder);
    import(&command, &path);
    let known = status(&command).places;
    folder.write("3f9c1d20-5a5b-4c8e-9d1a-0b7e6f4a2c11.jsonl", &bytes);
    let patience = Patience::together(Duration::from_millis(1));
    let hook = engine_on("m1", Arc::clone(&store) as _)
        .with_vault(Vault::at(vault(&folder), true).with_patience(patience).leaving_remains());
    let nudge = || hook.nudge(&path, &CaptureOptions::live(Trigger::TurnBoundary));
    let lock = std::fs::File::options().append(true).open(vault(&folder).join("lock")).expect("a lock");
    lock.try_lock().expect("the other process's");
    let tip =
        |engine: &Engine| engine.find_session(&path.to_string_lossy()).expect("a read").expect("known").tip;
    let before = tip(&hook);
    let refused = nudge().expect_err("held").to_string();
    assert!(refused.contains("held by another process"), "{refused}");
    lock.unlock().expect("done");
    // What an interrupted removal left is wiped by a command: it takes as long as the file is large.
    let left = vault(&folder).join("values-00000009.new");
    std::fs::File::create(&left).expect("a file");
    let refused = nudge().expect_err("unfinished").to_string();
    assert!(refused.contains("did not end") && left.exists(), "{refused}");
    assert_eq!(
        (tip(&hook), status(&command).places),
        (before, known),
        "nothing was stored without its values"
    );
    std::fs::remove_file(&left).expect("gone");
    nudge().expect("captured");
    assert!(tip(&hook) != before);
    assert!(status(&command).places > known && !secrets.is_empty(), "what came with it is kept");
}
