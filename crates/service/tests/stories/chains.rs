//! Sessions and chains: found, read, grown, and each failure by its code.

use std::io::Read;

use stemmata_api::v1::{
    BlameRequest, CheckpointRequest, ChildrenRequest, Commit, CommitType, CommitsRequest, CompactRequest,
    CompareRequest, FindRequest, HistoryRequest, KnownLine, LastCompactionRequest, LatestSessionRequest,
    OverviewRequest, ResolveRequest, ResolveScope, SUMMARY_BYTES_MAX, SessionDetails, SessionRequest,
    SessionsRequest, ShortIdsRequest, ShowRequest, ShowTurnRequest, SnapshotRequest, TipsRequest,
    TreeRequest, Trigger, UpdateRequest,
};
use stemmata_api::{Chains, PageRequest};
use stemmata_model::{Closure, CommitId, FormatId, SessionId, SummarySource, Template, TicketId, Timestamp};
use stemmata_testkit::claude::Transcript;

use crate::{MISSING, code};

/// Tells the story. `import` brings the session in.
pub(crate) fn first(chains: &dyn Chains, session: &Transcript, import: &dyn Fn()) {
    nothing_is_there(chains, &session.cwd);
    import();
    let tip = sessions(chains, session);
    let history = history(chains, &tip);
    looked_at(chains, &history, &session.session_id);
    drawn(chains, &history);
    told(chains, &history, &session.session_id);
    resolved(chains, &history[0], &session.session_id);
    let compacted = compacted(chains, &history, &session.session_id);
    snapshots(chains, &tip, &compacted);
    tags(chains, &tip, &compacted);
    checkpoints(chains, &tip);
    blamed(chains, session, &tip);
}

fn last(ctx: &str, session: Option<&str>) -> LastCompactionRequest {
    LastCompactionRequest { ctx: ctx.to_owned(), session: session.map(str::to_owned) }
}

fn find(text: &str) -> FindRequest {
    FindRequest::of(text)
}

fn page(limit: u64, after: Option<String>) -> PageRequest {
    PageRequest { limit: Some(limit), after }
}

fn wanted(page: PageRequest) -> SessionsRequest {
    SessionsRequest { with_subagents: true, page, ..SessionsRequest::all() }
}

fn nothing_is_there(chains: &dyn Chains, cwd: &str) {
    assert!(chains.sessions(&wanted(PageRequest::first())).expect("a page").sessions.is_empty());
    assert_eq!(code(chains.find(&find("nobody"))), "reference_not_found");
    assert_eq!(
        code(chains.show(&ShowRequest { ctx: MISSING.to_owned(), entries: false })),
        "commit_not_found"
    );
    let latest = |project: Option<&str>, or_any| {
        chains.latest_session(&LatestSessionRequest { project: project.map(str::to_owned), or_any })
    };
    assert_eq!(code(latest(Some(cwd), false)), "no_session_here");
    assert_eq!(code(latest(Some(cwd), true)), "no_session");
    let nobody = SessionRequest { reference: "nobody".to_owned() };
    assert_eq!(code(chains.session(&nobody)), "session_not_found");
    let tips = TipsRequest { session: None, ticket: None, thread: None, skip: 0, limit: None };
    assert!(chains.tips(&tips).expect("a page").commits.is_empty());
}

/// Lists sessions a page at a time, and returns the tip of the session itself.
fn sessions(chains: &dyn Chains, session: &Transcript) -> String {
    let whole = chains.sessions(&wanted(PageRequest::first())).expect("sessions");
    assert_eq!((whole.sessions.len(), whole.next.as_deref()), (2, None), "the session and its subagent");
    let (mut paged, mut after) = (Vec::new(), None);
    loop {
        let part = chains.sessions(&wanted(page(1, after))).expect("a page");
        paged.extend(part.sessions);
        after = part.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(paged, whole.sessions, "pages are the whole");
    for after in ["1", "children-1", "sessions-x"] {
        assert_eq!(code(chains.sessions(&wanted(page(1, Some(after.to_owned()))))), "bad_request");
    }
    let detailed = SessionsRequest {
        with_subagents: false,
        details: Some(SessionDetails::CountsAndTip),
        project: Some(session.cwd.clone()),
        ..wanted(PageRequest::first())
    };
    let own = chains.sessions(&detailed).expect("sessions").sessions.remove(0);
    assert_eq!(own.session_id.as_str(), session.session_id);
    assert_eq!((own.compactions, own.subagents, own.compactions_cut), (Some(1), Some(1), None));
    assert_eq!(own.foreign_machine, None);
    let tip = own.tip.expect("a tip");
    assert_eq!(own.tip_commit.map(|commit| commit.id), Some(tip));
    let plain = chains.session(&SessionRequest { reference: session.session_id[..8].to_owned() });
    assert_eq!(plain.expect("a session").tip, Some(tip));
    let latest = LatestSessionRequest { project: Some("/nowhere".to_owned()), or_any: true };
    assert_eq!(chains.latest_session(&latest).expect("a session").tip, Some(tip));
    let id = tip.to_string();
    for name in [&id, &id[4..16], &session.session_id] {
        assert_eq!(chains.find(&find(name)).expect("found").ctx, tip, "{name}");
    }
    id
}

fn history(chains: &dyn Chains, tip: &str) -> Vec<Commit> {
    let ask =
        |skip, limit| chains.history(&HistoryRequest { ctx: tip.to_owned(), numbered: false, skip, limit });
    let whole = ask(0, None).expect("a history");
    assert_eq!(whole.next_skip, None);
    let (mut paged, mut skip) = (Vec::new(), Some(0));
    while let Some(from) = skip {
        let part = ask(from, Some(3)).expect("a page");
        assert!(part.commits.len() <= 3);
        paged.extend(part.commits);
        skip = part.next_skip;
    }
    assert_eq!(paged, whole.commits, "pages are the whole");
    for pair in whole.commits.windows(2) {
        assert_eq!(pair[0].parent.as_ref(), Some(&pair[1].id));
    }
    let ids: Vec<CommitId> = whole.commits.iter().map(|commit| commit.id).collect();
    let chars = chains.short_ids(&ShortIdsRequest { ids, sessions: Vec::new() }).expect("a length").chars;
    let chars = usize::try_from(chars).expect("a size");
    for commit in &whole.commits {
        assert_eq!(chains.find(&find(&commit.id.to_string()[..4 + chars])).expect("found").ctx, commit.id);
    }
    whole.commits
}

fn looked_at(chains: &dyn Chains, history: &[Commit], session: &str) {
    let (tip, before) = (&history[0], &history[1]);
    let show = |entries| chains.show(&ShowRequest { ctx: tip.id.to_string(), entries }).expect("a commit");
    assert_eq!(show(false).entries, None);
    let shown = show(true);
    assert_eq!(shown.entries.expect("entries").len() as u64, tip.entry_count);
    assert_eq!(shown.session_id.as_ref().map(SessionId::as_str), Some(session));
    assert_eq!(shown.children.as_deref(), Some(&[][..]));
    let children = |ctx: CommitId, page| chains.children(&ChildrenRequest { ctx: ctx.to_string(), page });
    let below = children(before.id, PageRequest::first()).expect("children");
    assert_eq!((below.of, below.next), (before.id, None));
    assert!(below.commits.iter().any(|commit| commit.id == tip.id));
    assert!(children(tip.id, PageRequest::first()).expect("children").commits.is_empty());
    assert_eq!(code(children(tip.id, page(1, Some("sessions-1".to_owned())))), "bad_request");
    let tips = |session: &str, ticket: Option<&str>| {
        let ticket = ticket.map(str::to_owned);
        let session = Some(session.to_owned());
        chains.tips(&TipsRequest { session, ticket, thread: None, skip: 0, limit: Some(5) })
    };
    assert!(tips(session, None).expect("tips").commits.iter().any(|commit| commit.id == tip.id));
    assert!(tips(session, Some("TKT-1")).expect("tips").commits.is_empty());
    assert_eq!(code(tips("", None)), "bad_name");
    listed(chains, history, session);
}

/// Commits are listed newest first, a page at a time, by what is known of them.
fn listed(chains: &dyn Chains, history: &[Commit], session: &str) {
    let all = CommitsRequest {
        session: Some(session.to_owned()),
        principal: None,
        ticket: None,
        thread: None,
        format: None,
        since: None,
        until: None,
        summary_source: None,
        page: PageRequest::first(),
    };
    let ids = |request: &CommitsRequest| -> Vec<CommitId> {
        chains.commits(request).expect("commits").commits.iter().map(|commit| commit.id).collect()
    };
    let whole = ids(&all);
    assert!(whole.contains(&history[0].id) && whole.contains(&history.last().expect("a root").id));
    let (mut paged, mut after, mut read) = (Vec::new(), None, 0);
    loop {
        let part = chains.commits(&CommitsRequest { page: page(2, after), ..all.clone() }).expect("a page");
        paged.extend(part.commits.iter().map(|commit| commit.id));
        (after, read) = (part.next, read + 1);
        if after.is_none() {
            break;
        }
    }
    assert_eq!((paged, read), (whole.clone(), whole.len().div_ceil(2)), "pages are the whole");
    let since = Some(history[0].created_at);
    let newest = ids(&CommitsRequest { since, ..all.clone() });
    assert!(newest.contains(&history[0].id) && newest.len() < whole.len());
    assert_eq!(ids(&CommitsRequest { ticket: TicketId::new("TKT-1").ok(), ..all.clone() }), []);
    let derived = CommitsRequest { summary_source: Some(SummarySource::Heuristic), ..all.clone() };
    assert_eq!(ids(&derived), whole, "nobody wrote a summary");
    let foreign = CommitsRequest { page: page(1, Some("sessions-1".to_owned())), ..all };
    assert_eq!(code(chains.commits(&foreign)), "bad_request");
}

/// A folded tree stands for the same commits as the whole one.
fn drawn(chains: &dyn Chains, history: &[Commit]) {
    let tip = &history[0].id;
    let tree = |folded| {
        chains
            .tree(&TreeRequest { ctx: tip.to_string(), folded, turns: false, copies: false })
            .expect("a tree")
    };
    let (whole, folded) = (tree(false), tree(true));
    assert!(history.iter().all(|commit| whole.nodes.iter().any(|node| node.id == commit.id)));
    assert!(whole.nodes.iter().all(|node| node.run.is_none()));
    assert_eq!(whole.nodes[0].id, folded.nodes[0].id);
    assert!(folded.nodes.len() < whole.nodes.len() && folded.nodes.iter().any(|node| node.id == *tip));
    let runs: u64 = folded.nodes.iter().filter_map(|node| node.run.as_ref()).map(|run| run.commits).sum();
    let is_hidden = |node: &&Commit| {
        node.closure == Closure::Covered && node.id != *tip && node.children.as_deref() == Some(&[])
    };
    let shown = whole.nodes.len() - whole.nodes.iter().filter(is_hidden).count();
    assert_eq!(folded.nodes.len() as u64 + runs, shown as u64);
    for node in &folded.nodes {
        assert!(node.run.as_ref().is_none_or(|run| run.commits > 1), "a single commit is told itself");
        for child in node.children.iter().flatten() {
            assert!(folded.nodes.iter().any(|other| other.id == *child), "{child} is drawn");
        }
    }
    let started = folded.nodes.iter().flat_map(|node| {
        let of_run = node.run.iter().flat_map(|run| &run.subagents);
        node.subagents.iter().flatten().chain(of_run)
    });
    let parents: Vec<Option<SessionId>> =
        started.filter_map(|one| one.session.as_ref()).map(|one| one.parent_session.clone()).collect();
    let session = whole.session.expect("a session");
    assert_eq!(parents, [Some(session.session_id)]);
}

/// What a session's overview numbers is what its tree numbers, and each number leads to its turn.
fn told(chains: &dyn Chains, history: &[Commit], session: &str) {
    let overview =
        |reference: &str| chains.overview(&OverviewRequest { reference: reference.to_owned(), here: None });
    let tip = history[0].id;
    assert_eq!(overview(&tip.to_string()).expect("a commit").overview, None, "a commit is not a session");
    assert_eq!(overview("nobody").expect("nothing").overview, None);
    let overview = overview(session).expect("a session").overview.expect("its overview");
    let numbers: Vec<u64> = overview.turns.iter().filter_map(|turn| turn.number).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
    assert!(!numbers.is_empty() && overview.session.tip == Some(tip));
    let tree = chains
        .tree(&TreeRequest { ctx: tip.to_string(), folded: false, turns: true, copies: false })
        .expect("a tree");
    let drawn: Vec<(u64, &String)> = tree
        .nodes
        .iter()
        .flat_map(|node| node.turns.iter().flatten())
        .filter_map(|turn| Some((turn.number?, turn.prompt.as_ref()?)))
        .collect();
    for turn in overview.turns.iter().filter(|turn| turn.number.is_some()) {
        let named = (turn.number.expect("a number"), turn.prompt.as_ref().expect("a prompt"));
        assert!(drawn.contains(&named), "{named:?}");
        let request = ShowTurnRequest { ctx: turn.ctx.to_string(), prompt: None, full: true };
        let shown = chains.turn(&request).expect("a turn");
        let by_number = ShowTurnRequest { ctx: tip.to_string(), prompt: turn.number, ..request };
        assert_eq!(chains.turn(&by_number).expect("a turn"), shown);
        assert!(shown.pieces.iter().any(|piece| piece.text.as_ref() == turn.prompt.as_ref()), "{named:?}");
        let calls = shown.pieces.iter().filter_map(|piece| piece.call.as_ref());
        assert!(calls.clone().all(|call| call.arguments.is_some()));
    }
    assert_eq!(
        code(chains.turn(&ShowTurnRequest { ctx: MISSING.to_owned(), prompt: None, full: false })),
        "commit_not_found"
    );
    let too_far =
        ShowTurnRequest { ctx: tip.to_string(), prompt: Some(numbers.len() as u64 + 1), full: false };
    assert_eq!(code(chains.turn(&too_far)), "prompt_not_found");
    let root = history[history.len() - 1].id;
    let compare = |first: CommitId, second: CommitId| {
        let request = CompareRequest { first: first.to_string(), second: second.to_string() };
        chains.compare(&request).expect("two chains")
    };
    let (found, turned) = (compare(root, tip), compare(tip, root));
    assert_eq!((found.ancestor, found.first.commits), (Some(root), 0));
    assert_eq!(found.second.commits, history.len() as u64 - 1);
    assert_eq!((&found.first, &found.second), (&turned.second, &turned.first));
}

fn resolved(chains: &dyn Chains, tip: &Commit, session: &str) {
    let ask = |scope, at| chains.resolve(&ResolveRequest { scope, at });
    let of_session = || ResolveScope::Session(session.to_owned());
    let found = ask(of_session(), tip.created_at).expect("a checkpoint");
    assert_eq!(found.commits.iter().map(|commit| &commit.id).collect::<Vec<_>>(), [&tip.id]);
    assert_eq!(found.at, tip.created_at);
    assert_eq!(code(ask(of_session(), Timestamp::EPOCH)), "no_checkpoint_before");
    assert_eq!(code(ask(ResolveScope::Principal(String::new()), tip.created_at)), "bad_name");
}

/// Finds the compaction of the session, makes one by hand, and returns that.
fn compacted(chains: &dyn Chains, history: &[Commit], session: &str) -> String {
    let (tip, root) = (&history[0], &history[history.len() - 1]);
    let made =
        history.iter().find(|commit| commit.commit_type == CommitType::Compaction).expect("a compaction");
    let before = chains.before_compaction(&last(&tip.id.to_string(), None)).expect("a commit").id;
    assert_eq!(Some(&before), made.parent.as_ref());
    let diff = chains.diff(&last(&tip.id.to_string(), None)).expect("a difference");
    assert_eq!((&diff.compaction, &diff.before), (&made.id, &before));
    assert_eq!(code(chains.diff(&last(&root.id.to_string(), None))), "no_compaction");
    assert_eq!(code(chains.before_compaction(&last(&root.id.to_string(), None))), "no_compaction");
    let compact = |summary: &str| {
        chains.compact(&CompactRequest {
            summary: Some(summary.to_owned()),
            ..CompactRequest::of(tip.id.to_string())
        })
    };
    assert_eq!(code(compact(" ")), "summary_empty");
    let much = usize::try_from(SUMMARY_BYTES_MAX).expect("a size") + 1;
    assert_eq!(code(compact(&"x".repeat(much))), "summary_too_long");
    assert_eq!(code(compact(&"word ".repeat(500_000))), "summary_not_smaller");
    let own = compact("the retries wait").expect("a compaction");
    assert_eq!(own.parent, tip.id);
    assert!(own.tokens_after < own.tokens_before);
    let compaction = own.id.expect("it is stored");
    let own = compaction.to_string();
    assert_eq!(chains.before_compaction(&last(&own, None)).expect("a commit").id, tip.id);
    // A session that was named means its newest compaction, also one beside its chain.
    let undone = chains.before_compaction(&last(&tip.id.to_string(), Some(session))).expect("a commit");
    assert_eq!((&undone.compaction, undone.id), (&own, tip.id));
    assert!(undone.notes.iter().any(|note| note.message.contains("on a branch")), "{:?}", undone.notes);
    assert_eq!(
        chains.diff(&last(&tip.id.to_string(), Some(session))).expect("a difference").compaction,
        compaction
    );
    own
}

fn snapshots(chains: &dyn Chains, tip: &str, beside: &str) {
    let snapshot =
        |stop: &str| chains.snapshot(&SnapshotRequest { ctx: tip.to_owned(), stop: stop.to_owned() });
    let made = snapshot("root").expect("a snapshot");
    assert_eq!(snapshot("root").expect("the same"), made);
    let shown = chains.show(&ShowRequest { ctx: made.id.to_string(), entries: false }).expect("a commit");
    assert_eq!(
        (shown.commit_type, shown.parent.map(|id| id.to_string())),
        (CommitType::Snapshot, Some(tip.to_owned()))
    );
    assert_eq!(code(snapshot(beside)), "not_an_ancestor");
    assert_eq!(code(snapshot(MISSING)), "commit_not_found");
}

fn tags(chains: &dyn Chains, tip: &str, other: &str) {
    let nothing = |ctx: &str| UpdateRequest {
        ctx: ctx.to_owned(),
        summary: None,
        add_tags: Vec::new(),
        remove_tags: Vec::new(),
        notes: Vec::new(),
        pin: None,
        thread: None,
        ticket: None,
    };
    let tag = vec!["good".to_owned()];
    let said = UpdateRequest {
        summary: Some("found the race".to_owned()),
        add_tags: tag.clone(),
        notes: vec!["see TKT-1".to_owned()],
        pin: Some(true),
        ..nothing(tip)
    };
    let changed = chains.update(&said).expect("changed");
    assert_eq!((changed.summary.as_str(), changed.pinned, &changed.tags), ("found the race", true, &tag));
    assert_eq!(changed.tags_shared, None);
    let found = chains.find(&find("good")).expect("found");
    assert_eq!((found.ctx.to_string().as_str(), found.redirected_from), (tip, None));
    let ticket = Some("TKT-7".to_owned());
    chains.update(&UpdateRequest { ticket: ticket.clone(), ..nothing(tip) }).expect("linked");
    chains.update(&UpdateRequest { ticket, ..nothing(tip) }).expect("linked again");
    let shown = chains.show(&ShowRequest { ctx: tip.to_owned(), entries: false }).expect("a commit");
    let seen = shown.sightings.expect("told");
    let linked =
        seen.iter().filter(|one| one.ticket_id.as_ref().is_some_and(|ticket| ticket.as_str() == "TKT-7"));
    assert_eq!(linked.count(), 1, "beside what it was seen as before");
    assert!(seen.len() > 1);
    let bad = UpdateRequest { thread: Some("a\nb".to_owned()), ..nothing(tip) };
    assert_eq!(code(chains.update(&bad)), "bad_name");
    let both = UpdateRequest { add_tags: tag.clone(), ..nothing(other) };
    let shared = chains.update(&both).expect("changed").tags_shared.expect("told");
    assert_eq!(shared.iter().map(|one| (one.tag.as_str(), one.commits)).collect::<Vec<_>>(), [("good", 2)]);
    let problem = chains.find(&find("good")).expect_err("two commits");
    assert_eq!((problem.code.as_str(), problem.candidates.len()), ("ambiguous", 2));
    chains.update(&UpdateRequest { remove_tags: tag, ..nothing(other) }).expect("changed");
    assert_eq!(chains.find(&find("good")).expect("found").ctx.to_string(), tip);
    let audit = chains.show(&ShowRequest { ctx: tip.to_owned(), entries: false }).expect("a commit").audit;
    let by: Vec<String> = audit.expect("changes").into_iter().map(|change| change.by.to_string()).collect();
    assert_eq!(by, ["ada@workshop/stemma"; 4]);
    let long = UpdateRequest { add_tags: vec!["x".repeat(10_000)], ..nothing(tip) };
    assert_eq!(code(chains.update(&long)), "out_of_bounds");
}

/// A content that nobody may read.
struct Closed;

impl Read for Closed {
    fn read(&mut self, _into: &mut [u8]) -> std::io::Result<usize> {
        Err(std::io::Error::other("closed"))
    }
}

/// Asks for a root that a program of its own makes.
pub(crate) fn by_hand(session: &str) -> CheckpointRequest {
    CheckpointRequest {
        parent: None,
        commit_type: CommitType::Delta,
        restated_entries: 0,
        artifact: None,
        format: FormatId::new("my-agent-v1").expect("a name"),
        template: Template::new("agent").expect("a name"),
        principal: None,
        machine: None,
        session: SessionId::new(session).expect("a name"),
        trigger: Trigger::Explicit,
        ticket: None,
        thread: None,
        summary: None,
        messages: Some(1),
        tokens: Some(10),
        created_at: None,
        idempotency_key: None,
        ledger: None,
    }
}

fn checkpoints(chains: &dyn Chains, parent: &str) {
    let wish = CheckpointRequest {
        parent: Some(parent.to_owned()),
        ticket: TicketId::new("TKT-1").ok(),
        idempotency_key: Some("first".to_owned()),
        ..by_hand("by-hand")
    };
    let made = chains.checkpoint(&wish, &mut &b"what it knew"[..]).expect("a commit");
    assert!(!made.existed);
    let again = chains.checkpoint(&wish, &mut &b"what it knew"[..]).expect("a commit");
    assert_eq!((&again.id, again.existed), (&made.id, true));
    let shown = chains.show(&ShowRequest { ctx: made.id.to_string(), entries: false }).expect("a commit");
    assert_eq!(
        (shown.parent.map(|id| id.to_string()).as_deref(), &shown.ticket_id),
        (Some(parent), &wish.ticket)
    );
    // What is stored is named, and nothing is read.
    let named = CheckpointRequest {
        artifact: Some(shown.artifact),
        idempotency_key: None,
        parent: Some(made.id.to_string()),
        ..wish.clone()
    };
    chains.checkpoint(&named, &mut Closed).expect("a commit");
    let refused = |change: &dyn Fn(&mut CheckpointRequest)| {
        let mut wish = CheckpointRequest { idempotency_key: None, ..wish.clone() };
        change(&mut wish);
        code(chains.checkpoint(&wish, &mut Closed))
    };
    assert_eq!(refused(&|_| {}), "io_failed");
    assert_eq!(refused(&|wish| wish.parent = Some(MISSING.to_owned())), "commit_not_found");
}

fn blamed(chains: &dyn Chains, session: &Transcript, tip: &str) {
    let lines = vec!["one".to_owned(), "two".to_owned(), "three".to_owned()];
    let ask = |from_line, to_line| {
        chains.blame(&BlameRequest {
            file: format!("{}/nobody-wrote-this.txt", session.cwd),
            project: session.cwd.clone(),
            lines: lines.clone(),
            from_line,
            to_line,
            // A commit of another store tells nothing.
            known: [tip, MISSING].map(|ctx| KnownLine { line: 2, ctx: ctx.to_owned() }).to_vec(),
        })
    };
    let blame = ask(2, 3).expect("an answer");
    let told: Vec<(u64, &str, Option<CommitId>)> =
        blame.lines.iter().map(|line| (line.line, line.text.as_str(), line.ctx)).collect();
    assert_eq!(told, [(2, "two", None), (3, "three", None)]);
    for (from, to) in [(0, 1), (2, 1), (1, 4)] {
        assert_eq!(code(ask(from, to)), "line_not_found");
    }
}
