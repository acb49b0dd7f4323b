//! The decision by itself, and what happens without the `git` program.

use proptest::prelude::*;
use stemmata_model::Timestamp;
use stemmata_store::MARKS_MAX;

use super::plan::{PLACES_MAX, place_mark, remote_mark, root_commit_mark, stored_mark};
use super::*;

/// Makes a ledger of a project at a folder.
pub(super) fn ledger(name: &str, marks: &[String], root: &str) -> Ledger {
    Ledger {
        id: LedgerId::new(name).expect("a name"),
        created_at: Timestamp::from_micros(1),
        last: 0,
        last_at: None,
        root: Some(root.to_owned()),
        compacted_at: None,
        epoch: 0,
        marks: marks.to_vec(),
    }
}

/// What a world of few names may look like: each kind of mark is one ledger's at most.
fn world() -> impl Strategy<Value = (Facts, Candidates)> {
    let holder = || prop::option::of(0..3usize);
    let flags = (any::<[bool; 6]>(), holder(), holder(), holder(), holder(), any::<[bool; 3]>());
    flags.prop_map(|(has, remote, root_commit, stored, place, others)| {
        let facts = Facts {
            remote: has[0].then(|| "h/a".to_owned()),
            root_commit: has[1].then(|| "c".to_owned()),
            stored: has[2].then(|| "s".to_owned()),
            may_store: has[3],
            place: Some(place_mark("m", "/here")),
            home: "/here".to_owned(),
            is_blind: has[4],
            shares_history: has[5],
        };
        let named = [
            (remote, remote_mark("h/a")),
            (root_commit, root_commit_mark("c")),
            (stored, stored_mark("s")),
            (place, place_mark("m", "/here")),
        ];
        let ledgers: Vec<Ledger> = (0..3)
            .map(|number| {
                let mine = named.iter().filter(|(holder, _)| *holder == Some(number));
                let mut marks: Vec<String> = mine.map(|(_, mark)| mark.clone()).collect();
                // Something that this folder is not known by.
                let is_fork = root_commit.is_some_and(|holder| holder != number) && others[number];
                marks.extend(is_fork.then(|| format!("fork:l{number}:c")));
                marks.extend(others[number].then(|| remote_mark(&format!("h/other{number}"))));
                ledger(&format!("l{number}"), &marks, "/here")
            })
            .collect();
        let get = |holder: Option<usize>, is_found: bool| {
            holder.filter(|_| is_found).map(|number| ledgers[number].clone())
        };
        let candidates = Candidates {
            remote: get(remote, has[0]),
            root_commit: get(root_commit, has[1]),
            stored: get(stored, has[2]),
            place: get(place, true),
        };
        (facts, candidates)
    })
}

/// Returns the world after a plan was carried out.
fn after(facts: &Facts, candidates: &Candidates, plan: &Plan) -> Candidates {
    let id = match &plan.choice {
        Choice::Known(id) => id.clone(),
        Choice::New(mark) => new_id(mark),
        Choice::NewHere => LedgerId::new("here").expect("a name"),
        Choice::Store => unreachable!("nothing to carry out"),
    };
    let all = [&candidates.remote, &candidates.root_commit, &candidates.stored, &candidates.place];
    let known = all.into_iter().flatten().find(|ledger| ledger.id == id);
    let mut chosen = known.cloned().unwrap_or_else(|| ledger(id.as_str(), &[], "/here"));
    chosen.marks.extend(plan.marks.iter().cloned());
    let with = |by: &Option<Ledger>, mark: Option<String>| match by {
        Some(other) if other.id != chosen.id => Some(other.clone()),
        _ => mark.filter(|mark| chosen.marks.contains(mark)).map(|_| chosen.clone()),
    };
    Candidates {
        remote: with(&candidates.remote, facts.remote.as_deref().map(remote_mark)),
        root_commit: with(&candidates.root_commit, facts.root_commit.as_deref().map(root_commit_mark)),
        stored: with(&candidates.stored, facts.stored.as_deref().map(stored_mark)),
        place: with(&candidates.place, facts.place.clone()),
    }
}

proptest! {
    #[test]
    fn a_decision_is_kept_when_it_is_made_again((facts, candidates) in world()) {
        let first = plan(&facts, &candidates);
        if first.choice == Choice::Store {
            prop_assert!(facts.may_store && facts.stored.is_none(), "{first:?}");
            return Ok(());
        }
        let world = after(&facts, &candidates, &first);
        let second = plan(&facts, &world);
        let id = match first.choice {
            Choice::Known(id) => id,
            Choice::New(mark) => new_id(&mark),
            _ => LedgerId::new("here").expect("a name"),
        };
        prop_assert_eq!(&second.choice, &Choice::Known(id), "{:?}", world);
        prop_assert_eq!(second.marks, Vec::<String>::new());
        prop_assert_eq!(second.notes, vec![]);
    }

    #[test]
    fn no_mark_of_another_ledger_is_asked_for((facts, candidates) in world()) {
        let plan = plan(&facts, &candidates);
        let all = [&candidates.remote, &candidates.root_commit, &candidates.stored, &candidates.place];
        for other in all.into_iter().flatten() {
            let taken = plan.marks.iter().any(|mark| other.marks.contains(mark));
            prop_assert!(!taken, "{plan:?}");
        }
        // A remote that is known decides, whatever else says.
        if let Some(ledger) = &candidates.remote {
            prop_assert_eq!(plan.choice, Choice::Known(ledger.id.clone()));
        }
    }
}

#[test]
fn places_are_remembered_up_to_a_bound() {
    let places = |count: usize| -> Vec<String> {
        (0..count).map(|number| place_mark("m", &format!("/{number}"))).collect()
    };
    let marks = places(PLACES_MAX);
    let mut own = ledger("l", &marks, "/0");
    own.marks.push(remote_mark("h/a"));
    let facts = Facts {
        remote: Some("h/a".to_owned()),
        place: Some(place_mark("m", "/new")),
        home: "/new".to_owned(),
        ..Facts::default()
    };
    let candidates = Candidates { remote: Some(own), ..Candidates::default() };
    let made = plan(&facts, &candidates);
    assert_eq!((made.marks, made.let_go), (vec![place_mark("m", "/new")], 1), "the newest counts");
}

proptest! {
    /// However much a ledger remembers, what a folder is known by now finds room, and bounds hold.
    #[test]
    fn what_is_newest_finds_room(places in 0..=PLACES_MAX, others in 0..=MARKS_MAX - PLACES_MAX, is_new in any::<bool>()) {
        let mut marks: Vec<String> = (0..places).map(|number| place_mark("m", &format!("/{number}"))).collect();
        marks.extend((0..others).map(|number| format!("apart:l:{number}")));
        let own = ledger("l", &marks, "/0");
        let facts = Facts {
            remote: Some("h/a".to_owned()),
            root_commit: is_new.then(|| "c".to_owned()),
            place: Some(place_mark("m", "/new")),
            home: "/new".to_owned(),
            ..Facts::default()
        };
        let made = plan(&facts, &Candidates { remote: Some(own), ..Candidates::default() });
        prop_assert!(made.let_go <= places);
        prop_assert!(marks.len() - made.let_go + made.marks.len() <= MARKS_MAX);
        prop_assert!(places - made.let_go < PLACES_MAX);
        prop_assert_eq!(made.marks.last(), facts.place.as_ref());
    }
}

#[test]
fn without_git_a_repository_is_known_by_its_remote_else_by_an_id_of_its_own() {
    let home = tempfile::tempdir().expect("a folder");
    let git = home.path().join(".git");
    for name in ["objects", "refs"] {
        std::fs::create_dir_all(git.join(name)).expect("made");
    }
    std::fs::File::create(git.join("HEAD")).expect("made");
    let mut found = find(home.path(), "/nowhere/git").expect("found");
    found.ask_root_commit();
    assert_eq!((found.root_commit.as_deref(), found.is_blind, found.notes.len()), (None, true, 1));
    assert!(found.notes[0].message.contains("git did not answer"), "{:?}", found.notes);
    found.store("00000000-0000-4000-8000-000000000000").expect("stored");
    found.store("ffffffff-0000-4000-8000-000000000000").expect("the first one counts");
    assert_eq!(found.stored, Stored::Id("00000000-0000-4000-8000-000000000000".to_owned()));
    assert_eq!(find(home.path(), "git").expect("found").stored, found.stored);
}
