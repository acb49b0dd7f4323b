//! `blame`: which tool call of which session wrote a line, what was asked for, and what was thought before.
//!
//! Reads commits only; what git knows of a line is its caller's to ask. Which lines a call wrote is
//! `stemmata_acts`'s to know.

mod place;

use std::collections::{BTreeMap, HashMap, HashSet, hash_map};
use std::ops::Range;
use std::path::Path;

use stemmata_acts::{FileAct, FileChange, tool_uses};
use stemmata_api::v1::BlamedLine;
use stemmata_model::{Closure, Commit, CommitId, CommitType, Entry, Part, to_u64};
use stemmata_runtimes::translate::runtime_of;
use stemmata_store::{Page, Session, SessionFilter};

use crate::chain::segments::read_whole;
use crate::chain::walk::Walk;
use crate::engine::Engine;
use crate::error::{FormatUse, Result};
use place::{is_of_file, run};

/// Sessions that are searched at most, the latest.
const SESSIONS_MAX: usize = 2_000;

/// Commits that are looked at for one answer.
const COMMITS_MAX: usize = 200_000;

/// Commits before an edit that are looked through for what was asked.
const REQUEST_COMMITS_MAX: usize = 64;

/// Characters of a line that many places have, such as a brace: it is only known by its neighbours.
const COMMON_CHARS_MAX: usize = 3;

/// What to look for.
#[derive(Debug, Clone)]
pub struct BlameQuery<'a> {
    /// The file, absolute.
    pub file: &'a Path,
    /// The directory of the project that it is part of: sessions that worked there, below or above are searched.
    pub project: &'a Path,
    /// All lines of the file.
    pub lines: &'a [String],
    /// The lines that are asked for, counted from 0.
    pub wanted: Range<usize>,
    /// Where lines are known to come from: a line and the commit that a note in git names.
    pub known: &'a HashMap<usize, CommitId>,
}

/// Where a session worked.
#[derive(Debug, Default)]
struct WorkedIn {
    cwd: Option<String>,
    /// The top of the repository's worktree.
    top: Option<String>,
}

/// What is said of a line that no captured session wrote.
const UNKNOWN: BlamedLine = BlamedLine {
    line: 0,
    text: String::new(),
    git_commit: None,
    git_summary: None,
    context_id: None,
    ctx: None,
    via: None,
    client: None,
    session_id: None,
    entry: None,
    call_id: None,
    tool: None,
    written_at: None,
    request: None,
    reasoning: None,
};

/// An edit of the file.
struct Found {
    /// What is said of a line that it wrote.
    told: BlamedLine,
    lines: Vec<String>,
    is_whole: bool,
}

impl Engine {
    /// Says of each wanted line which tool call wrote it, as far as the store knows: the last one that wrote this text,
    /// and of several that did the one that wrote most of what stands around it too.
    ///
    /// # Errors
    /// Store errors.
    pub fn blame(&self, query: &BlameQuery<'_>) -> Result<Vec<BlamedLine>> {
        let found = self.edits_of(query)?;
        let mut noted: HashMap<CommitId, HashSet<CommitId>> = HashMap::new();
        for ctx in query.known.values() {
            if !noted.contains_key(ctx) {
                noted.insert(*ctx, self.chain_of(*ctx)?);
            }
        }
        let mut known = BTreeMap::new();
        for line in query.wanted.clone() {
            let chain = query.known.get(&line).and_then(|ctx| noted.get(ctx));
            let on_chain = chain.and_then(|chain| {
                let is_on = |edit: &&Found| edit.told.ctx.is_some_and(|ctx| chain.contains(&ctx));
                best(query, line, found.iter().filter(is_on))
            });
            let via = if on_chain.is_some() { "trailer" } else { "search" };
            let Some(edit) = on_chain.or_else(|| best(query, line, found.iter())) else { continue };
            known.insert(line, BlamedLine { via: Some(via.to_owned()), ..edit.told.clone() });
        }
        self.name_first_sessions(&mut known)?;
        add_blank_lines(query, &mut known);
        let told = |at: usize| BlamedLine {
            line: to_u64(at) + 1,
            text: query.lines.get(at).cloned().unwrap_or_default(),
            ..known.remove(&at).unwrap_or(UNKNOWN)
        };
        Ok(query.wanted.clone().map(told).collect())
    }

    /// Names the sessions in which the commits were captured first: copies and forks that go on from them have them, too.
    fn name_first_sessions(&self, lines: &mut BTreeMap<usize, BlamedLine>) -> Result<()> {
        let mut names: HashMap<CommitId, Option<String>> = HashMap::new();
        for line in lines.values_mut() {
            let Some(ctx) = line.ctx else { continue };
            let name = match names.entry(ctx) {
                hash_map::Entry::Occupied(known) => known.into_mut(),
                hash_map::Entry::Vacant(new) => {
                    let first = self.first_session(ctx)?;
                    new.insert(first.map(|session| session.session.to_string()))
                }
            };
            if name.is_some() {
                line.session_id.clone_from(name);
            }
        }
        Ok(())
    }

    /// Returns the commits from one to the root.
    fn chain_of(&self, ctx: CommitId) -> Result<HashSet<CommitId>> {
        let mut walk = Walk::new(self.store.as_ref(), self.store.commit(ctx)?.map(|commit| commit.id));
        let mut chain = HashSet::new();
        while chain.len() < COMMITS_MAX
            && let Some(commit) = walk.next()?
        {
            chain.insert(commit.id);
        }
        Ok(chain)
    }

    /// Finds all edits of the file in the sessions that may have made them, and on the chains that are named.
    fn edits_of(&self, query: &BlameQuery<'_>) -> Result<Vec<Found>> {
        let mut starts: Vec<(CommitId, String, WorkedIn)> = Vec::new();
        for (session, top) in self.sessions_around(query.project)? {
            let worked_in = WorkedIn { cwd: session.cwd, top };
            starts.extend(session.tip.map(|tip| (tip, session.session.to_string(), worked_in)));
        }
        // Of a project that lies elsewhere by now, the commit itself says whose it is.
        for ctx in query.known.values() {
            let seen = self.store.sightings(*ctx, 1)?;
            let session = seen.first().map(|sighting| sighting.session.to_string()).unwrap_or_default();
            starts.push((*ctx, session, WorkedIn::default()));
        }
        let mut seen: HashSet<CommitId> = HashSet::new();
        let mut found = Vec::new();
        for (tip, session, worked_in) in starts {
            let mut walk = Walk::new(self.store.as_ref(), self.store.commit(tip)?.map(|commit| commit.id));
            while seen.len() < COMMITS_MAX
                && let Some(commit) = walk.next()?
            {
                if commit.closure == Closure::Forgotten || !seen.insert(commit.id) {
                    break;
                }
                self.edits_in(&commit, query, (&session, &worked_in), &mut found)?;
            }
        }
        Ok(found)
    }

    /// Returns the sessions that worked in a directory's repository, wherever that was, and in the directory, below it or above it, the
    /// latest first; of those in another worktree its top.
    fn sessions_around(&self, project: &Path) -> Result<Vec<(Session, Option<String>)>> {
        let scope = self.project_scope(&project.to_string_lossy())?;
        let page = Page { skip: 0, rows_max: SESSIONS_MAX };
        let all = self.store.sessions(&SessionFilter::default(), page)?;
        let is_near = |session: &Session| {
            let cwd = session.cwd.as_deref().map(Path::new);
            cwd.is_some_and(|cwd| cwd.starts_with(project) || project.starts_with(cwd))
        };
        let mut around = Vec::new();
        for session in all {
            if scope.holds(&session) {
                let top = self.worktree_of(&session)?;
                around.push((session, top));
            } else if is_near(&session) {
                around.push((session, None));
            }
        }
        Ok(around)
    }

    fn edits_in(
        &self,
        commit: &Commit,
        query: &BlameQuery<'_>,
        (session, worked_in): (&str, &WorkedIn),
        found: &mut Vec<Found>,
    ) -> Result<()> {
        // A snapshot says again what older commits said.
        if matches!(commit.core.commit_type, CommitType::Snapshot { .. }) {
            return Ok(());
        }
        let Ok(adapter) = Self::adapter(&commit.core.format, FormatUse::Read) else { return Ok(()) };
        let bytes = read_whole(self, commit.core.native_artifact())?;
        let name = query.file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if memchr::memmem::find(&bytes, name.as_bytes()).is_none() {
            return Ok(());
        }
        let entries = adapter.decode(&bytes).entries;
        for used in tool_uses(&entries) {
            let Some(entry) = entries.get(used.entry) else { continue };
            let cwd = entry.meta.cwd.as_deref().or(worked_in.cwd.as_deref());
            let places = (cwd, worked_in.top.as_deref());
            let is_meant = |file: &FileAct| {
                !file.added_lines().is_empty()
                    && is_of_file(file.path_after(), places, (query.file, query.project))
            };
            let changes: Vec<FileAct> = used.files().into_iter().filter(is_meant).collect();
            if changes.is_empty() {
                continue;
            }
            let before = entries.get(..=used.entry).unwrap_or_default();
            let (request, reasoning) = asked(before);
            let request = match request {
                Some(request) => Some(request),
                None => self.asked_before(commit)?,
            };
            let told = BlamedLine {
                ctx: Some(commit.id),
                client: Some(runtime_of(&commit.core.format).to_owned()),
                session_id: Some(session.to_owned()).filter(|session| !session.is_empty()),
                entry: Some(entry.id.to_string()),
                call_id: Some(used.call_id.to_owned()),
                tool: Some(used.name.to_owned()),
                written_at: entry.timestamp.or(Some(commit.core.created_at)),
                request,
                reasoning,
                ..UNKNOWN
            };
            found.extend(changes.into_iter().map(|change| Found {
                told: told.clone(),
                lines: change.added_lines().into_iter().map(str::to_owned).collect(),
                is_whole: matches!(change.change, FileChange::Write { .. }),
            }));
        }
        Ok(())
    }

    /// Returns what the user asked for last before a commit.
    fn asked_before(&self, commit: &Commit) -> Result<Option<String>> {
        let mut walk = Walk::new(self.store.as_ref(), commit.core.parent);
        for _ in 0..REQUEST_COMMITS_MAX {
            let Some(commit) = walk.next()? else { break };
            if commit.closure == Closure::Forgotten {
                break;
            }
            if let Some(request) = asked(&self.entries(commit.id)?).0 {
                return Ok(Some(request));
            }
        }
        Ok(None)
    }
}

/// Adds blank lines, which no words tell: each is of the line before it, else of the one behind it.
fn add_blank_lines(query: &BlameQuery<'_>, known: &mut BTreeMap<usize, BlamedLine>) {
    let blank: Vec<usize> = query.wanted.clone().filter(|line| is_blank(query, *line)).collect();
    let pairs = blank.iter().map(|line| (*line, line.checked_sub(1)));
    // What is still unknown then has an unknown line before it.
    for (line, neighbour) in pairs.chain(blank.iter().rev().map(|line| (*line, line.checked_add(1)))) {
        if known.contains_key(&line) {
            continue;
        }
        let told = neighbour.and_then(|neighbour| known.get(&neighbour)).cloned();
        known.extend(told.map(|told| (line, BlamedLine { via: Some("neighbour".to_owned()), ..told })));
    }
}

fn is_blank(query: &BlameQuery<'_>, line: usize) -> bool {
    query.lines.get(line).is_some_and(|text| text.trim().is_empty())
}

/// Returns the last request in some entries, and what was thought or said since, last.
fn asked(entries: &[Entry]) -> (Option<String>, Option<String>) {
    let is_request = |entry: &&Entry| entry.is_prompt() && !text(entry).trim().is_empty();
    let start = entries.iter().rposition(|entry| is_request(&entry));
    let request = start.and_then(|start| entries.get(start)).map(text);
    let since = entries.get(start.map_or(0, |start| start + 1)..).unwrap_or_default();
    let parts = since.iter().rev().flat_map(|entry| entry.parts.iter().rev());
    let mut thought = parts.filter_map(|part| match part {
        Part::Thinking { text, .. } | Part::Text(text) if !text.trim().is_empty() => Some(text.clone()),
        _ => None,
    });
    (request, thought.next())
}

fn text(entry: &Entry) -> String {
    let said = entry.parts.iter().filter_map(Part::as_text);
    said.collect::<Vec<_>>().join("\n")
}

/// Returns the edit that a line is of: the longest run of what stands around it counts up to three lines, then the time.
fn best<'f>(
    query: &BlameQuery<'_>,
    line: usize,
    edits: impl Iterator<Item = &'f Found>,
) -> Option<&'f Found> {
    let text = query.lines.get(line)?.trim();
    let is_common = text.chars().count() <= COMMON_CHARS_MAX;
    let scored = edits.map(|edit| (run(query.lines, line, &edit.lines), edit));
    // Who wrote the whole file wrote its braces too.
    let least = |edit: &Found| if is_common && !edit.is_whole { 2 } else { 1 };
    let scored = scored.filter(|(run, edit)| *run >= least(edit) && !text.is_empty());
    scored.max_by_key(|(run, edit)| ((*run).min(3), edit.told.written_at)).map(|(_, edit)| edit)
}
