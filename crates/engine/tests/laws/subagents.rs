//! Subagents are chains of their own, linked to the entry that started them.

use stemmata_engine::CaptureOptions;
use stemmata_store::LinkKind;
use stemmata_testkit::claude::ClaudeSession;

use crate::support::{Folder, chain, corpus, engine};

#[test]
fn a_subagent_is_linked_to_the_entry_that_names_it() {
    let folder = Folder::new();
    let engine = engine();
    let session = ClaudeSession::new(17).turns(4).subagents(2).build();
    assert!(!session.subagents.is_empty());
    let write = |name: &str, lines: &[String]| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        folder.write(name, (lines.join("\n") + "\n").as_bytes());
    };
    write(&format!("{}.jsonl", session.session_id), &session.lines);
    for side in &session.subagents {
        write(&side.path, &side.lines);
    }
    let report =
        engine.import(&[folder.path().to_owned()], &CaptureOptions::import(), 2, &|_| ()).expect("imported");
    assert!(report.failures.is_empty(), "{:?}", report.failures);
    let main = report
        .sessions
        .iter()
        .find(|known| known.captured.session.parent_session.is_none())
        .expect("a session");
    let commits = chain(&engine, main.captured.session.tip.expect("a tip"));
    let mut linked = 0;
    for side in report.sessions.iter().filter(|known| known.captured.session.parent_session.is_some()) {
        let root = chain(&engine, side.captured.session.tip.expect("a tip"))[0].id;
        let links = engine.store().links(root, 10).expect("links");
        let link = links.first().expect("a link");
        assert_eq!((link.kind, link.from), (LinkKind::Subagent, root));
        assert!(commits.iter().any(|commit| commit.id == link.to), "it points into its parent's chain");
        assert!(link.entry.is_some(), "it names the entry");
        assert_eq!(side.captured.session.template.as_str(), "claude-code/subagent");
        linked += 1;
    }
    assert_eq!(linked, session.subagents.len());
}

#[test]
fn corpus_subagents_are_chains_of_their_own() {
    let Some(corpus) = corpus("corpus_subagents_are_chains_of_their_own") else { return };
    let engine = engine();
    let folder = corpus.join("claude-code/spotter");
    let report = engine.import(&[folder], &CaptureOptions::import(), 2, &|_| ()).expect("imported");
    let mut linked = 0;
    let mut subagents = 0;
    for known in &report.sessions {
        if known.captured.session.parent_session.is_some() {
            subagents += 1;
            let root = chain(&engine, known.captured.session.tip.expect("a tip"))[0].id;
            linked += engine.store().links(root, 10).expect("links").len();
        }
    }
    println!("{subagents} subagents, {linked} linked to a parent that is in the corpus too");
    assert!(subagents >= 7 && linked >= 2, "{subagents} subagents, {linked} links");
}
