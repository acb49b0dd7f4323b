//! What a session's lines say about it: id, title, place, times.
//!
//! Shown to people and kept with sightings; decides no boundary.

use serde_json::{Value, json};
use stemmata_model::{SessionId, Template, Timestamp};

use crate::adapter::SessionFacts;

/// Characters of a title: one line of a listing.
pub(crate) const TITLE_CHARS_MAX: usize = 200;

/// Bytes that a text fact may take in a splitter's state; longer ones are learned again from the next line.
const STATE_FACT_BYTES_MAX: usize = 512;

/// Where a title came from; a later kind replaces an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum TitleRank {
    /// There is no title.
    #[default]
    None,
    /// The first prompt.
    Prompt,
    /// The runtime made it up.
    Runtime,
    /// The user gave it.
    User,
}

impl TitleRank {
    /// Reads the number that a state has for it; none where it is another's.
    pub(crate) fn of_number(number: u64) -> Option<Self> {
        [Self::None, Self::Prompt, Self::Runtime, Self::User].into_iter().find(|rank| *rank as u64 == number)
    }
}

impl SessionFacts {
    /// Takes a title that a line gives. The first prompt stays, titles of the other ranks are replaced.
    pub(crate) fn entitle(&mut self, rank: TitleRank, title: &str) {
        let is_better = rank > self.title_rank || (rank == self.title_rank && rank > TitleRank::Prompt);
        let title = if is_better { one_line(title) } else { String::new() };
        if !title.is_empty() {
            (self.title, self.title_rank) = (Some(title), rank);
        }
    }
}

/// Returns a splitter's state with another title: where the lines that gave the title were forgotten, the state must not bring
/// it back. A state that cannot be read becomes none.
pub fn with_title_of(state: &[u8], facts: &SessionFacts) -> Vec<u8> {
    let Ok(mut state) = serde_json::from_slice::<Value>(state) else { return Vec::new() };
    if let Some(own) = state.get_mut("facts").and_then(Value::as_object_mut) {
        own.insert("title".to_owned(), json!(facts.title));
        own.insert("rank".to_owned(), json!(facts.title_rank as u8));
    }
    state.to_string().into_bytes()
}

/// What one line says of its session. Texts may be borrowed from the line: most say what was said before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Hints<S = String> {
    pub(crate) session: Option<S>,
    /// Of a subagent: the session that started it.
    pub(crate) parent: Option<S>,
    pub(crate) agent: Option<S>,
    /// Whether the transcript is a subagent's; the first line that says so decides.
    pub(crate) is_subagent: Option<bool>,
    pub(crate) cwd: Option<S>,
    pub(crate) git_branch: Option<S>,
    /// The remote of the repository that it works in.
    pub(crate) remote: Option<S>,
    pub(crate) version: Option<S>,
    pub(crate) title: Option<(TitleRank, S)>,
}

/// The templates of a format, as the bytes of a transcript alone tell them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Templates {
    /// Of a main conversation.
    pub(crate) main: &'static str,
    /// Of a subagent's.
    pub(crate) subagent: &'static str,
}

impl Templates {
    pub(crate) fn of(self, is_subagent: bool) -> Template {
        let name = if is_subagent { self.subagent } else { self.main };
        Template::new(name).expect("both names are short and plain")
    }
}

/// Facts that grow line by line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Facts {
    facts: SessionFacts,
}

impl Facts {
    pub(crate) const fn session(&self) -> &SessionFacts {
        &self.facts
    }

    /// Returns the template to hash into commits.
    pub(crate) fn template(&self, templates: Templates) -> Template {
        self.facts.template.clone().unwrap_or_else(|| templates.of(false))
    }

    /// Takes what a line says.
    pub(crate) fn learn<S: AsRef<str> + Into<String>>(
        &mut self,
        templates: Templates,
        hints: Hints<S>,
        time: Option<Timestamp>,
    ) {
        let facts = &mut self.facts;
        if facts.session.is_none() {
            facts.session = hints.session.and_then(|id| SessionId::new(id.as_ref()).ok());
        }
        if facts.parent.is_none() {
            facts.parent = hints.parent.and_then(|id| SessionId::new(id.as_ref()).ok());
        }
        if facts.agent.is_none() {
            facts.agent = hints.agent.map(S::into);
        }
        if let (None, Some(is_subagent)) = (&facts.template, hints.is_subagent) {
            facts.template = Some(templates.of(is_subagent));
        }
        // It is the remote of the directory that was named with it.
        let cwd = hints.cwd.as_ref().map(S::as_ref);
        if cwd.is_some() && facts.cwd.is_some() && cwd != facts.cwd.as_deref() {
            facts.remote = None;
        }
        keep_last(&mut facts.remote, hints.remote);
        keep_last(&mut facts.cwd, hints.cwd);
        keep_last(&mut facts.git_branch, hints.git_branch);
        keep_last(&mut facts.version, hints.version);
        if let Some(time) = time {
            facts.first_timestamp = Some(facts.first_timestamp.map_or(time, |first| first.min(time)));
            facts.last_timestamp = Some(facts.last_timestamp.map_or(time, |last| last.max(time)));
        }
        if let Some((rank, title)) = hints.title {
            facts.entitle(rank, title.as_ref());
        }
    }

    /// Returns the facts as JSON of bounded size; what is too long is left out.
    pub(crate) fn to_json(&self) -> Value {
        let bounded = |fact: &Option<String>| {
            fact.as_ref().filter(|fact| json!(fact).to_string().len() <= STATE_FACT_BYTES_MAX).cloned()
        };
        json!({
            "session": self.facts.session.as_ref().map(SessionId::as_str),
            "parent": self.facts.parent.as_ref().map(SessionId::as_str),
            "agent": bounded(&self.facts.agent),
            "template": self.facts.template.as_ref().map(Template::as_str),
            "cwd": bounded(&self.facts.cwd),
            "branch": bounded(&self.facts.git_branch),
            "version": bounded(&self.facts.version),
            "title": self.facts.title,
            "rank": self.facts.title_rank as u8,
            "first": self.facts.first_timestamp.map(Timestamp::as_micros),
            "last": self.facts.last_timestamp.map(Timestamp::as_micros),
        })
    }

    /// Reads what [`Facts::to_json`] wrote; none where it is something else.
    pub(crate) fn from_json(value: &Value, templates: Templates) -> Option<Self> {
        let string = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        let time = |key: &str| value.get(key).and_then(Value::as_i64).map(Timestamp::from_micros);
        let title_rank = TitleRank::of_number(value.get("rank")?.as_u64()?)?;
        // Version 0.1 wrote for Claude Code whether it is a subagent's.
        let is_subagent = || value.get("subagent").and_then(Value::as_bool);
        let template = string("template").and_then(|name| Template::new(name).ok());
        Some(Self {
            facts: SessionFacts {
                session: string("session").and_then(|id| SessionId::new(id).ok()),
                parent: string("parent").and_then(|id| SessionId::new(id).ok()),
                agent: string("agent"),
                template: template.or_else(|| is_subagent().map(|is_subagent| templates.of(is_subagent))),
                cwd: string("cwd"),
                git_branch: string("branch"),
                // Whoever reads on from a state has learnt it.
                remote: None,
                version: string("version"),
                title: string("title"),
                title_rank,
                last_timestamp: time("last"),
                first_timestamp: time("first"),
            },
        })
    }
}

/// Keeps the last text that is there and not empty, without an allocation where it is the same.
fn keep_last<S: AsRef<str> + Into<String>>(kept: &mut Option<String>, value: Option<S>) {
    if let Some(value) = value
        && !value.as_ref().is_empty()
        && kept.as_deref() != Some(value.as_ref())
    {
        *kept = Some(value.into());
    }
}

/// Puts a text on one line: white space and control characters become single spaces, the rest is cut.
pub(crate) fn one_line(text: &str) -> String {
    let mut line = String::new();
    let mut chars = 0;
    for word in text.split(|character: char| character.is_whitespace() || character.is_control()) {
        if word.is_empty() {
            continue;
        }
        let gap = usize::from(chars > 0);
        let room = TITLE_CHARS_MAX.saturating_sub(chars + gap);
        if room == 0 {
            break;
        }
        line.extend((gap > 0).then_some(' '));
        line.extend(word.chars().take(room));
        chars += gap + word.chars().take(room).count();
    }
    line
}
