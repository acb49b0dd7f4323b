//! The arguments of `cargo xtask same`.
//! Not their defaults: which corpus and which program is taken where none is named is said where they are found.

use std::path::PathBuf;

use anyhow::Context as _;

use super::record::Sample;

const USAGE: &str = "\
usage: cargo xtask same --save FILE [--binary PATH] [--sample N [--seed N]] [--corpus DIR] [--outputs DIR]
       cargo xtask same --with FILE [--binary PATH] [--corpus DIR] [--outputs DIR]
       cargo xtask same BEFORE AFTER [--sample N [--seed N]] [--corpus DIR] [--outputs DIR]

  --save FILE    write what a build answers to FILE, as digests
  --with FILE    ask a build the same, and fail where it answers differently than FILE says
  BEFORE AFTER   two programs: ask both, and fail where they differ
  --binary PATH  the program to ask; without it, `stemma` is built in release mode
  --corpus DIR   recorded sessions; without it, those that STEMMATA_CORPUS names, else examples/
  --sample N     ask only about N of the sessions, which --seed chooses (0 where nothing is said)
  --outputs DIR  also write every answer, as it is compared, to a file below DIR";

/// What the user asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) task: Task,
    pub(super) corpus: Option<PathBuf>,
    pub(super) sample: Option<Sample>,
    pub(super) outputs: Option<PathBuf>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Task {
    Save { file: PathBuf, binary: Option<PathBuf> },
    With { file: PathBuf, binary: Option<PathBuf> },
    Pair { before: PathBuf, after: PathBuf },
}

/// The arguments as they were given, before it is known whether they go together.
#[derive(Default)]
struct Given {
    save: Option<PathBuf>,
    with: Option<PathBuf>,
    binary: Option<PathBuf>,
    corpus: Option<PathBuf>,
    outputs: Option<PathBuf>,
    sample: Option<usize>,
    seed: Option<u64>,
    programs: Vec<PathBuf>,
}

impl Options {
    /// Reads the arguments.
    ///
    /// # Errors
    /// Where one is not known, lacks its value, or does not go with another.
    pub(super) fn parse(arguments: &[String]) -> anyhow::Result<Self> {
        Self::read(arguments).with_context(|| format!("reading the arguments\n\n{USAGE}\n"))
    }

    fn read(arguments: &[String]) -> anyhow::Result<Self> {
        let given = Given::read(arguments)?;
        let is_compared = given.with.is_some();
        let task = match (given.save, given.with, given.programs.as_slice()) {
            (Some(file), None, []) => Task::Save { file, binary: given.binary },
            (None, Some(file), []) => Task::With { file, binary: given.binary },
            (None, None, [before, after]) => {
                anyhow::ensure!(given.binary.is_none(), "`--binary` with two programs");
                Task::Pair { before: before.clone(), after: after.clone() }
            }
            _ => anyhow::bail!("one of `--save FILE`, `--with FILE` and two programs is needed"),
        };
        let sample = match (given.sample, given.seed) {
            (Some(sessions), seed) => Some(Sample { sessions, seed: seed.unwrap_or(0) }),
            (None, None) => None,
            (None, Some(_)) => anyhow::bail!("`--seed` without `--sample`"),
        };
        anyhow::ensure!(
            sample.is_none() || !is_compared,
            "`--sample` with `--with`: the file says which sessions"
        );
        Ok(Self { task, corpus: given.corpus, sample, outputs: given.outputs })
    }
}

impl Given {
    fn read(arguments: &[String]) -> anyhow::Result<Self> {
        let mut given = Self::default();
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().with_context(|| format!("`{argument}` without a value"));
            match argument.as_str() {
                "--save" => given.save = Some(PathBuf::from(value()?)),
                "--with" => given.with = Some(PathBuf::from(value()?)),
                "--binary" => given.binary = Some(PathBuf::from(value()?)),
                "--corpus" => given.corpus = Some(PathBuf::from(value()?)),
                "--outputs" => given.outputs = Some(PathBuf::from(value()?)),
                "--sample" => given.sample = Some(value()?.parse().context("`--sample` takes a number")?),
                "--seed" => given.seed = Some(value()?.parse().context("`--seed` takes a number")?),
                other if other.starts_with('-') => anyhow::bail!("unknown option `{other}`"),
                program => given.programs.push(PathBuf::from(program)),
            }
        }
        Ok(given)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> anyhow::Result<Options> {
        Options::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn each_way_to_call_it_is_read() {
        let save = Task::Save { file: "f".into(), binary: Some("b".into()) };
        let sample = Some(Sample { sessions: 9, seed: 4 });
        assert_eq!(
            parse("--save f --binary b --sample 9 --seed 4").unwrap(),
            Options { task: save, corpus: None, sample, outputs: None }
        );
        let with = Task::With { file: "f".into(), binary: None };
        let options =
            Options { task: with, corpus: Some("c".into()), sample: None, outputs: Some("o".into()) };
        assert_eq!(parse("--with f --corpus c --outputs o").unwrap(), options);
        let pair = Task::Pair { before: "a".into(), after: "b".into() };
        assert_eq!(parse("a b").unwrap(), Options { task: pair, corpus: None, sample: None, outputs: None });
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        for line in [
            "",
            "a",
            "a b c",
            "--save",
            "--save f --with g",
            "--save f a b",
            "a b --binary c",
            "--save f --seed 1",
            "--with f --sample 3",
            "--save f --sample few",
            "--sav f",
        ] {
            assert!(parse(line).is_err(), "`{line}` was taken");
        }
    }
}
