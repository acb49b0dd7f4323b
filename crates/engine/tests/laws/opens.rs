//! A transcript is opened once for a capture, so that its exclusions, its rules for secrets and its commits are all of the same
//! bytes. The kernel counts: it tells of each opening by name.

use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use stemmata_engine::{CaptureOptions, CapturePolicy, Engine, FileState, Nudged};
use stemmata_model::Trigger;
use stemmata_testkit::claude::ClaudeSession;

use crate::support::{Folder, bytes_of, engine, engine_on, import, native, new_store};

/// Hears of each time that a file is opened.
struct Ear(OwnedFd);

impl Ear {
    fn at(path: &Path) -> Self {
        let ear = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).expect("an ear");
        // Reading and closing too: two openings that nothing parts are told as one.
        inotify::add_watch(&ear, path, WatchFlags::OPEN | WatchFlags::ACCESS | WatchFlags::CLOSE)
            .expect("a watch");
        Self(ear)
    }

    /// Counts the openings since the last call.
    fn opens(&self) -> usize {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(&self.0, &mut buffer);
        let mut opens = 0;
        while let Ok(event) = reader.next() {
            opens += usize::from(event.events().contains(ReadFlags::OPEN));
        }
        opens
    }
}

fn excluding(engine: Engine) -> Engine {
    let excluded = vec!["/not/here".to_owned(), "**/secret/*".to_owned()];
    engine.with_policy(CapturePolicy { excluded, ..CapturePolicy::default() })
}

/// A new transcript, one that is as it was and one that has grown: each is opened once, also where somebody excludes something.
#[test]
fn a_capture_opens_its_transcript_once() {
    for has_exclusions in [false, true] {
        let folder = Folder::new();
        let engine = if has_exclusions { excluding(engine()) } else { engine() };
        let lines = ClaudeSession::new(3).turns(3).build().lines;
        // Named like no client names it, so that the records have to say which session it is.
        let path = folder.write("mine.jsonl", (lines[..4].join("\n") + "\n").as_bytes());
        let ear = Ear::at(&path);
        let said = |what: &str| assert_eq!(ear.opens(), 1, "{what}, exclusions: {has_exclusions}");
        assert!(import(&engine, &path).new_commits > 0);
        said("new");
        assert_eq!(import(&engine, &path).new_commits, 0);
        said("unchanged");
        let surveyed = engine.survey(std::slice::from_ref(&path)).expect("surveyed");
        assert_eq!(surveyed[0].state, FileState::Unchanged);
        said("surveyed");
        folder.append("mine.jsonl", (lines[4..].join("\n") + "\n").as_bytes());
        let _opened_by_appending = ear.opens();
        let nudged = engine.nudge(&path, &CaptureOptions::live(Trigger::TurnBoundary)).expect("read");
        assert!(matches!(nudged, Nudged::Captured(captured) if captured.new_commits > 0));
        said("grown");
    }
}

/// A document is read whole for its folder and its name, and for its content: of one opening.
#[test]
fn a_capture_opens_a_document_once() {
    for has_exclusions in [false, true] {
        let folder = Folder::new();
        let engine = if has_exclusions { excluding(engine()) } else { engine() };
        let path = folder.write("chat.json", br#"[{"role":"user","content":"fix the lock"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"ls","input":{}}]}]"#);
        let ear = Ear::at(&path);
        assert!(import(&engine, &path).new_commits > 0);
        assert_eq!(ear.opens(), 1, "exclusions: {has_exclusions}");
    }
}

/// Another file takes the name as soon as the first is opened. Its project has rules of its own, which the first one's has not:
/// nothing of it may be stored by the rules of the other.
#[test]
fn a_file_that_is_replaced_meanwhile_is_not_read_by_the_rules_of_the_other() {
    let said = |cwd: &Path, text: &str| {
        let line = bytes_of(&ClaudeSession::new(5).turns(1).build());
        let first = String::from_utf8(line).expect("text").lines().next().expect("a line").to_owned();
        let mut record: serde_json::Value = serde_json::from_str(&first).expect("a record");
        record["cwd"] = cwd.display().to_string().into();
        record["type"] = "user".into();
        record["message"] = serde_json::json!({ "role": "user", "content": text });
        record.to_string() + "\n"
    };
    for _ in 0..20 {
        let (folder, store) = (Folder::new(), new_store());
        let project = folder.path().join("work");
        std::fs::create_dir_all(project.join(".stemmata")).expect("a folder");
        let rule = "[[rules]]\nkind = 'ticket'\nkeywords = ['ACME-']\nregex = 'ACME-[0-9]{6}'\n";
        folder.write("work/.stemmata/secrets.toml", rule.as_bytes());
        let engine = engine_on("m1", Arc::clone(&store) as _);
        let path = folder.write("s.jsonl", said(folder.path(), "nothing of note").as_bytes());
        let other = folder.write("other.jsonl", said(&project, "see ACME-123456").as_bytes());
        let ear = Ear::at(&path);
        let tip = std::thread::scope(|scope| {
            scope.spawn(|| {
                while ear.opens() == 0 {
                    std::thread::yield_now();
                }
                std::fs::rename(&other, &path).expect("replaced");
            });
            import(&engine, &path).session.tip.expect("a tip")
        });
        let stored = String::from_utf8(native(&engine, tip)).expect("text");
        assert!(!stored.contains("ACME-123456"), "{stored}");
        let again = import(&engine, &path).session.tip.expect("a tip");
        let stored = String::from_utf8(native(&engine, again)).expect("text");
        assert!(stored.contains("REDACTED") && !stored.contains("ACME-123456"), "{stored}");
    }
}
