//! Contents: literal and composed, whole and in ranges.
//!
//! How they are compressed is each backend's own.

use std::io;
use std::ops::Range;

use stemmata_model::{ArtifactId, artifact_id};

use super::Make;
use super::builders::{bytes_of, refused, write};
use crate::error::{StoreError, StoreErrorKind};
use crate::seam::{Commits, PART_BYTES_MAX, PartOf};
use crate::write::{ContentPart, NewContent, Write};

fn slice(of: ArtifactId, range: Range<u64>) -> ContentPart {
    ContentPart::Slice { of, offset: range.start, length: range.end - range.start }
}

fn compose(whole: &[u8], parts: Vec<ContentPart>) -> Write {
    Write::Content(NewContent::composed(artifact_id(whole), parts))
}

fn range_of(store: &dyn Commits, id: ArtifactId, range: Range<u64>) -> Result<Vec<u8>, StoreError> {
    let mut bytes = Vec::new();
    store.read_content(id, Some(range), &mut |piece| {
        bytes.extend_from_slice(piece);
        Ok(())
    })?;
    Ok(bytes)
}

/// Contents come back, have their lengths, and are stored once.
pub(super) fn check_contents(make: Make<'_, dyn Commits>) {
    let store = make();
    let noise: Vec<u8> =
        (0..70_000_u32).flat_map(|step| step.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    let long = vec![b'a'; 1_000_000];
    let bodies: [&[u8]; 6] = [b"", b"x", b"{\"type\":\"user\"}\n", &[0; 5000], &noise, &long];
    for body in bodies {
        let content = NewContent::literal(body.to_vec());
        let id = content.id();
        assert_eq!(store.content_length(id).expect("a read"), None);
        let outcome = write(&*store, vec![Write::Content(content.clone()), Write::Content(content.clone())]);
        let length = u64::try_from(body.len()).expect("a short body");
        assert_eq!((outcome.new_contents, outcome.new_bytes), (1, length));
        assert_eq!(write(&*store, vec![Write::Content(content)]).new_contents, 0);
        assert_eq!(store.content_length(id).expect("a read"), Some(length));
        assert!(bytes_of(&*store, id) == body, "{length} bytes come back");
    }
    let absent = ArtifactId::from_bytes([1; 32]);
    let error = store.read_content(absent, None, &mut |_| Ok(())).expect_err("it is not there");
    assert!(matches!(error, StoreError::ContentMissing(named) if named == absent), "{error}");
    assert_eq!(error.kind(), StoreErrorKind::NotFound);
}

/// Composed contents are the concatenation of their parts, in one batch or over several.
pub(super) fn check_slices(make: Make<'_, dyn Commits>) {
    let store = make();
    let base = NewContent::literal(b"0123456789".to_vec());
    let base_id = base.id();
    let whole = b"234abc89";
    let parts = vec![
        slice(base_id, 2..5),
        ContentPart::Bytes(b"abc".to_vec()),
        slice(base_id, 5..5),
        ContentPart::Bytes(Vec::new()),
        slice(base_id, 8..10),
    ];
    let outcome = write(&*store, vec![Write::Content(base), compose(whole, parts.clone())]);
    assert_eq!(outcome.new_bytes, 13);
    assert_eq!(bytes_of(&*store, artifact_id(whole)), whole);
    assert_eq!(bytes_of(&*store, artifact_id(b"abc")), b"abc", "a literal part is a content of its own");
    assert_eq!(write(&*store, vec![compose(whole, parts)]).new_contents, 0);
    write(&*store, vec![compose(b"", Vec::new())]);
    assert_eq!(store.content_length(artifact_id(b"")).expect("a read"), Some(0));
    // The part is the whole: it is stored as a literal, with the id that was asked for.
    write(&*store, vec![compose(b"one part", vec![ContentPart::Bytes(b"one part".to_vec())])]);
    assert_eq!(bytes_of(&*store, artifact_id(b"one part")), b"one part");

    let absent = ArtifactId::from_bytes([1; 32]);
    let error = refused(&*store, vec![compose(b"y", vec![slice(absent, 0..1)])]);
    assert!(matches!(error, StoreError::ContentMissing(named) if named == absent), "{error}");
    for range in [9..11, 10..11, 11..11, u64::MAX - 1..u64::MAX] {
        let error = refused(&*store, vec![compose(b"y", vec![slice(base_id, range)])]);
        assert!(matches!(error, StoreError::Bound { bound: 10, .. }), "{error}");
    }
}

/// Composed contents that are not what they claim are never handed out.
pub(super) fn check_lies(make: Make<'_, dyn Commits>) {
    let store = make();
    let base = NewContent::literal(b"0123456789".to_vec());
    let base_id = base.id();
    write(&*store, vec![Write::Content(base)]);
    let lies = [
        (2, vec![slice(base_id, 0..3), slice(base_id, 5..9)]),
        (3, vec![ContentPart::Bytes(b"another name".to_vec())]),
    ];
    for (number, parts) in lies {
        let lie = ArtifactId::from_bytes([number; 32]);
        write(&*store, vec![Write::Content(NewContent::composed(lie, parts))]);
        let error = store.read_content(lie, None, &mut |_| Ok(())).expect_err("it has another hash");
        assert!(matches!(&error, StoreError::Corrupt { artifact, .. } if *artifact == lie), "{error}");
    }
    assert_eq!(bytes_of(&*store, artifact_id(b"another name")), b"another name", "a part has its own name");
}

/// Slices of composed contents stand for the ranges below them, however deep.
pub(super) fn check_slices_of_slices(make: Make<'_, dyn Commits>) {
    let store = make();
    let mut bytes = b"the first thousand bytes of a chain ".repeat(30);
    let first = NewContent::literal(bytes.clone());
    let mut last = first.id();
    write(&*store, vec![Write::Content(first)]);
    for step in 0..40_u8 {
        let cut = bytes.len() - 7;
        let mut next = bytes.get(3..cut).expect("it is long enough").to_vec();
        next.extend_from_slice(&[step; 11]);
        let length = u64::try_from(cut).expect("a short content");
        let parts = vec![slice(last, 3..length), ContentPart::Bytes(vec![step; 11])];
        write(&*store, vec![compose(&next, parts)]);
        last = artifact_id(&next);
        bytes = next;
        assert!(bytes_of(&*store, last) == bytes, "step {step}");
    }
    let twice = [bytes.clone(), bytes.clone()].concat();
    let length = u64::try_from(bytes.len()).expect("a short content");
    write(&*store, vec![compose(&twice, vec![slice(last, 0..length); 2])]);
    assert!(bytes_of(&*store, artifact_id(&twice)) == twice);
    assert_eq!(range_of(&*store, artifact_id(&twice), length..length + 9).ok().as_deref(), bytes.get(..9));
}

/// Every range of a content is that range, and none goes beyond its end.
pub(super) fn check_ranges(make: Make<'_, dyn Commits>) {
    let store = make();
    let parts: Vec<Vec<u8>> = (0..5_u8).map(|step| vec![b'a' + step; usize::from(step) + 3]).collect();
    let whole = parts.concat();
    let id = artifact_id(&whole);
    let composed = parts.into_iter().map(ContentPart::Bytes).collect();
    write(&*store, vec![compose(&whole, composed)]);
    let length = u64::try_from(whole.len()).expect("a short content");
    for start in 0..=length {
        for end in start..=length {
            let from = usize::try_from(start).expect("a short content");
            let to = usize::try_from(end).expect("a short content");
            assert_eq!(range_of(&*store, id, start..end).ok().as_deref(), whole.get(from..to));
        }
    }
    for range in [0..length + 1, length + 1..length + 1, 5..u64::MAX] {
        let error = range_of(&*store, id, range).expect_err("it goes beyond the end");
        assert!(matches!(error, StoreError::Bound { bound, .. } if bound == length), "{error}");
    }
}

/// A sink gets bounded pieces in order, and its own error back.
pub(super) fn check_sinks(make: Make<'_, dyn Commits>) {
    let store = make();
    let part: Vec<u8> =
        (0..PART_BYTES_MAX / 4).flat_map(|step| step.to_le_bytes().into_iter().take(4)).collect();
    let whole = [part.as_slice(), b"and more"].concat();
    let id = artifact_id(&whole);
    let parts = vec![ContentPart::Bytes(part), ContentPart::Bytes(b"and more".to_vec())];
    write(&*store, vec![compose(&whole, parts)]);
    let mut hasher_input = Vec::new();
    let mut longest = 0;
    let take = &mut |piece: &[u8]| {
        longest = longest.max(piece.len());
        hasher_input.extend_from_slice(piece);
        Ok(())
    };
    store.read_content(id, None, take).expect("a content that is there");
    assert!(hasher_input == whole && longest <= PART_BYTES_MAX);

    let mut calls = 0;
    let stop = &mut |_: &[u8]| {
        calls += 1;
        Err(io::Error::other("the pipe is gone"))
    };
    let error = store.read_content(id, None, stop).expect_err("the sink failed");
    assert!(
        matches!(&error, StoreError::Sink(source) if source.to_string() == "the pipe is gone"),
        "{error}"
    );
    assert_eq!(calls, 1, "a sink that failed is not called again");
}

/// The parts of a content are literal contents, and their ranges together are its bytes.
pub(super) fn check_parts(make: Make<'_, dyn Commits>) {
    let store = make();
    let literal = NewContent::literal(b"to be or not to be".to_vec());
    let first = literal.id();
    write(&*store, vec![Write::Content(literal)]);
    let whole = b"or not? to be".to_vec();
    let composed = NewContent::composed(
        artifact_id(&whole),
        vec![
            ContentPart::Slice { of: first, offset: 6, length: 6 },
            ContentPart::Bytes(b"? ".to_vec()),
            ContentPart::Slice { of: first, offset: 0, length: 5 },
        ],
    );
    let second = composed.id();
    write(&*store, vec![Write::Content(composed)]);
    let parts = |id| store.content_parts(id).expect("a read");
    assert_eq!(parts(first), Some(vec![PartOf { of: first, offset: 0, length: 18 }]));
    assert_eq!(
        parts(second),
        Some(vec![
            PartOf { of: first, offset: 6, length: 6 },
            PartOf { of: artifact_id(b"? "), offset: 0, length: 2 },
            PartOf { of: first, offset: 0, length: 5 },
        ])
    );
    assert_eq!(parts(artifact_id(b"never stored")), None);
}
