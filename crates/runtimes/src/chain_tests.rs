//! What tests do with a chain: cut lines into one, write out plans of it, place it, check it.

use stemmata_model::{CommitType, Granularity, Note, SessionId, Timestamp};

use crate::adapter::{
    Adapter, ContextPlan, Cut, Piece, PlaceRequest, PlanStop, Segment, Segments, Severity, Shape,
    SourceError, Validation,
};

/// A chain, newest first, with the artifacts of its compactions. Reading it takes segments out.
#[derive(Clone)]
pub(crate) struct Chain<'a> {
    adapter: &'a dyn Adapter,
    pub(crate) segments: Vec<Segment>,
}

impl Segments for Chain<'_> {
    fn next(&mut self) -> Result<Option<Segment>, SourceError> {
        Ok((!self.segments.is_empty()).then(|| self.segments.remove(0)))
    }
}

impl<'a> Chain<'a> {
    /// Returns a chain of nothing.
    pub(crate) fn new(adapter: &'a dyn Adapter) -> Self {
        Self { adapter, segments: Vec::new() }
    }

    /// Cuts bytes into a chain as an import does.
    pub(crate) fn import(adapter: &'a dyn Adapter, granularity: Granularity, bytes: &[u8]) -> Self {
        let mut chain = Self::new(adapter);
        for (commit_type, native) in commits(adapter, granularity, bytes) {
            chain.push(commit_type, &native);
        }
        chain
    }

    /// Puts a segment before the others; a compaction's artifact is made of what is there.
    pub(crate) fn push(&mut self, commit_type: CommitType, native: &[u8]) {
        let mut earlier = self.clone();
        let before = earlier.segments.first().map_or(Timestamp::EPOCH, |segment| segment.created_at);
        let created_at = latest(self.adapter, native).map_or(before, |time| time.max(before));
        self.segments.insert(0, Segment { created_at, ..segment(commit_type, native) });
        if commit_type == CommitType::Compaction {
            let plan = self.adapter.plan_compaction(native, &mut earlier).expect("no storage");
            assert_eq!(plan.notes, [], "all that the compaction needs is there");
            self.segments[0].prefix = Some(written(&plan.pieces, &self.segments).into());
        }
    }

    /// Plans a context, and writes it.
    pub(crate) fn context(&self, stop: PlanStop) -> (ContextPlan, Vec<u8>) {
        let plan = self.adapter.plan_context(&mut self.clone(), stop).expect("no storage");
        let context = written(&plan.pieces, &self.segments);
        (plan, context)
    }
}

/// Returns a segment without an artifact.
pub(crate) fn segment(commit_type: CommitType, native: &[u8]) -> Segment {
    let created_at = Timestamp::EPOCH;
    Segment { commit_type, native: native.to_vec().into(), prefix: None, is_stop: false, created_at }
}

/// Returns the latest time that records say.
fn latest(adapter: &dyn Adapter, native: &[u8]) -> Option<Timestamp> {
    let mut splitter = adapter.splitter(Granularity::Turn, None);
    let mut latest = None;
    for unit in units(adapter, native) {
        let cut = splitter.line(unit, &mut Vec::new());
        latest = [cut.before, cut.after].iter().flatten().map(|facts| facts.timestamp).fold(latest, Ord::max);
    }
    latest.max(splitter.open().timestamp)
}

/// What bytes are read by: lines with their ends, or the whole document.
fn units<'b>(adapter: &dyn Adapter, bytes: &'b [u8]) -> Vec<&'b [u8]> {
    match adapter.shape() {
        Shape::Lines => lines(bytes).collect(),
        Shape::Document => vec![bytes],
    }
}

/// Bytes with each line end kept.
fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n')
}

/// Returns the commits of some bytes, oldest first.
pub(crate) fn commits(
    adapter: &dyn Adapter,
    granularity: Granularity,
    bytes: &[u8],
) -> Vec<(CommitType, Vec<u8>)> {
    let mut splitter = adapter.splitter(granularity, None);
    let (mut commits, mut open) = (Vec::new(), Vec::new());
    for line in lines(bytes) {
        let Cut { before, after } = splitter.line(line.strip_suffix(b"\n").unwrap_or(line), &mut Vec::new());
        commits.extend(before.map(|facts| (facts.commit_type, std::mem::take(&mut open))));
        open.extend_from_slice(line);
        commits.extend(after.map(|facts| (facts.commit_type, std::mem::take(&mut open))));
    }
    if !open.is_empty() {
        commits.push((CommitType::Delta, open));
    }
    commits
}

/// Returns the commits of bytes that hold one line a letter: letters with bars between, `!` after a compaction.
pub(crate) fn cut(adapter: &dyn Adapter, letters: &str, bytes: &[u8]) -> String {
    let mut rest = letters;
    let mut named = |(commit_type, native): (CommitType, Vec<u8>)| {
        let (own, after) = rest.split_at(lines(&native).count());
        rest = after;
        format!("{own}{}", if commit_type == CommitType::Compaction { "!" } else { "" })
    };
    let parts: Vec<String> = commits(adapter, Granularity::Turn, bytes).into_iter().map(&mut named).collect();
    parts.join("|")
}

/// Writes pieces of a chain, which is newest first.
pub(crate) fn written(pieces: &[Piece], chain: &[Segment]) -> Vec<u8> {
    let mut out = Vec::new();
    for piece in pieces {
        let segment = &chain[piece.segment / 2];
        let bytes =
            if piece.segment % 2 == 1 { segment.prefix.as_ref().expect("a prefix") } else { &segment.native };
        let narrow = |value: u64| usize::try_from(value).expect("small");
        let (start, mut at) = (narrow(piece.offset), 0);
        for edit in &piece.edits {
            out.extend_from_slice(&bytes[start + at..start + narrow(edit.offset)]);
            out.extend_from_slice(&edit.with);
            at = narrow(edit.offset + edit.length);
        }
        out.extend_from_slice(&bytes[start + at..start + narrow(piece.length)]);
    }
    out
}

/// Plans the context of some bytes, and writes it.
pub(crate) fn planned(adapter: &dyn Adapter, bytes: &[u8], stop: PlanStop) -> (ContextPlan, Vec<u8>) {
    Chain::import(adapter, Granularity::Turn, bytes).context(stop)
}

/// Returns the letters of the lines that the context of bytes with one line a letter holds.
pub(crate) fn kept(adapter: &dyn Adapter, letters: &str, bytes: &[u8], stop: PlanStop) -> String {
    let all: Vec<&[u8]> = lines(bytes).collect();
    let letter =
        |line: &[u8]| all.iter().position(|known| *known == line).and_then(|at| letters.chars().nth(at));
    lines(&planned(adapter, bytes, stop).1).filter_map(letter).collect()
}

/// Returns a request to place a session of `/srv/project`.
pub(crate) fn request(cwd: &str) -> PlaceRequest {
    PlaceRequest {
        session: SessionId::new(PLACED).expect("a name"),
        cwd: cwd.to_owned(),
        origin_cwd: Some("/srv/project".to_owned()),
        client_version: None,
        at: Timestamp::parse("2026-11-22T05:06:07.089Z").expect("a time"),
        seed: [7; 32],
    }
}

/// The session that [`request`] asks for.
pub(crate) const PLACED: &str = "99999999-8888-4777-8666-555555555555";

/// Places bytes, and returns what is written, with the notes.
pub(crate) fn place(adapter: &dyn Adapter, request: &PlaceRequest, bytes: &[u8]) -> (Vec<u8>, Vec<Note>) {
    let mut placer = adapter.placer(request);
    let mut out = Vec::new();
    for unit in units(adapter, bytes) {
        placer.line(unit, &mut out);
    }
    let notes = placer.finish(&mut out);
    (out, notes)
}

/// Places bytes, and returns what is written and what is said of it.
pub(crate) fn placed(adapter: &dyn Adapter, request: &PlaceRequest, bytes: &[u8]) -> (String, Vec<String>) {
    let (out, notes) = place(adapter, request, bytes);
    let said = notes.into_iter().map(|note| note.message).collect();
    (String::from_utf8(out).expect("text"), said)
}

/// Checks bytes as the newest client's loader would.
pub(crate) fn checked(adapter: &dyn Adapter, bytes: &[u8]) -> Validation {
    checked_for(adapter, bytes, None)
}

/// Checks bytes as the loader of a version would, of the newest where none is given.
pub(crate) fn checked_for(adapter: &dyn Adapter, bytes: &[u8], version: Option<&str>) -> Validation {
    let mut validator = adapter.validator(version);
    for unit in units(adapter, bytes) {
        validator.line(unit);
    }
    validator.finish()
}

/// Returns the names of all checks that find something.
pub(crate) fn checks(adapter: &dyn Adapter, bytes: &[u8]) -> Vec<&'static str> {
    checked(adapter, bytes).findings.iter().map(|found| found.check).collect()
}

/// Returns the names of the checks that a loader fails on.
pub(crate) fn fatal(adapter: &dyn Adapter, bytes: &[u8]) -> Vec<&'static str> {
    let findings = checked(adapter, bytes).findings;
    findings.iter().filter(|found| found.severity == Severity::Fatal).map(|found| found.check).collect()
}
