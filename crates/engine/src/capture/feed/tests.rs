//! A session that was stored under the shipped rules before goes on where it was.

use std::path::Path;
use std::sync::Arc;

use stemmata_model::{CommitId, MachineId, Trigger};
use stemmata_store::StoreIdentity;
use stemmata_testkit::claude::ClaudeSession;
use stemmata_testkit::memory::MemoryStore;

use crate::capture::options::CaptureOptions;
use crate::capture::survey::FileState;
use crate::chain::walk::Walk;
use crate::ports::{RandomIds, SystemClock};
use crate::scrubbing::Scrubbing;
use crate::{Engine, Identity};

/// A transcript in which each prompt says a secret that only the newer rules find.
fn transcript(turns: u64) -> Vec<String> {
    let written = ClaudeSession::new(7).turns(turns).build();
    let with_secret = |line: &str| {
        let mut record: serde_json::Value = serde_json::from_str(line).unwrap();
        if record["type"] == "user" && record["message"]["content"].is_string() {
            record["message"]["content"] = "The password is Hunter2x9, please".into();
        }
        format!("{record}\n")
    };
    written.lines.iter().map(|line| with_secret(line)).collect()
}

fn chain(engine: &Engine, tip: CommitId) -> Vec<CommitId> {
    let mut walk = Walk::new(engine.store(), Some(tip));
    std::iter::from_fn(|| walk.next().unwrap().map(|commit| commit.id)).collect()
}

fn write(path: &Path, lines: &[String]) {
    use std::io::Write as _;
    let mut file = std::fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
    file.write_all(lines.concat().as_bytes()).unwrap();
}

/// Its ids stay, whatever it is read again for; what comes later is looked at by the rules of today.
#[test]
fn a_session_keeps_what_the_rules_before_made_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let identity = Identity {
        machine: MachineId::new("kiln").unwrap(),
        machine_label: "kiln".to_owned(),
        user: "ada".to_owned(),
        former: Vec::new(),
    };
    let store = Arc::new(MemoryStore::new(StoreIdentity { store_id: [1; 16], secret: [2; 32] }));
    let new = Engine::over(store, Arc::new(SystemClock), Arc::new(RandomIds), identity);
    let earlier = Engine { scrubbing: Arc::new(Scrubbing::of_earlier_rules()), ..new.clone() };
    let path = folder.path().join("a.jsonl");
    let lines = transcript(4);
    let half = lines.len() / 2;
    write(&path, &lines[..half]);
    let before = earlier.capture(&path, &CaptureOptions::import()).unwrap().session;
    let state = |path: &Path| {
        new.survey(&[path.to_owned()]).unwrap().into_iter().map(|file| file.state).collect::<Vec<_>>()
    };
    assert_eq!(state(&path), [FileState::Unchanged], "a survey says what an import would find");
    let unchanged = new.capture(&path, &CaptureOptions::import()).unwrap();
    assert_eq!((unchanged.new_commits, unchanged.session.tip), (0, before.tip));
    write(&path, &lines[half..]);
    let live = new.capture(&path, &CaptureOptions::live(Trigger::SessionEnd)).unwrap();
    let after = live.session.tip.unwrap();
    let old = chain(&earlier, before.tip.unwrap());
    assert!(chain(&new, after).contains(&old[1]), "the closed part is the parent of what is new");
    assert!(live.notes.is_empty(), "{:?}", live.notes);
    let found: u64 = live.redacted.iter().map(|(_, count)| count).sum();
    assert!(found > 0, "what is new is looked at by the newer rules");

    // Again from its start, and as a copy with another inode: nothing new.
    let full = CaptureOptions { full: true, ..CaptureOptions::import() };
    let again = new.capture(&path, &full).unwrap();
    assert_eq!((again.new_commits, again.session.tip), (0, Some(after)), "{:?}", again.notes);
    std::fs::copy(&path, folder.path().join("copy")).unwrap();
    std::fs::rename(folder.path().join("copy"), &path).unwrap();
    let moved = new.capture(&path, &CaptureOptions::import()).unwrap();
    assert_eq!((moved.new_commits, moved.session.tip), (0, Some(after)), "{:?}", moved.notes);

    // What stands in its place and begins otherwise is looked at by the newer rules from its start.
    std::fs::remove_file(&path).unwrap();
    write(&path, &lines[1..]);
    let other = new.capture(&path, &CaptureOptions::import()).unwrap();
    assert_ne!(other.session.tip, Some(after));
    assert!(other.bytes_redacted > live.bytes_redacted);
}
