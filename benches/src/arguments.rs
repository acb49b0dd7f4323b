//! What the user asked for: rows, the largest size, a file for machines.
//! Not the dispatcher, which is `cargo xtask bench`.

use std::path::PathBuf;

use crate::child::Task;
use crate::rows::Row;

/// Shown for `--help`.
pub(crate) const USAGE: &str = "\
usage: cargo xtask bench [rows…] [--scale 1|10|100] [--json FILE]
       cargo xtask bench compaction [transcripts…]

rows: checkpoint, bytes, packed, copies, read, fork, import, hook, translate, tokens, scrub,
      ledger, sessions, retrieval, search, assemble, recall, compaction, surface, service
      (all of them without a name)

  --scale N    the largest size to measure at; without it 10, and 1 for `search`
  --json FILE  write every figure to FILE too

STEMMATA_CORPUS names a folder of recorded sessions; without it, made-up ones are used.
STEMMATA_BENCH_PYTHON names a Python with `langgraph-checkpoint-sqlite`; without it, that peer is left out.";

/// The first word of a process that a benchmark starts; not for people.
pub(crate) const CHILD: &str = "child";

/// What to measure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Arguments {
    /// The rows, in the order of the table.
    pub rows: Vec<Row>,
    /// Transcripts of `compaction`, of any format; those of the corpus where none is named.
    pub files: Vec<PathBuf>,
    /// The largest multiple of each row's size, where it was named.
    pub scale_max: Option<u32>,
    /// Where to write the figures for machines.
    pub json: Option<PathBuf>,
}

/// What the process is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Request {
    /// Say how to call it.
    Help,
    /// Measure and print.
    Run(Arguments),
    /// One of several processes of a row.
    Child(Task),
}

impl Request {
    /// Reads the words of the command line.
    ///
    /// # Errors
    /// When a word is no row and no option.
    pub(crate) fn parse(words: &[String]) -> anyhow::Result<Self> {
        if let Some((first, rest)) = words.split_first()
            && first == CHILD
        {
            return Ok(Self::Child(Task::parse(rest)?));
        }
        let mut arguments = Arguments { rows: Vec::new(), files: Vec::new(), scale_max: None, json: None };
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            let mut value =
                || rest.next().ok_or_else(|| anyhow::anyhow!("`{word}` needs a value; `--help` says which"));
            match word.as_str() {
                "-h" | "--help" => return Ok(Self::Help),
                "--scale" => arguments.scale_max = Some(scale(value()?)?),
                "--json" => arguments.json = Some(PathBuf::from(value()?)),
                // A file that is called like a row is named with its folder: `./read`.
                file if arguments.rows.contains(&Row::Compaction) && Row::parse(file).is_err() => {
                    arguments.files.push(PathBuf::from(file));
                }
                name => arguments.rows.push(Row::parse(name)?),
            }
        }
        if arguments.rows.is_empty() {
            arguments.rows = Row::ALL.to_vec();
        }
        arguments.rows.sort_unstable();
        arguments.rows.dedup();
        Ok(Self::Run(arguments))
    }
}

fn scale(text: &str) -> anyhow::Result<u32> {
    match text {
        "1" => Ok(1),
        "10" => Ok(10),
        "100" => Ok(100),
        _ => anyhow::bail!("`--scale {text}`: use 1, 10 or 100"),
    }
}

/// Returns the folder of recorded sessions.
#[expect(clippy::disallowed_methods, reason = "this is the edge: a variable that a run reads")]
pub(crate) fn corpus() -> Option<PathBuf> {
    std::env::var_os("STEMMATA_CORPUS").map(PathBuf::from).filter(|path| path.is_dir())
}

/// Returns the Python that has the saver of `LangGraph`.
#[expect(clippy::disallowed_methods, reason = "this is the edge: a variable that a run reads")]
pub(crate) fn python() -> Option<PathBuf> {
    std::env::var_os("STEMMATA_BENCH_PYTHON").map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn rows_come_in_the_order_of_the_table_and_once() {
        let run = |rows: &[Row], scale_max, json: Option<&str>| {
            Request::Run(Arguments {
                rows: rows.to_vec(),
                files: Vec::new(),
                scale_max,
                json: json.map(PathBuf::from),
            })
        };
        let cases = [
            ("", run(&Row::ALL, None, None)),
            ("fork bytes fork", run(&[Row::Bytes, Row::Fork], None, None)),
            ("--json out.json --scale 1 read", run(&[Row::Read], Some(1), Some("out.json"))),
            ("read --help", Request::Help),
        ];
        for (text, expected) in cases {
            assert_eq!(Request::parse(&words(text)).ok(), Some(expected), "{text}");
        }
        let named = Request::parse(&words("compaction a.jsonl b.jsonl --scale 1")).ok();
        let files = vec![PathBuf::from("a.jsonl"), PathBuf::from("b.jsonl")];
        let rows = vec![Row::Compaction];
        assert_eq!(named, Some(Request::Run(Arguments { rows, files, scale_max: Some(1), json: None })));
    }

    #[test]
    fn the_usage_names_every_row() {
        for row in Row::ALL {
            assert!(USAGE.contains(row.name()), "{}", row.name());
        }
    }

    #[test]
    fn what_is_no_row_is_refused() {
        for text in ["swim", "--scale 7", "--scale", "--json", "child", "child swim"] {
            assert!(Request::parse(&words(text)).is_err(), "{text}");
        }
    }
}
