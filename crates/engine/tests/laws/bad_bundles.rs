//! Bundles that are cut off, altered, from elsewhere or made to do harm: a clear error, and an unchanged store.
//!
//! The writer below knows the format from its page alone, and writes whatever it is told.

use std::path::PathBuf;

use stemmata_engine::{BundleImportOptions, BundleLimits, Engine, EngineError, ErrorKind};
use stemmata_model::{ArtifactId, CommitCore, CommitId, artifact_id};
use stemmata_store::conformance::builders;
use stemmata_store::maintain::forget::Forget;
use stemmata_store::{StoreError, Usage};
use stemmata_testkit::sample::part;

use crate::bundles::{forgetting, other, take, told};
use crate::support::{native, usage};

/// Writes a bundle as the format's page says.
pub(crate) struct Writer {
    pub(crate) bytes: Vec<u8>,
}

pub(crate) fn number(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(u8::try_from(value & 0x7f).expect("seven bits") | 0x80);
        value >>= 7;
    }
    bytes.push(u8::try_from(value).expect("seven bits"));
    bytes
}

fn text(text: &str) -> Vec<u8> {
    [number(u64::try_from(text.len()).expect("short")), text.as_bytes().to_vec()].concat()
}

fn optional(value: &str) -> Vec<u8> {
    [number(u64::try_from(value.len()).expect("short") + 1), value.as_bytes().to_vec()].concat()
}

impl Writer {
    pub(crate) fn new() -> Self {
        Self { bytes: [b"stemmata bundle\n".as_slice(), &[1, 0, 1, 0]].concat() }
    }

    /// Writes a record with lengths that may be lies.
    fn raw(&mut self, kind: u8, coding: u8, lengths: [u32; 2], stored: &[u8]) {
        let [stored_bytes, raw_bytes] = lengths.map(u32::to_le_bytes);
        let head = [&[kind, coding], stored_bytes.as_slice(), &raw_bytes].concat();
        let check = blake3::hash(&[head.as_slice(), stored].concat());
        self.bytes.extend_from_slice(&head);
        self.bytes.extend_from_slice(stored);
        self.bytes.extend_from_slice(&check.as_bytes()[..8]);
    }

    pub(crate) fn record(&mut self, kind: u8, body: &[u8]) -> &mut Self {
        let length = u32::try_from(body.len()).expect("short");
        self.raw(kind, 0, [length, length], body);
        self
    }

    fn header(&mut self, commits: u64) -> &mut Self {
        self.record(1, &[number(commits), number(0), number(0)].concat())
    }

    fn block(&mut self, contents: &[&[u8]]) -> &mut Self {
        let mut body = number(u64::try_from(contents.len()).expect("few"));
        for own in contents {
            body.extend(number(u64::try_from(own.len()).expect("short")));
        }
        body.extend(contents.concat());
        self.record(4, &body)
    }

    /// Ends the bundle: commits, literal, composed and named contents, bytes of literal contents.
    pub(crate) fn end(&mut self, counts: [u64; 5]) -> Vec<u8> {
        let hash = blake3::hash(&self.bytes);
        let mut body: Vec<u8> = counts.into_iter().flat_map(number).collect();
        body.extend_from_slice(hash.as_bytes());
        self.record(127, &body);
        self.bytes.clone()
    }
}

fn core(parent: Option<CommitId>, artifact: ArtifactId) -> CommitCore {
    builders::commit(parent, artifact, 0).core
}

fn kinds() -> Vec<u8> {
    [number(1), text("claude-code-v1"), text("claude-code/main"), vec![0; 32]].concat()
}

/// A row of a commit whose artifact is as far behind the one before as `content` says.
fn row(id: CommitId, parent: &[u8], content: u64) -> Vec<u8> {
    // Signed numbers change places: content numbers stand at every fourth.
    [&[0], id.to_bytes().as_slice(), &[0], parent, &number(content * 8), &[0, 0, 0, 0]].concat()
}

/// A bundle of one commit, and what else a test puts into it.
fn one(more: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let mut writer = Writer::new();
    let id = core(None, artifact_id(b"hello\n")).id();
    writer.header(1).block(&[b"hello\n"]);
    writer.record(7, &[kinds(), number(1), row(id, &[0], 0)].concat());
    more(&mut writer);
    writer.end([1, 1, 0, 0, 6])
}

#[track_caller]
fn refused(bundle: Vec<u8>) -> EngineError {
    refused_with(bundle, BundleLimits::default())
}

#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "each bad bundle is made for one refusal")]
fn refused_with(bundle: Vec<u8>, limits: BundleLimits) -> EngineError {
    let other = other();
    let options = BundleImportOptions { limits, ..BundleImportOptions::default() };
    let error = other.import_bundle(&bundle, &options).expect_err("it is refused");
    assert_eq!(usage(&other), Usage::default(), "nothing was stored");
    assert!(Engine::show_bundle(&bundle, limits).is_err() || error.kind() == ErrorKind::NotFound);
    error
}

#[track_caller]
fn says(error: &EngineError, kind: ErrorKind, words: &str) {
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.to_string().contains(words), "`{words}` is not in: {error}");
}

fn fixtures() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

fn fixture() -> Vec<u8> {
    std::fs::read(fixtures().join("bundle-v1.stemma-bundle")).expect("the fixture")
}

#[test]
fn a_bundle_written_by_the_page_is_taken() {
    let other = other();
    let id = core(None, artifact_id(b"hello\n")).id();
    let done = take(
        &other,
        &one(|writer| {
            // A record of a type that there is not, which may be skipped.
            writer.record(0x80 | 0x63, b"whatever comes later");
        }),
    );
    assert_eq!(done.new_commits, 1);
    assert_eq!(native(&other, id), b"hello\n");
}

#[test]
fn the_frozen_bundle_is_read_as_ever() {
    let other = other();
    let done = take(&other, &fixture());
    let shown = Engine::show_bundle(&fixture(), BundleLimits::default()).expect("a bundle");
    assert!(done.new_commits > 2 && shown.session_count > 0);
    let natives: Vec<String> = shown
        .sessions
        .iter()
        .filter_map(|session| session.tip)
        .map(|tip| format!("{tip} {}", blake3::hash(&native(&other, tip)).to_hex()))
        .collect();
    let expected =
        std::fs::read_to_string(fixtures().join("bundle-v1.natives.txt")).expect("the list beside it");
    assert_eq!(natives.join("\n"), expected.trim_end());
}

#[test]
fn a_bundle_cut_at_any_byte_changes_nothing() {
    let fixture = fixture();
    let small = one(|_| ());
    for bundle in [small.as_slice(), &fixture] {
        let cuts = part(1_536) as usize;
        let step = (bundle.len() / cuts).max(1);
        for length in (0..bundle.len()).step_by(step) {
            let error = refused(bundle[..length].to_vec());
            let kind = if length == 0 { ErrorKind::BadInput } else { ErrorKind::Corrupt };
            assert_eq!(error.kind(), kind, "{length} bytes: {error}");
        }
    }
}

#[test]
fn a_bundle_with_any_bit_flipped_changes_nothing() {
    let fixture = fixture();
    let small = one(|_| ());
    let flips = part(3_072) as usize;
    for bundle in [small.as_slice(), &fixture] {
        // An odd step meets every bit of a byte.
        let step = (bundle.len() * 8 / flips).max(1) | 1;
        for bit in (0..bundle.len() * 8).step_by(step) {
            let mut flipped = bundle.to_vec();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let other = other();
            let taken = other.import_bundle(&flipped, &BundleImportOptions::default());
            assert!(taken.is_err(), "bit {bit} of {}", bundle.len());
            assert_eq!(usage(&other), Usage::default(), "bit {bit}");
        }
    }
}

#[test]
fn something_else_is_no_bundle() {
    says(&refused(Vec::new()), ErrorKind::BadInput, "it is empty");
    says(&refused(b"{\"type\":\"user\"}\n and so on and on".to_vec()), ErrorKind::BadInput, "not a bundle");
    let mut more = one(|_| ());
    more.push(0);
    says(&refused(more), ErrorKind::Corrupt, "bytes follow the end");
}

#[test]
fn a_newer_bundle_says_so() {
    let mut newer = one(|_| ());
    newer[16] = 2;
    newer[18] = 2;
    says(&refused(newer), ErrorKind::Incompatible, "it has format 2, and this version reads up to 1");
    let unknown = one(|writer| {
        writer.record(14, b"redirects");
    });
    says(&refused(unknown), ErrorKind::Incompatible, "has type 14");
}

#[test]
fn lengths_that_lie_take_no_memory() {
    for lengths in [[u32::MAX, u32::MAX], [u32::MAX, 10], [0, u32::MAX], [10, 0x7fff_ffff]] {
        for coding in [0, 1] {
            let mut writer = Writer::new();
            writer.header(0).raw(4, coding, lengths, b"short");
            assert_eq!(refused(writer.bytes).kind(), ErrorKind::Corrupt);
        }
    }
    // More rows than bytes.
    let rows = one(|writer| {
        writer.record(8, &[number(0), number(u64::MAX >> 1)].concat());
    });
    says(&refused(rows), ErrorKind::Corrupt, "sightings is");
}

#[test]
fn a_zip_bomb_is_refused() {
    let zeros = vec![0_u8; 5 * 1024 * 1024];
    let squeezed = zstd::bulk::compress(&zeros, 3).expect("compressed");
    let stored = u32::try_from(squeezed.len()).expect("short");
    // Declared small.
    let mut small = Writer::new();
    small.header(0).raw(4, 1, [stored, stored + 1], &squeezed);
    assert_eq!(refused(small.bytes).kind(), ErrorKind::Corrupt);
    // Declared too big.
    let mut big = Writer::new();
    big.header(0).raw(4, 1, [stored, 64 * 1024 * 1024], &squeezed);
    says(&refused(big.bytes), ErrorKind::Corrupt, "more than 5242880");
    // Of an honest size, again and again: what it unfolds to has nothing to do with its own length.
    let mut many = Writer::new();
    many.header(0);
    let content = 4 * 1024 * 1024_u64;
    let body = [number(1), number(content), vec![0; 4 * 1024 * 1024]].concat();
    let squeezed = zstd::bulk::compress(&body, 3).expect("compressed");
    let [stored, raw] = [squeezed.len(), body.len()].map(|length| u32::try_from(length).expect("short"));
    for _ in 0..90 {
        many.raw(4, 1, [stored, raw], &squeezed);
    }
    let bundle = many.end([0, 90, 0, 0, 90 * content]);
    assert!(bundle.len() < 100_000);
    says(&refused(bundle.clone()), ErrorKind::BadInput, "bytes of content in the bundle");
    let raised = BundleLimits { content_bytes_max: Some(1 << 30), ..BundleLimits::default() };
    let options = BundleImportOptions { limits: raised, dry_run: true, ..BundleImportOptions::default() };
    assert!(other().import_bundle(&bundle, &options).is_ok(), "the flag raises it");
    // By ranges of ranges: one block, named thousands of times.
    let mut folded = Writer::new();
    folded.header(0).raw(4, 1, [stored, raw], &squeezed);
    let part = [number(0), number(0), number(content)].concat();
    let list = [number(1), vec![0], number(60_000), part.repeat(60_000)].concat();
    folded.record(6, &list);
    let bundle = folded.end([0, 1, 1, 0, content]);
    says(&refused(bundle), ErrorKind::BadInput, "bytes of content in the bundle");
}

#[test]
fn paths_that_climb_out_and_names_with_control_characters_are_refused() {
    let sighting = |session: &str, path: &str| {
        let origin =
            [text("ann@box/claude-code"), text("m9"), text(session), optional(path), vec![0, 0, 0]].concat();
        let row = [number(1), number(0), number(0), number(0), number(0), number(6)].concat();
        one(|writer| {
            writer.record(8, &[number(1), origin, number(1), row].concat());
        })
    };
    for path in ["/home/ann/../../etc/passwd", "../x", "..", "C:\\a\\..\\b"] {
        says(&refused(sighting("s", path)), ErrorKind::Corrupt, "climbs out");
    }
    says(&refused(sighting("s", "/a\0b")), ErrorKind::Corrupt, "is none");
    says(&refused(sighting("s\u{1b}[2J", "/a")), ErrorKind::Corrupt, "control character");
    says(&refused(sighting("", "/a")), ErrorKind::Corrupt, "session is empty");
    says(&refused(sighting(&"s".repeat(600), "/a")), ErrorKind::Corrupt, "more than 512");
    // An absolute path of another machine is data: it is kept and never opened.
    let other = other();
    take(&other, &sighting("s", "/etc/passwd"));
    let seen = &told(&other);
    assert!(format!("{seen:?}").contains("/etc/passwd"));
}

#[test]
fn a_commit_that_is_not_what_its_id_says_is_refused() {
    let mut writer = Writer::new();
    let id = core(None, artifact_id(b"hello\n")).id();
    writer.header(1).block(&[b"hallo\n"]);
    writer.record(7, &[kinds(), number(1), row(id, &[0], 0)].concat());
    let bundle = writer.end([1, 1, 0, 0, 6]);
    says(&refused(bundle), ErrorKind::Corrupt, "has other content than its id stands for");
}

#[test]
fn parents_in_a_circle_and_parents_elsewhere_are_missing() {
    // Each names the other by id: neither can come first.
    let contents: [&[u8]; 2] = [b"one\n", b"two\n"];
    let mut writer = Writer::new();
    let unknown = CommitId::from_bytes([9; 16]);
    let first = core(Some(unknown), artifact_id(contents[0])).id();
    let second = core(Some(first), artifact_id(contents[1])).id();
    writer.header(2).block(&contents);
    let by_id = |id: CommitId| [&[1], id.to_bytes().as_slice()].concat();
    let rows = [row(first, &by_id(unknown), 0), row(second, &by_id(first), 1)].concat();
    writer.record(7, &[kinds(), number(2), rows].concat());
    let error = refused(writer.end([2, 2, 0, 0, 8]));
    says(&error, ErrorKind::NotFound, &unknown.to_string());
    // A parent by a number that is not there yet.
    let mut writer = Writer::new();
    writer.header(1).block(&contents[..1]);
    writer.record(7, &[kinds(), number(1), row(first, &number(7), 0)].concat());
    says(&refused(writer.end([1, 1, 0, 0, 4])), ErrorKind::Corrupt, "continues a commit that there is not");
}

/// A chain of commits that all have the same content.
fn long_chain(commits: u64) -> Vec<u8> {
    let mut writer = Writer::new();
    writer.header(commits).block(&[b"x\n"]);
    let artifact = artifact_id(b"x\n");
    let mut parent = None;
    let mut done = 0;
    while done < commits {
        let rows_here = (commits - done).min(10_000);
        let mut rows = Vec::new();
        for _ in 0..rows_here {
            let id = core(parent, artifact).id();
            rows.extend(row(id, if parent.is_none() { &[0] } else { &[2] }, 0));
            parent = Some(id);
        }
        writer.record(7, &[kinds(), number(rows_here), rows].concat());
        done += rows_here;
    }
    writer.end([commits, 1, 0, 0, 2])
}

#[test]
fn a_chain_that_is_too_deep_is_refused() {
    let few = BundleLimits { chain_max: 100, ..BundleLimits::default() };
    says(
        &refused_with(long_chain(101), few),
        ErrorKind::BadInput,
        "commits of a chain in the bundle: 101, more than 100",
    );
}

#[test]
fn many_tiny_commits_are_taken_up_to_a_bound_that_can_be_raised() {
    let bundle = long_chain(50_000);
    let few = BundleLimits { commits_max: 20_000, ..BundleLimits::default() };
    let error = refused_with(bundle.clone(), few);
    says(&error, ErrorKind::BadInput, "commits in the bundle: 50000, more than 20000");
    assert_eq!(take(&other(), &bundle).new_commits, 50_000);
    // The header is believed at once where it says too much, before anything is read.
    let mut writer = Writer::new();
    writer.header(1_000_001);
    says(&refused(writer.bytes), ErrorKind::BadInput, "more than 1000000");
}

#[test]
fn contents_that_refer_to_what_is_not_there_are_refused() {
    let with_list = |part: Vec<u8>| {
        let mut writer = Writer::new();
        writer.header(0).block(&[b"hello\n"]);
        writer.record(6, &[number(1), vec![0], number(1), part].concat());
        writer.end([0, 1, 1, 0, 6])
    };
    for part in [
        [number(8), number(0), number(1)].concat(),
        [number(0), number(0), number(7)].concat(),
        [number(0), number(u64::MAX), number(2)].concat(),
        [number(0), number(0), number(0)].concat(),
        [number(2), number(0), number(1)].concat(),
        [number(6), number(0), number(1)].concat(),
    ] {
        assert_eq!(refused(with_list(part)).kind(), ErrorKind::Corrupt);
    }
}

/// The name of a content may be all that is left of it here: a commit cannot be made of that.
#[test]
fn a_commit_of_a_content_that_was_forgotten_here_is_refused_before_anything_is_stored() {
    let other = other();
    let [hello, more, new] = [b"hello\n".as_slice(), b"more\n", b"new\n"].map(artifact_id);
    let first = core(None, hello).id();
    let second = core(Some(first), more).id();
    let mut writer = Writer::new();
    writer.header(2).block(&[b"hello\n", b"more\n"]);
    let rows = [row(first, &[0], 0), row(second, &[2], 1)].concat();
    writer.record(7, &[kinds(), number(2), rows].concat());
    take(&other, &writer.end([2, 2, 0, 0, 11]));
    let wish = Forget { cut: vec![first], ..forgetting(Vec::new()) };
    other.store().forget(&wish).expect("forgotten");
    assert!(matches!(
        other.store().read_content(hello, None, &mut |_| Ok(())),
        Err(StoreError::ContentForgotten(_))
    ));
    let before = usage(&other);

    let mut writer = Writer::new();
    let third = core(Some(second), new).id();
    let fourth = core(Some(second), hello).id();
    writer.header(2).block(&[b"new\n"]);
    writer.record(5, &[number(1), vec![0], hello.as_bytes().to_vec(), number(6)].concat());
    let parent = [&[1], second.to_bytes().as_slice()].concat();
    // Of the first literal content, and of the first named one: numbers 0 and 2.
    let named = [&[0], fourth.to_bytes().as_slice(), &[0], &parent, &number(4), &[0, 0, 0, 0]].concat();
    writer.record(7, &[kinds(), number(2), row(third, &parent, 0), named].concat());
    let bundle = writer.end([2, 1, 0, 1, 4]);
    let options = BundleImportOptions { batch_writes_max: 1, ..BundleImportOptions::default() };
    let error = other.import_bundle(&bundle, &options).expect_err("it is refused");
    assert!(error.to_string().contains("forgotten"), "{error}");
    assert_eq!(usage(&other), before);
}

#[test]
fn counts_that_lie_are_refused() {
    let mut writer = Writer::new();
    let id = core(None, artifact_id(b"hello\n")).id();
    writer.header(2).block(&[b"hello\n"]);
    writer.record(7, &[kinds(), number(1), row(id, &[0], 0)].concat());
    says(&refused(writer.end([1, 1, 0, 0, 6])), ErrorKind::Corrupt, "as its header says");
    let mut twice = one(|writer| {
        writer.record(1, &[number(1), number(0), number(0)].concat());
    });
    says(&refused(std::mem::take(&mut twice)), ErrorKind::Corrupt, "two headers");
}
