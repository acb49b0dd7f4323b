//! Taking a bundle in: what becomes of each commit, and which contents are needed for that.
//!
//! Each batch is a whole of its own: a store that fails in between has chains without their last commits, and the
//! same import goes on from there.

use std::collections::BTreeSet;

use stemmata_api::v1::{BundleImported, BundleShown};
use stemmata_model::{Closure, Note, NoteCode, to_u64};
use stemmata_store::maintain::forget::Tombstone;
use stemmata_store::{BATCH_WRITES_MAX, Commits};

use super::bytes::{Malformed, Take};
use super::check::{Checked, CheckedCommit, Fault, at, check};
use super::error::BundleError;
use super::frame::{Kind, Record};
use super::rows::{CommitRef, ContentRef, take_composed};
use super::source::{self, BundleSource};
use super::store::Applier;
use super::summary::BundleLimits;
use crate::engine::Engine;
use crate::error::Result;

/// Commits that are looked up at once among those that were forgotten.
const TOMBSTONES_ASKED: usize = 1_000;

/// How to import.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BundleImportOptions {
    /// Bounds.
    pub limits: BundleLimits,
    /// Checks everything and stores nothing.
    pub dry_run: bool,
    /// Writes of one transaction at most: shorter ones hold the store up for less, and cost more together.
    pub batch_writes_max: usize,
}

impl Default for BundleImportOptions {
    fn default() -> Self {
        Self { limits: BundleLimits::default(), dry_run: false, batch_writes_max: BATCH_WRITES_MAX }
    }
}

/// What becomes of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    New,
    /// It is a hole in the bundle and not here at all: it is stored as one.
    NewHole,
    Known,
    /// It is here as a hole and stays one; what continues it can be stored.
    Hole,
    Skipped,
}

impl Engine {
    /// Reads a bundle to its end and says what it holds; nothing is stored. With `against_store` what it continues
    /// has to be here, as for an import.
    ///
    /// # Errors
    /// `Bundle` says what is wrong with it.
    pub fn show_bundle(source: &dyn BundleSource, limits: BundleLimits) -> Result<BundleShown> {
        Ok(check(source, None, limits)?.summary)
    }

    /// Takes the commits of a bundle into the store, with all that stands beside them. Everything is checked before
    /// anything is stored: a bundle that is cut off or altered changes nothing. Repeating it changes nothing either.
    ///
    /// # Errors
    /// `Bundle` for what is wrong with it or missing here; store errors, after which a repeated import goes on.
    pub fn import_bundle(
        &self,
        source: &dyn BundleSource,
        options: &BundleImportOptions,
    ) -> Result<BundleImported> {
        let checked = check(source, Some(self.store.as_ref()), options.limits)?;
        let fates = fates(self.store.as_ref(), &checked.commits)?;
        let count = |fate: Fate| to_u64(fates.iter().filter(|own| **own == fate).count());
        let mut result = BundleImported {
            tips: checked.summary.tips.clone(),
            commits: checked.summary.commits,
            new_commits: count(Fate::New) + count(Fate::NewHole),
            known_commits: count(Fate::Known),
            skipped_commits: count(Fate::Skipped) + count(Fate::Hole),
            sessions: 0,
            sidecars: 0,
            links_left_out: 0,
            new_bytes: 0,
            stored_bytes: 0,
            other_rules_commits: 0,
            dry_run: options.dry_run,
            notes: Vec::new(),
        };
        let needed = needed(source, &checked, &fates)?;
        let taken = Taken { checked: &checked, fates: &fates, needed };
        let mut applier = Applier::new(self, taken, *options, &mut result);
        each_record(source, &mut |record| applier.record(record))?;
        applier.finish()?;
        self.tell(&mut result);
        Ok(result)
    }

    fn tell(&self, result: &mut BundleImported) {
        if result.other_rules_commits > 0 {
            let message = format!(
                "{} new commits were scrubbed of secrets by other rules than those of this version ({}); their \
                 content was taken as it is",
                result.other_rules_commits,
                self.rules().map_or("which cannot be used", |(_, version)| version)
            );
            result.notes.push(Note::new(NoteCode::OtherRules, message));
        }
        if result.skipped_commits > 0 {
            let message = format!(
                "{} left out: forgotten here, or after a forgotten one",
                stemmata_model::plural(result.skipped_commits, "commit")
            );
            result.notes.push(Note::new(NoteCode::Forgotten, message));
        }
        if result.links_left_out > 0 {
            let message =
                format!("{} links were left out: one of their ends is not here", result.links_left_out);
            result.notes.push(Note::new(NoteCode::Degraded, message));
        }
    }
}

/// Reads a bundle again, record by record.
fn each_record(
    source: &dyn BundleSource,
    each: &mut dyn FnMut(&Record) -> std::result::Result<(), Fault>,
) -> Result<()> {
    let mut reader = source::begin(source)?;
    loop {
        let record = reader.next()?;
        if record.kind == Some(Kind::Trailer) {
            return Ok(());
        }
        match each(&record) {
            Ok(()) => {}
            Err(Fault::Malformed(Malformed(reason))) => {
                return Err(BundleError::Damaged { at: record.at, reason }.into());
            }
            Err(Fault::Other(error)) => return Err(error),
        }
    }
}

fn fates(store: &dyn Commits, commits: &[CheckedCommit]) -> Result<Vec<Fate>> {
    let mut fates: Vec<Fate> = Vec::with_capacity(commits.len());
    for page in commits.chunks(TOMBSTONES_ASKED) {
        let asked: Vec<Tombstone> = page.iter().map(|commit| Tombstone::Commit(commit.id)).collect();
        let forgotten: BTreeSet<Tombstone> = store.tombstones(&asked)?.into_iter().collect();
        for commit in page {
            let is_forgotten = forgotten.contains(&Tombstone::Commit(commit.id));
            let is_empty = commit.closure == Closure::Forgotten;
            fates.push(match store.commit(commit.id)? {
                Some(stored) if stored.closure == Closure::Forgotten => match (is_forgotten, is_empty) {
                    (true, _) => Fate::Hole,
                    (false, true) => Fate::Known,
                    // Who gave us the hole had been told to forget it, and we were not.
                    (false, false) => Fate::New,
                },
                Some(_) => Fate::Known,
                None => {
                    let is_cut = match commit.parent {
                        Some(CommitRef::Number(parent)) => at(&fates, parent) == Some(&Fate::Skipped),
                        Some(CommitRef::Id(_)) | None => false,
                    };
                    match (is_cut, is_empty, is_forgotten) {
                        (true, _, _) | (false, false, true) => Fate::Skipped,
                        (false, true, _) => Fate::NewHole,
                        (false, false, false) => Fate::New,
                    }
                }
            });
        }
    }
    Ok(fates)
}

/// What is taken of a bundle.
pub(super) struct Taken<'a> {
    pub(super) checked: &'a Checked,
    pub(super) fates: &'a [Fate],
    needed: Option<Needed>,
}

impl Taken<'_> {
    /// Says whether a content belongs to what is taken.
    pub(super) fn wants(&self, of: ContentRef) -> bool {
        match (&self.needed, of) {
            (None, _) => true,
            (Some(needed), ContentRef::Literal(number)) => at(&needed.literals, number) == Some(&true),
            (Some(needed), ContentRef::Composed(number)) => at(&needed.composed, number) == Some(&true),
            (Some(_), ContentRef::Named(_)) => false,
        }
    }
}

/// Which contents new commits need; none where all commits are new, and so all contents are needed.
struct Needed {
    literals: Vec<bool>,
    composed: Vec<bool>,
}

fn needed(source: &dyn BundleSource, checked: &Checked, fates: &[Fate]) -> Result<Option<Needed>> {
    if fates.iter().all(|fate| *fate == Fate::New) {
        return Ok(None);
    }
    let mut needed = Needed {
        literals: vec![false; checked.literals.len()],
        composed: vec![false; checked.composed.len()],
    };
    let mark = |needed: &mut Needed, of: ContentRef| {
        let (rows, number) = match of {
            ContentRef::Literal(number) => (&mut needed.literals, number),
            ContentRef::Composed(number) => (&mut needed.composed, number),
            ContentRef::Named(_) => return,
        };
        if let Some(row) = usize::try_from(number).ok().and_then(|number| rows.get_mut(number)) {
            *row = true;
        }
    };
    for (commit, _) in checked.commits.iter().zip(fates).filter(|(_, fate)| **fate == Fate::New) {
        mark(&mut needed, commit.artifact);
        commit.native.into_iter().for_each(|native| mark(&mut needed, native));
    }
    if !fates.contains(&Fate::New) {
        return Ok(Some(needed));
    }
    let mut number = 0;
    each_record(source, &mut |record| {
        if record.kind == Some(Kind::Composed) {
            let mut take = Take::new(&record.body);
            for _ in 0..take.rows("contents")? {
                let row = take_composed(&mut take)?;
                if needed.composed.get(number) == Some(&true) {
                    row.parts.iter().for_each(|part| mark(&mut needed, part.of));
                }
                number += 1;
            }
        }
        Ok(())
    })?;
    Ok(Some(needed))
}
