//! Sightings and sessions: sets, upserts, filters and orders.
//!
//! Finding commits through them by time is in `lookups`.

use stemmata_model::{FormatId, Granularity, Reason, Sighting, TicketId, Trigger};

use super::Make;
use super::builders::{
    ALL, at, chain, commit, key, machine, principal, put, see, session, session_id, sighting, write,
};
use crate::filters::{SessionFilter, TipFilter};
use crate::seam::{Commits, IdPart};
use crate::seam::{Page, ResolveScope};
use crate::write::{NewContent, Placement, SIDECAR_FORMAT, Session, SessionOrigin, Write};

/// Sightings are a set; the first in time is the first in the list, whatever the order of storing.
pub(super) fn check_sightings(make: Make<'_, dyn Commits>) {
    let first = sighting("s1", 10);
    let mut second_machine = sighting("s1", 10);
    second_machine.machine = machine("m2");
    let mut without_source = sighting("s2", 20);
    without_source.source = None;
    without_source.trigger = Trigger::Explicit;
    without_source.reasons = Reason::ALL.into_iter().collect();
    let mut on_ticket = sighting("s1", 30);
    on_ticket.ticket = TicketId::new("T-1").ok();
    let expected: Vec<Sighting> = vec![first.clone(), second_machine, without_source, on_ticket];
    let mut later = first;
    later.observed_at = at(99);
    later.trigger = Trigger::SessionEnd;
    later.reasons = [Reason::Emergency].into_iter().collect();
    let mut given = expected.clone();
    given.push(later);
    for turn in 0..given.len() {
        let store = make();
        let id = put(&*store, None, "seen", 1);
        given.rotate_left(1);
        for sighting in &given {
            write(&*store, vec![see(id, sighting.clone())]);
        }
        assert_eq!(store.sightings(id, 100).expect("a read"), expected, "turn {turn}");
        assert_eq!(store.sightings(id, 2).expect("a read"), expected[..2]);
    }
}

/// A session is replaced whole.
pub(super) fn check_sessions(make: Make<'_, dyn Commits>) {
    let store = make();
    assert_eq!(store.session(&key("s1")).expect("a read"), None);
    let tip = put(&*store, None, "tip", 1);
    let bare = Session {
        parent_session: Some(session_id("parent")),
        origin: SessionOrigin::Placed(tip),
        granularity: Granularity::Message,
        title: None,
        cwd: None,
        git_branch: None,
        version: None,
        started_at: None,
        last_at: None,
        tip: Some(tip),
        commits: u64::from(u32::MAX),
        ..session("s1", "", None)
    };
    let mut other = session("s1", "/w", Some(7));
    other.granularity = Granularity::Turn;
    other.origin = SessionOrigin::Api;
    other.principal = principal("bob");
    for listed in [session("s1", "/w", Some(4)), bare, other] {
        write(&*store, vec![Write::Session(Box::new(listed.clone()))]);
        assert_eq!(store.session(&key("s1")).expect("a read"), Some(listed.clone()));
        assert_eq!(store.sessions(&SessionFilter::default(), ALL).expect("a read"), [listed]);
    }
}

/// A session that is left goes with its cursor, its placement and what was seen there, and no commit and no other session does.
pub(super) fn check_left_sessions(make: Make<'_, dyn Commits>) {
    let store = make();
    let tip = put(&*store, None, "tip", 1);
    let both = ["s1", "s2"];
    for name in both {
        let placement = Placement {
            machine: key(name).machine,
            path: key(name).path,
            session: session_id(name),
            ctx: tip,
            taken_bytes: 1,
            placed_bytes: 1,
            keyed_hash: [7; 32],
            placed_at: at(5),
        };
        write(
            &*store,
            vec![
                see(tip, sighting(name, 1)),
                Write::Session(Box::new(session(name, "/w", Some(4)))),
                Write::Cursor { key: key(name), value: vec![1] },
                Write::Placement(Box::new(placement)),
            ],
        );
    }
    for _ in 0..2 {
        write(&*store, vec![Write::Leave(key("s1"))]);
        let known = both.map(|name| {
            let placement = store.placement(&key(name).machine, &key(name).path).expect("a read");
            let cursor = store.cursor(&key(name)).expect("a read");
            (store.session(&key(name)).expect("a read").is_some(), cursor.is_some(), placement.is_some())
        });
        assert_eq!(known, [(false, false, false), (true, true, true)]);
        assert_eq!(store.session_ids(IdPart::Beginning("s"), 9).expect("a read"), [(session_id("s2"), 1)]);
        assert_eq!(store.sightings(tip, 9).expect("a read"), [sighting("s2", 1)]);
        // It may come back.
        write(&*store, vec![see(tip, sighting("s2", 1)), see(tip, sighting("s3", 2))]);
        assert_eq!(store.sightings(tip, 9).expect("a read"), [sighting("s2", 1), sighting("s3", 2)]);
        write(&*store, vec![Write::Leave(key("s3"))]);
    }
}

/// A sidecar is in no list and no count unless it is asked for, and no part of its id and no time finds it; its key and its
/// whole id do.
pub(super) fn check_sidecars(make: Make<'_, dyn Commits>) {
    let store = make();
    let format = FormatId::new(SIDECAR_FORMAT).expect("a short name");
    let tip = put(&*store, None, "tip", 9);
    let content = NewContent::literal(b"spilled\n".to_vec());
    let mut file = commit(None, content.id(), 0);
    file.core.format = format.clone();
    let own = file.core.id();
    let sidecar = Session {
        parent_session: Some(session_id("s1")),
        format,
        tip: Some(own),
        ..session("s1-file", "/w", None)
    };
    let batch = vec![
        Write::Content(content),
        Write::Commit(file),
        see(tip, sighting("s1", 1)),
        see(own, sighting("s1-file", 1)),
        Write::Session(Box::new(session("s1", "/w", Some(4)))),
        Write::Session(Box::new(sidecar.clone())),
    ];
    write(&*store, batch);
    assert!(sidecar.is_sidecar());
    let list = |with_sidecars| {
        let filter = SessionFilter {
            project: Some("/w".to_owned()),
            session_prefix: Some("s1".to_owned()),
            with_sidecars,
            ..SessionFilter::default()
        };
        store.sessions(&filter, ALL).expect("a read").len()
    };
    assert_eq!((list(false), list(true)), (1, 2));
    let of = |parent: &str, with_sidecars| {
        let parent = Some(session_id(parent));
        store.sessions(&SessionFilter { parent, with_sidecars, ..SessionFilter::default() }, ALL)
    };
    assert_eq!(of("s1", true).expect("a read"), std::slice::from_ref(&sidecar));
    assert_eq!(of("s1", false).expect("a read"), []);
    assert_eq!(of("s2", true).expect("a read"), []);
    let usage = store.usage().expect("a read");
    assert_eq!((usage.sessions, usage.commits, usage.sidecars), (1, 2, 1));
    assert_eq!((usage.sidecar_commits, usage.sidecar_bytes), (1, 8));
    for part in [IdPart::Beginning("s1"), IdPart::End("file")] {
        let found = store.session_ids(part, 9).expect("a read");
        assert!(found.iter().all(|(id, _)| *id == session_id("s1")), "{found:?}");
    }
    assert_eq!(store.session(&key("s1-file")).expect("a read"), Some(sidecar.clone()));
    assert_eq!(store.sessions_of(&session_id("s1-file"), 9).expect("a read"), [sidecar]);
    let tips = store.tips(&TipFilter::default(), ALL).expect("a read");
    assert_eq!(tips.iter().map(|commit| commit.id).collect::<Vec<_>>(), [tip]);
    let resolved = store.resolve(&ResolveScope::Project("/w".to_owned()), at(8), 9).expect("a read");
    assert_eq!(resolved, [], "nothing was said by then");
}

/// Sessions are listed by latest activity, by project and by prefix, in pages.
pub(super) fn check_session_listings(make: Make<'_, dyn Commits>) {
    let store = make();
    chain(&*store, "turn", 2);
    let mut subagent = session("sub", "/srv/app", Some(25));
    subagent.parent_session = Some(session_id("aa"));
    let mut nowhere = session("nowhere", "", None);
    nowhere.cwd = None;
    let listed = vec![
        session("aa", "/srv/app", Some(10)),
        session("ab", "/srv/app/src", Some(30)),
        session("b%", "/srv/app_2", Some(20)),
        session("bb", "/srv", None),
        session("cc", r"C:\work\app", Some(5)),
        nowhere,
        subagent,
    ];
    let batch = listed.into_iter().map(|session| Write::Session(Box::new(session))).collect();
    write(&*store, batch);
    let list = |project: Option<&str>, prefix: Option<&str>, main_only| {
        let filter = SessionFilter {
            project: project.map(str::to_owned),
            session_prefix: prefix.map(str::to_owned),
            main_only,
            ..SessionFilter::default()
        };
        let found = store.sessions(&filter, ALL).expect("a read");
        found.into_iter().map(|session| session.session.to_string()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(list(None, None, false), "ab sub b% aa cc bb nowhere");
    assert_eq!(list(None, None, true), "ab b% aa cc bb nowhere");
    assert_eq!(list(Some("/srv/app"), None, false), "ab sub aa");
    assert_eq!(list(Some("/srv/app/"), None, true), "ab aa");
    assert_eq!(list(Some("/srv/app/sr"), None, false), "");
    assert_eq!(list(Some("/"), None, true), "ab b% aa bb");
    assert_eq!(list(Some(r"C:\work"), None, true), "cc");
    assert_eq!(list(Some(r"C:\wor"), None, true), "");
    assert_eq!(list(None, Some("a"), false), "ab aa");
    assert_eq!(list(None, Some("b%"), false), "b%", "a prefix is text, not a pattern");
    assert_eq!(list(Some("/srv/app"), Some("ab"), true), "ab");
    let page = |skip, rows_max| {
        let page = Page { skip, rows_max };
        let found = store.sessions(&SessionFilter::default(), page).expect("a read");
        found.into_iter().map(|session| session.session.to_string()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(page(0, 2), "ab sub");
    assert_eq!(page(2, 2), "b% aa");
    assert_eq!(page(4, 9), "cc bb nowhere");
    assert_eq!(page(u64::MAX, 9), "");
    write(&*store, vec![Write::Session(Box::new(session("aa", "/elsewhere", Some(99))))]);
    assert_eq!(list(None, None, true), "aa ab b% cc bb nowhere");
    assert_eq!(list(Some("/srv/app"), None, true), "ab");
}

/// Sessions are found by both ends of their ids, and unused ones by what they were placed from.
pub(super) fn check_session_names(make: Make<'_, dyn Commits>) {
    let store = make();
    let (tip, child) = (put(&*store, None, "tip", 1), put(&*store, None, "child", 2));
    let mut copy = Session { key: key("copy"), ..session("0199-aaaa-1é7z", "/srv", Some(9)) };
    copy.origin = SessionOrigin::Placed(tip);
    copy.tip = Some(tip);
    let used = Session { tip: Some(child), key: key("used"), ..copy.clone() };
    let listed = vec![
        session("0199-aaaa-1é7z", "/srv", Some(1)),
        session("0199-bbbb-2é7z", "/srv", Some(2)),
        session("7z", "/srv", Some(3)),
        copy.clone(),
        used,
    ];
    let batch = listed.into_iter().map(|session| Write::Session(Box::new(session))).collect();
    write(&*store, batch);
    let ids = |part| {
        let found = store.session_ids(part, 10).expect("a read");
        found.into_iter().map(|(id, count)| format!("{id} {count}")).collect::<Vec<_>>().join(", ")
    };
    assert_eq!(ids(IdPart::Beginning("0199-")), "0199-aaaa-1é7z 3, 0199-bbbb-2é7z 1");
    assert_eq!(ids(IdPart::Beginning("7z")), "7z 1");
    assert_eq!(ids(IdPart::Beginning("0199_")), "", "a beginning is text, not a pattern");
    assert_eq!(ids(IdPart::End("1é7z")), "0199-aaaa-1é7z 3");
    assert_eq!(ids(IdPart::End("-2é7z")), "0199-bbbb-2é7z 1");
    assert_eq!(ids(IdPart::End("é7z")), "", "three characters are too few");
    assert_eq!(ids(IdPart::End("%é7z")), "");
    assert_eq!(store.session_ids(IdPart::Beginning(""), 1).expect("a read").len(), 1);
    let of = |name: &str, limit| {
        let found = store.sessions_of(&session_id(name), limit).expect("a read");
        found.into_iter().map(|session| session.last_at).collect::<Vec<_>>()
    };
    assert_eq!(of("0199-aaaa-1é7z", 10), [Some(at(9)), Some(at(9)), Some(at(1))]);
    assert_eq!(of("0199-aaaa-1é7z", 1), [Some(at(9))]);
    assert_eq!(of("0199-aaaa", 10), []);
    assert_eq!(store.unused_sessions(10).expect("a read"), [copy]);
}
