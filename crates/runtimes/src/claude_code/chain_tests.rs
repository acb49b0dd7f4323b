//! Chains for tests: a transcript cut into segments as an import would cut it, and plans written out.
//!
//! Only for tests of this folder.

use stemmata_model::{CommitType, Granularity};

use super::split::LineSplitter;
use super::{compaction, context, place, validate};
use crate::adapter::{
    ContextPlan, Piece, PlaceRequest, Placer, PlanStop, Segment, Segments, SourceError, Splitter, Validation,
    Validator,
};

/// A chain, oldest segment first.
#[derive(Debug, Clone, Default)]
pub(crate) struct Chain {
    pub(crate) segments: Vec<Segment>,
}

/// Reads a chain from its newest segment.
pub(crate) struct Newest<'a> {
    left: &'a [Segment],
    pub(crate) reads: usize,
}

impl Segments for Newest<'_> {
    fn next(&mut self) -> Result<Option<Segment>, SourceError> {
        let Some((last, left)) = self.left.split_last() else {
            return Ok(None);
        };
        self.left = left;
        self.reads += 1;
        Ok(Some(last.clone()))
    }
}

impl Chain {
    /// Cuts a transcript as an import cuts it.
    pub(crate) fn import(bytes: &[u8], granularity: Granularity) -> Self {
        let mut splitter = LineSplitter::new(granularity, None);
        let mut chain = Self::default();
        let (mut start, mut end) = (0, 0);
        let mut notes = Vec::new();
        for line in bytes.split_inclusive(|&byte| byte == b'\n') {
            let cut = splitter.line(line.strip_suffix(b"\n").unwrap_or(line), &mut notes);
            if let Some(facts) = cut.before {
                chain.push(facts.commit_type, &bytes[start..end]);
                start = end;
            }
            end += line.len();
            if let Some(facts) = cut.after {
                chain.push(facts.commit_type, &bytes[start..end]);
                start = end;
            }
        }
        if start < bytes.len() {
            chain.push(CommitType::Delta, &bytes[start..]);
        }
        chain
    }

    /// Appends a segment; a compaction's artifact is made of what is there.
    pub(crate) fn push(&mut self, commit_type: CommitType, native: &[u8]) {
        let prefix = (commit_type == CommitType::Compaction).then(|| {
            let plan = compaction::plan(native, &mut self.newest()).expect("no storage, no error");
            let mut all = self.segments.clone();
            all.push(segment(commit_type, native, None));
            write(&plan.pieces, &all)
        });
        self.segments.push(segment(commit_type, native, prefix));
    }

    pub(crate) fn newest(&self) -> Newest<'_> {
        Newest { left: &self.segments, reads: 0 }
    }

    /// Plans a context and writes it out.
    pub(crate) fn context(&self, stop: PlanStop) -> (ContextPlan, Vec<u8>) {
        let plan = context::plan(&mut self.newest(), stop).expect("no storage, no error");
        let bytes = write(&plan.pieces, &self.segments);
        (plan, bytes)
    }
}

pub(crate) fn segment(commit_type: CommitType, native: &[u8], prefix: Option<Vec<u8>>) -> Segment {
    Segment { commit_type, native: native.to_vec().into(), prefix: prefix.map(Into::into), is_stop: false }
}

/// Writes pieces out; `segments` are oldest first.
pub(crate) fn write(pieces: &[Piece], segments: &[Segment]) -> Vec<u8> {
    let mut out = Vec::new();
    for piece in pieces {
        let segment = &segments[segments.len() - 1 - piece.segment / 2];
        let whole =
            if piece.segment % 2 == 1 { segment.prefix.as_ref().expect("a prefix") } else { &segment.native };
        let start = usize::try_from(piece.offset).expect("small");
        let bytes = &whole[start..start + usize::try_from(piece.length).expect("small")];
        let mut written = 0;
        for edit in &piece.edits {
            let offset = usize::try_from(edit.offset).expect("small");
            out.extend_from_slice(&bytes[written..offset]);
            out.extend_from_slice(&edit.with);
            written = offset + usize::try_from(edit.length).expect("small");
        }
        out.extend_from_slice(&bytes[written..]);
    }
    out
}

/// A place for tests.
pub(crate) fn request() -> PlaceRequest {
    PlaceRequest {
        at: stemmata_model::Timestamp::EPOCH,
        session: stemmata_model::SessionId::new("99999999-8888-4777-8666-555555555555").expect("a name"),
        cwd: "/new/place".to_owned(),
        origin_cwd: Some("/work/project".to_owned()),
        client_version: None,
        seed: [7; 32],
    }
}

/// Places some bytes.
pub(crate) fn placed(bytes: &[u8]) -> (Vec<u8>, Vec<stemmata_model::Note>) {
    let mut placer = place::LinePlacer::new(&request());
    let mut out = Vec::new();
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        placer.line(line, &mut out);
    }
    let notes = placer.finish(&mut out);
    (out, notes)
}

/// Checks some bytes.
pub(crate) fn validated(bytes: &[u8], version: Option<&str>) -> Validation {
    let mut validator = validate::LineValidator::new(version);
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        validator.line(line);
    }
    validator.finish()
}
