//! Finding commits by prefix, in order, and by time.
//!
//! Filters of tips and sessions are with those.

use stemmata_model::{ArtifactId, Commit, CommitId, Timestamp};

use super::Make;
use super::builders::{at, chain, principal, put, see, session, session_id, sighting, write};
use crate::seam::{Commits, ResolveScope};
use crate::write::Write;

/// Prefixes of every length find what starts so, ascending, and nothing else.
pub(super) fn check_prefixes(make: Make<'_, dyn Commits>) {
    let store = make();
    let mut commits = chain(&*store, "turn", 40);
    commits.sort();
    let mut artifacts: Vec<ArtifactId> = commits
        .iter()
        .map(|id| store.commit(*id).expect("a read").expect("it is there").core.artifact)
        .collect();
    artifacts.sort();
    for (commit, artifact) in commits.iter().zip(&artifacts) {
        let (commit, artifact) = (commit.to_string(), artifact.to_string());
        for chars in [8, 9, 12, 17, 20, 21, 25, 30] {
            let start = &commit[..chars];
            let found = store.commits_in(start.parse().expect("a prefix"), 100).expect("a read");
            let expected = commits.iter().filter(|id| id.to_string().starts_with(start));
            assert_eq!(found, expected.copied().collect::<Vec<CommitId>>());
        }
        for chars in [8, 9, 19, 20, 21, 68] {
            let start = &artifact[..chars];
            let found = store.artifacts_in(start.parse().expect("a prefix"), 100).expect("a read");
            let expected = artifacts.iter().filter(|id| id.to_string().starts_with(start));
            assert_eq!(found, expected.copied().collect::<Vec<ArtifactId>>());
        }
    }
    let crowded = stemmata_model::CommitPrefix {
        low: CommitId::from_bytes([0; 16]),
        high: CommitId::from_bytes([255; 16]),
    };
    assert_eq!(store.commits_in(crowded, 100).expect("a read"), commits);
    assert_eq!(store.commits_in(crowded, 7).expect("a read"), commits[..7]);
}

/// A walk over the whole store meets each commit once, in the order of ids.
pub(super) fn check_walks(make: Make<'_, dyn Commits>) {
    let store = make();
    let mut expected = chain(&*store, "turn", 23);
    expected.sort();
    let mut walked: Vec<CommitId> = Vec::new();
    loop {
        let page: Vec<Commit> = store.commits_after(walked.last().copied(), 5).expect("a read");
        if page.is_empty() {
            break;
        }
        walked.extend(page.iter().map(|commit| commit.id));
    }
    assert_eq!(walked, expected);
}

/// `resolve` finds the nearest at or before, all of a tie, whatever the order of storing.
pub(super) fn check_resolve(make: Make<'_, dyn Commits>) {
    let store = make();
    let late = put(&*store, None, "late", 300);
    let early = put(&*store, None, "early", 100);
    let mut tied = [put(&*store, Some(early), "a", 200), put(&*store, Some(early), "b", 200)];
    tied.sort();
    let elsewhere = put(&*store, None, "elsewhere", 250);
    let unseen = put(&*store, None, "unseen", 299);
    let mut other = sighting("s2", 1);
    other.principal = principal("bob@box/claude-code");
    let mut twice = sighting("s1", 1);
    twice.source = None;
    let mut below = session("s1", "/srv/app/src", None);
    below.session = session_id("s1");
    let writes = vec![
        see(late, sighting("s1", 1)),
        see(late, twice),
        see(tied[0], sighting("s1", 1)),
        see(early, sighting("s1", 1)),
        see(tied[1], sighting("s1", 1)),
        see(elsewhere, other),
        Write::Session(Box::new(below)),
        Write::Session(Box::new(session("s2", "/srv/application", None))),
    ];
    write(&*store, writes);
    let ann = ResolveScope::Principal(principal("ann@box/claude-code"));
    let resolve = |scope: &ResolveScope, micros| store.resolve(scope, at(micros), 10).expect("a read");
    let s1 = ResolveScope::Session(session_id("s1"));
    let project = |path: &str| ResolveScope::Project(path.to_owned());
    for scope in [&ann, &s1, &project("/srv/app"), &project("/srv/app/src/")] {
        assert_eq!(resolve(scope, 99), [], "before the first");
        assert_eq!(resolve(scope, 100), [early]);
        assert_eq!(resolve(scope, 199), [early]);
        assert_eq!(resolve(scope, 200), tied);
        assert_eq!(resolve(scope, 299), tied, "other sessions and unseen commits are not looked at");
        assert_eq!(resolve(scope, i64::MAX), [late], "one commit with two sightings is one candidate");
    }
    assert_eq!(store.resolve(&ann, at(250), 1).expect("a read"), tied[..1]);
    assert_eq!(resolve(&project("/srv"), 250), [elsewhere]);
    assert_eq!(resolve(&project("/srv/app/src/deep"), 250), []);
    assert_eq!(resolve(&ResolveScope::Session(session_id("s9")), 250), []);
    assert_eq!(resolve(&ResolveScope::Principal(principal("eve")), 250), []);
    assert_eq!(store.commit(unseen).expect("a read").map(|commit| commit.id), Some(unseen));

    let between = put(&*store, None, "between", 150);
    write(&*store, vec![see(between, sighting("s1", 9))]);
    assert_eq!(resolve(&ann, 199), [between], "an insert out of order is found");
    assert_eq!(Timestamp::EPOCH, at(0));
}
