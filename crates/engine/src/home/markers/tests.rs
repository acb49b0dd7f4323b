//! The laws of markers: what is left is remembered until it was captured, and none keeps another waiting.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::Barrier;

use proptest::prelude::*;

use super::*;

/// Markers that one command claims.
const TAKEN_MAX: usize = 64;

fn markers() -> (tempfile::TempDir, Markers) {
    let folder = tempfile::tempdir().unwrap();
    let markers = Markers::in_run(folder.path());
    (folder, markers)
}

fn transcript(number: usize) -> PathBuf {
    PathBuf::from(format!("/t/{number}.jsonl"))
}

/// Leaves a marker as a hook does, but for the syncing.
fn put(markers: &Markers, number: usize) {
    let folder = &markers.folder;
    create_private(folder).unwrap();
    let marker = Marker { path: Some(transcript(number)), reason: "busy".to_owned(), at: 7 };
    let name = stemmata_model::artifact_id(&number.to_le_bytes()).to_string();
    let file = File::create(folder.join(format!("{name}.json"))).unwrap();
    serde_json::to_writer(file, &marker).unwrap();
}

/// What a process does, a step at a time.
#[derive(Debug, Clone)]
enum Step {
    /// A hook leaves a transcript.
    Leave(usize),
    /// A command claims what is there.
    Claim(usize),
    /// It captured what its oldest claim names.
    Done(usize),
    /// It could not capture that.
    Fail(usize),
    /// It is killed.
    Die(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0..4_usize).prop_map(Step::Leave),
        2 => (0..3_usize).prop_map(Step::Claim),
        2 => (0..3_usize).prop_map(Step::Done),
        1 => (0..3_usize).prop_map(Step::Fail),
        1 => (0..3_usize).prop_map(Step::Die),
    ]
}

/// A claim whose process is killed: its lock is gone, its file stays.
fn die(left: Left) {
    if let Some(claim) = &left.claim {
        claim.lock.unlock().unwrap();
    }
    std::mem::forget(left);
}

/// A claim, and how often its transcript had been left when it was made.
type Held = (Left, usize);

proptest! {
    // Each marker is synced.
    #![proptest_config(ProptestConfig::with_cases((ProptestConfig::default().cases * 3).div_ceil(4)))]

    /// Found in review: a marker that was written anew while a command finished the older one was deleted with it, and the
    /// last turn of the session was never stored.
    #[test]
    fn law_what_was_left_is_remembered_until_it_was_captured(steps in proptest::collection::vec(step(), 1..60)) {
        let (_folder, markers) = markers();
        let mut left: BTreeMap<PathBuf, usize> = BTreeMap::new();
        let mut stored: BTreeMap<PathBuf, usize> = BTreeMap::new();
        let mut commands: [Vec<Held>; 3] = Default::default();
        let done = |stored: &mut BTreeMap<PathBuf, usize>, (claim, seen): Held| {
            let known = stored.entry(claim.transcript.clone()).or_default();
            *known = seen.max(*known);
            claim.done();
        };
        for step in steps {
            match step {
                Step::Leave(number) => {
                    markers.leave(&transcript(number), "busy", 7).unwrap();
                    *left.entry(transcript(number)).or_default() += 1;
                }
                Step::Claim(command) => {
                    let made = markers.claims(TAKEN_MAX).map(|claim| { let seen = left[&claim.transcript]; (claim, seen) });
                    commands[command].extend(made);
                }
                Step::Done(command) if !commands[command].is_empty() => {
                    done(&mut stored, commands[command].remove(0));
                }
                Step::Fail(command) if !commands[command].is_empty() => drop(commands[command].remove(0)),
                Step::Die(command) => commands[command].drain(..).for_each(|(claim, _)| die(claim)),
                Step::Done(_) | Step::Fail(_) => {}
            }
            let owed = left.iter().filter(|(path, left)| stored.get(*path) < Some(left)).count();
            prop_assert!(markers.count() >= owed, "{} of {owed} are remembered", markers.count());
        }
        commands.iter_mut().for_each(Vec::clear);
        // Of one transcript a claim of the dead and a marker may be there: each is claimed by itself.
        for _ in 0..60 {
            for claim in markers.claims(TAKEN_MAX) {
                let seen = left[&claim.transcript];
                done(&mut stored, (claim, seen));
            }
        }
        prop_assert_eq!((stored, markers.count()), (left, 0));
    }

    /// Sixty-four markers that failed each time kept all others from being read.
    #[test]
    fn law_markers_that_always_fail_starve_no_other(
        fails in proptest::collection::vec(any::<bool>(), 1..200), left_again: bool,
    ) {
        let (_folder, markers) = markers();
        (0..fails.len()).for_each(|number| put(&markers, number));
        let mut open: Vec<PathBuf> = (0..fails.len()).filter(|number| !fails[*number]).map(transcript).collect();
        for _ in 0..fails.len().div_ceil(TAKEN_MAX) {
            for claim in markers.claims(TAKEN_MAX) {
                if let Some(at) = open.iter().position(|path| *path == claim.transcript) {
                    open.remove(at);
                    claim.done();
                }
            }
            for number in (0..fails.len()).filter(|number| left_again && fails[*number]) {
                put(&markers, number);
            }
        }
        prop_assert_eq!(open, Vec::<PathBuf>::new());
        prop_assert_eq!(markers.count(), fails.iter().filter(|fails| **fails).count());
    }
}

#[test]
fn what_is_no_marker_is_let_alone_and_one_that_names_nothing_goes() {
    let (_folder, markers) = markers();
    markers.leave(&transcript(1), "busy", 7).unwrap();
    let own = &markers.folder;
    for (name, text) in [("notes.txt", "x"), (".stemma-1-0.tmp", "x"), ("bad.json", "{"), ("none.json", "[]")]
    {
        std::fs::File::create(own.join(name)).unwrap().write_all(text.as_bytes()).unwrap();
    }
    assert_eq!(markers.count(), 3);
    let claimed: Vec<PathBuf> = markers.claims(TAKEN_MAX).map(|claim| claim.transcript.clone()).collect();
    assert_eq!((claimed, markers.count()), (vec![transcript(1)], 1), "it is there again");
    assert!(own.join("notes.txt").exists() && own.join(".stemma-1-0.tmp").exists());
}

/// Found in CI: of two commands that came at once, one answered without the session that a hook had just left.
#[test]
fn all_commands_that_come_at_once_see_what_was_left() {
    let (_folder, markers) = markers();
    for round in 0..300 {
        put(&markers, round);
        let (start, end) = (Barrier::new(4), Barrier::new(4));
        let named: Vec<Vec<PathBuf>> = std::thread::scope(|scope| {
            let commands = [(); 4].map(|()| {
                scope.spawn(|| {
                    start.wait();
                    let left: Vec<Left> = markers.claims(TAKEN_MAX).collect();
                    end.wait();
                    left.iter().map(|left| left.transcript.clone()).collect()
                })
            });
            commands.map(|command| command.join().unwrap()).into()
        });
        assert!(named.iter().all(|named| *named == [transcript(round)]), "round {round}: {named:?}");
        for left in markers.claims(TAKEN_MAX) {
            left.done();
        }
    }
}
