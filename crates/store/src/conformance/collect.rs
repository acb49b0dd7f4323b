//! Collection: two phases, and what keeps or revives what is condemned.
//!
//! Which sessions are retired is the engine's.

use stemmata_model::{CommitId, artifact_id};

use super::Make;
use super::builders::{at, bytes_of, chain, commit, principal, put, see, sighting, write};
use super::chains::load;
use super::transactions::verify_is_clean;
use crate::error::StoreError;
use crate::maintain::collect::{Amount, Collect, Collected};
use crate::maintain::forget::{Keep, Kept};
use crate::seam::Upkeep;
use crate::write::{Annotation, ContentPart, NewContent, Write};

const GRACE: i64 = 100;

/// Collects twice: the first time only to hear what would happen, which must be what then happens.
fn collect(store: &dyn Upkeep, retired: &[CommitId], now: i64) -> Collected {
    let wish =
        Collect { retired: retired.to_vec(), now: at(now), grace_us: GRACE, expect: None, dry_run: true };
    let planned = store.collect(&wish).expect("a plan");
    let expect = Some(planned.clone());
    let done = store.collect(&Collect { expect, dry_run: false, ..wish }).expect("a collection");
    assert_eq!(
        planned,
        Collected { bytes_freed: 0, files_removed: 0, ..done.clone() },
        "the plan is what happens"
    );
    done
}

fn commits(count: u64) -> Amount {
    Amount { commits: count, ..Amount::default() }
}

/// What retention lets go is condemned, readable for the grace, and then deleted.
pub(super) fn check_collect(make: Make<'_, dyn Upkeep>) {
    let store = make();
    let ids = chain(&*store, "old", 4);
    let branch = put(&*store, Some(ids[1]), "a branch\n", 90);
    let first = collect(&*store, &ids, 1_000);
    assert_eq!((first.condemned, first.deleted), (commits(2), Amount::default()));
    let child = |place: usize| Kept { commit: ids[place], because: Keep::Child };
    assert_eq!(first.kept, [child(1), child(0)]);
    assert_eq!(store.condemned().expect("a read"), commits(2));
    assert_eq!(bytes_of(&*store, load(&*store, ids[3]).core.artifact), b"old 3\n");
    let early = collect(&*store, &ids, 1_000 + GRACE - 1);
    assert_eq!(
        (early.waiting, early.condemned, early.deleted),
        (commits(2), Amount::default(), Amount::default())
    );
    let late = collect(&*store, &ids, 1_000 + GRACE);
    assert_eq!(late.deleted, Amount { commits: 2, contents: 2, bytes: 12 });
    assert_eq!(store.commit(ids[2]).expect("a read"), None);
    assert_eq!(store.condemned().expect("a read"), Amount::default());
    assert_eq!(load(&*store, branch).depth, 2);
    verify_is_clean(&*store);
    // Nothing was forgotten: who has it may bring it again.
    assert_eq!(put(&*store, Some(ids[1]), "old 2\n", 20), ids[2]);
}

/// Whatever uses what is condemned revives it.
pub(super) fn check_revival(make: Make<'_, dyn Upkeep>) {
    let store = make();
    let roots: Vec<CommitId> =
        (0..6).map(|step| put(&*store, None, &format!("root {step}\n"), step)).collect();
    assert_eq!(collect(&*store, &roots, 1_000).condemned, commits(6));
    let change = |commit, change| Write::Annotate { commit, change, at: at(5), by: principal("ann") };
    let child = put(&*store, Some(roots[0]), "built on it\n", 50);
    write(&*store, vec![see(roots[1], sighting("s", 1))]);
    write(&*store, vec![Write::Commit(commit(None, artifact_id(b"root 2\n"), 2))]);
    write(
        &*store,
        vec![change(roots[3], Annotation::Pin), change(roots[4], Annotation::AddTag("t".to_owned()))],
    );
    assert_eq!(store.condemned().expect("a read"), commits(1), "five were used");
    let late = collect(&*store, &roots, 2_000);
    assert_eq!(late.deleted, Amount { commits: 1, contents: 1, bytes: 7 });
    assert_eq!(late.condemned, commits(2), "the two that nothing needs begin anew");
    let because: Vec<Keep> = late.kept.iter().map(|kept| kept.because).collect();
    assert_eq!(because.len(), 3);
    for reason in [Keep::Child, Keep::Pin, Keep::Tag] {
        assert!(because.contains(&reason), "{reason:?}");
    }
    assert_eq!(load(&*store, child).depth, 1);
    let spared = collect(&*store, &[], 9_000);
    assert_eq!((spared.revived, spared.deleted), (2, Amount::default()), "nobody lets go of them any more");
    verify_is_clean(&*store);
}

/// A hole needs its content's hash, and no bytes: what came back of them and nobody else needs is collected.
pub(super) fn check_orphans_of_holes(make: Make<'_, dyn Upkeep>) {
    let store = make();
    let ids = chain(&*store, "hole", 3);
    store.forget(&super::forget::wish(&[], &ids[1..2], &[])).expect("a forgetting");
    assert_eq!(collect(&*store, &[], 1_000).condemned, Amount::default(), "a hole is not garbage");
    let artifact = load(&*store, ids[1]).core.artifact;
    write(&*store, vec![Write::Content(NewContent::literal(b"hole 1\n".to_vec()))]);
    let first = collect(&*store, &[], 2_000);
    assert_eq!(first.condemned, Amount { commits: 0, contents: 1, bytes: 7 });
    let late = collect(&*store, &[], 2_000 + GRACE);
    assert_eq!(late.deleted, Amount { commits: 0, contents: 1, bytes: 7 });
    assert_eq!(store.content_length(artifact).expect("a read"), Some(7), "its length stays");
    store.read_content(artifact, None, &mut |_| Ok(())).expect_err("its bytes do not");
    verify_is_clean(&*store);
    // Nothing is counted twice, and the hole's own row goes with the hole.
    assert_eq!(collect(&*store, &[], 9_000).condemned, Amount::default());
    let tail = collect(&*store, &ids, 10_000);
    assert_eq!(tail.condemned, commits(3));
    assert_eq!(collect(&*store, &ids, 10_000 + GRACE).deleted, Amount { commits: 3, contents: 2, bytes: 14 });
    assert_eq!(store.content_length(artifact).expect("a read"), None);
    verify_is_clean(&*store);
}

/// Contents that no commit names are condemned and deleted too, unless one comes to name them.
pub(super) fn check_orphans(make: Make<'_, dyn Upkeep>) {
    let store = make();
    let literal = |text: &str| NewContent::literal(text.as_bytes().to_vec());
    let [garbage, named, part] = ["of a crashed write", "named late", "part of another"].map(literal);
    let ids = [garbage.id(), named.id(), part.id()];
    write(&*store, [garbage, named, part].map(Write::Content).to_vec());
    let kept = put(&*store, None, "kept\n", 1);
    let first = collect(&*store, &[], 1_000);
    assert_eq!(first.condemned, Amount { commits: 0, contents: 3, bytes: 18 + 10 + 15 });
    let whole = b"part of another whole";
    let parts = vec![
        ContentPart::Slice { of: ids[2], offset: 0, length: 15 },
        ContentPart::Bytes(b" whole".to_vec()),
    ];
    let batch = vec![
        Write::Content(NewContent::composed(artifact_id(whole), parts)),
        Write::Commit(commit(Some(kept), artifact_id(whole), 2)),
        Write::Commit(commit(Some(kept), ids[1], 3)),
    ];
    write(&*store, batch);
    assert_eq!(store.condemned().expect("a read").contents, 1, "two are needed now");
    let late = collect(&*store, &[], 1_000 + GRACE);
    assert_eq!(late.deleted, Amount { commits: 0, contents: 1, bytes: 18 });
    assert_eq!(store.content_length(ids[0]).expect("a read"), None);
    assert_eq!(bytes_of(&*store, artifact_id(whole)), whole);
    verify_is_clean(&*store);
}

/// Between a plan and its collection somebody else writes: nothing is condemned or deleted that nobody was shown.
pub(super) fn check_moved_collections(make: Make<'_, dyn Upkeep>) {
    let store = make();
    let ids = chain(&*store, "old", 3);
    let asked =
        Collect { retired: ids.clone(), now: at(1_000), grace_us: GRACE, expect: None, dry_run: true };
    let shown = Some(store.collect(&asked).expect("a plan"));
    put(&*store, Some(ids[2]), "somebody goes on\n", 90);
    let error =
        store.collect(&Collect { expect: shown, dry_run: false, ..asked.clone() }).expect_err("moved");
    assert!(matches!(error, StoreError::PlanMoved), "{error}");
    assert_eq!(store.condemned().expect("a read"), Amount::default());
    assert_eq!(collect(&*store, &ids, 1_000).condemned, Amount::default(), "it is needed now");
}
