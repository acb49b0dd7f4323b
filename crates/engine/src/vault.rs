//! The vault: what capture replaced, kept on this machine for its owner, sealed, so that placing a session here can put it
//! back. Off unless the owner wants it.
//!
//! No part of the store: nothing that is stored, hashed, exported or shown depends on it, and losing it costs only the
//! values. A value is found by the content that its placeholder stands in and by where in it that is, so it never comes
//! back in another place; only `verbs/place` reads values for output. Why it is so: `docs/decisions/0016-the-vault.md`; the
//! files: `docs/format/vault.md`.

mod files;
mod frame;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use stemmata_model::{ArtifactId, CommitId, Timestamp};
use stemmata_redact::Finding;
use stemmata_store::Patience;
use stemmata_store::maintain::collect::Which;

use files::{Held, Open, random};
use frame::Header;

/// Bytes of the values of one content that are kept at most.
const VALUES_BYTES_MAX: usize = 4 * 1024 * 1024;

/// How long other processes are waited for, unless somebody says otherwise: long enough for one to write the file anew.
const LOCK_WAIT: Duration = Duration::from_secs(10);

/// How long is waited at least to keep values of what is stored already: nobody can give them later, and another process
/// that keeps some is done in milliseconds. Beyond the time that all locks of a hook have together.
const KEEP_WAIT: Duration = Duration::from_millis(500);

/// Values of one content that are kept at most.
const VALUES_MAX: usize = 10_000;

/// What can go wrong with a vault. None of it touches what is stored.
#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    /// A file operation failed.
    #[error("the vault cannot {operation} {}", path.display())]
    Io {
        /// What was being done.
        operation: &'static str,
        /// To what.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// Others than the owner may read a part of it.
    #[error("the vault is not used: {} is open to others than its owner (mode {mode:o})", path.display())]
    Exposed {
        /// The folder or file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// The key is another file's.
    #[error("the vault does not open: {} is not the key of {}", key.display(), path.display())]
    WrongKey {
        /// The file of values.
        path: PathBuf,
        /// The key.
        key: PathBuf,
    },
    /// A file of another kind or version.
    #[error("the vault does not open: {} is not a file of values that this version reads", path.display())]
    NoVault {
        /// The file.
        path: PathBuf,
    },
    /// It takes no more.
    #[error("the vault is full: {} may have {bound_bytes} bytes", path.display())]
    Full {
        /// The file of values.
        path: PathBuf,
        /// Its bound.
        bound_bytes: u64,
    },
    /// Another process is at it.
    #[error("the vault is held by another process: {} was not free for {waited_ms} ms", path.display())]
    Locked {
        /// The lock.
        path: PathBuf,
        /// How long it was waited for.
        waited_ms: u64,
    },
    /// A removal was interrupted, and is for a command to end.
    #[error("the vault is not written by a hook while {} is left of a removal that did not end", path.display())]
    Unfinished {
        /// The file that is left.
        path: PathBuf,
    },
    /// What was planned is not what would be removed now; nothing was.
    #[error("the vault changed since this was planned: something else would be removed now")]
    PlanMoved,
    /// The system gave no random bytes.
    #[error("the vault gets no random bytes: {reason}")]
    Random {
        /// What the system said.
        reason: String,
    },
}

impl VaultError {
    fn io(operation: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { operation, path, source }
    }
}

/// A vault that may or may not be there.
#[derive(Debug, Clone)]
pub struct Vault {
    folder: PathBuf,
    keeps: bool,
    patience: Patience,
    leaves_remains: bool,
}

/// What stood in the place of a placeholder.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Value {
    /// Where in the content the placeholder begins.
    pub offset: u64,
    /// Bytes of the placeholder.
    pub instead_bytes: u32,
    /// The bytes that it replaced.
    pub original: Vec<u8>,
}

impl fmt::Debug for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Never the value: what is debugged ends in logs.
        write!(formatter, "Value({} bytes at {})", self.original.len(), self.offset)
    }
}

/// What was replaced in one content, while it grows.
#[derive(Debug, Clone, Default)]
pub(crate) struct Replaced {
    values: Vec<Value>,
    bytes: usize,
    /// Values that were too many or too long to keep.
    beyond: u64,
}

impl Replaced {
    /// Takes what was replaced in a line that begins at `base` of the content.
    pub(crate) fn take_in(&mut self, base: u64, raw: &[u8], findings: &[Finding]) {
        let (mut removed, mut added) = (0, 0);
        for finding in findings {
            let original = raw.get(finding.offset..finding.offset + finding.len).unwrap_or_default();
            let at = finding.offset + added - removed;
            removed += finding.len;
            added += finding.instead_len;
            let fits = self.bytes + original.len() <= VALUES_BYTES_MAX && self.values.len() < VALUES_MAX;
            let (Ok(at), Ok(instead_bytes)) = (u64::try_from(at), u32::try_from(finding.instead_len)) else {
                continue;
            };
            if !fits {
                self.beyond += 1;
                continue;
            }
            self.bytes += original.len();
            self.values.push(Value { offset: base + at, instead_bytes, original: original.to_vec() });
        }
    }
}

impl From<Vec<Value>> for Replaced {
    fn from(values: Vec<Value>) -> Self {
        let bytes = values.iter().map(|value| value.original.len()).sum();
        Self { values, bytes, beyond: 0 }
    }
}

/// What was replaced in the content of a commit that is stored.
#[derive(Debug)]
pub(crate) struct Kept {
    commit: CommitId,
    content: ArtifactId,
    values: Vec<Value>,
    beyond: u64,
}

impl Kept {
    /// Returns what there is to keep of a commit; none where nothing was replaced.
    pub(crate) fn of(commit: CommitId, content: ArtifactId, replaced: Replaced) -> Option<Self> {
        let Replaced { values, beyond, .. } = replaced;
        (!values.is_empty() || beyond > 0).then_some(Self { commit, content, values, beyond })
    }
}

/// What a vault holds. No value is part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VaultStatus {
    /// Whether capture adds to it.
    pub keeps: bool,
    /// Its folder.
    pub folder: PathBuf,
    /// Contents that values are kept of.
    pub contents: u64,
    /// Places that values are kept for.
    pub places: u64,
    /// Different values.
    pub values: u64,
    /// Records that do not open any more: what was damaged.
    pub damaged: u64,
    /// Bytes of its file.
    pub bytes: u64,
    /// When the oldest record was kept.
    pub oldest: Option<Timestamp>,
    /// When the newest record was kept.
    pub newest: Option<Timestamp>,
}

/// What was removed from a vault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct VaultPurged {
    /// Contents whose values are gone.
    pub contents: u64,
    /// Places that they were kept for.
    pub places: u64,
    /// Stands for which contents these are.
    pub which: Which,
}

impl Vault {
    /// Names a vault: `folder` is its own, and made when something is kept. `keeps` is whether capture adds to it.
    pub fn at(folder: PathBuf, keeps: bool) -> Self {
        Self { folder, keeps, patience: Patience::each(LOCK_WAIT), leaves_remains: false }
    }

    /// Waits for other processes at most so long, except to keep values of what is stored already.
    #[must_use]
    pub fn with_patience(mut self, patience: Patience) -> Self {
        self.patience = patience;
        self
    }

    /// Leaves what an interruption left to a command: to wipe it takes as long as it is large.
    #[must_use]
    pub fn leaving_remains(mut self) -> Self {
        self.leaves_remains = true;
        self
    }

    /// Refuses where nothing could be kept now, because another process is at it.
    pub(crate) fn check_free(&self) -> Result<(), VaultError> {
        if self.keeps && self.folder.exists() {
            drop(Held::to_write(self)?);
        }
        Ok(())
    }

    /// Returns whether capture adds to it.
    pub(crate) const fn keeps(&self) -> bool {
        self.keeps
    }

    /// Keeps values of commits that are still stored, durable when this returns. Returns how many were too many.
    pub(crate) fn keep(
        &self,
        kept: &[Kept],
        at: Timestamp,
        is_stored: &mut dyn FnMut(CommitId) -> bool,
    ) -> Result<u64, VaultError> {
        let at_least = Duration::from_millis(self.patience.bound_ms()).max(KEEP_WAIT);
        let held = Held::to_write(&self.clone().with_patience(Patience::each(at_least)))?;
        let mut open = held.open_or_make()?;
        let mut known: HashSet<_> = open.records.iter().map(|(header, _)| header.name).collect();
        let (mut records, mut beyond) = (Vec::new(), 0);
        for one in kept {
            // Asked under the lock: what is forgotten meanwhile is removed by who forgets it.
            if !is_stored(one.commit) {
                continue;
            }
            beyond += one.beyond;
            if one.values.is_empty() || !known.insert(open.keys.name(one.content, &one.values)) {
                continue;
            }
            let mut nonce = [0; 24];
            random(&mut nonce)?;
            match open.keys.seal(one.content, (at, &one.values), nonce) {
                Some(record) => records.extend_from_slice(&record),
                None => beyond += one.values.len() as u64,
            }
        }
        if !records.is_empty() {
            open.append(&records)?;
        }
        Ok(beyond)
    }

    /// Opens the vault to look values up; none where nothing was ever kept. Nobody removes anything meanwhile.
    pub(crate) fn read(&self) -> Result<Option<Reader>, VaultError> {
        let Some(held) = Held::to_read(self)? else { return Ok(None) };
        let Some(open) = held.open()? else { return Ok(None) };
        let mut by_content: HashMap<ArtifactId, Vec<(Header, u64)>> = HashMap::new();
        for (header, at) in &open.records {
            by_content.entry(header.content).or_default().push((*header, *at));
        }
        Ok(Some(Reader { _held: held, open, by_content }))
    }

    /// Returns the contents that values are kept of.
    pub(crate) fn contents(&self) -> Result<HashSet<ArtifactId>, VaultError> {
        let reader = self.read()?;
        Ok(reader.map(|reader| reader.by_content.into_keys().collect()).unwrap_or_default())
    }

    /// Says what [`Vault::remove`] would remove.
    pub(crate) fn removable(
        &self,
        goes: &dyn Fn(ArtifactId, Timestamp) -> bool,
    ) -> Result<VaultPurged, VaultError> {
        let records = self.read()?.map(|reader| reader.open.records).unwrap_or_default();
        let going: Vec<_> =
            records.into_iter().filter(|(header, _)| goes(header.content, header.kept_at)).collect();
        planned(None, &going)
    }

    /// Removes records, for good. Whatever was kept since the caller looked stays, unless it says otherwise. Where something
    /// else would go than `expect` says, nothing does.
    pub(crate) fn remove(
        &self,
        goes: &dyn Fn(ArtifactId, Timestamp) -> bool,
        expect: Option<VaultPurged>,
    ) -> Result<VaultPurged, VaultError> {
        if !self.folder.exists() {
            return planned(expect, &[]);
        }
        let held = Held::to_write(self)?;
        let Some(mut open) = held.open()? else { return planned(expect, &[]) };
        let records = std::mem::take(&mut open.records);
        let (going, staying): (Vec<_>, Vec<_>) =
            records.into_iter().partition(|(header, _)| goes(header.content, header.kept_at));
        let gone = planned(expect, &going)?;
        if going.is_empty() {
            return Ok(gone);
        }
        if staying.is_empty() {
            held.remove_all()?;
            return Ok(gone);
        }
        let mut kept = Vec::with_capacity(staying.len());
        for (header, at) in &staying {
            let body = open.body(header, *at)?;
            kept.extend(open.keys.open(header, &body).map(|values| (header, values)));
        }
        held.replace(&open, |filling| {
            for (header, values) in kept {
                let mut nonce = [0; 24];
                random(&mut nonce)?;
                if let Some(record) = filling.keys.seal(header.content, (header.kept_at, &values), nonce) {
                    filling.push(&record)?;
                }
            }
            Ok(())
        })?;
        Ok(gone)
    }

    /// Removes everything, the key included, even where nothing of it opens any more.
    pub(crate) fn remove_all(&self, expect: Option<VaultPurged>) -> Result<VaultPurged, VaultError> {
        if !self.folder.exists() {
            return planned(expect, &[]);
        }
        let held = Held::to_write(self)?;
        let records = held.open().ok().flatten().map(|open| open.records).unwrap_or_default();
        let gone = planned(expect, &records)?;
        held.remove_all()?;
        Ok(gone)
    }

    /// Says what it holds.
    pub(crate) fn status(&self) -> Result<VaultStatus, VaultError> {
        let mut status = VaultStatus {
            keeps: self.keeps,
            folder: self.folder.clone(),
            contents: 0,
            places: 0,
            values: 0,
            damaged: 0,
            bytes: 0,
            oldest: None,
            newest: None,
        };
        let Some(mut reader) = self.read()? else { return Ok(status) };
        status.contents = count(reader.by_content.len());
        status.bytes = reader.open.bytes();
        let mut different: HashSet<blake3::Hash> = HashSet::new();
        for (header, at) in std::mem::take(&mut reader.open.records) {
            let body = reader.open.body(&header, at)?;
            let Some(values) = reader.open.keys.open(&header, &body) else {
                status.damaged += 1;
                continue;
            };
            status.places += count(values.len());
            different.extend(values.iter().map(|value| blake3::hash(&value.original)));
            status.oldest = Some(status.oldest.map_or(header.kept_at, |known| known.min(header.kept_at)));
            status.newest = status.newest.max(Some(header.kept_at));
        }
        status.values = count(different.len());
        Ok(status)
    }
}

/// A vault that values are looked up in.
pub(crate) struct Reader {
    _held: Held,
    open: Open,
    by_content: HashMap<ArtifactId, Vec<(Header, u64)>>,
}

/// The values of one content.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Each by where its placeholder begins.
    pub values: Vec<Value>,
    /// Places that two different values are known for: neither goes back.
    pub ambiguous: u64,
    /// Records that do not open.
    pub damaged: u64,
}

impl Reader {
    /// Returns whether anything is kept of a content.
    pub(crate) fn knows(&self, content: ArtifactId) -> bool {
        self.by_content.contains_key(&content)
    }

    /// Returns the values of a content.
    pub(crate) fn values(&mut self, content: ArtifactId) -> Result<Found, VaultError> {
        let mut found = Found::default();
        let mut at: BTreeMap<u64, Option<Value>> = BTreeMap::new();
        for (header, body_at) in self.by_content.get(&content).cloned().unwrap_or_default() {
            let body = self.open.body(&header, body_at)?;
            let Some(values) = self.open.keys.open(&header, &body) else {
                found.damaged += 1;
                continue;
            };
            for value in values {
                // The same bytes after replacing may have been others before.
                let known = at.entry(value.offset).or_insert_with(|| Some(value.clone()));
                if known.as_ref() != Some(&value) {
                    *known = None;
                }
            }
        }
        found.ambiguous = count(at.values().filter(|value| value.is_none()).count());
        found.values = at.into_values().flatten().collect();
        Ok(found)
    }
}

/// Returns what goes, unless something else was planned.
fn planned(expect: Option<VaultPurged>, going: &[(Header, u64)]) -> Result<VaultPurged, VaultError> {
    let contents: HashSet<ArtifactId> = going.iter().map(|(header, _)| header.content).collect();
    let places = going.iter().map(|(header, _)| u64::from(header.values)).sum();
    let mut which = Which::default();
    for (header, _) in going {
        // One content may be kept twice.
        which.add(&header.kept_at.to_string(), header.content.as_bytes());
    }
    let gone = VaultPurged { contents: count(contents.len()), places, which };
    if expect.is_none_or(|expect| expect == gone) { Ok(gone) } else { Err(VaultError::PlanMoved) }
}

fn count(length: usize) -> u64 {
    u64::try_from(length).expect("a length fits 64 bits")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Found in review: of two hooks at once, one stored its commit and lost its values, since the time of all its locks
    /// was used up.
    #[test]
    fn values_of_what_is_stored_are_waited_for_by_a_hook_without_patience() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path().join("vault");
        let now = Timestamp::from_micros(0);
        let hook = Vault::at(place.clone(), true).with_patience(Patience::together(Duration::ZERO));
        hook.keep(&[], now, &mut |_| true).expect("a vault");
        let lock = std::fs::File::options().append(true).open(place.join("lock")).expect("a lock");
        lock.try_lock().expect("the other hook's");
        let refused = hook.check_free().expect_err("held");
        assert!(matches!(refused, VaultError::Locked { waited_ms: 0, .. }), "{refused}");
        let refused = hook.keep(&[], now, &mut |_| true).expect_err("held");
        assert!(matches!(refused, VaultError::Locked { waited_ms: 500, .. }), "{refused}");
    }
}
