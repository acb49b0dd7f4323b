//! Bundles against what was forgotten: neither words of it nor what was said of it come back in one.

use stemmata_engine::{
    BundleSelection, CaptureOptions, CheckpointRequest, Engine, ForgetOptions, ForgetTarget, Update,
};
use stemmata_model::{CommitId, FormatId, Principal, SessionId, Template};
use stemmata_store::{Annotations, Page, SessionFilter};
use stemmata_testkit::claude::ClaudeSession;

use crate::bundles::{export, other, take, told};
use crate::support::{Folder, bytes_of, chain, engine, import};

const MORE: &[u8] =
    b"{\"type\":\"user\",\"uuid\":\"x\",\"message\":{\"role\":\"user\",\"content\":\"more of it\"}}\n";

fn forget(engine: &Engine, commit: CommitId) {
    let by = Principal::new("ada").expect("a name");
    let options = ForgetOptions { everywhere: true, even_pinned: true, by };
    engine.forget(&ForgetTarget::Commit(commit), &options).expect("forgotten");
}

fn titles(engine: &Engine) -> Vec<Option<String>> {
    let page = Page { skip: 0, rows_max: 100 };
    let sessions = engine.store().sessions(&SessionFilter::default(), page).expect("a read");
    sessions.into_iter().map(|one| one.title).collect()
}

/// Two engines that hold one session, of which the first forgot a commit, and the second has one turn more by now.
fn two(folder: &Folder, place: usize) -> (Engine, Engine, Vec<CommitId>, String) {
    let (one, two) = (engine(), other());
    let path = folder.write("s.jsonl", &bytes_of(&ClaudeSession::new(8).turns(5).build()));
    let captured = import(&one, &path);
    let title = captured.session.title.expect("a title");
    let ids: Vec<CommitId> =
        chain(&one, captured.session.tip.expect("a tip")).iter().map(|commit| commit.id).collect();
    take(&two, &export(&one, &BundleSelection::All, &[]).0);
    forget(&one, ids[place]);
    (one, two, ids, title)
}

#[test]
fn a_forgotten_title_does_not_come_back_in_a_bundle() {
    let folder = Folder::new();
    let (one, two, ids, title) = two(&folder, 0);
    assert_eq!(titles(&one), [None]);
    let has_title = |engine: &Engine| titles(engine).contains(&Some(title.clone()));
    assert!(has_title(&two));
    let have = one.bundle_have(&BundleSelection::All).expect("a list");
    for have in [&have[..], &[]] {
        take(&one, &export(&two, &BundleSelection::All, have).0);
        assert!(!has_title(&one), "the same session");
    }
    // A session that is ahead of ours, which another machine wrote: its row wins.
    let ahead = other();
    let path = folder.path().join("s.jsonl");
    folder.append("s.jsonl", MORE);
    import(&ahead, &path);
    for have in [&have[..], &[]] {
        take(&one, &export(&ahead, &BundleSelection::All, have).0);
        assert!(!has_title(&one), "{:?}", titles(&one));
    }
    // One whose first turn is a hole for its sender too, who kept the title.
    let third = other();
    take(&third, &export(&one, &BundleSelection::All, &[]).0);
    assert!(!has_title(&third));
    let full = CaptureOptions { full: true, ..CaptureOptions::import() };
    let again = one.capture(&path, &full).expect("read").session.title;
    assert!(again.is_some_and(|now| now != title), "one of what is left");
    take(&one, &export(&two, &BundleSelection::All, &[]).0);
    assert!(
        titles(&one).iter().any(Option::is_some) && !has_title(&one),
        "and that stays: {:?}",
        titles(&one)
    );
    one.unforget(&ids[0].to_string()).expect("taken back");
    take(&one, &export(&ahead, &BundleSelection::All, &[]).0);
    assert!(has_title(&one), "it may come back now");
}

#[test]
fn a_title_of_what_was_not_forgotten_comes_in_a_bundle() {
    let folder = Folder::new();
    let (one, _, _, title) = two(&folder, 3);
    assert_eq!(titles(&one), [Some(title.clone())]);
    let ahead = other();
    folder.append("s.jsonl", MORE);
    import(&ahead, &folder.path().join("s.jsonl"));
    take(&one, &export(&ahead, &BundleSelection::All, &[]).0);
    assert_eq!(titles(&one), [Some(title.clone()), Some(title)]);
}

#[test]
fn what_was_said_of_what_was_forgotten_does_not_come_back_in_a_bundle() {
    let folder = Folder::new();
    let (one, two, ids, _) = two(&folder, 1);
    let by = Principal::new("ann").expect("a name");
    let update = Update {
        summary: Some("what it was about".to_owned()),
        add_tags: vec!["one".to_owned()],
        notes: vec!["a note".to_owned()],
        pin: Some(true),
        ..Update::default()
    };
    two.update(ids[1], update.clone(), &by).expect("updated");
    two.update(ids[2], update, &by).expect("updated");
    let have = one.bundle_have(&BundleSelection::All).expect("a list");
    let silent = |engine: &Engine, id: CommitId| {
        assert_eq!(engine.store().annotations(id).expect("a read"), Annotations::default());
        assert_eq!(engine.store().audit(id, 100).expect("a read"), []);
    };
    for have in [&have[..], &[]] {
        take(&one, &export(&two, &BundleSelection::All, have).0);
        silent(&one, ids[1]);
        assert!(one.store().annotations(ids[2]).expect("a read").pinned, "of the others it does");
    }
    // A sender who has the hole, and said something of it since.
    forget(&two, ids[1]);
    assert!(two.store().annotations(ids[1]).expect("a read").pinned, "a hole may be pinned");
    take(&one, &export(&two, &BundleSelection::All, &[]).0);
    silent(&one, ids[1]);
    // Somebody who had all of it and forgot it, the hole that came with it too.
    let three = other();
    let whole = export(&two, &BundleSelection::All, &[]).0;
    take(&three, &whole);
    for id in ids.iter().rev() {
        forget(&three, *id);
    }
    let before = told(&three);
    take(&three, &whole);
    assert_eq!(told(&three), before);
}

/// Makes a commit of a session that a program writes.
fn made(engine: &Engine, format: &str, parent: Option<CommitId>, summary: Option<&str>) -> CommitId {
    let line =
        format!("{{\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":\"{parent:?}\"}}}}\n");
    let delta = CheckpointRequest::delta(
        line.into_bytes(),
        FormatId::new(format).expect("a name"),
        Template::new("reviewer").expect("a name"),
        SessionId::new("review-1").expect("a name"),
    );
    let principal = Some(Principal::new("iree/reviewer").expect("a name"));
    let request = CheckpointRequest { parent, principal, summary: summary.map(str::to_owned), ..delta };
    engine.checkpoint(&request).expect("a checkpoint").id
}

/// Found in review: the session of a program with a format of its own kept every bundle out, and a summary that became a title
/// was held against what the lines alone would give.
#[test]
fn the_title_of_a_session_of_a_program_comes_in_a_bundle_where_its_commit_stays() {
    for format in ["mine-v1", "claude-code-v1"] {
        let (one, two) = (engine(), other());
        let first = made(&two, format, None, Some("first words"));
        let second = made(&two, format, Some(first), None);
        // What continues it, so that something of it is there to go on from.
        let third = made(&two, format, Some(second), None);
        take(&one, &export(&two, &BundleSelection::All, &[]).0);
        assert_eq!(titles(&one), [Some("first words".to_owned())], "{format}");
        forget(&one, second);
        let fourth = made(&two, format, Some(third), Some("later words"));
        let bundle = export(&two, &BundleSelection::All, &[]).0;
        take(&one, &bundle);
        assert_eq!(titles(&one), [Some("later words".to_owned())], "{format}");
        forget(&one, fourth);
        take(&one, &bundle);
        assert!(!titles(&one).contains(&Some("later words".to_owned())), "{format}: {:?}", titles(&one));
    }
}
