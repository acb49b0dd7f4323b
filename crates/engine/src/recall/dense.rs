//! Nearness in meaning: vectors of the candidates of a pack, made by the configured model and kept with the ledger.
//!
//! Not a search: only candidates have vectors, so a passage that neither the memory nor search finds is not found by its meaning.

use std::collections::BTreeMap;

use stemmata_model::{Json, Note, NoteCode, Timestamp};
use stemmata_prompt::retrieve::{Candidate, DenseVector, Embedder, NoVectors, set_nearness};
use stemmata_store::{Ledger, SavedState};

use super::RecallNote;
use crate::engine::Engine;
use crate::error::Result;
use crate::ledger::scrub_text;

/// What the names of kept vectors begin with. As memories they say something of words, so forgetting and scrubbing drop them.
const VECTORS: &str = "memory-vectors/";
/// The version of the form in which they are kept.
const VECTORS_VERSION: u32 = 1;
/// Texts that one question has turned into vectors at most; more wait for the next.
const EMBEDDED_MAX: usize = 256;
/// Texts of one request.
const BATCH: usize = 64;
/// Characters of a text: what small models read.
const TEXT_CHARS_MAX: usize = 1_500;
/// Values of a vector at most.
const VALUES_MAX: usize = 4_096;
/// Vectors that a ledger keeps at most. A question has fewer candidates.
const KEPT_MAX: usize = 1_024;

/// What the names of the states begin with that hold when a server was down last.
const SILENT: &str = "no-vectors:";
/// How long such a server is not asked: long beside a question, short for the user who has just started it.
const PAUSE_US: i64 = 5 * 60 * 1_000_000;

/// Vectors by the hashes of their texts.
type Vectors = BTreeMap<String, DenseVector>;

impl Engine {
    /// Has packs of a ledger count nearness in meaning. Texts of the memory and of what search finds are sent there, without their
    /// secrets.
    #[must_use]
    pub fn with_embedder(mut self, embedder: std::sync::Arc<dyn Embedder>) -> Self {
        self.embedder = Some(embedder);
        self
    }

    /// Sets how near each candidate is to the task in meaning, where a model of vectors is configured. A failure is a note, because a
    /// pack is useful without.
    pub(super) fn weigh_meaning(
        &self,
        ledger: Option<&Ledger>,
        task: &str,
        candidates: &mut [Candidate],
    ) -> Result<Option<RecallNote>> {
        // Without a ledger there is nowhere to keep vectors.
        let (Some(embedder), Some(ledger)) = (self.embedder.as_deref(), ledger) else { return Ok(None) };
        let keys: Vec<String> = candidates.iter().map(|one| key_of(&text_of(&one.full))).collect();
        let name = format!("{VECTORS}{}", key_of(embedder.model()));
        let saved = self.log.saved_states(&ledger.id, &name)?.into_iter().next();
        let saved = saved.filter(|saved| saved.version == VECTORS_VERSION);
        let mut vectors = saved.map_or_else(Vectors::new, |saved| read(&saved.state));
        let mut new: BTreeMap<&str, &str> = BTreeMap::new();
        new.insert("", task);
        for (key, one) in keys.iter().zip(candidates.iter()).filter(|(key, _)| !vectors.contains_key(*key)) {
            new.insert(key, &one.full);
        }
        let left = new.len().saturating_sub(EMBEDDED_MAX);
        // A task may hold secrets, and so may what was stored before the user added the rule that finds them. Texts are scrubbed before
        // they are cut: no rule finds half a secret.
        let scrubber = self.scrubber_in(Some(ledger))?;
        let clean = |text: &str| scrub_text(&scrubber, text.to_owned(), &mut 0).map(|clean| text_of(&clean));
        let new = new.into_iter().take(EMBEDDED_MAX).map(|(key, text)| Ok((key, clean(text)?)));
        let new = new.collect::<Result<Vec<(&str, String)>>>()?;
        let made = match self.asked(embedder, &new, ledger)? {
            Ok(made) => made,
            Err(reason) => return Ok(Some(lack(&format!("{} {reason}", embedder.model())))),
        };
        let is_new = made.len() > 1;
        vectors.extend(made);
        let Some(task) = vectors.remove("") else { return Ok(None) };
        let cosines: Vec<Option<f32>> =
            keys.iter().map(|key| vectors.get(key).map(|vector| task.cosine(vector))).collect();
        set_nearness(candidates, &cosines);
        let mut lacks = Vec::new();
        if left > 0 {
            lacks.push(format!("{left} texts have no vector yet, the next question makes more"));
        }
        if is_new {
            // The vectors of this question stay, then any others, as many as fit: when each was used last is not stored.
            let (own, others): (Vectors, Vectors) =
                vectors.into_iter().partition(|(key, _)| keys.contains(key));
            let room = KEPT_MAX.saturating_sub(own.len());
            let kept: Vectors = own.into_iter().take(KEPT_MAX).chain(others.into_iter().take(room)).collect();
            let kept = vec![folded(name, written(&kept))];
            if let Err(error) = self.keep_folded(&ledger.id, ledger.epoch, kept) {
                lacks.push(format!(
                    "its vectors were not stored, the next question makes them again: {error}"
                ));
            }
        }
        Ok((!lacks.is_empty()).then(|| lack(&lacks.join("; "))))
    }
}

impl Engine {
    /// Asks for vectors, unless the server was down a short while ago: one that is costs each question its timeout. The inner error
    /// says what happened, behind the model's name.
    fn asked(
        &self,
        embedder: &dyn Embedder,
        texts: &[(&str, String)],
        ledger: &Ledger,
    ) -> Result<std::result::Result<Vectors, String>> {
        let name = format!("{SILENT}{}", key_of(&format!("{}\n{}", embedder.server(), embedder.model())));
        let saved = self.log.saved_states(&ledger.id, &name)?.into_iter().next();
        let failed = saved.and_then(|saved| saved.state.to_value().as_i64());
        let now = self.clock.now().as_micros();
        // One that failed in the future was noted by a clock that was wrong.
        if let Some(at) = failed.filter(|at| (0..PAUSE_US).contains(&now.saturating_sub(*at))) {
            let until = Timestamp::from_micros(at.saturating_add(PAUSE_US));
            return Ok(Err(format!("gave no vectors a short while ago, and is asked again after {until}")));
        }
        let NoVectors { reason, is_down } = match embedded(embedder, texts) {
            Ok(made) => return Ok(Ok(made)),
            Err(none) => none,
        };
        let noted = || self.keep_folded(&ledger.id, ledger.epoch, vec![folded(name, Json::of(&now.into()))]);
        Ok(Err(match is_down.then(noted) {
            Some(Err(error)) => format!("gives no vectors: {reason}; this could not be remembered: {error}"),
            Some(Ok(_)) | None => format!("gives no vectors: {reason}"),
        }))
    }
}

fn folded(name: String, state: Json) -> SavedState {
    SavedState { name, version: VECTORS_VERSION, through: 0, position: None, state }
}

/// Turns texts into vectors by their keys, as many at once as a request takes.
fn embedded(embedder: &dyn Embedder, texts: &[(&str, String)]) -> Result<Vectors, NoVectors> {
    let mut vectors = Vectors::new();
    for batch in texts.chunks(BATCH) {
        let asked: Vec<&str> = batch.iter().map(|(_, text)| text.as_str()).collect();
        let made = embedder.embed(&asked)?;
        if made.len() != asked.len() || made.iter().any(|values| values.len() > VALUES_MAX) {
            let reason = format!("there is not one of at most {VALUES_MAX} values for each text");
            return Err(NoVectors { reason, is_down: false });
        }
        let keys = batch.iter().map(|(key, _)| (*key).to_owned());
        vectors.extend(keys.zip(made.iter().map(|values| DenseVector::of(values))));
    }
    Ok(vectors)
}

fn lack(reason: &str) -> RecallNote {
    let message = format!("nearness in meaning is limited: {reason}");
    RecallNote::Memory(Note::new(NoteCode::Degraded, message))
}

fn text_of(text: &str) -> String {
    let cut: String = text.chars().take(TEXT_CHARS_MAX).collect();
    // Servers refuse empty texts.
    if cut.trim().is_empty() { "-".to_owned() } else { cut }
}

fn key_of(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().chars().take(32).collect()
}

/// Returns the form in which vectors are kept: two hexadecimal digits a value.
fn written(vectors: &Vectors) -> Json {
    let hex = |vector: &DenseVector| -> String {
        vector.0.iter().map(|value| format!("{:02x}", value.cast_unsigned())).collect()
    };
    let vectors: BTreeMap<&String, String> = vectors.iter().map(|(key, vector)| (key, hex(vector))).collect();
    Json::of(&serde_json::to_value(vectors).expect("a map with text keys"))
}

fn read(state: &Json) -> Vectors {
    let texts: BTreeMap<String, String> = serde_json::from_str(state.as_str()).unwrap_or_default();
    let vector = |hex: &str| -> Option<DenseVector> {
        let value = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
        let values = hex.as_bytes().chunks(2).map(|pair| Some(value(pair)?.cast_signed()));
        Some(DenseVector(values.collect::<Option<Vec<i8>>>()?))
    };
    texts.into_iter().filter_map(|(key, hex)| Some((key, vector(&hex)?))).collect()
}
