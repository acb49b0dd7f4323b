//! `repair`: mends a store from sound copies, and from the transcripts that its contents came from.
//!
//! What is damaged, and what may replace it, is the store's to say.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use stemmata_api::v1::BundleImported;
use stemmata_model::{ArtifactId, CommitId, Granularity};
use stemmata_store::maintain::repair::{RepairOutcome, RepairSource};
use stemmata_store::{Damage, SessionKey, Store};

use crate::bundle::{BundleImportOptions, BundleSource};
use crate::capture::options::CaptureOptions;
use crate::capture::policy::CapturePolicy;
use crate::engine::Engine;
use crate::error::Result;

/// Commits that are looked at in one page.
const PAGE_COMMITS: usize = 1_000;

/// Places of one commit that are tried.
const SIGHTINGS_MAX: usize = 16;

/// Transcripts that are read again at most; another repair goes on with the rest.
const TRANSCRIPTS_MAX: usize = 1_000;

/// Bytes of a transcript that is read again at most: all of it is stored aside while it is looked through.
const TRANSCRIPT_BYTES_MAX: u64 = 1024 * 1024 * 1024;

impl Engine {
    /// Mends what can be mended from `sources`, and then from transcripts that are still there: each is read again by
    /// the same rules, into the store that `aside` makes once, and whatever has the right hash is taken.
    ///
    /// # Errors
    /// Store errors, those of `aside`. A transcript that cannot be read is left out.
    pub fn repair(
        &self,
        sources: &[RepairSource<'_>],
        aside: &dyn Fn() -> Result<Arc<dyn Store>>,
    ) -> Result<RepairOutcome> {
        let Some(files) = self.store.on_disk() else {
            let mut outcome = RepairOutcome::default();
            outcome.verified = self.store.verify(&mut |damage| outcome.remaining.push(damage))?;
            return Ok(outcome);
        };
        let mut outcome = files.repair(sources)?;
        let damaged: HashSet<ArtifactId> = outcome.remaining.iter().filter_map(content_of).collect();
        if damaged.is_empty() {
            return Ok(outcome);
        }
        let transcripts = self.transcripts_of(&damaged)?;
        if transcripts.is_empty() {
            return Ok(outcome);
        }
        let aside = aside()?;
        let mut reading = self.clone();
        reading.store = Arc::clone(&aside);
        // Nothing of this is captured: it only mends what was.
        reading.policy = Arc::new(CapturePolicy::default());
        for (path, granularity) in transcripts {
            if reading.capture(&path, &CaptureOptions { granularity, ..CaptureOptions::import() }).is_err() {
                continue;
            }
            let name = format!("the transcript {}", path.display());
            let source = RepairSource { name, store: aside.as_ref(), packs: None };
            let more = files.repair(&[source])?;
            outcome.repaired.extend(more.repaired);
            (outcome.remaining, outcome.verified) = (more.remaining, more.verified);
            if !outcome.remaining.iter().any(|damage| content_of(damage).is_some()) {
                break;
            }
        }
        Ok(outcome)
    }

    /// Takes a bundle into a store aside, so that what it holds can mend this one. It is checked whole, as for an import.
    ///
    /// # Errors
    /// `Bundle` for what is wrong with it, and for one that continues commits which it does not hold; store errors.
    pub fn unpack_aside(&self, bundle: &dyn BundleSource, aside: Arc<dyn Store>) -> Result<BundleImported> {
        let mut engine = self.clone();
        engine.store = aside;
        engine.import_bundle(bundle, &BundleImportOptions::default())
    }

    /// Returns the transcripts of this machine from which commits with these contents came.
    fn transcripts_of(&self, damaged: &HashSet<ArtifactId>) -> Result<BTreeMap<PathBuf, Granularity>> {
        let mut found = BTreeMap::new();
        let mut after: Option<CommitId> = None;
        loop {
            let page = self.store.commits_after(after, PAGE_COMMITS)?;
            for commit in &page {
                let contents = [Some(commit.core.artifact), commit.core.native];
                if !contents.into_iter().flatten().any(|id| self.is_of(id, damaged)) {
                    continue;
                }
                for sighting in self.store.sightings(commit.id, SIGHTINGS_MAX)? {
                    let Some(source) = sighting.source.filter(|_| sighting.machine == self.identity.machine)
                    else {
                        continue;
                    };
                    let path = PathBuf::from(&source.path);
                    let fits = std::fs::metadata(&path)
                        .is_ok_and(|file| file.is_file() && file.len() <= TRANSCRIPT_BYTES_MAX);
                    if fits && found.len() < TRANSCRIPTS_MAX {
                        let key = SessionKey { machine: sighting.machine, path: source.path };
                        let known = self.store.session(&key)?.map(|session| session.granularity);
                        found.insert(path, known.unwrap_or(Granularity::Turn));
                    }
                }
            }
            match page.last() {
                Some(last) if page.len() == PAGE_COMMITS => after = Some(last.id),
                _ => return Ok(found),
            }
        }
    }

    /// Says whether a content is one of these, or made of them.
    fn is_of(&self, id: ArtifactId, damaged: &HashSet<ArtifactId>) -> bool {
        let parts = || self.store.content_parts(id).ok().flatten().unwrap_or_default();
        damaged.contains(&id) || parts().iter().any(|part| damaged.contains(&part.of))
    }
}

/// Returns the content that a damage is about.
fn content_of(damage: &Damage) -> Option<ArtifactId> {
    if damage.check == "content_hash" { damage.object.parse().ok() } else { None }
}
