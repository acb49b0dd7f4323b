//! What was learned of how models count, kept in the cache: how often each ratio of reported to counted tokens was seen.
//! Not the mathematics, which is `stemmata_tokens`'. Search feeds it, because entries are decoded there anyway.
//!
//! Derived: deleting the file loses nothing but what was learned. A process that dies between the index's write and this
//! one loses the pairs of these commits, and never counts any twice.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use stemmata_model::Note;
use stemmata_model::NoteCode::Degraded;
use stemmata_store::{StoredAt, read_bounded, write_file};
use stemmata_tokens::{LEARNED_PAIRS_ENOUGH, Ratios, UsagePair, model};

/// Models that are learned at most: their names come from transcripts.
const MODELS_MAX: usize = 256;

/// Bytes of a model's name at most.
const MODEL_BYTES_MAX: usize = 128;

/// Bytes of the file at most: that many models with every bin filled take less.
const FILE_BYTES_MAX: u64 = 4 << 20;

/// The file as it is written, version 1.
#[derive(Debug, Serialize, Deserialize)]
struct FileV1 {
    /// The store that it was learned from, as hexadecimal digits.
    store: String,
    /// The last commit that was looked at, in the order of storing: the bytes of its place as a number.
    through: u128,
    models: BTreeMap<String, ModelV1>,
}

#[derive(Debug, Serialize, Deserialize)]
struct ModelV1 {
    pairs: u64,
    bins: Vec<(u16, u64)>,
}

/// What was learned from one store.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Calibration {
    through: u128,
    models: BTreeMap<String, Ratios>,
}

/// Digits of a date in a model's name.
const DATE_DIGITS: usize = 8;

/// Returns a model's name without a provider's prefix and without its date: `claude-opus-4-5` of
/// `us.anthropic.claude-opus-4-5-20251101`.
pub(crate) fn plain_name(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    let name = name.rsplit(['/', ':']).next().unwrap_or_default();
    let is_date = |part: &str| part.len() == DATE_DIGITS && part.bytes().all(|byte| byte.is_ascii_digit());
    let undated =
        name.rsplit_once(['-', '@']).filter(|(_, date)| is_date(date)).map_or(name, |(plain, _)| plain);
    let maker = ["anthropic.", "google."].into_iter().find_map(|maker| undated.split_once(maker));
    maker.map_or(undated, |(_, plain)| plain).to_owned()
}

/// Returns the bytes of a place as a number: places of one store are as long as each other, so that numbers are in their order.
fn number(stored: StoredAt) -> u128 {
    stored.as_bytes().iter().fold(0, |number, byte| number << 8 | u128::from(*byte))
}

impl Calibration {
    /// Returns what was learned of a model: under its own name, else under that of the same model with another date or another
    /// provider's prefix, of which most was learned.
    pub(crate) fn of(&self, name: &str) -> Option<&Ratios> {
        let same = || {
            let plain = plain_name(name);
            let alike = self.models.iter().filter(|(known, _)| plain_name(known) == plain);
            alike.max_by_key(|(_, ratios)| ratios.pairs()).map(|(_, ratios)| ratios)
        };
        self.models.get(name).or_else(same)
    }

    /// Says whether pairs of a model are wanted: its maker published no encoding, and there are not enough yet. Counting
    /// takes time, and more pairs would hardly move a median.
    pub(crate) fn wants(&self, name: &str) -> bool {
        let is_exact = model(name).is_some_and(stemmata_tokens::ModelRow::is_exact);
        !is_exact && self.models.get(name).is_none_or(|ratios| ratios.pairs() < LEARNED_PAIRS_ENOUGH)
    }

    /// Returns whether a commit was not looked at yet.
    pub(crate) fn is_new(&self, stored: StoredAt) -> bool {
        number(stored) > self.through
    }

    fn learn(&mut self, pairs: &[UsagePair], through: StoredAt) {
        self.through = self.through.max(number(through));
        for pair in pairs {
            let has_place = self.models.len() < MODELS_MAX || self.models.contains_key(&pair.model);
            if has_place && pair.model.len() <= MODEL_BYTES_MAX {
                self.models.entry(pair.model.clone()).or_default().add(pair);
            }
        }
    }

    fn read(bytes: &[u8], store: &str) -> Option<Self> {
        let file: FileV1 = serde_json::from_slice(bytes).ok()?;
        if file.store != store {
            return Some(Self::default());
        }
        let ratios = |model: ModelV1| Ratios::from_bins(model.bins, model.pairs);
        let models = file.models.into_iter().take(MODELS_MAX);
        Some(Self {
            through: file.through,
            models: models.map(|(name, model)| (name, ratios(model))).collect(),
        })
    }

    fn to_bytes(&self, store: &str) -> serde_json::Result<Vec<u8>> {
        let model = |ratios: &Ratios| ModelV1 { pairs: ratios.pairs(), bins: ratios.bins().collect() };
        let models = self.models.iter().map(|(name, ratios)| (name.clone(), model(ratios))).collect();
        serde_json::to_vec(&FileV1 { store: store.to_owned(), through: self.through, models })
    }
}

/// Where an engine keeps what it learns; engines without a place learn nothing. Trouble with the file is a note for who asks
/// for a counter: search goes on without.
#[derive(Debug, Default)]
pub(crate) struct CalibrationSlot {
    path: Option<PathBuf>,
    trouble: Mutex<Option<Note>>,
}

impl CalibrationSlot {
    /// Returns the slot in a folder of what may be deleted.
    pub(crate) fn at(cache: &Path) -> Self {
        Self { path: Some(cache.join("calibration-v1.json")), trouble: Mutex::default() }
    }

    /// Reads the factors learned from a store. Returns `None` if there are none, or if this process learns nothing. Sets a
    /// file aside that cannot be parsed; learning then begins anew.
    pub(crate) fn load(&self, store_id: [u8; 16]) -> Option<Calibration> {
        let path = self.path.as_deref()?;
        let read = read_or_set_aside(path, store_id)
            .unwrap_or_else(|error| (None, Some(format!("cannot be read: {error}"))));
        if let Some(trouble) = read.1 {
            self.note_trouble(path, &trouble);
        }
        read.0
    }

    /// Returns the note about a file that this process could not use.
    pub(crate) fn trouble(&self) -> Option<Note> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Adds pairs, and records how far the store was read. The caller holds the index's lock.
    pub(crate) fn learn(&self, store_id: [u8; 16], pairs: &[UsagePair], through: StoredAt) {
        let (Some(path), Some(mut calibration)) = (&self.path, self.load(store_id)) else { return };
        calibration.learn(pairs, through);
        let written = calibration.to_bytes(&hex(store_id)).map_err(io::Error::from);
        if let Err(error) = written.and_then(|bytes| write_file(path, &bytes)) {
            self.note_trouble(path, &format!("cannot be written: {error}"));
        }
    }

    /// Removes what was learned, and what was set aside: names of models come from transcripts, and no figure says which of
    /// them a forgotten one had.
    pub(crate) fn forget(&self) -> io::Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        for path in [path.clone(), aside(path)] {
            match std::fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }

    fn note_trouble(&self, path: &Path, trouble: &str) {
        let message = format!("the learned token counts, `{}`: {trouble}", path.display());
        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = Some(Note::new(Degraded, message));
    }
}

/// Returns what a file holds, and what was wrong with it.
fn read_or_set_aside(path: &Path, store_id: [u8; 16]) -> io::Result<(Option<Calibration>, Option<String>)> {
    let Some(bytes) = read_bounded(path, FILE_BYTES_MAX + 1)? else {
        return Ok((Some(Calibration::default()), None));
    };
    let fits = bytes.len() as u64 <= FILE_BYTES_MAX;
    if let Some(calibration) = fits.then(|| Calibration::read(&bytes, &hex(store_id))).flatten() {
        return Ok((Some(calibration), None));
    }
    let aside = aside(path);
    std::fs::rename(path, &aside)?;
    let trouble =
        format!("was damaged and is now `{}`; shipped factors hold until more is learned", aside.display());
    Ok((Some(Calibration::default()), Some(trouble)))
}

/// Returns where a file goes that cannot be parsed.
fn aside(path: &Path) -> PathBuf {
    path.with_extension("damaged")
}

/// Returns a store's id as files name it.
pub(crate) fn hex(store_id: [u8; 16]) -> String {
    store_id.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORE: [u8; 16] = [7; 16];

    fn place(row: u64) -> StoredAt {
        StoredAt::from_bytes(&row.to_be_bytes()).expect("few bytes")
    }

    fn pairs(model: &str, count: usize) -> Vec<UsagePair> {
        vec![UsagePair { model: model.to_owned(), counted: 2_000, reported: 2_800 }; count]
    }

    fn permille(slot: &CalibrationSlot, store: [u8; 16], model: &str) -> Option<u32> {
        slot.load(store).unwrap().of(model).and_then(Ratios::factor_permille)
    }

    #[test]
    fn what_was_learned_is_there_in_the_next_process_and_only_for_its_store() {
        let folder = tempfile::tempdir().unwrap();
        CalibrationSlot::at(folder.path()).learn(STORE, &pairs("claude-x", 12), place(5));
        let slot = CalibrationSlot::at(folder.path());
        let calibration = slot.load(STORE).unwrap();
        assert!((1_390..1_410).contains(&permille(&slot, STORE, "claude-x").unwrap()));
        assert_eq!((calibration.is_new(place(5)), calibration.is_new(place(6))), (false, true));
        assert_eq!((calibration.wants("claude-x"), calibration.wants("gpt-5")), (true, false));
        assert_eq!(permille(&slot, [8; 16], "claude-x"), None, "another store's figures are not ours");
        assert_eq!(slot.trouble(), None);
    }

    #[test]
    fn what_was_learned_of_a_dated_model_counts_for_its_usual_name() {
        let folder = tempfile::tempdir().unwrap();
        let slot = CalibrationSlot::at(folder.path());
        slot.learn(STORE, &pairs("claude-opus-4-5-20251101", 12), place(5));
        for (name, is_known) in [
            ("claude-opus-4-5", true),
            ("claude-opus-4-5@20251101", true),
            ("us.anthropic.claude-opus-4-5-20250101", true),
            ("anthropic/Claude-Opus-4-5", true),
            ("claude-opus-4", false),
            ("claude-opus-4-6", false),
        ] {
            assert_eq!(permille(&slot, STORE, name).is_some(), is_known, "{name}");
        }
    }

    #[test]
    fn a_bad_calibration_file_is_set_aside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("calibration-v1.json");
        for bad in [b"".as_slice(), b"{\"store\":", b"[]", b"\xff\0", &vec![b' '; 5 << 20]] {
            write_file(&path, bad).unwrap();
            let slot = CalibrationSlot::at(folder.path());
            assert_eq!(slot.load(STORE), Some(Calibration::default()));
            assert!(
                slot.trouble().unwrap().message.contains("calibration-v1.damaged"),
                "{:?}",
                slot.trouble()
            );
            slot.learn(STORE, &pairs("claude-x", 12), place(1));
            assert!(permille(&slot, STORE, "claude-x").is_some(), "learning begins anew");
        }
    }

    #[test]
    fn a_file_that_cannot_be_read_stays_and_is_noted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("calibration-v1.json");
        std::fs::create_dir(&path).unwrap();
        let slot = CalibrationSlot::at(folder.path());
        slot.learn(STORE, &pairs("claude-x", 12), place(1));
        assert_eq!(slot.load(STORE), None);
        assert!(slot.trouble().unwrap().message.contains("cannot be read"), "{:?}", slot.trouble());
        assert!(path.is_dir());
    }

    #[test]
    fn forgetting_leaves_no_name_of_a_model() {
        let folder = tempfile::tempdir().unwrap();
        let slot = CalibrationSlot::at(folder.path());
        slot.forget().unwrap();
        write_file(&folder.path().join("calibration-v1.json"), b"{ acme-secret").unwrap();
        slot.learn(STORE, &pairs("acme-secret", 12), place(1));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
        slot.forget().unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        assert_eq!(slot.load(STORE), Some(Calibration::default()));
    }

    #[test]
    fn names_of_models_are_bounded() {
        let mut calibration = Calibration::default();
        for number in 0..=MODELS_MAX {
            calibration.learn(&pairs(&format!("m{number}"), 1), place(1));
        }
        calibration.learn(&pairs(&"x".repeat(MODEL_BYTES_MAX + 1), 1), place(1));
        calibration.learn(&pairs("m0", 1), place(1));
        assert_eq!(calibration.models.len(), MODELS_MAX);
        assert_eq!(calibration.of("m0").unwrap().pairs(), 2);
        let most = [Ratios::from_bins((0..200).map(|bin| (bin, 1 << 53)), 1 << 53)];
        let most = most.into_iter().cycle().take(MODELS_MAX).enumerate();
        let models = most.map(|(at, ratios)| (format!("{at:0>MODEL_BYTES_MAX$}"), ratios)).collect();
        let bytes = Calibration { through: u128::MAX, models }.to_bytes(&hex(STORE)).unwrap();
        assert!(bytes.len() as u64 <= FILE_BYTES_MAX, "{}", bytes.len());
    }
}
