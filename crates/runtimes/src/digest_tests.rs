//! All that is read of the corpus as one number, to compare the readers before and after a change.

use std::fmt::Debug;

use stemmata_model::Granularity;

use crate::adapter::{Adapter, DETECT_BYTES_MAX, PlanStop};
use crate::chain_tests::{placed, planned, request};
use crate::conformance::check_placing;
use crate::corpus_tests::{files, sampled};
use crate::registry::detect;

/// Takes in whatever can be printed.
fn add(hasher: &mut blake3::Hasher, said: &impl Debug) {
    hasher.update(format!("{said:?}").as_bytes());
}

fn read(adapter: &dyn Adapter, bytes: &[u8], hasher: &mut blake3::Hasher) {
    add(hasher, &adapter.decode(bytes));
    for granularity in [Granularity::Message, Granularity::Every(3), Granularity::Turn] {
        let mut splitter = adapter.splitter(granularity, None);
        let mut notes = Vec::new();
        for line in adapter.shape().units(bytes) {
            add(hasher, &splitter.line(line, &mut notes));
            adapter.ids(line, &mut |kind, id| add(hasher, &(kind, id)));
        }
        add(hasher, &(notes, splitter.facts(), splitter.open(), splitter.state()));
    }
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    for part in 1..=4 {
        let head = lines.get(..lines.len() * part / 4).unwrap_or_default().concat();
        for stop in [PlanStop::Compaction, PlanStop::Root] {
            let (plan, context) = planned(adapter, &head, stop);
            check_placing(adapter, &context).unwrap_or_else(|violation| panic!("{violation}"));
            let (placed, notes) = placed(adapter, &request("/srv/elsewhere"), &context);
            add(hasher, &(plan, notes));
            hasher.update(&context).update(placed.as_bytes());
            for version in [None, Some("2.1.39"), Some("1.0.3")] {
                let mut validator = adapter.validator(version);
                adapter.shape().written_units(placed.as_bytes()).for_each(|line| validator.line(line));
                add(hasher, &validator.finish());
            }
        }
    }
}

#[test]
fn all_that_is_read_of_the_corpus_is_the_same_each_time() {
    for folder in ["claude-code", "codex", "pi", "gemini"] {
        let files = sampled(files(folder, ".jsonl"));
        let digest = || {
            let mut hasher = blake3::Hasher::new();
            for (_, bytes) in &files {
                let head = bytes.get(..bytes.len().min(DETECT_BYTES_MAX)).unwrap_or_default();
                read(detect(head).expect("a format that we know").0, bytes, &mut hasher);
            }
            hasher.finalize().to_hex()
        };
        println!("{folder}: {}", digest());
    }
}
