//! `cargo xtask same`: shows that two builds of `stemma` do the same with the same transcripts.
//! Not a test of what is right: an answer that is wrong in both builds is equal.
//!
//! A build imports a corpus into an empty home, then the steps of `recipe` are asked of every session, of every project and of
//! the store. What an answer owes to the clock, to chance or to a path is replaced, and the rest is kept as a digest.

mod answer;
mod compare;
mod corpus;
mod home;
mod lane;
mod measure;
mod normal;
mod options;
mod program;
mod recipe;
mod record;

use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::Context as _;

use crate::process::say;
use compare::compare;
use corpus::Corpus;
use measure::{Measure, measure};
use options::{Options, Task};
use program::Program;
use record::Record;

/// Saves the answers of one build, or compares those of two.
pub(crate) fn run(root: &Path, arguments: &[String]) -> anyhow::Result<()> {
    let options = Options::parse(arguments)?;
    let corpus = Corpus::find(root, options.corpus.as_deref())?;
    let outputs = options.outputs.as_deref();
    match &options.task {
        Task::Save { file, binary } => {
            let record =
                take(root, binary.as_deref(), &Measure { corpus: &corpus, sample: options.sample, outputs })?;
            save(file, &record)?;
            say(&format!("saved {} answers in {}", record.answers.len(), file.display()));
            Ok(())
        }
        Task::With { file, binary } => {
            let text = fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
            let before = Record::parse(&text).with_context(|| format!("reading {}", file.display()))?;
            // Before the run: it takes minutes.
            before.header.check(&recipe::digest(), &corpus.digest)?;
            let measure = Measure { corpus: &corpus, sample: before.header.sample, outputs };
            judge(&before, &take(root, binary.as_deref(), &measure)?)
        }
        Task::Pair { before, after } => {
            let folders = outputs.map(|folder| (folder.join("before"), folder.join("after")));
            let (first, second) =
                folders.as_ref().map(|(first, second)| (first.as_path(), second.as_path())).unzip();
            let of = |outputs| Measure { corpus: &corpus, sample: options.sample, outputs };
            let before = take(root, Some(before), &of(first))?;
            judge(&before, &take(root, Some(after), &of(second))?)
        }
    }
}

fn take(root: &Path, binary: Option<&Path>, wanted: &Measure<'_>) -> anyhow::Result<Record> {
    let program = Program::take(root, binary)?;
    let began = Instant::now();
    let record = measure(&program, wanted)?;
    say(&format!("{}: {} answers in {} s", program.shown, record.answers.len(), began.elapsed().as_secs()));
    Ok(record)
}

/// Prints what was compared and what differs, and fails where something does.
fn judge(before: &Record, after: &Record) -> anyhow::Result<()> {
    let comparison = compare(before, after)?;
    say(&comparison.render());
    let (different, all) = (comparison.differences.len(), after.answers.len());
    anyhow::ensure!(
        different == 0,
        "{different} of {all} answers differ\nhint: run both builds with `--outputs DIR`, then `diff -r` shows what they say"
    );
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "a file of digests is made again at any time")]
fn save(file: &Path, record: &Record) -> anyhow::Result<()> {
    fs::write(file, record.render()).with_context(|| format!("writing {}", file.display()))
}
