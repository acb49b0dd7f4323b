//! Looking for secrets in lines, as capture does with each that is new.
//! Not what is found: that is held by the scrubber's own tests.

use anyhow::Context as _;
use regex::bytes::{RegexSet, RegexSetBuilder};
use stemmata_redact::{RuleFile, RuleScope, Scrubber};

use crate::input;
use crate::measure::{Contender, Runs, alternate, spent};
use crate::report::{Figure, Line, Section};

use super::Bench;

/// Bytes of the conversation.
const SESSION_BYTES: u64 = 16_000_000;

/// How often each is done.
const ROUNDS: usize = 5;

/// Rounds of all expressions as one set: it is slow, and every round of the same.
const SET_ROUNDS: usize = 1;

/// Bytes that the set is tried on: all of the conversation would take minutes.
const SET_BYTES: usize = 1_000_000;

/// Bytes that a compiled set may take: all rules together are more than the default.
const SET_PROGRAM_BYTES_MAX: usize = 1 << 30;

/// The shipped rules, as they are data.
const RULES: &str = include_str!("../../../crates/redact/rules/structured.toml");

/// Has no token be taken for one by how drawn it looks.
const WITHOUT_ENTROPY: &str = "[entropy]\nmode = \"off\"\n";

pub(super) fn run(_bench: &Bench) -> anyhow::Result<Section> {
    let bytes = input::claude_session(13, SESSION_BYTES)?;
    let file = RuleFile { name: "bench", text: WITHOUT_ENTROPY, scope: RuleScope::Store };
    let (all, plain) = (Scrubber::builtin(), Scrubber::with_files(&[file])?);
    let set = set()?;
    let scrub = |scrubber: &Scrubber| {
        spent(|| {
            let mut length = 0;
            for line in bytes.split_inclusive(|byte| *byte == b'\n') {
                length += scrubber.scrub_line(line)?.bytes.len();
            }
            anyhow::ensure!(length > 0, "nothing was scrubbed");
            Ok(())
        })
    };
    // Expressions are compiled when their keyword is first seen.
    let _warm = (scrub(&all)?, scrub(&plain)?);
    let contenders: [Contender<'_>; 2] = [Box::new(|_| scrub(&all)), Box::new(|_| scrub(&plain))];
    let [with, without] = alternate(ROUNDS, contenders)?;
    let end = last_line_end(&bytes, SET_BYTES);
    let part = bytes.get(..end).unwrap_or_default();
    let one: [Contender<'_>; 1] = [Box::new(|_| {
        spent(|| {
            let lines = part.split(|byte| *byte == b'\n');
            let _found: usize = lines.map(|line| set.matches(line).iter().count()).sum();
            Ok(())
        })
    })];
    let [peer] = alternate(SET_ROUNDS, one)?;
    let speed = |length: usize, runs: &Runs| -> anyhow::Result<Figure> {
        Ok(Figure::speed(u64::try_from(length)?, runs.cpu.median()))
    };
    let notes = vec![format!(
        "A made-up conversation of {SESSION_BYTES} bytes as Claude Code writes it, line by line. The peer is one `RegexSet` of \
         the {} expressions of the same rules over the first {SET_BYTES} bytes: it says which match, not where, looks at no \
         escapes, names or entropy, and has no prefilter. On a CPU, one thread.",
        set.len()
    )];
    let peer = speed(part.len(), &peer)?;
    Ok(Section {
        name: "scrub",
        title: "looking for secrets".to_owned(),
        notes,
        lines: vec![
            Line::ours(1, "rules, names and entropy".to_owned(), speed(bytes.len(), &with)?)
                .beside("regex, RegexSet", peer),
            Line::ours(1, "rules and names".to_owned(), speed(bytes.len(), &without)?)
                .beside("regex, RegexSet", peer),
        ],
    })
}

/// All expressions of the shipped rules as one set, in ASCII as they are meant.
fn set() -> anyhow::Result<RegexSet> {
    let rules: toml::Table = RULES.parse()?;
    let rules = rules.get("rules").and_then(toml::Value::as_array).context("the rules are a list")?;
    let expressions = rules.iter().filter_map(|rule| rule.get("re")?.as_str());
    let set = RegexSetBuilder::new(expressions).unicode(false).size_limit(SET_PROGRAM_BYTES_MAX).build();
    Ok(set?)
}

/// Returns where the last line ahead of a length ends.
fn last_line_end(bytes: &[u8], length: usize) -> usize {
    let head = bytes.get(..length).unwrap_or(bytes);
    head.iter().rposition(|byte| *byte == b'\n').map_or(head.len(), |newline| newline + 1)
}
