//! `update`, `tag`, `pin`: a commit's mutable metadata, with an audit trail.

use stemmata_model::{
    CommitId, Links, Principal, Reasons, SessionId, Sighting, SummarySource, Timestamp, Trigger, check_tag,
};
use stemmata_store::{Annotation, Write};

use crate::engine::Engine;
use crate::error::Result;

/// Changes of a commit's mutable metadata. Empty changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Update {
    /// A new summary; an empty one removes it.
    pub summary: Option<String>,
    /// Tags to add.
    pub add_tags: Vec<String>,
    /// Tags to remove.
    pub remove_tags: Vec<String>,
    /// Notes to add.
    pub notes: Vec<String>,
    /// Whether to pin (`true`) or unpin (`false`).
    pub pin: Option<bool>,
    /// A thread and a ticket that the commit belongs to, beside those that it has.
    pub links: Links,
}

impl Engine {
    /// Changes mutable metadata; secrets in the texts are replaced first. The commit itself never changes.
    ///
    /// # Errors
    /// `Name` for a tag that would mean something else, `CommitMissing`, `Bound` for a text or tag that is too long, store errors.
    pub fn update(&self, ctx: CommitId, update: Update, by: &Principal) -> Result<()> {
        update.add_tags.iter().try_for_each(|tag| check_tag(tag))?;
        for tag in &update.add_tags {
            self.check_means_nothing(tag)?;
        }
        if self.store.commit(ctx)?.is_none() {
            return Err(stemmata_store::StoreError::CommitMissing(ctx).into());
        }
        let scrubber = self.scrubber_of(ctx)?;
        let clean = |text: String| -> Result<String> { Ok(scrubber.scrub_text(&text)?.text.into_owned()) };
        let mut changes = Vec::new();
        if let Some(text) = update.summary {
            let text = Some(clean(text)?).filter(|text| !text.trim().is_empty());
            changes.push(Annotation::Summary { text, source: SummarySource::Given });
        }
        for tag in update.add_tags {
            changes.push(Annotation::AddTag(clean(tag)?));
        }
        let tags = if update.remove_tags.is_empty() { Vec::new() } else { self.store.annotations(ctx)?.tags };
        for tag in update.remove_tags {
            // What is there already was set under other rules, maybe, and goes by its own name.
            let is_there = tags.contains(&tag);
            changes.push(Annotation::RemoveTag(if is_there { tag } else { clean(tag)? }));
        }
        for note in update.notes {
            changes.push(Annotation::AddNote(clean(note)?));
        }
        changes.extend(update.pin.map(|pin| if pin { Annotation::Pin } else { Annotation::Unpin }));
        let mut batch = Vec::new();
        let mut last = self.store.audit(ctx, usize::MAX)?.last().map(|record| record.at);
        for change in changes {
            // After all that was said before, whatever this clock says: in a merge with another store the later wins.
            let after = last.map_or(i64::MIN, |at| at.as_micros().saturating_add(1));
            let at = Timestamp::from_micros(self.clock.now().as_micros().max(after));
            last = Some(at);
            batch.push(Write::Annotate { commit: ctx, change, at, by: by.clone() });
        }
        if !update.links.is_none() {
            let sighting = self.sighting_for(ctx, update.links, by)?;
            batch.push(Write::Sighting { commit: ctx, sighting: Box::new(sighting) });
        }
        if !batch.is_empty() {
            self.commit_batch(batch)?;
        }
        Ok(())
    }

    /// Returns a sighting of a commit for another thread or ticket: in the session that it was seen in last, which listings and
    /// recall then find by the link.
    fn sighting_for(&self, ctx: CommitId, links: Links, by: &Principal) -> Result<Sighting> {
        let seen = self.store.sightings(ctx, SIGHTINGS_MAX)?;
        // A stranger's bundle names sessions of its own choice: what was seen here counts first.
        let is_here = |one: &&Sighting| one.machine == self.identity.machine;
        let last = seen.iter().rfind(is_here).or_else(|| seen.last());
        let (session, alias) = match last {
            Some(seen) => (seen.session.clone(), seen.template_alias.clone()),
            None => (SessionId::new("stemma")?, None),
        };
        Ok(Sighting {
            principal: by.clone(),
            machine: self.identity.machine.clone(),
            session,
            trigger: Trigger::Explicit,
            reasons: Reasons::NONE,
            ticket: links.ticket,
            thread: links.thread,
            template_alias: alias,
            observed_at: self.clock.now(),
            source: None,
        })
    }
}

/// Sightings of a commit that are read for the session of a link.
const SIGHTINGS_MAX: usize = 256;
