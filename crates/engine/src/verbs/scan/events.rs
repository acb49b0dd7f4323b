//! What today's rules would find in ledgers: in events that say something, and in the states that were made of them.
//!
//! What is trimmed is looked at as long as the store has its line. Which rules count is the ledger's project's.

use std::path::Path;

use stemmata_api::v1::UnreadLedger;
use stemmata_model::{Event, EventSeq, Json, LedgerId, Payload, SessionId, to_u64};
use stemmata_redact::{Finding, Scrubber};
use stemmata_store::{CURSOR_STATES, EventQuery, Ledger, StoreError};

use super::{FoundIn, Holder, ScanPlace, Scanned, SecretFound, Telling, fingerprint};
use crate::chain::segments::read_whole;
use crate::engine::Engine;
use crate::error::{EngineError, Result};

/// Events that are read at once: each may have some megabytes.
const PAGE_EVENTS: usize = 256;

/// Looks at one ledger by its rules.
struct Looker<'e> {
    engine: &'e Engine,
    scrubber: Scrubber,
    key: [u8; 32],
}

impl Engine {
    /// Looks at all ledgers after a place. Says whether to go on.
    pub(super) fn scan_ledgers(
        &self,
        after: Option<ScanPlace>,
        (scanned, found): Telling<'_>,
    ) -> Result<bool> {
        let (mut ledger, begun) = match after {
            Some(ScanPlace::Event(ledger, seq)) => (None, Some((ledger, seq))),
            Some(ScanPlace::Ledger(ledger)) => (Some(ledger), None),
            Some(ScanPlace::Commit(_) | ScanPlace::Beside(_)) | None => (None, None),
        };
        if let Some((id, seq)) = begun {
            if let Some(own) = self.listed(&id)?
                && !self.scan_ledger(&own, Some(seq), (scanned, found))?
            {
                return Ok(false);
            }
            ledger = Some(id);
        }
        self.ledgers_while(ledger, |own| self.scan_ledger(own, None, (scanned, found)))
    }

    /// Tells what today's rules would find in all ledgers.
    pub(crate) fn scan_all_ledgers(&self, found: &mut dyn FnMut(SecretFound) -> bool) -> Result<Scanned> {
        let mut scanned = Scanned::default();
        self.scan_ledgers(None, (&mut scanned, found))?;
        Ok(scanned)
    }

    /// Returns a ledger as the listing has it: as far as it can be read.
    fn listed(&self, id: &LedgerId) -> Result<Option<Ledger>> {
        match self.log.ledger(id) {
            Err(error) if is_of_one(&error) => {}
            known => return Ok(known?),
        }
        let mut listed = None;
        self.ledgers_while(None, |ledger| {
            listed = (ledger.id == *id).then(|| ledger.clone());
            Ok(listed.is_none())
        })?;
        Ok(listed)
    }

    /// Looks at the events of sessions in all ledgers. Says whether to go on.
    pub(super) fn scan_sessions(
        &self,
        sessions: &[SessionId],
        (scanned, found): Telling<'_>,
    ) -> Result<bool> {
        if sessions.is_empty() {
            return Ok(true);
        }
        self.ledgers_while(None, |ledger| {
            let looker = self.looker(ledger)?;
            for session in sessions {
                if !looker.events(ledger, (None, Some(session)), (scanned, found))? {
                    return Ok(false);
                }
            }
            Ok(true)
        })
    }

    fn scan_ledger(
        &self,
        ledger: &Ledger,
        after: Option<EventSeq>,
        (scanned, found): Telling<'_>,
    ) -> Result<bool> {
        let looker = self.looker(ledger)?;
        if !looker.events(ledger, (after, None), (scanned, found))? {
            return Ok(false);
        }
        let goes_on = match looker.states(ledger, (scanned, found)) {
            Err(EngineError::Store(error)) if is_of_one(&error) => {
                scanned.pass_over(ledger, &error);
                true
            }
            done => done?,
        };
        scanned.last = Some(ScanPlace::Ledger(ledger.id.clone()));
        Ok(goes_on)
    }

    fn looker(&self, ledger: &Ledger) -> Result<Looker<'_>> {
        let scrubber = self.scrubber_at(ledger.root.as_deref().map(Path::new))?;
        Ok(Looker { engine: self, scrubber, key: self.store.identity()?.secret })
    }
}

/// Says whether an error is of what one ledger has, and says nothing of others.
fn is_of_one(error: &StoreError) -> bool {
    matches!(error, StoreError::LedgerDamaged { .. } | StoreError::Corrupt { .. } | StoreError::Io { .. })
}

impl Scanned {
    /// Takes note of a ledger that cannot be read whole, once.
    fn pass_over(&mut self, ledger: &Ledger, error: &StoreError) {
        if self.unread.iter().all(|known| known.ledger != ledger.id) {
            let cause =
                std::error::Error::source(error).map_or_else(String::new, |cause| format!(": {cause}"));
            let reason = format!("{error}{cause}");
            self.unread.push(UnreadLedger { ledger: ledger.id.clone(), reason });
        }
    }
}

impl Looker<'_> {
    fn events(
        &self,
        ledger: &Ledger,
        (after, session): (Option<EventSeq>, Option<&SessionId>),
        (scanned, found): Telling<'_>,
    ) -> Result<bool> {
        let mut query =
            Some(EventQuery { session: session.cloned(), ..EventQuery::after(after, PAGE_EVENTS) });
        while let Some(asked) = query {
            let page = match self.engine.log.page(&ledger.id, &asked) {
                // A page that would reach damage is refused whole: what is before the damage is asked for by itself.
                Err(error) if is_of_one(&error) => {
                    scanned.pass_over(ledger, &error);
                    let readable =
                        EventSeq::new(ledger.last).filter(|last| asked.after.is_none_or(|at| at < *last));
                    if asked.through.is_some() || readable.is_none() {
                        return Ok(true);
                    }
                    query = Some(EventQuery { through: readable, ..asked });
                    continue;
                }
                page => page?,
            };
            for event in &page.events {
                scanned.last = Some(ScanPlace::Event(ledger.id.clone(), event.seq));
                if !self.event(&ledger.id, event, (scanned, found))? {
                    return Ok(false);
                }
            }
            query = asked.following(&page);
        }
        Ok(true)
    }

    fn event(&self, ledger: &LedgerId, event: &Event, (scanned, found): Telling<'_>) -> Result<bool> {
        if matches!(event.payload, Payload::Gone(gone) if gone.forgotten) {
            return Ok(true);
        }
        scanned.events += 1;
        let holder = Holder::Event { ledger: ledger.clone(), seq: event.seq, session: event.session.clone() };
        let mut goes_on = true;
        let mut look = |bytes: &[u8], field: &'static str, findings: Vec<Finding>| {
            scanned.bytes += to_u64(bytes.len());
            for finding in findings {
                scanned.found += 1;
                goes_on &= found(self.told(&holder, FoundIn::Event(field), bytes, &finding));
            }
        };
        match &event.payload {
            Payload::Plain { text, data } => {
                if let Some(text) = text {
                    look(text.as_bytes(), "text", self.scrubber.scrub_text(text)?.findings);
                }
                if let Some(data) = data {
                    look(data.as_str().as_bytes(), "data", self.found_in(data)?);
                }
            }
            Payload::Line { line, .. } => look(line.as_str().as_bytes(), "entry", self.found_in(line)?),
            Payload::Gone(gone) => {
                if let Some(bytes) = self.left(gone.hash)? {
                    let findings = self.scrubber.scrub_line(&bytes)?.findings;
                    look(&bytes, "entry", findings);
                }
            }
        }
        if let Some(metadata) = &event.metadata {
            look(metadata.as_str().as_bytes(), "metadata", self.found_in(metadata)?);
        }
        Ok(goes_on)
    }

    /// Looks at all saved states of a ledger, but at those that hold no words. Says whether to go on after them.
    fn states(&self, ledger: &Ledger, (scanned, found): Telling<'_>) -> Result<bool> {
        let mut goes_on = true;
        for state in self.engine.log.saved_states(&ledger.id, "")? {
            if state.name.starts_with(CURSOR_STATES) {
                continue;
            }
            let holder = Holder::State { ledger: ledger.id.clone(), name: state.name };
            for finding in self.found_in(&state.state)? {
                scanned.found += 1;
                let bytes = state.state.as_str().as_bytes();
                goes_on &= found(self.told(&holder, FoundIn::State, bytes, &finding));
            }
        }
        Ok(goes_on)
    }

    fn found_in(&self, json: &Json) -> Result<Vec<Finding>> {
        Ok(self.scrubber.scrub_line(json.as_str().as_bytes())?.findings)
    }

    fn told(&self, holder: &Holder, place: FoundIn, bytes: &[u8], finding: &Finding) -> SecretFound {
        let secret = bytes.get(finding.offset..finding.offset + finding.len);
        SecretFound {
            holder: holder.clone(),
            place,
            entry: None,
            kind: finding.kind.to_string(),
            bytes: to_u64(finding.len),
            fingerprint: fingerprint(&self.key, secret.unwrap_or_default()),
        }
    }

    /// Returns the line of an event that was trimmed, where the store has not collected it yet.
    fn left(&self, line: stemmata_model::ArtifactId) -> Result<Option<Vec<u8>>> {
        if !self.engine.is_log_the_store || self.engine.store.content_length(line)?.is_none() {
            return Ok(None);
        }
        match read_whole(self.engine, line) {
            // It went in between, or only its hash is left.
            Err(EngineError::Store(StoreError::ContentMissing(_) | StoreError::ContentForgotten(_))) => {
                Ok(None)
            }
            read => read.map(Some),
        }
    }
}
