//! What tests of formats of lines do with a chain: cut bytes into one, write out plans of it, place it, check it.

use stemmata_model::{CommitType, Granularity, SessionId, Timestamp};

use crate::adapter::{
    Adapter, ContextPlan, Cut, Piece, PlaceRequest, PlanStop, Segment, Segments, Severity, SourceError,
    Validation,
};

/// A chain, newest first, with the artifacts of its compactions.
pub(crate) struct Chain(pub(crate) Vec<Segment>);

impl Segments for Chain {
    fn next(&mut self) -> Result<Option<Segment>, SourceError> {
        Ok((!self.0.is_empty()).then(|| self.0.remove(0)))
    }
}

/// Bytes with each line end kept.
fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n')
}

/// Returns the commits of some bytes, oldest first.
pub(crate) fn commits(adapter: &dyn Adapter, bytes: &[u8]) -> Vec<(CommitType, Vec<u8>)> {
    let mut splitter = adapter.splitter(Granularity::Turn, None);
    let (mut commits, mut open) = (Vec::new(), Vec::new());
    for line in lines(bytes) {
        let Cut { before, after } = splitter.line(line.trim_ascii_end(), &mut Vec::new());
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
    let parts: Vec<String> = commits(adapter, bytes).into_iter().map(&mut named).collect();
    parts.join("|")
}

/// Returns the chain of some bytes, newest first.
pub(crate) fn chain(adapter: &dyn Adapter, bytes: &[u8]) -> Vec<Segment> {
    let mut chain: Vec<Segment> = Vec::new();
    for (commit_type, native) in commits(adapter, bytes) {
        let own = Segment { commit_type, native: native.into(), prefix: None, is_stop: false };
        let prefix = (commit_type == CommitType::Compaction).then(|| {
            let plan = adapter.plan_compaction(&own.native, &mut Chain(chain.clone())).expect("no storage");
            assert_eq!(plan.notes, [], "all that the compaction needs is there");
            let all: Vec<Segment> = std::iter::once(own.clone()).chain(chain.clone()).collect();
            written(&plan.pieces, &all).into()
        });
        chain.insert(0, Segment { prefix, ..own });
    }
    chain
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
    let chain = chain(adapter, bytes);
    let plan = adapter.plan_context(&mut Chain(chain.clone()), stop).expect("no storage");
    let context = written(&plan.pieces, &chain);
    (plan, context)
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

/// Places bytes, and returns what is written and what is said of it.
pub(crate) fn placed(adapter: &dyn Adapter, request: &PlaceRequest, bytes: &[u8]) -> (String, Vec<String>) {
    let mut placer = adapter.placer(request);
    let mut out = Vec::new();
    lines(bytes).for_each(|line| placer.line(line, &mut out));
    let notes = placer.finish(&mut out).into_iter().map(|note| note.message).collect();
    (String::from_utf8(out).expect("text"), notes)
}

/// Checks bytes as the newest client's loader would.
pub(crate) fn checked(adapter: &dyn Adapter, bytes: &[u8]) -> Validation {
    let mut validator = adapter.validator(None);
    lines(bytes).for_each(|line| validator.line(line));
    validator.finish()
}

/// Returns the names of the checks that a loader fails on.
pub(crate) fn fatal(adapter: &dyn Adapter, bytes: &[u8]) -> Vec<&'static str> {
    let findings = checked(adapter, bytes).findings;
    findings.iter().filter(|found| found.severity == Severity::Fatal).map(|found| found.check).collect()
}
