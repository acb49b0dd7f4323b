//! Sessions of agents that nothing is placed for are read, and go on in a client.

use stemmata_engine::{CaptureOptions, PlaceOptions};

use crate::support::{Folder, corpus, engine, placing};

#[test]
fn corpus_sessions_of_other_agents_go_on_in_claude_code() {
    let Some(corpus) = corpus("corpus_sessions_of_other_agents_go_on_in_claude_code") else { return };
    for (runtime, wanted) in [("openhands", 1), ("swe-agent", 6), ("aider", 1)] {
        let (engine, folder) = (engine(), Folder::new());
        let folders = [corpus.join(runtime)];
        let report = engine.import(&folders, &CaptureOptions::import(), 2, &|_| ()).expect("imported");
        assert!(report.failures.is_empty(), "{runtime}: {:?}", report.failures);
        assert_eq!(report.sessions.len(), wanted, "{runtime}: {:?}", report.skipped);
        for known in &report.sessions {
            let session = &known.captured.session;
            assert!(session.format.as_str().starts_with(runtime), "{}", session.format);
            let again = engine.capture(&known.path, &CaptureOptions::import()).expect("read again");
            assert_eq!((again.new_commits, again.session.tip), (0, session.tip));
            let options = PlaceOptions { runtime: Some("claude-code".to_owned()), ..placing(&folder) };
            // What the client's loader would not take whole is refused.
            let placed = engine.place(session.tip.expect("a tip"), &options).expect("placed");
            assert_eq!(placed.format.as_str(), "claude-code-v1");
            // Calls that had no result are closed, and neighbours may become one message.
            let (sent, said) = (placed.messages, session.messages);
            assert!(sent * 10 >= said * 8, "{sent} of {said} messages");
            let losses = placed.losses.expect("a translation");
            println!(
                "{}: {} entries, {} messages, {} notes; in Claude Code {} messages, {} losses",
                known.path.display(),
                known.captured.entries,
                session.messages,
                known.captured.notes.len(),
                placed.messages,
                losses.entries.len()
            );
        }
    }
}
