//! What a search is limited to: which sessions, and which entries of them.

use std::collections::BTreeSet;

use stemmata_model::{Entry, LedgerId, Role, SessionId, Timestamp};
use stemmata_prompt::search::{ClassMask, Needed, Phrase, entry_terms, kinds, marks};
use stemmata_prompt::strategy::nearest;
use stemmata_runtimes::translate::runtime_of;
use stemmata_store::Session;

use super::SearchError;
use super::prepared::{Traits, minute_of, traits};
use crate::ledger::{Elsewhere, ProjectScope, ProjectSessions};

/// The client of events, which are no session's.
pub(crate) const LEDGER_CLIENT: &str = "ledger";

/// Every role, as bits.
const ROLES: u8 = ClassMask::ALL.roles;

/// The kinds that can be asked for: those of entries, and what else is known of one.
const KINDS: &[(&str, ClassMask)] = &[
    ("message", of_kinds(1 << kinds::MESSAGE)),
    ("prompt", of_marks(marks::PROMPT)),
    ("answer", ANSWER),
    ("call", of_marks(marks::CALL)),
    ("edit", of_marks(marks::EDIT)),
    ("error", of_marks(marks::ERROR)),
    ("decision", of_marks(marks::DECISION)),
    ("thinking", of_marks(marks::THINKING)),
    ("tool_result", of_kinds(TOOL_OUTPUT)),
    ("tool_result_archived", of_kinds(1 << kinds::TOOL_RESULT_ARCHIVED)),
    ("tool_summary", of_kinds(1 << kinds::TOOL_SUMMARY)),
    ("compaction_summary", of_kinds(1 << kinds::COMPACTION_SUMMARY)),
    ("summary", of_kinds(1 << kinds::TOOL_SUMMARY | 1 << kinds::COMPACTION_SUMMARY)),
    ("instruction", of_kinds(1 << kinds::INSTRUCTION)),
    ("other", of_kinds(1 << kinds::OTHER)),
    ("event", of_kinds(1 << kinds::EVENT)),
];

/// What a model said without calling a tool. Where a client keeps words and calls in one entry, the last answer has no call.
const ANSWER: ClassMask = ClassMask {
    roles: ClassMask::role_bit(Role::Assistant),
    without_marks: marks::CALL,
    ..of_kinds(1 << kinds::MESSAGE)
};

/// What tools answered.
const TOOL_OUTPUT: u8 = 1 << kinds::TOOL_RESULT | 1 << kinds::TOOL_RESULT_ARCHIVED;

const fn of_kinds(kinds: u8) -> ClassMask {
    ClassMask { kinds, ..ClassMask::ALL }
}

const fn of_marks(marks: u8) -> ClassMask {
    ClassMask { kinds: 0, marks, ..ClassMask::ALL }
}

/// What somebody wants searched, as text. Everything that is set has to hold.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SearchFilter {
    /// Only sessions of this client.
    pub client: Option<String>,
    /// Only entries of this role.
    pub role: Option<String>,
    /// Only sessions of these projects.
    pub projects: Option<ProjectScope>,
    /// Only sessions on this branch of git.
    pub branch: Option<String>,
    /// Only entries that name this file; its last parts are enough.
    pub file: Option<String>,
    /// Only entries of these kinds.
    pub kinds: Vec<String>,
    /// Only entries of this time or later.
    pub since: Option<Timestamp>,
    /// Only entries of this time or earlier.
    pub until: Option<Timestamp>,
    /// Only sessions whose id begins so.
    pub session: Option<String>,
    /// Leave out what tools answered.
    pub no_tool_output: bool,
}

/// A filter that was read.
pub(crate) struct Scoped<'a> {
    filter: &'a SearchFilter,
    /// What an entry may be: any of these is enough; nothing: anything.
    masks: Vec<ClassMask>,
    /// The first minute that passes, 0 for all.
    pub(crate) since_minute: u32,
    /// The last minute that passes, `u32::MAX` for all.
    pub(crate) until_minute: u32,
    /// Whether the passages of hits are wanted, and the words of the query.
    pub(crate) has_passages: bool,
    /// Only what belongs to a ledger.
    belonging: Option<&'a Belonging>,
}

/// What belongs to a ledger: its events, those of the other ledgers of its repository, and sessions.
pub(crate) struct Belonging {
    /// The ledgers.
    pub(crate) ledgers: Vec<LedgerId>,
    /// The sessions.
    pub(crate) sessions: SessionsOf,
}

/// The sessions of a ledger.
pub(crate) enum SessionsOf {
    /// Those that worked in a project.
    Project(ProjectSessions),
    /// Those of a cluster, which has no folder.
    Cluster(BTreeSet<SessionId>),
}

impl Belonging {
    fn has(&self, facts: &SessionFacts<'_>) -> bool {
        if facts.client == LEDGER_CLIENT {
            return self.ledgers.iter().any(|ledger| facts.path == event_path(ledger, facts.session));
        }
        match &self.sessions {
            SessionsOf::Project(project) => {
                facts.cwd.is_some_and(|cwd| project.has(facts.machine, cwd, Elsewhere::SamePath))
            }
            SessionsOf::Cluster(sessions) => {
                SessionId::new(facts.session).is_ok_and(|session| sessions.contains(&session))
            }
        }
    }
}

/// Returns the path that a session's events have in the index. No session's path: it begins with what no path does.
pub(super) fn event_path(ledger: &LedgerId, session: &str) -> String {
    format!("ledger:{ledger}:{session}")
}

impl<'a> Scoped<'a> {
    /// Reads a filter.
    ///
    /// # Errors
    /// `NoSuchName` for a role or a kind that there is not, `NoTime` for times between which nothing can be.
    pub(crate) fn of(filter: &'a SearchFilter) -> Result<Self, SearchError> {
        let roles = match filter.role.as_deref() {
            None => ROLES,
            Some(name) => {
                let all = [Role::System, Role::User, Role::Assistant, Role::Tool];
                let role = all.into_iter().find(|role| role.as_str() == name);
                let role = role.ok_or_else(|| no_such_name("role", name, all.map(Role::as_str)))?;
                ClassMask::role_bit(role)
            }
        };
        let mask = |name: &String| {
            let known = KINDS.iter().find(|(known, _)| known == name).map(|(_, mask)| *mask);
            known.ok_or_else(|| no_such_name("kind", name, KINDS.iter().map(|(known, _)| *known)))
        };
        if let (Some(since), Some(until)) = (filter.since, filter.until)
            && since > until
        {
            return Err(SearchError::NoTime { since, until });
        }
        let mut masks = filter.kinds.iter().map(mask).collect::<Result<Vec<_>, _>>()?;
        let without = if filter.no_tool_output { TOOL_OUTPUT } else { 0 };
        if masks.is_empty() && (roles != ROLES || without != 0) {
            masks.push(ClassMask::ALL);
        }
        for mask in &mut masks {
            *mask = ClassMask { roles: mask.roles & roles, without, ..*mask };
        }
        let since_minute = filter.since.map_or(0, minute_of);
        let until_minute = filter.until.map_or(u32::MAX, minute_of);
        Ok(Self { filter, masks, since_minute, until_minute, has_passages: false, belonging: None })
    }

    /// Asks for what retrieval needs of a hit besides, and only for what belongs to a ledger, where one is given.
    pub(crate) fn for_retrieval(self, belonging: Option<&'a Belonging>) -> Self {
        Self { has_passages: true, belonging, ..self }
    }

    /// Returns what an entry may be.
    pub(crate) fn masks(&self) -> &[ClassMask] {
        &self.masks
    }

    /// Returns whether an entry passes.
    pub(crate) fn admits(&self, entry: Traits) -> bool {
        let Traits { class, marks, minute } = entry;
        (self.masks.is_empty() || self.masks.iter().any(|mask| mask.admits(class, marks)))
            && (self.since_minute..=self.until_minute).contains(&minute)
    }

    /// Returns whether an entry passes that was read from the store; its words are not looked at again.
    pub(crate) fn admits_entry(&self, entry: &Entry) -> bool {
        traits(entry).is_some_and(|entry| self.admits(entry)) && self.admits_time(entry.timestamp)
    }

    /// Returns whether something of a time passes: what is ranked is known by its minute only.
    pub(crate) fn admits_time(&self, at: Option<Timestamp>) -> bool {
        self.filter.since.is_none_or(|since| at.is_some_and(|at| at >= since))
            && self.filter.until.is_none_or(|until| at.is_some_and(|at| at <= until))
    }

    /// Returns how the ids of the sessions begin that are asked for.
    pub(crate) fn session(&self) -> Option<&str> {
        self.filter.session.as_deref()
    }

    /// Returns the projects that are asked for.
    pub(crate) fn projects(&self) -> Option<&ProjectScope> {
        self.filter.projects.as_ref()
    }

    /// Returns whether only some sessions are searched.
    pub(crate) fn is_of_sessions(&self) -> bool {
        let SearchFilter { client, projects, branch, session, .. } = self.filter;
        let is_filtered = client.is_some() || projects.is_some() || branch.is_some() || session.is_some();
        is_filtered || self.belonging.is_some()
    }

    /// Returns whether a session passes.
    pub(crate) fn admits_session(&self, session: &Session) -> bool {
        self.admits_place(&SessionFacts {
            machine: session.key.machine.as_str(),
            path: &session.key.path,
            session: session.session.as_str(),
            client: runtime_of(&session.format),
            cwd: session.cwd.as_deref(),
            branch: session.git_branch.as_deref(),
        })
    }

    /// Returns whether what is known of a session passes.
    pub(crate) fn admits_place(&self, facts: &SessionFacts<'_>) -> bool {
        let SearchFilter { client, projects, branch, session, .. } = self.filter;
        client.as_deref().is_none_or(|client| client == facts.client)
            && projects.as_ref().is_none_or(|projects| projects.holds_folder(facts.machine, facts.cwd))
            && branch.as_deref().is_none_or(|branch| facts.branch == Some(branch))
            && session.as_deref().is_none_or(|session| facts.session.starts_with(session))
            && self.belonging.is_none_or(|belonging| belonging.has(facts))
    }

    /// Returns whether an event of a ledger with this root may pass, whatever its session is.
    pub(crate) fn admits_ledger(&self, here: &str, root: Option<&str>) -> bool {
        let session = self.filter.session.as_deref().unwrap_or_default();
        let (machine, path) = (here, "");
        let client = LEDGER_CLIENT;
        self.admits_place(&SessionFacts { machine, path, session, client, cwd: root, branch: None })
    }

    /// Returns the file as a phrase that every hit has to have.
    pub(crate) fn file(&self) -> Option<Phrase> {
        let file = self.filter.file.as_ref()?;
        let needed = |(term, _)| Needed { term, also: None };
        let terms = entry_terms(file).terms.into_iter().map(needed).collect();
        Some(Phrase { text: file.clone(), terms })
    }
}

/// Returns the error of a name that a filter does not know.
pub(super) fn no_such_name<'k>(
    filter: &'static str,
    given: &str,
    known: impl IntoIterator<Item = &'k str>,
) -> SearchError {
    let known: Vec<String> = known.into_iter().map(str::to_owned).collect();
    let begun =
        || known.iter().find(|known| !given.is_empty() && known.starts_with(given)).map(String::as_str);
    let near = nearest(given, known.iter().map(String::as_str)).or_else(begun).map(str::to_owned);
    SearchError::NoSuchName { filter, given: given.to_owned(), near, known }
}

/// What a filter asks of a session.
pub(crate) struct SessionFacts<'a> {
    pub(crate) machine: &'a str,
    pub(crate) path: &'a str,
    pub(crate) session: &'a str,
    pub(crate) client: &'a str,
    pub(crate) cwd: Option<&'a str>,
    pub(crate) branch: Option<&'a str>,
}
