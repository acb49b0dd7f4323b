//! Broken lines: what Claude Code 2.1.330 sent of each, and what is there all the same.

use stemmata_model::{EntryKind, Granularity, Role};

use super::super::ClaudeCode;
use super::super::chain_tests::{import, placed, validated};
use super::super::story_tests::Story;
use crate::adapter::{Adapter as _, PlanStop};
use crate::chain_tests::commits;
use crate::conformance::check_placing;
use crate::repair::repair;

/// Three turns of two lines.
fn lines() -> Vec<Vec<u8>> {
    let mut story = Story::default();
    let mut last = None;
    for _ in 0..3 {
        let prompt = story.prompt(last);
        last = Some(story.answer(prompt));
        // Close enough that the client finds what is before a line that it does not read.
    }
    story.bytes().split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect()
}

/// Puts bytes before and behind the second prompt, on its line.
fn around(before: &[u8], behind: &[u8]) -> Vec<u8> {
    let mut lines = lines();
    let prompt = lines[2].trim_ascii_end().to_vec();
    lines[2] = [before, &prompt, behind, b"\n"].concat();
    lines.concat()
}

/// Puts the second answer behind the first `keep` bytes of the second prompt.
fn torn(keep: usize) -> Vec<u8> {
    let mut lines = lines();
    let answer = lines.remove(3);
    lines[2] = [&lines[2][..keep], &answer].concat();
    lines.concat()
}

fn replaced(from: &str, to: &[u8]) -> Vec<u8> {
    let bytes = lines().concat();
    let at = memchr::memmem::find(&bytes, from.as_bytes()).expect("a text of the story");
    [&bytes[..at], to, &bytes[at + from.len()..]].concat()
}

/// Name, transcript, messages that the client sends, messages that are there.
fn cases() -> Vec<(&'static str, Vec<u8>, u64, u64)> {
    let whole = lines().concat();
    let joined = |between: &[u8]| {
        let mut lines = lines();
        let answer = lines.remove(3);
        let prompt = lines[2].trim_ascii_end().to_vec();
        lines[2] = [&prompt, between, &answer].concat();
        lines.concat()
    };
    vec![
        ("two records", joined(b""), 5, 6),
        ("two records and a space", joined(b" "), 5, 6),
        ("two records and NUL bytes", joined(b"\0\0"), 5, 6),
        ("garbage behind", around(b"", b"garbage"), 6, 6),
        ("a comma behind", around(b"", b","), 6, 6),
        ("a brace behind", around(b"", b"}"), 6, 6),
        ("a NUL byte behind", around(b"", b"\0"), 6, 6),
        ("white space before", around(b" \t", b""), 6, 6),
        ("NUL bytes before", around(b"\0\0\0", b""), 5, 6),
        ("a comma before", around(b",", b""), 5, 6),
        ("a number before", around(b"12 ", b""), 5, 6),
        ("a list", around(b"[", b"]"), 5, 6),
        ("a form feed before", around(b"\x0c", b""), 5, 6),
        ("a mark in the middle", around(b"\xef\xbb\xbf", b""), 5, 6),
        ("a mark at the start", [b"\xef\xbb\xbf", whole.as_slice()].concat(), 6, 6),
        ("bytes that are no text", replaced("prompt 2", b"prompt \xe9 2"), 6, 6),
        ("a torn character", replaced("prompt 2", b"prompt \xf0\x9f\x98 2"), 6, 6),
        ("bytes that are no text in a key", replaced("\"gitBranch\"", b"\"git\xffBranch\""), 6, 6),
        ("a torn record in front", torn(40), 4, 5),
        ("a record torn in a text", torn(200), 4, 5),
        ("nesting", around(b"", &[b"{\"x\":".repeat(3000), b"1".to_vec(), b"}".repeat(3000)].concat()), 6, 6),
    ]
}

#[test]
fn what_the_client_loses_is_told_and_mended() {
    for (name, bytes, sent, present) in cases() {
        check_placing(&ClaudeCode, &bytes).unwrap_or_else(|error| panic!("{name}: {error:?}"));
        let checked = validated(&bytes, None);
        let found = (checked.messages_sent, checked.messages_present);
        assert_eq!(found, (sent, present), "{name}: {:?}", checked.findings);
        assert_eq!(checked.is_accepted(), sent == present, "{name}: {:?}", checked.findings);
        let repaired = repair(&ClaudeCode, &bytes, None);
        let now = &repaired.validation;
        assert_eq!((now.messages_sent, now.messages_present), (present, present), "{name}: {now:?}");
        assert!(now.is_accepted(), "{name}: {now:?}");
        let (_, context) = import(&bytes, Granularity::Turn).context(PlanStop::Compaction);
        let placed = placed(&context).0;
        let now = validated(&placed, None);
        assert_eq!((now.messages_sent, now.messages_present), (present, present), "{name}: {now:?}");
        assert!(std::str::from_utf8(&placed).is_ok(), "{name}");
        let entries = ClaudeCode.decode(&bytes).entries;
        let is_message = |entry: &&stemmata_model::Entry| {
            matches!(entry.role, Role::User | Role::Assistant) && entry.kind == EntryKind::Message
        };
        assert_eq!(entries.iter().filter(is_message).count() as u64, present, "{name}");
    }
}

/// Where commits end is the format's, whatever is read of a line.
#[test]
fn a_line_that_is_no_record_cuts_nothing() {
    for (name, bytes, ..) in cases() {
        let strict = |line: &[u8]| super::super::record::Record::parse(line).is_ok();
        let prompts = bytes.split_inclusive(|&byte| byte == b'\n');
        let prompts = prompts
            .filter(|line| strict(line) && memchr::memmem::find(line, b"\"content\":\"prompt").is_some());
        // The first prompt closes nothing, unless an answer stands before it.
        let is_first_read = strict(bytes.split(|&byte| byte == b'\n').next().unwrap_or_default());
        let expected = prompts.count() + usize::from(!is_first_read);
        assert_eq!(commits(&ClaudeCode, Granularity::Turn, &bytes).len(), expected, "{name}");
    }
}

#[test]
fn the_title_is_read_in_a_broken_line_and_the_template_is_not() {
    let whole = [b"\xef\xbb\xbf", lines().concat().as_slice()].concat();
    let mut splitter = ClaudeCode.splitter(Granularity::Turn, None);
    let mut notes = Vec::new();
    for line in whole.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
        splitter.line(line, &mut notes);
    }
    assert_eq!(splitter.facts().title.as_deref(), Some("prompt 0"));
    assert_eq!(notes.len(), 1, "{notes:?}");
}

#[test]
fn half_of_a_surrogate_pair_is_refused_and_replaced() {
    let bytes = replaced("prompt 2", b"prompt \\ud83d 2 \\ud83d\\ude00");
    let checked = validated(&bytes, None);
    assert!(
        checked.findings.iter().any(|finding| finding.check == "lone_surrogate" && finding.line == Some(3))
    );
    assert!(!checked.is_accepted());
    let repaired = repair(&ClaudeCode, &bytes, None);
    assert!(repaired.validation.is_accepted());
    let placed = placed(&bytes).0;
    // Checked while it is written, it is what it becomes.
    check_placing(&ClaudeCode, &bytes).expect("one verdict");
    assert!(validated(&placed, None).is_accepted());
    for mended in [&repaired.bytes, &placed] {
        let text = String::from_utf8_lossy(mended);
        assert!(text.contains("prompt \\ufffd 2 \\ud83d\\ude00"), "{text}");
    }
}
