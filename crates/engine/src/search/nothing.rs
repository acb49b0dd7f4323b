//! A search that finds nothing: a file's name with a slip is looked for again as it was meant, and the answer says what is in the way.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::time::Duration;

use stemmata_api::v1::SearchForm;
use stemmata_model::SessionId;
use stemmata_prompt::search::{QueryInput, parse_query};
use stemmata_prompt::select::entry_text;
use stemmata_store::{IndexError, Page, SessionFilter};

use super::bridge::AnySegment;
use super::filter::Scoped;
use super::words::near_files;
use super::{SearchAnswer, SearchFilter, SearchNote, SearchQuery, SearchStep, SettleBudget, StepUnit};
use crate::engine::Engine;
use crate::error::Result;

/// Ledgers in which open turns are looked for, the newest.
const OPEN_LEDGERS_MAX: usize = 64;

impl Engine {
    /// Returns the answer of the same search for the file that a mistyped name means, where it means one; else the reason why
    /// nothing can be found, where that is known. Where `step` breaks there is no reason: what was not searched may have it.
    pub(super) fn nothing_found(
        &self,
        query: &SearchQuery,
        answer: SearchAnswer,
        step: &mut SearchStep<'_>,
    ) -> Result<SearchAnswer> {
        let is_broken = Cell::new(false);
        let step: &mut SearchStep<'_> = &mut |unit, done, total| {
            is_broken.set(is_broken.get() || step(unit, done, total).is_break());
            if is_broken.get() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        // A search in an index that has everything does not call it.
        if step(StepUnit::Commits, 0, None).is_break() {
            return Ok(answer);
        }
        let mut query = query.clone();
        let mut answer = answer;
        let asked = query.filter.file.clone().unwrap_or_default();
        if let Some(meant) = self.file_meant(&asked)? {
            query.filter.file = Some(meant.clone());
            answer = self.search_scoped(&query, &Scoped::of(&query.filter)?, step)?;
            answer.notes.insert(0, SearchNote::Mended { asked, meant: vec![meant] });
        }
        if answer.hits.is_empty() {
            let is_of_text = answer.notes.contains(&SearchNote::SearchedText);
            let is_cheap = query.form == SearchForm::Words && !query.is_unfinished && !is_of_text;
            let reason = match self.nothing_there(&query.filter)? {
                None => match self.open_turn(&query)? {
                    None if is_cheap => self.excluded(&query, step)?,
                    open => open,
                },
                reason => reason,
            };
            answer.notes.extend(reason.filter(|_| !is_broken.get()));
        }
        Ok(answer)
    }

    /// Says which open turn has all words of a query. What began a turn is in the ledger alone until a step is stored.
    fn open_turn(&self, query: &SearchQuery) -> Result<Option<SearchNote>> {
        let words: Vec<String> = query.text.split_whitespace().map(str::to_lowercase).collect();
        if words.is_empty() {
            return Ok(None);
        }
        let is_asked = |session: &SessionId| {
            query.filter.session.as_ref().is_none_or(|asked| session.as_str().starts_with(asked.as_str()))
        };
        for ledger in self.all_ledgers()?.iter().rev().take(OPEN_LEDGERS_MAX) {
            for (session, entry) in self.open_lines(ledger)? {
                let text = entry_text(&entry).to_lowercase();
                if is_asked(&session) && words.iter().all(|word| text.contains(word.as_str())) {
                    return Ok(Some(SearchNote::OpenTurn { session: session.to_string() }));
                }
            }
        }
        Ok(None)
    }

    /// Says that there are no sessions, or none of the name that is asked for.
    fn nothing_there(&self, filter: &SearchFilter) -> Result<Option<SearchNote>> {
        let one = Page { skip: 0, rows_max: 1 };
        let has_sessions = !self.store.sessions(&SessionFilter::default(), one)?.is_empty();
        if !has_sessions && !self.store.has_tombstones()? && self.all_ledgers()?.is_empty() {
            return Ok(Some(SearchNote::NothingImported));
        }
        let Some(session) = &filter.session else { return Ok(None) };
        let wanted = SessionFilter { session_prefix: Some(session.clone()), ..SessionFilter::default() };
        let is_there = !self.store.sessions(&wanted, one)?.is_empty();
        Ok((!is_there).then(|| SearchNote::NoSuchSession { session: session.clone() }))
    }

    /// Says which filters exclude what the words would find: it is found without one of them. A search for one hit is cheap, and
    /// there are as many as filters. What it returns after `step` broke means nothing.
    fn excluded(&self, query: &SearchQuery, step: &mut SearchStep<'_>) -> Result<Option<SearchNote>> {
        let given = query.filter.given();
        let mut finds = |filter: SearchFilter| -> Result<bool> {
            if query.text.trim().is_empty() && filter == SearchFilter::default() {
                return Ok(true);
            }
            if step(StepUnit::Commits, 0, None).is_break() {
                return Ok(false);
            }
            let budget = SettleBudget::Within(Duration::ZERO);
            let probe = SearchQuery { filter, hits_max: 1, budget, ..query.clone() };
            let scoped = Scoped::of(&probe.filter)?;
            let found = self.search_scoped(&probe, &scoped, step)?;
            Ok(!found.hits.is_empty())
        };
        if given.is_empty() || !finds(SearchFilter::default())? {
            return Ok(None);
        }
        let mut by = Vec::new();
        for (flags, without) in given {
            if finds(without)? {
                by.push(flags);
            }
        }
        Ok(Some(SearchNote::Excluded { by }))
    }

    /// Returns the name of a file that a mistyped one means, `None` where the index has the name itself or none like it.
    fn file_meant(&self, asked: &str) -> Result<Option<String>> {
        let Ok(parsed) = parse_query(&QueryInput { text: asked, participants: &[] }) else { return Ok(None) };
        let Ok(Some(index)) = self.index.index(self.store.identity()?.store_id) else { return Ok(None) };
        let meant = || -> Result<Option<String>, IndexError> {
            let reader = index.reader()?;
            let segments: Vec<_> = reader.segments().into_iter().map(AnySegment::Index).collect();
            // With its folder first: of many files of one name that is the one.
            for file in parsed.files.iter().rev() {
                if let Some(near) = near_files(file, &segments)?.into_iter().next() {
                    let (typed, near) = (file.trim_start_matches('='), near.trim_start_matches('='));
                    // The folders before stay, as far as the name that was looked up has one.
                    let before = asked.len().checked_sub(typed.len()).filter(|_| typed.contains(['/', '\\']));
                    let before = before.and_then(|end| asked.get(..end)).unwrap_or_default();
                    return Ok(Some(format!("{before}{near}")));
                }
            }
            Ok(None)
        };
        // Without an index that can be read there is no name to compare with: search says so by itself.
        Ok(meant().unwrap_or_default())
    }
}

impl SearchFilter {
    /// Returns each filter that is set as flags of the command line, and the filter without it.
    fn given(&self) -> Vec<(String, Self)> {
        let mut given = Vec::new();
        let flags = |name: &str, values: &[String]| {
            values.iter().map(|value| format!("--{name} {value}")).collect::<Vec<_>>().join(" ")
        };
        let one = |value: &Option<String>| value.iter().cloned().collect::<Vec<_>>();
        let at = |value: Option<stemmata_model::Timestamp>| value.map(|at| at.to_string());
        let projects = self.projects.as_ref().map(|projects| projects.names().to_vec()).unwrap_or_default();
        for (name, values, without) in [
            ("client", one(&self.client), Self { client: None, ..self.clone() }),
            ("role", one(&self.role), Self { role: None, ..self.clone() }),
            ("project", projects, Self { projects: None, ..self.clone() }),
            ("branch", one(&self.branch), Self { branch: None, ..self.clone() }),
            ("file", one(&self.file), Self { file: None, ..self.clone() }),
            ("kind", self.kinds.clone(), Self { kinds: Vec::new(), ..self.clone() }),
            ("since", one(&at(self.since)), Self { since: None, ..self.clone() }),
            ("until", one(&at(self.until)), Self { until: None, ..self.clone() }),
            ("session", one(&self.session), Self { session: None, ..self.clone() }),
        ] {
            if !values.is_empty() {
                given.push((flags(name, &values), without));
            }
        }
        if self.no_tool_output {
            given.push(("--no-tool-output".to_owned(), Self { no_tool_output: false, ..self.clone() }));
        }
        given
    }
}
