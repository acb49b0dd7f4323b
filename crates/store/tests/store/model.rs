//! SQLite answers as the plain model in memory does, whatever the writes.

use std::collections::HashMap;

use super::ledger::{append, delta, ledger, line, said, topic};
use super::support::{machine, new_commit, open, read, session, sighting};
use proptest::prelude::*;
use stemmata_model::{
    ArtifactId, Closure, CommitId, CommitType, EntryId, EventSeq, Granularity, Json, NewEvent, Principal,
    SessionId, SummarySource, ThreadId, TicketId, Timestamp, Trigger, artifact_id,
};
use stemmata_store::{
    Annotation, Append, CommitFilter, Commits, ContentPart, Coverage, EventQuery, LedgerChange, Link,
    LinkKind, NewContent, Order, Page, Placement, ResolveScope, SavedState, SessionFilter, SessionOrigin,
    Store, StoreError, TipFilter, Write,
};
use stemmata_testkit::memory::MemoryStore;
use tempfile::TempDir;

/// What one write is made from: a kind, and numbers that pick from what there is.
type Seed = (u8, u16, u16, u16);

/// Turns seeds into writes that refer to each other, and remembers what may be asked for later.
#[derive(Default)]
struct Maker {
    commits: Vec<CommitId>,
    natives: HashMap<CommitId, ArtifactId>,
    artifacts: Vec<ArtifactId>,
    /// Commits of refused batches.
    gone: Vec<CommitId>,
    bytes: HashMap<ArtifactId, Vec<u8>>,
}

impl Maker {
    /// Some commit, now and then one that is not there.
    fn commit(&self, pick: u16) -> CommitId {
        if pick.is_multiple_of(97) {
            return CommitId::from_bytes([9; 16]);
        }
        let place = usize::from(pick) % self.commits.len().max(1);
        self.commits.get(place).copied().unwrap_or(CommitId::from_bytes([8; 16]))
    }

    fn artifact(&self, pick: u16) -> ArtifactId {
        if pick.is_multiple_of(89) {
            return ArtifactId::from_bytes([9; 32]);
        }
        let place = usize::from(pick) % self.artifacts.len().max(1);
        self.artifacts.get(place).copied().unwrap_or(ArtifactId::from_bytes([8; 32]))
    }

    fn literal(&mut self, bytes: Vec<u8>) -> Write {
        let content = NewContent::literal(bytes.clone());
        self.remember(content.id(), bytes);
        Write::Content(content)
    }

    fn remember(&mut self, id: ArtifactId, bytes: Vec<u8>) {
        self.artifacts.push(id);
        self.bytes.insert(id, bytes);
    }

    fn composed(&mut self, seed: Seed) -> Write {
        let mut whole = Vec::new();
        let mut parts = Vec::new();
        for (pick, cut) in [(seed.1, seed.2), (seed.2, seed.3), (seed.3, seed.1)] {
            let of = self.artifact(pick);
            let own = self.bytes.get(&of).cloned().unwrap_or_default();
            // Now and then the range goes beyond the end, which both have to refuse.
            let start = usize::from(cut) % (own.len() + 1);
            let end = (start + usize::from(cut % 37)).min(own.len() + usize::from(cut.is_multiple_of(31)));
            whole.extend_from_slice(own.get(start..end).unwrap_or_default());
            let (offset, length) = (as_u64(start), as_u64(end.saturating_sub(start)));
            parts.push(ContentPart::Slice { of, offset, length });
            let literal = vec![b'p'; usize::from(pick % 4)];
            whole.extend_from_slice(&literal);
            parts.push(ContentPart::Bytes(literal));
        }
        let id = artifact_id(&whole);
        self.remember(id, whole);
        Write::Content(NewContent::composed(id, parts))
    }

    fn new_commit(&mut self, seed: Seed) -> Write {
        let parent = (!seed.1.is_multiple_of(5)).then(|| self.commit(seed.1));
        let artifact = self.artifact(seed.2);
        let mut new = new_commit(parent, artifact, i64::from(seed.3 % 40) * 10);
        new.closure = [Closure::Closed, Closure::Provisional][usize::from(seed.3 % 2)];
        new.core.commit_type = match seed.2 % 7 {
            0 => CommitType::Compaction,
            1 => CommitType::Snapshot { restated_entries: u64::from(seed.3) },
            _ => CommitType::Delta,
        };
        new.core.native = seed.3.is_multiple_of(6).then(|| self.artifact(seed.1));
        new.counts.tokens = u64::from(seed.1);
        self.commits.push(new.core.id());
        self.natives.insert(new.core.id(), new.core.native_artifact());
        Write::Commit(new)
    }

    /// Covers a commit, and stores a longer content that begins with its bytes; now and then a wrong range of it.
    fn cover(&mut self, seed: Seed) -> Vec<Write> {
        let commit = self.commit(seed.1);
        let native = self.natives.get(&commit).copied().unwrap_or(ArtifactId::from_bytes([9; 32]));
        let own = self.bytes.get(&native).cloned().unwrap_or_default();
        let whole = [own.as_slice(), b"and what closed it"].concat();
        let wrong = u64::from(seed.2.is_multiple_of(11));
        let slice = ContentPart::Slice { of: native, offset: 0, length: as_u64(own.len()) + wrong };
        let parts = vec![slice, ContentPart::Bytes(b"and what closed it".to_vec())];
        let content = Write::Content(NewContent::composed(artifact_id(&whole), parts));
        vec![content, Write::Cover { commit }]
    }

    fn sighting(&self, seed: Seed) -> Write {
        let mut captured = sighting(&format!("s{}", seed.2 % 3), i64::from(seed.3 % 50), u64::from(seed.3));
        captured.trigger = Trigger::ALL[usize::from(seed.3 % 5)];
        if seed.2.is_multiple_of(4) {
            captured.ticket = TicketId::new(format!("T-{}", seed.3 % 2)).ok();
        }
        if seed.3.is_multiple_of(4) {
            captured.thread = ThreadId::new("th").ok();
        }
        if seed.2.is_multiple_of(7) {
            captured.source = None;
        }
        if seed.2.is_multiple_of(5) {
            captured.principal = Principal::new("bob").expect("a name");
        }
        Write::Sighting { commit: self.commit(seed.1), sighting: Box::new(captured) }
    }

    fn session(&self, seed: Seed) -> Write {
        let cwd = ["/w", "/w/a", "/w/ab", "/w/a/b"][usize::from(seed.2 % 4)];
        let last = (!seed.3.is_multiple_of(4)).then(|| i64::from(seed.3));
        let mut listed = session(&format!("s{}", seed.1 % 5), cwd, last);
        listed.parent_session = seed.2.is_multiple_of(3).then(|| SessionId::new("s0").expect("a name"));
        listed.granularity = [Granularity::Turn, Granularity::Message, Granularity::Every(u32::from(seed.3))]
            [usize::from(seed.3 % 3)];
        if seed.2.is_multiple_of(5) {
            listed.origin = SessionOrigin::Placed(self.commit(seed.3));
            listed.tip = Some(self.commit(seed.2));
        }
        if seed.2.is_multiple_of(9) {
            listed.cwd = None;
        }
        Write::Session(Box::new(listed))
    }

    fn annotate(&self, seed: Seed) -> Write {
        let text = format!("t{}", seed.2 % 3);
        let source =
            [SummarySource::Given, SummarySource::Model, SummarySource::Heuristic][usize::from(seed.3 % 3)];
        let change = match seed.2 % 8 {
            0 | 1 => Annotation::Summary { text: Some(text), source },
            2 => Annotation::Summary { text: None, source },
            3 => Annotation::AddTag(text),
            4 => Annotation::RemoveTag(format!("t{}", seed.3 % 3)),
            5 => Annotation::AddNote(text),
            6 => Annotation::Pin,
            _ => Annotation::Unpin,
        };
        let at = Timestamp::from_micros(i64::from(seed.3 % 9));
        Write::Annotate {
            commit: self.commit(seed.1),
            change,
            at,
            by: Principal::new("ann").expect("a name"),
        }
    }

    fn placement(&self, seed: Seed) -> Write {
        Write::Placement(Box::new(Placement {
            machine: machine(),
            path: format!("/p{}", seed.2 % 2),
            session: SessionId::new("placed").expect("a name"),
            ctx: self.commit(seed.1),
            taken_bytes: u64::from(seed.2),
            placed_bytes: u64::from(seed.3),
            keyed_hash: [5; 32],
            placed_at: Timestamp::from_micros(i64::from(seed.3 % 7)),
        }))
    }

    fn link(&self, seed: Seed) -> Link {
        Link {
            from: self.commit(seed.1),
            kind: [LinkKind::DerivedFrom, LinkKind::Subagent][usize::from(seed.3 % 2)],
            to: self.commit(seed.2),
            entry: seed.3.is_multiple_of(3).then(|| EntryId::new("e").expect("a name")),
        }
    }

    fn related(&self, seed: Seed) -> Vec<Write> {
        let link = self.link(seed);
        let related = if seed.0.is_multiple_of(5) { Write::Unlink(link) } else { Write::Link(link) };
        let hashes = vec![u64::from(seed.2 % 4), u64::from(seed.3 % 3)];
        vec![related, self.placement(seed), Write::Anchors { commit: self.commit(seed.1), hashes }]
    }

    /// Appends events, plain ones and lines, now and then with a number that may be wrong; and a delta of the lines.
    fn append(&mut self, seed: Seed) -> Vec<Write> {
        let of = ["p", "q"][usize::from(seed.1 % 2)];
        let mut events = Vec::new();
        let mut lines = Vec::new();
        for number in 0..=seed.2 % 4 {
            let name = format!("s{}", (seed.1 % 3 + number) % 3);
            let about = ["t", "u", "AGENT_OUTPUT", "STATE_SNAPSHOT"][usize::from((seed.3 % 4 + number) % 4)];
            // The same words come again, so that events and contents share lines.
            let text = format!("words {}", (seed.2 % 9 + number) % 9);
            let event = if seed.3.is_multiple_of(3) {
                said(&name, about, &text)
            } else {
                let (event, bytes) = line(&name, about, &text);
                self.remember(artifact_id(&bytes), bytes.clone());
                lines.push(bytes);
                event
            };
            events.push(NewEvent { at: Some(Timestamp::from_micros(i64::from(seed.3))), ..event });
        }
        let expected = seed.3.is_multiple_of(7).then(|| u64::from(seed.2 % 3));
        let now = Timestamp::from_micros(i64::from(seed.2 % 500));
        let append = Append { expected, now, ..append(of, events) };
        let mut writes = vec![Write::Append(Box::new(append))];
        if !lines.is_empty() {
            let (content, id) = delta(&lines);
            self.remember(id, lines.concat());
            writes.push(Write::Content(content));
        }
        writes
    }

    fn about_ledger(&self, seed: Seed) -> Vec<Write> {
        let of = ledger(["p", "q"][usize::from(seed.1 % 2)]);
        let micros = Timestamp::from_micros(i64::from(seed.3));
        vec![match seed.2 % 3 {
            0 => Write::ChangeLedger(Box::new(LedgerChange {
                ledger: of,
                now: micros,
                root: seed.3.is_multiple_of(2).then(|| format!("/w/{}", seed.3 % 3)),
                compacted_at: seed.3.is_multiple_of(3).then_some(micros),
                marks: vec![format!("mark {}", seed.3 % 5)],
                let_go: Vec::new(),
            })),
            1 => Write::SaveStates {
                ledger: of,
                states: vec![SavedState {
                    name: ["memory", "memory/s1", "other"][usize::from(seed.3 % 3)].to_owned(),
                    version: u32::from(seed.3),
                    through: u64::from(seed.3),
                    position: seed.3.is_multiple_of(2).then(|| "here".to_owned()),
                    state: Json::parse(&format!("[{}]", seed.3)).expect("JSON"),
                }],
            },
            _ => {
                let through = EventSeq::new(1).expect("a place");
                Write::Covers(Coverage { commit: self.commit(seed.3), ledger: of, through })
            }
        }]
    }

    fn writes(&mut self, seed: Seed) -> Vec<Write> {
        match seed.0 % 20 {
            16..=18 => self.append(seed),
            19 => self.about_ledger(seed),
            0..=2 => vec![self.literal(vec![b'a'; usize::from(seed.1 % 200)])],
            3 | 4 => vec![self.composed(seed)],
            5..=7 => vec![self.new_commit(seed)],
            8 => self.cover(seed),
            9 | 10 => vec![self.sighting(seed)],
            11 => vec![self.session(seed)],
            12 | 13 => vec![self.annotate(seed)],
            14 => self.related(seed),
            _ => {
                let key = session(&format!("s{}", seed.1 % 5), "/w", None).key;
                vec![Write::Cursor { key, value: seed.2.to_le_bytes().to_vec() }]
            }
        }
    }
}

fn as_u64(length: usize) -> u64 {
    u64::try_from(length).expect("a length fits 64 bits")
}

fn told<T: std::fmt::Debug>(result: Result<T, StoreError>) -> String {
    match result {
        Ok(value) => format!("{value:?}"),
        Err(error) => format!("refused: {error}"),
    }
}

/// All that can be read, as text.
fn everything(store: &dyn Store, maker: &Maker) -> Vec<String> {
    let mut told_all = Vec::new();
    let mut tell = |text: String| told_all.push(text);
    for id in maker.commits.iter().chain(&maker.gone) {
        tell(told(store.commit(*id)));
        tell(told(store.ancestors(*id, 5)));
        tell(told(store.children(*id, 5)));
        tell(told(store.sightings(*id, 9)));
        tell(told(store.annotations(*id)));
        tell(told(store.audit(*id, 9)));
        tell(told(store.links(*id, 9)));
        tell(told(store.commits_in(id.to_string()[..9].parse().expect("a prefix"), 9)));
        tell(told(store.commits_after(Some(*id), 3)));
    }
    for id in &maker.artifacts {
        tell(told(store.content_length(*id)));
        tell(told(read(store, *id)));
        let mut range = Vec::new();
        let result = store.read_content(*id, Some(3..17), &mut |piece| {
            range.extend_from_slice(piece);
            Ok(())
        });
        tell(told(result.map(|()| range)));
        tell(told(store.artifacts_in(id.to_string()[..9].parse().expect("a prefix"), 9)));
    }
    for id in &maker.commits {
        told_all.push(told(store.coverage(*id)));
    }
    told_all.extend(listings(store));
    told_all.extend(ledgers(store));
    told_all
}

/// All that ledgers say.
fn ledgers(store: &dyn Store) -> Vec<String> {
    let mut told_all = vec![told(store.ledgers(None, 9))];
    let mut tell = |text: String| told_all.push(text);
    for of in ["p", "q", "none"].map(ledger) {
        tell(told(store.ledger(&of)));
        tell(told(store.saved_states(&of, "")));
        tell(told(store.saved_states(&of, "memory/")));
        tell(told(store.last_covered(&of)));
        for topics in [vec![], vec![topic("t")], vec![topic("AGENT_OUTPUT"), topic("u")]] {
            for replayable in [None, Some(true), Some(false)] {
                let all =
                    EventQuery { topics: topics.clone(), replayable, limit: 500, ..EventQuery::default() };
                tell(told(store.events(&of, &all)));
                let few = EventQuery { order: Order::NewestFirst, limit: 3, ..all.clone() };
                tell(told(store.events(&of, &few)));
                let own = EventQuery {
                    session: Some(name_of("s1")),
                    since: Some(Timestamp::from_micros(200)),
                    ..all
                };
                tell(told(store.events(&of, &own)));
            }
        }
        for name in ["t", "u", "AGENT_OUTPUT"] {
            tell(told(store.receipt(&of, &topic(name))));
        }
    }
    for number in 0..5 {
        tell(told(store.ledger_marked(&format!("mark {number}"))));
    }
    told_all
}

fn name_of(session: &str) -> SessionId {
    SessionId::new(session).expect("a name")
}

/// Lets go of something in both, by the number of a batch.
fn let_go(store: &dyn Store, seed: Seed) -> String {
    let of = ledger(["p", "q"][usize::from(seed.1 % 2)]);
    match seed.0 % 11 {
        0 | 1 => {
            let through = EventSeq::new(1 + u64::from(seed.2 % 30)).expect("a place");
            told(store.trim(&of, &topic(["t", "u", "AGENT_OUTPUT"][usize::from(seed.3 % 3)]), through))
        }
        2 => told(store.forget_events(&name_of(&format!("s{}", seed.3 % 3)))),
        3 => told(store.drop_states(&of, ["", "memory"][usize::from(seed.3 % 2)])),
        _ => String::new(),
    }
}

/// All that lists.
fn listings(store: &dyn Store) -> Vec<String> {
    let mut told_all = Vec::new();
    let mut tell = |text: String| told_all.push(text);
    let page = Page { skip: 0, rows_max: 50 };
    let second = Page { skip: 2, rows_max: 2 };
    for session in [None, Some("s1")] {
        for ticket in [None, Some("T-1")] {
            for thread in [None, Some("th")] {
                let filter = TipFilter {
                    session: session.and_then(|name| SessionId::new(name).ok()),
                    ticket: ticket.map(str::to_owned),
                    thread: thread.map(str::to_owned),
                    principal: None,
                };
                tell(told(store.tips(&filter, page)));
                tell(told(store.tips(&filter, second)));
                let listed = CommitFilter { seen: filter, ..CommitFilter::default() };
                tell(told(store.listed(&listed, page)));
                tell(told(store.listed(&listed, second)));
            }
        }
    }
    for project in [None, Some("/w/a"), Some("/w/a/"), Some("/")] {
        for (prefix, main_only) in [(None, false), (Some("s"), true), (Some("s1"), false)] {
            let filter = SessionFilter {
                parent: None,
                with_sidecars: false,
                project: project.map(str::to_owned),
                session_prefix: prefix.map(str::to_owned),
                main_only,
            };
            tell(told(store.sessions(&filter, page)));
            tell(told(store.sessions(&filter, second)));
        }
    }
    let scopes = [
        ResolveScope::Principal(Principal::new("ann@box/claude-code").expect("a name")),
        ResolveScope::Principal(Principal::new("bob").expect("a name")),
        ResolveScope::Session(SessionId::new("s1").expect("a name")),
        ResolveScope::Project("/w/a".to_owned()),
    ];
    for scope in &scopes {
        for micros in [-1, 0, 100, 195, 400] {
            tell(told(store.resolve(scope, Timestamp::from_micros(micros), 9)));
        }
    }
    for number in 0..5 {
        let key = session(&format!("s{number}"), "/w", None).key;
        tell(told(store.session(&key)));
        tell(told(store.cursor(&key)));
        tell(told(store.tagged(&format!("t{number}"), 9)));
        tell(told(store.placement(&machine(), &format!("/p{number}"))));
    }
    let all = store.commits_after(None, 1_000).expect("a read");
    let ids: Vec<CommitId> = all.iter().map(|commit| commit.id).collect();
    let roots = all.iter().filter(|commit| commit.core.parent.is_none()).map(|commit| commit.id);
    tell(told(store.described(&ids)));
    tell(told(store.below(&roots.collect::<Vec<_>>(), 1_000)));
    tell(told(store.anchored(&[0, 1, 2, 3, 4], 9)));
    tell(told(store.anchored(&[2, 0], 1)));
    let usage = store.usage().expect("a read");
    tell(format!(
        "{} {} {} {} {}",
        usage.commits, usage.sessions, usage.contents, usage.logical_bytes, usage.distinct_bytes
    ));
    tell(format!("{:?}", super::support::damages(store)));
    told_all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.div_ceil(2)))]

    #[test]
    fn sqlite_reads_what_the_model_reads(batches in proptest::collection::vec((proptest::collection::vec(any::<Seed>(), 1..9), any::<Seed>()), 1..40)) {
        let home = TempDir::new().expect("a directory");
        let (model, sqlite) = (MemoryStore::default(), open(home.path()));
        let mut maker = Maker::default();
        let first = [maker.literal(b"the first".to_vec()), maker.new_commit((5, 0, 1, 1))];
        for store in [&model as &dyn Store, &sqlite] {
            store.commit_batch(first.to_vec()).expect("a first commit");
        }
        for (seeds, going) in batches {
            let before = (maker.commits.len(), maker.artifacts.len());
            let batch: Vec<Write> = seeds.into_iter().flat_map(|seed| maker.writes(seed)).collect();
            let expected = model.commit_batch(batch.clone()).map(|mut outcome| { outcome.stored_bytes = 0; outcome });
            let given = sqlite.commit_batch(batch).map(|mut outcome| { outcome.stored_bytes = 0; outcome });
            if expected.is_err() {
                // What was refused is not there to be referred to; it is asked for all the same.
                maker.gone.extend(maker.commits.drain(before.0..));
                maker.artifacts.truncate(before.1);
            }
            prop_assert_eq!(told(given), told(expected));
            prop_assert_eq!(let_go(&sqlite, going), let_go(&model, going));
        }
        let expected = everything(&model, &maker);
        prop_assert_eq!(everything(&sqlite, &maker), expected.clone());
        drop(sqlite);
        prop_assert_eq!(everything(&open(home.path()), &maker), expected);
    }
}
