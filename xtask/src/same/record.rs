//! What one build answered, as digests, and the text file that keeps it.
//! Not the answers themselves: they are other people's sessions, and too large to keep.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::Context as _;

/// Opens every file, so that a file of something else is refused.
const TITLE: &str =
    "# What a build of stemma answers, as digests: `cargo xtask same --with` compares with it.";

/// The fields of a line: kind, name, exit, bytes, digest, subject.
const FIELDS: usize = 6;

/// The answers of one build, and what was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) header: Header,
    pub(super) answers: BTreeMap<Asked, Outcome>,
}

/// What has to be equal before answers can be compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Header {
    /// The digest of the steps.
    pub(super) recipe: String,
    /// The digest of the transcripts.
    pub(super) corpus: String,
    /// Which sessions were asked about; none: all.
    pub(super) sample: Option<Sample>,
}

/// Some of the sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sample {
    pub(super) sessions: usize,
    pub(super) seed: u64,
}

/// One step, asked about one subject.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Asked {
    /// A session's path in the corpus, a project, or the store: escaped, as a path may hold a tab or a line end.
    pub(super) subject: String,
    /// What kind of behaviour it shows, such as `native`.
    pub(super) kind: String,
    /// Which step of that kind.
    pub(super) name: String,
}

/// How a step ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Outcome {
    /// The exit code, or `signal`.
    pub(super) exit: String,
    /// Bytes of the answer as it is compared.
    pub(super) bytes: u64,
    /// Their digest.
    pub(super) digest: String,
}

impl Asked {
    pub(super) fn new(subject: &str, kind: &str, name: &str) -> Self {
        Self { subject: subject.escape_debug().to_string(), kind: kind.to_owned(), name: name.to_owned() }
    }
}

impl Header {
    /// Refuses answers to other questions, or about other transcripts.
    ///
    /// # Errors
    /// Where the digests differ.
    pub(super) fn check(&self, recipe: &str, corpus: &str) -> anyhow::Result<()> {
        anyhow::ensure!(
            self.corpus == corpus,
            "the answers are about other transcripts: their digest is {}, that of these is {corpus}",
            self.corpus
        );
        anyhow::ensure!(
            self.recipe == recipe,
            "the answers are to other questions than `cargo xtask same` asks now: save them again, with the build of then"
        );
        Ok(())
    }
}

impl Record {
    /// Returns the text of the file.
    pub(super) fn render(&self) -> String {
        let Header { recipe, corpus, sample } = &self.header;
        let sample =
            sample.map_or("all".to_owned(), |Sample { sessions, seed }| format!("{sessions} of seed {seed}"));
        let mut text = format!("{TITLE}\n# recipe {recipe}\n# corpus {corpus}\n# sessions {sample}\n");
        for (Asked { subject, kind, name }, Outcome { exit, bytes, digest }) in &self.answers {
            let fields: [&String; FIELDS] = [kind, name, exit, &bytes.to_string(), digest, subject];
            text.push_str(&fields.map(String::as_str).join("\t"));
            text.push('\n');
        }
        text
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// Where it is not one that `render` wrote.
    pub(super) fn parse(text: &str) -> anyhow::Result<Self> {
        let mut lines = text.lines();
        anyhow::ensure!(lines.next() == Some(TITLE), "not a file that `cargo xtask same --save` wrote");
        let mut head = |name: &str| {
            let line =
                lines.next().and_then(|line| line.strip_prefix("# ")?.strip_prefix(name)?.strip_prefix(' '));
            line.map(str::to_owned).with_context(|| format!("it has no line `# {name}`"))
        };
        let (recipe, corpus, sessions) = (head("recipe")?, head("corpus")?, head("sessions")?);
        let header = Header { recipe, corpus, sample: Sample::parse(&sessions)? };
        let mut answers = BTreeMap::new();
        for (at, line) in lines.enumerate() {
            let (asked, outcome) =
                parse_line(line).with_context(|| format!("answer {} is damaged", at + 1))?;
            let twice = answers.insert(asked, outcome).is_some();
            anyhow::ensure!(!twice, "answer {} is there twice", at + 1);
        }
        Ok(Self { header, answers })
    }
}

impl Sample {
    fn parse(text: &str) -> anyhow::Result<Option<Self>> {
        if text == "all" {
            return Ok(None);
        }
        let (sessions, seed) =
            text.split_once(" of seed ").context("which sessions it is about is damaged")?;
        Ok(Some(Self { sessions: sessions.parse()?, seed: seed.parse()? }))
    }
}

fn parse_line(line: &str) -> anyhow::Result<(Asked, Outcome)> {
    let fields: Vec<&str> = line.splitn(FIELDS, '\t').collect();
    let [kind, name, exit, bytes, digest, subject] = fields.as_slice() else {
        anyhow::bail!("{} fields instead of {FIELDS}", fields.len());
    };
    let asked = Asked { subject: (*subject).to_owned(), kind: (*kind).to_owned(), name: (*name).to_owned() };
    Ok((asked, Outcome { exit: (*exit).to_owned(), bytes: bytes.parse()?, digest: (*digest).to_owned() }))
}

impl fmt::Display for Outcome {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { exit, bytes, digest } = self;
        write!(out, "exit {exit}, {bytes} bytes, {}", digest.get(..12).unwrap_or(digest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(sample: Option<Sample>) -> Record {
        let header = Header { recipe: "12ab".to_owned(), corpus: "34cd".to_owned(), sample };
        let outcome = Outcome { exit: "0".to_owned(), bytes: 7, digest: "00ff".to_owned() };
        let asked =
            ["a/b.jsonl", "odd\tname\n\"quoted\".jsonl", "(store)"].map(|of| Asked::new(of, "ids", "turn"));
        Record { header, answers: asked.into_iter().map(|asked| (asked, outcome.clone())).collect() }
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        for sample in [None, Some(Sample { sessions: 12, seed: 9 })] {
            let record = record(sample);
            assert_eq!(Record::parse(&record.render()).unwrap(), record);
        }
    }

    #[test]
    fn a_file_that_is_damaged_or_something_else_is_refused() {
        let text = record(None).render();
        let line = text.lines().last().unwrap();
        for damaged in [
            String::new(),
            "kind\tname".to_owned(),
            text.replace("# corpus", "# corpse"),
            text.replace("sessions all", "sessions some"),
            text.replace("\t7\t", "\tseven\t"),
            text.replace("\t7\t", "\t"),
            format!("{text}{line}\n"),
        ] {
            assert!(Record::parse(&damaged).is_err(), "taken: {damaged}");
        }
    }
}
