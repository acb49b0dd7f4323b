//! A transcript that its client compresses is the same session, wherever its bytes lie.

use std::path::PathBuf;

use stemmata_engine::{CaptureOptions, CapturePolicy, Captured, Engine, FileState, Nudged};
use stemmata_model::Trigger;
use stemmata_store::{Page, SessionFilter};

use crate::support::{Folder, engine, import, native};

const NAME: &str = "rollout-2026-01-01T00-00-00-01a1ffc3-10c3-7793-a024-3ccf54e49278";

/// A rollout of some turns; each says a secret.
fn rollout(turns: std::ops::Range<usize>) -> Vec<u8> {
    let mut lines = Vec::new();
    if turns.start == 0 {
        lines.push(
            r#"{"timestamp":"2026-01-01T00:00:00.000Z","type":"session_meta","payload":{"id":"01a1ffc3-10c3-7793-a024-3ccf54e49278","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/srv/project","originator":"codex_exec","cli_version":"0.169.0"}}"#.to_owned(),
        );
    }
    for turn in turns {
        for (role, kind, text) in [
            ("user", "input_text", format!("do {turn} with ghp_{}", "a1B2".repeat(9))),
            ("assistant", "output_text", format!("did {turn}")),
        ] {
            lines.push(format!(
                r#"{{"timestamp":"2026-01-01T00:01:{turn:02}.000Z","type":"response_item","payload":{{"type":"message","role":"{role}","content":[{{"type":"{kind}","text":"{text}"}}]}}}}"#
            ));
        }
    }
    (lines.join("\n") + "\n").into_bytes()
}

/// Turns the plain file into a compressed one, as the client does.
fn pack(folder: &Folder) -> PathBuf {
    let plain = folder.path().join(format!("{NAME}.jsonl"));
    let bytes = zstd::encode_all(std::fs::File::open(&plain).expect("a file"), 3).expect("packed");
    let packed = folder.write(&format!("{NAME}.jsonl.zst"), &bytes);
    std::fs::remove_file(plain).expect("removed");
    packed
}

/// Turns the compressed file into a plain one.
fn unpack(folder: &Folder) -> PathBuf {
    let packed = folder.path().join(format!("{NAME}.jsonl.zst"));
    let bytes = zstd::decode_all(std::fs::File::open(&packed).expect("a file")).expect("unpacked");
    std::fs::remove_file(packed).expect("removed");
    folder.write(&format!("{NAME}.jsonl"), &bytes)
}

fn sessions(engine: &Engine) -> usize {
    engine
        .store()
        .sessions(&SessionFilter::default(), Page { skip: 0, rows_max: 100 })
        .expect("sessions")
        .len()
}

fn tip(captured: &Captured) -> stemmata_model::CommitId {
    captured.session.tip.expect("a tip")
}

#[test]
fn a_session_that_is_packed_and_unpacked_stays_one() {
    let folder = Folder::new();
    let engine = engine();
    let plain = folder.write(&format!("{NAME}.jsonl"), &rollout(0..3));
    let first = import(&engine, &plain);
    for step in [pack, unpack, pack] {
        let path = step(&folder);
        let again = import(&engine, &path);
        assert_eq!((again.new_commits, tip(&again), again.notes), (0, tip(&first), vec![]), "{path:?}");
        assert_eq!((again.bytes_in, again.session.key.clone()), (first.bytes_in, first.session.key.clone()));
        assert_eq!(engine.find_session(path.to_str().expect("text")).expect("found"), Some(again.session));
    }
    // It goes on once it is unpacked, and that is what one import of the whole gives.
    let path = unpack(&folder);
    folder.append(&format!("{NAME}.jsonl"), &rollout(3..5));
    let grown = import(&engine, &path);
    assert_eq!((sessions(&engine), grown.new_commits), (1, 2));
    let whole = crate::support::engine();
    let at_once = import(&whole, &folder.write(&format!("{NAME}-copy.jsonl"), &rollout(0..5)));
    assert_eq!(tip(&grown), tip(&at_once));
}

#[test]
fn invariant_13_what_is_unpacked_is_scrubbed_as_a_file_is() {
    let folder = Folder::new();
    let plain = engine();
    let path = folder.write(&format!("{NAME}.jsonl"), &rollout(0..2));
    let as_file = import(&plain, &path);
    let packed = engine();
    let as_packed = import(&packed, &pack(&folder));
    assert!(as_packed.bytes_redacted > 0, "a token was replaced");
    assert_eq!(
        (as_packed.bytes_redacted, tip(&as_packed), as_packed.session.session.clone()),
        (as_file.bytes_redacted, tip(&as_file), as_file.session.session.clone()),
    );
    assert_eq!(native(&packed, tip(&as_packed)), native(&plain, tip(&as_file)));
}

#[test]
fn a_packed_session_that_is_as_it_was_is_not_unpacked_again() {
    let folder = Folder::new();
    let engine = engine();
    folder.write(&format!("{NAME}.jsonl"), &rollout(0..3));
    let path = pack(&folder);
    let first = import(&engine, &path);
    // Garbage of the same place and time: whoever looked inside would stumble.
    let modified = std::fs::metadata(&path).expect("there").modified().expect("a time");
    folder.write(&format!("{NAME}.jsonl.zst"), b"no frame");
    std::fs::File::options().write(true).open(&path).expect("a file").set_modified(modified).expect("set");
    let again = import(&engine, &path);
    assert_eq!((again.new_commits, tip(&again), again.bytes_in), (0, tip(&first), first.bytes_in));
    let nudged = engine.nudge(&path, &CaptureOptions::live(Trigger::TurnBoundary)).expect("a nudge");
    assert!(matches!(nudged, Nudged::Captured(_)), "{nudged:?}");
    let asked = CaptureOptions { full: true, ..CaptureOptions::import() };
    assert!(engine.capture(&path, &asked).is_err(), "asked for, it is looked at");
}

#[test]
fn folders_give_each_session_once_and_name_what_cannot_be_unpacked() {
    let folder = Folder::new();
    let engine = engine();
    folder.write(&format!("{NAME}.jsonl"), &rollout(0..2));
    let bytes = std::fs::read(pack(&folder)).expect("read");
    // The client is just unpacking: both are there, and the plain one is what counts.
    folder.write(&format!("{NAME}.jsonl"), &rollout(0..3));
    folder.write("cut.jsonl.zst", &bytes[..bytes.len() / 2]);
    folder.write("other.zst", &bytes);
    let report =
        engine.import(&[folder.path().to_owned()], &CaptureOptions::import(), 2, &|_| ()).expect("imported");
    assert_eq!(report.sessions.len(), 1, "{report:?}");
    assert_eq!(report.sessions[0].captured.session.messages, 6);
    let failed: Vec<_> = report.failures.iter().map(|failure| failure.error.to_string()).collect();
    assert!(failed.len() == 1 && failed[0].contains("cut.jsonl.zst is damaged"), "{failed:?}");
}

/// Turns a rollout into a packed one whose end is missing: only who unpacks no more than its beginning can read it.
fn cut(folder: &Folder) -> PathBuf {
    let mut bytes = rollout(0..1);
    // What does not shrink, so that the beginning is not all of the file.
    let mut noise = blake3::Hasher::new().finalize_xof();
    for _ in 0..4_000 {
        let mut said = [0; 32];
        noise.fill(&mut said);
        let said: String = said.iter().map(|byte| format!("{byte:02x}")).collect();
        bytes.extend(String::from_utf8(rollout(1..2)).expect("text").replace("did 1", &said).bytes());
    }
    let packed = zstd::encode_all(bytes.as_slice(), 3).expect("packed");
    folder.write(&format!("{NAME}.jsonl.zst"), &packed[..packed.len() / 2])
}

#[test]
fn what_a_packed_session_is_and_where_it_works_is_told_by_its_beginning() {
    let folder = Folder::new();
    let path = cut(&folder);
    let state = |engine: &Engine| engine.survey(std::slice::from_ref(&path)).expect("surveyed")[0].state;
    assert_eq!(state(&engine()), FileState::New);
    let excluded = vec!["/srv/project".to_owned()];
    let kept_out = engine().with_policy(CapturePolicy { excluded, ..CapturePolicy::default() });
    assert_eq!(state(&kept_out), FileState::HeldBack);
}

#[test]
fn a_packed_session_is_silent_by_its_file_and_not_unpacked_by_a_hook() {
    let folder = Folder::new();
    let engine = engine();
    let beside = folder.write("next.jsonl", b"");
    let path = folder.write(&format!("{NAME}.jsonl.zst"), b"no frame");
    let now = stemmata_engine::Clock::now(&crate::support::FixedClock).as_micros();
    let now = std::time::Duration::from_micros(u64::try_from(now).expect("after 1970"));
    let plain = folder.path().join(format!("{NAME}.jsonl"));
    for (age_seconds, is_silent) in [(60, false), (7_200, true)] {
        let at = std::time::UNIX_EPOCH + now - std::time::Duration::from_secs(age_seconds);
        std::fs::File::options().append(true).open(&path).expect("a file").set_modified(at).expect("a time");
        assert_eq!((engine.is_silent(&path), engine.is_silent(&plain)), (is_silent, is_silent));
    }
    assert!(engine.is_silent(&folder.path().join("gone.jsonl")), "nobody writes to what is gone");
    let live = CaptureOptions::live(Trigger::TurnBoundary);
    assert_eq!(engine.close_dead(&beside, &live).expect("looked"), 0);
}

/// The version that a survey says is not known, of a file that did not change.
fn unknown_version(engine: &Engine, path: &std::path::Path) -> Option<String> {
    let mut surveyed = engine.survey(&[path.to_owned()]).expect("surveyed");
    let file = surveyed.pop().expect("a file");
    assert_eq!(file.state, FileState::Unchanged);
    file.unknown_version
}

#[test]
fn the_version_of_what_did_not_change_is_read_again_only_where_it_was_not_known() {
    let with_mode = |mode: &str| {
        let text = String::from_utf8(rollout(0..2)).expect("text");
        let mode = format!("\"cli_version\":\"0.169.0\",\"history_mode\":\"{mode}\"");
        text.replacen("\"cli_version\":\"0.169.0\"", &mode, 1).into_bytes()
    };
    let (engine, folder) = (engine(), Folder::new());
    let path = folder.write(&format!("{NAME}.jsonl"), &with_mode("legacy"));
    import(&engine, &path);
    assert_eq!(unknown_version(&engine, &path), None);
    // As if it had not changed: what its beginning says now is not looked at.
    let modified = std::fs::metadata(&path).and_then(|file| file.modified()).expect("a time");
    let mut file = std::fs::File::options().write(true).open(&path).expect("a file");
    std::io::Write::write_all(&mut file, &with_mode("oddity")).expect("written");
    file.set_modified(modified).expect("a time");
    drop(file);
    assert_eq!(unknown_version(&engine, &path), None);
    // One that is not known is named as long as it is not, packed too.
    folder.append(&format!("{NAME}.jsonl"), &rollout(2..3));
    import(&engine, &path);
    assert!(unknown_version(&engine, &path).is_some_and(|version| version.contains("oddity")));
    let packed = pack(&folder);
    import(&engine, &packed);
    assert!(unknown_version(&engine, &packed).is_some_and(|version| version.contains("oddity")));
}
