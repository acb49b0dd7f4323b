//! Puts back what capture replaced, in what is placed on the machine that captured it.
//!
//! A value goes where it was: into the same bytes of the same content. Where that is not known, the placeholder stays, and
//! the user is told.

use std::collections::HashMap;

use memchr::memmem::Finder;
use stemmata_model::{ArtifactId, Commit, Note, NoteCode};
use stemmata_runtimes::adapter::{Edit, Piece};

use crate::capture::compaction::Origin;
use crate::chain::segments::ChainSegments;
use crate::engine::Engine;
use crate::error::Result;
use crate::vault::{Reader, Value};

/// What every placeholder begins with.
pub(crate) const PLACEHOLDER: &[u8] = b"[REDACTED:";

/// A putting back under way.
pub(crate) struct PuttingBack {
    engine: Engine,
    reader: Reader,
    /// Values by the numbered content of the chain that they stand in.
    known: HashMap<usize, Vec<Value>>,
    placeholder: Finder<'static>,
    put_back: u64,
    left: u64,
    ambiguous: u64,
    damaged: u64,
}

/// Says that a translation is made of what is stored.
pub(super) fn not_in_translations() -> Note {
    Note::new(
        NoteCode::Redacted,
        "no secret was put back: the session is translated, and a translation is made of what is stored",
    )
}

impl Engine {
    /// Prepares to put back what the vault has; none, with a note, where it has nothing.
    pub(crate) fn putting_back(&self, notes: &mut Vec<Note>) -> Result<Option<PuttingBack>> {
        let reader = self.vault.as_ref().map(|vault| vault.read()).transpose()?.flatten();
        let Some(reader) = reader else {
            let message = "no secret was put back: the vault holds none; with `secrets.vault` on, capture keeps what it \
                           replaces from then on";
            notes.push(Note::new(NoteCode::Redacted, message));
            return Ok(None);
        };
        Ok(Some(PuttingBack {
            engine: self.clone(),
            reader,
            known: HashMap::new(),
            placeholder: Finder::new(PLACEHOLDER),
            put_back: 0,
            left: 0,
            ambiguous: 0,
            damaged: 0,
        }))
    }
}

impl PuttingBack {
    /// Returns a piece with what stood in it.
    pub(crate) fn edited(&mut self, chain: &ChainSegments<'_>, piece: &Piece) -> Result<Piece> {
        if !self.known.contains_key(&piece.segment) {
            let values = self.values(chain, piece.segment)?;
            self.known.insert(piece.segment, values);
        }
        let values = self.known.get(&piece.segment).map_or(&[][..], Vec::as_slice);
        let mut edited = piece.clone();
        let end = piece.offset.saturating_add(piece.length);
        let from = values.partition_point(|value| value.offset < piece.offset);
        for value in values.iter().skip(from).take_while(|value| value.offset < end) {
            let length = u64::from(value.instead_bytes);
            let offset = value.offset - piece.offset;
            let at = edited.edits.partition_point(|other| other.offset < offset);
            let is_behind_before = at
                .checked_sub(1)
                .and_then(|before| edited.edits.get(before))
                .is_none_or(|before| before.offset + before.length <= offset);
            let is_ahead_of_next = edited.edits.get(at).is_none_or(|next| offset + length <= next.offset);
            // What the plan replaces itself is no placeholder any more.
            if is_behind_before && is_ahead_of_next && offset + length <= piece.length {
                edited.edits.insert(at, Edit { offset, length, with: value.original.clone() });
                self.put_back += 1;
            }
        }
        Ok(edited)
    }

    /// Returns the bytes of a content with what stood in it.
    pub(crate) fn restored(&mut self, content: ArtifactId, bytes: Vec<u8>) -> Result<Vec<u8>> {
        if !self.reader.knows(content) {
            return Ok(bytes);
        }
        let mut restored = Vec::with_capacity(bytes.len());
        let mut done = 0;
        for value in self.of_content(content)? {
            let from = usize::try_from(value.offset).unwrap_or(usize::MAX);
            let to = from.saturating_add(usize::try_from(value.instead_bytes).unwrap_or(usize::MAX));
            // Of two that overlap the first counts; a place outside of the content is a damaged record's.
            let Some(between) = bytes.get(done..from).filter(|_| to <= bytes.len()) else { continue };
            restored.extend_from_slice(between);
            restored.extend_from_slice(&value.original);
            done = to;
        }
        restored.extend_from_slice(bytes.get(done..).unwrap_or_default());
        Ok(restored)
    }

    /// Looks at what is written, for placeholders that stay.
    pub(crate) fn written(&mut self, run: &[u8]) {
        self.left += u64::try_from(self.placeholder.find_iter(run).count()).expect("a count fits 64 bits");
    }

    /// Says what was done.
    pub(super) fn note(self) -> Option<Note> {
        let Self { put_back, left, ambiguous, damaged, .. } = self;
        if put_back == 0 && left == 0 {
            return None;
        }
        let plural = |count: u64| if count == 1 { "" } else { "s" };
        let done = [
            (put_back, format!("put back {put_back} redacted secret{}", plural(put_back))),
            (left, format!("left {left} placeholder{} whose values the vault does not have", plural(left))),
            (ambiguous, format!("left {ambiguous} with several values for the same content")),
            (damaged, format!("found {damaged} damaged record{} in the vault", plural(damaged))),
        ];
        let done = done.into_iter().filter(|(count, _)| *count > 0).map(|(_, what)| what);
        Some(Note::new(NoteCode::Redacted, done.collect::<Vec<_>>().join("; ")))
    }

    /// Returns what stood in a numbered content of a chain, ascending.
    fn values(&mut self, chain: &ChainSegments<'_>, number: usize) -> Result<Vec<Value>> {
        let (content, _) = chain.content(number);
        if self.reader.knows(content) {
            return self.of_content(content);
        }
        // A compaction's artifact is composed of captured contents, and what stood in these stands in it.
        let is_composed = |commit: &&Commit| number % 2 == 1 && commit.core.native.is_some();
        let Some(commit) = chain.commits().get(number / 2).filter(is_composed) else { return Ok(Vec::new()) };
        let mut values = Vec::new();
        for origin in self.engine.origins_of(commit)? {
            let own = self.of_content(origin.of)?;
            values.extend(own.into_iter().filter_map(|value| moved(value, &origin)));
        }
        values.sort_by_key(|value| value.offset);
        Ok(values)
    }

    fn of_content(&mut self, content: ArtifactId) -> Result<Vec<Value>> {
        let found = self.reader.values(content)?;
        self.ambiguous += found.ambiguous;
        self.damaged += found.damaged;
        Ok(found.values)
    }
}

/// Returns a value of a content where it stands in what is made of that one.
fn moved(value: Value, origin: &Origin) -> Option<Value> {
    let end = value.offset.checked_add(u64::from(value.instead_bytes))?;
    let is_in = value.offset >= origin.from && end <= origin.from.checked_add(origin.length)?;
    is_in.then(|| Value { offset: origin.at + (value.offset - origin.from), ..value })
}
