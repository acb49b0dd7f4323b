//! Makes a store that has everything a store of this version can have, to be kept as a fixture of it.
//!
//! `cargo run -p stemmata-store --example fixture -- FOLDER`; the folder must not be there. Lists the natives of all
//! commits in `natives.txt`, hashed by the system's `sha256sum`. Done once a version, by the newest program of it.

use std::error::Error;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use stemmata_model::{
    ArtifactId, Closure, CommitCore, CommitId, CommitType, Counts, EntryId, EventSeq, FormatId, Granularity,
    Json, LedgerId, MachineId, NewEvent, NewPayload, Party, Principal, RulesHash, SessionId, Sighting,
    Source, SummarySource, Template, ThreadId, TicketId, Timestamp, Topic, Trigger,
};
use stemmata_store::maintain::forget::Forget;
use stemmata_store::{
    Annotation, Append, Commits, ContentPart, Coverage, Durability, EventLog, LedgerChange, Link, LinkKind,
    NewCommit, NewContent, OnDisk, PackOptions, Placement, SavedState, Session, SessionKey, SessionOrigin,
    SqliteOptions, SqliteStore, Upkeep, Write,
};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// 2026-09-21T14:13:20Z, in microseconds.
const START: i64 = 1_790_000_000_000_000;

fn main() -> Outcome<()> {
    let folder = PathBuf::from(std::env::args().nth(1).ok_or("usage: fixture FOLDER")?);
    if folder.exists() {
        return Err(format!("{} is there: a fixture is made once", folder.display()).into());
    }
    let store = SqliteStore::open(&folder, SqliteOptions::default())?;
    let natives = fill(&store)?;
    drop(store);
    let database = rusqlite::Connection::open(folder.join("stemmata.db"))?;
    database.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    drop(database);
    let mut list = File::create(folder.join("natives.txt"))?;
    for (id, native) in natives {
        writeln!(list, "{id} {} {}", sha256(&native)?, native.len())?;
    }
    Ok(())
}

/// A session that grows, with the native of each of its commits.
struct Chain<'a> {
    store: &'a SqliteStore,
    session: Session,
    natives: Vec<(CommitId, Vec<u8>)>,
}

fn fill(store: &SqliteStore) -> Outcome<Vec<(CommitId, Vec<u8>)>> {
    let mut first = Chain::new(store, "11111111-1111-4111-8111-111111111111")?;
    let mut copy = Chain::new(store, "22222222-2222-4222-8222-222222222222")?;
    let mut cut = Chain::new(store, "33333333-3333-4333-8333-333333333333")?;
    let mut gone = Chain::new(store, "44444444-4444-4444-8444-444444444444")?;
    for step in 0..12 {
        first.grow(step, "one")?;
    }
    // A client's copy: the same words under another session id in every line.
    for step in 0..12 {
        copy.grow(step, "one")?;
    }
    for step in 0..4 {
        cut.grow(step, "two")?;
        gone.grow(step, "three")?;
    }
    beside(&first, &copy)?;
    events(store, &first)?;
    store.pack(&PackOptions::new(Timestamp::from_micros(START)))?;
    // A hole with a child, and a session that is wholly gone.
    let forget = Forget {
        unroot: gone.natives.iter().map(|(id, _)| *id).collect(),
        cut: vec![cut.id(1)],
        sessions: vec![gone.session.key.clone()],
        even_sighted: true,
        even_pinned: true,
        ..Forget::new(Timestamp::from_micros(START), Principal::new("ann@box/claude-code")?)
    };
    store.forget(&forget)?;
    store.forget_events(&SessionId::new("gone")?)?;
    // What is remembered is dropped by every forgetting.
    let state = SavedState {
        name: "memory".to_owned(),
        version: 1,
        through: 9,
        position: Some("line 4".to_owned()),
        state: Json::parse("{\"facts\":[]}")?,
    };
    store.save_states(&LedgerId::new("project")?, vec![state])?;
    // What came after packing is in the inbox: a turn, one whose content is a list of parts, and a snapshot.
    first.grow(12, "one")?;
    first.grow_in_parts(13)?;
    let mut natives = [first.natives.clone(), copy.natives].concat();
    natives.push(first.snapshot()?);
    natives.push((cut.id(0), cut.natives.remove(0).1));
    Ok(natives)
}

/// Writes what stands beside commits: a link, a placement, another sighting, anchors, and what people wrote.
fn beside(first: &Chain<'_>, copy: &Chain<'_>) -> Outcome<()> {
    let by = Principal::new("ann@box/claude-code")?;
    let link = Link {
        from: copy.id(0),
        kind: LinkKind::DerivedFrom,
        to: first.id(11),
        entry: Some(EntryId::new("entry-7")?),
    };
    let placement = Placement {
        machine: first.session.key.machine.clone(),
        path: "/home/ann/placed.jsonl".to_owned(),
        session: SessionId::new("55555555-5555-4555-8555-555555555555")?,
        ctx: first.id(7),
        taken_bytes: 700,
        placed_bytes: 900,
        keyed_hash: [5; 32],
        placed_at: Timestamp::from_micros(START),
    };
    let mut seen = first.sighting(START + 9, 0)?;
    (seen.source, seen.ticket, seen.thread) =
        (None, Some(TicketId::new("TKT-12")?), Some(ThreadId::new("t1")?));
    let mut batch = vec![
        Write::Link(link),
        Write::Placement(Box::new(placement)),
        Write::Sighting { commit: first.id(3), sighting: Box::new(seen) },
        Write::Anchors { commit: first.id(2), hashes: vec![3, 5, 8] },
    ];
    for (at, change) in [
        Annotation::Summary {
            text: Some("found why the build is slow".to_owned()),
            source: SummarySource::Given,
        },
        Annotation::AddTag("release".to_owned()),
        Annotation::AddTag("draft".to_owned()),
        Annotation::RemoveTag("draft".to_owned()),
        Annotation::AddNote("look at the cache again".to_owned()),
        Annotation::Pin,
    ]
    .into_iter()
    .enumerate()
    {
        let at = Timestamp::from_micros(START + i64::try_from(at)?);
        batch.push(Write::Annotate { commit: first.id(5), change, at, by: by.clone() });
    }
    first.store.commit_batch(batch)?;
    Ok(())
}

/// Writes ledgers: plain events and lines, raw output, some trimmed and some forgotten later, marks and coverage.
fn events(store: &SqliteStore, first: &Chain<'_>) -> Outcome<()> {
    let event = |session: &str, topic: &str, number: u64| -> Outcome<NewEvent> {
        let words = format!("event {number} of {topic}");
        let payload = if number.is_multiple_of(2) {
            NewPayload::Plain { text: Some(words), data: Some(Json::parse("{\"n\":9007199254740993}")?) }
        } else {
            NewPayload::Line(Json::parse(&format!("{{\"said\":\"{words}\"}}"))?)
        };
        let made = NewEvent::new(SessionId::new(session)?, Topic::new(topic)?, Party::new("ann")?, payload);
        Ok(made.to(Party::new("worker 1")?).with_metadata(Json::parse(&format!("{{\"number\":{number}}}"))?))
    };
    let ledger = LedgerId::new("project")?;
    let mut list = vec![event("kept", "SESSION_STARTED", 0)?];
    for number in 1..=4 {
        list.push(event("kept", "user_turn", number)?);
        list.push(event("gone", "user_turn", 10 + number)?);
    }
    list.push(event("kept", "STATE_SNAPSHOT", 5)?);
    list.push(event("kept", "AGENT_OUTPUT", 6)?);
    let (now, durability) = (Timestamp::from_micros(START), Durability::Full);
    let append =
        |ledger: &LedgerId, events| Append { durability, ..Append::new(ledger.clone(), events, now) };
    let covers =
        Coverage { commit: first.id(4), ledger: ledger.clone(), through: EventSeq::new(9).ok_or("a place")? };
    let change = LedgerChange {
        ledger: ledger.clone(),
        now,
        root: Some("/srv/app".to_owned()),
        compacted_at: Some(now),
        marks: vec!["remote:example.org/app".to_owned()],
        let_go: Vec::new(),
    };
    store.commit_batch(vec![
        Write::Append(Box::new(append(&ledger, list))),
        Write::Covers(covers),
        Write::ChangeLedger(Box::new(change)),
    ])?;
    store.trim(&ledger, &Topic::new("user_turn")?, EventSeq::new(3).ok_or("a place")?)?;
    store.append(append(&LedgerId::new("cluster")?, vec![event("cluster", "ISSUE_OPENED", 7)?]))?;
    Ok(())
}

impl<'a> Chain<'a> {
    fn new(store: &'a SqliteStore, name: &str) -> Outcome<Self> {
        let machine = MachineId::new("0123456789abcdef0123456789abcdef")?;
        let session = Session {
            key: SessionKey { machine, path: format!("/home/ann/.claude/projects/-srv-app/{name}.jsonl") },
            session: SessionId::new(name)?,
            parent_session: None,
            format: FormatId::new("claude-code-v1")?,
            template: Template::new("claude-code/main")?,
            principal: Principal::new("ann@box/claude-code")?,
            granularity: Granularity::Turn,
            origin: SessionOrigin::Imported,
            title: Some("find out why the build is slow".to_owned()),
            cwd: Some("/srv/app".to_owned()),
            git_branch: Some("main".to_owned()),
            version: None,
            started_at: Some(Timestamp::from_micros(START)),
            last_at: None,
            tip: None,
            commits: 0,
            messages: 0,
            bytes: 0,
        };
        Ok(Self { store, session, natives: Vec::new() })
    }

    fn id(&self, step: usize) -> CommitId {
        self.natives[step].0
    }

    fn delta(&self, step: u64, words: &str) -> Vec<u8> {
        let mut random = words
            .bytes()
            .fold(0x0139_408d_cbbf_7a44 ^ step, |sum, byte| sum.rotate_left(7) ^ u64::from(byte));
        let mut lines = Vec::new();
        for line in 0..6 {
            let mut text = String::new();
            for _ in 0..40 {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                text.push_str(
                    ["build ", "cache ", "src/main.rs ", "returns ", "because ", "0x"]
                        [usize::try_from(random % 6).unwrap_or(0)],
                );
                text.push_str(&hex(random >> 48));
            }
            let session = self.session.session.as_str();
            lines.extend_from_slice(
                format!("{{\"sessionId\":\"{session}\",\"n\":\"{step}-{line}\",\"text\":\"{text}\"}}\n")
                    .as_bytes(),
            );
        }
        lines
    }

    fn sighting(&self, observed: i64, offset: u64) -> Outcome<Sighting> {
        Ok(Sighting {
            principal: self.session.principal.clone(),
            machine: self.session.key.machine.clone(),
            session: self.session.session.clone(),
            trigger: Trigger::TurnBoundary,
            ticket: None,
            thread: None,
            reasons: stemmata_model::Reasons::NONE,
            template_alias: Some(Template::new("reviewer")?),
            observed_at: Timestamp::from_micros(observed),
            source: Some(Source { path: self.session.key.path.clone(), offset, length: 2000 }),
        })
    }

    fn grow(&mut self, step: u64, words: &str) -> Outcome<()> {
        let bytes = self.delta(step, words);
        self.add(step, NewContent::literal(bytes.clone()), &bytes, CommitType::Delta)
    }

    fn grow_in_parts(&mut self, step: u64) -> Outcome<()> {
        let parts = [self.delta(step, "parts"), self.delta(step, "more")];
        let whole = parts.concat();
        let parts = parts.into_iter().map(ContentPart::Bytes).collect();
        let content = NewContent::composed(stemmata_model::artifact_id(&whole), parts);
        self.add(step, content, &whole, CommitType::Delta)
    }

    fn snapshot(&mut self) -> Outcome<(CommitId, Vec<u8>)> {
        let bytes = self.delta(99, "snapshot");
        let content = NewContent::literal(bytes.clone());
        self.add(14, content, &bytes, CommitType::Snapshot { restated_entries: 0 })?;
        let (id, _) = self.natives.last().ok_or("it was just added")?;
        Ok((*id, bytes))
    }

    fn add(&mut self, step: u64, content: NewContent, bytes: &[u8], commit_type: CommitType) -> Outcome<()> {
        let micros = START + i64::try_from(step)? * 7_000_000;
        let artifact: ArtifactId = content.id();
        let commit = NewCommit {
            core: CommitCore {
                parent: self.natives.last().map(|(id, _)| *id),
                commit_type,
                artifact,
                native: None,
                format: self.session.format.clone(),
                template: self.session.template.clone(),
                created_at: Timestamp::from_micros(micros),
            },
            rules: RulesHash([7; 32]),
            closure: Closure::Closed,
            counts: Counts { messages: 2, entries: 6, tokens: 700 },
        };
        let id = commit.core.id();
        let before = self.natives.last().map(|(_, native)| native.clone()).unwrap_or_default();
        self.session.last_at = Some(Timestamp::from_micros(micros));
        self.session.tip = Some(id);
        self.session.commits += 1;
        self.session.bytes += u64::try_from(bytes.len())?;
        let seen = self.sighting(micros + 900, u64::try_from(before.len())?)?;
        self.store.commit_batch(vec![
            Write::Content(content),
            Write::Commit(commit),
            Write::Sighting { commit: id, sighting: Box::new(seen) },
            Write::Session(Box::new(self.session.clone())),
            Write::Cursor { key: self.session.key.clone(), value: step.to_le_bytes().repeat(20) },
        ])?;
        self.natives.push((id, [before, bytes.to_vec()].concat()));
        Ok(())
    }
}

fn hex(number: u64) -> String {
    format!("{number:x} ")
}

fn sha256(bytes: &[u8]) -> Outcome<String> {
    let aside = tempfile::NamedTempFile::new()?;
    aside.as_file().write_all(bytes)?;
    let said = Command::new("sha256sum").arg(aside.path() as &Path).stderr(Stdio::inherit()).output()?;
    let text = String::from_utf8(said.stdout)?;
    Ok(text.split(' ').next().unwrap_or_default().to_owned())
}
