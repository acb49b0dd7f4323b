//! Made-up conversations of words by Zipf's law, and questions of such words.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::json;
use stemmata_model::Timestamp;

use crate::scratch;

/// Words of an entry, and the words that there are.
pub(super) const WORDS: usize = 60;
const VOCABULARY: f64 = 200_000.0;

/// Entries of a turn, and of a session.
pub(super) const TURN: usize = 10;
const SESSION: usize = 2_000;

/// More frequent words are stop words in a language; queries drop them.
const STOPS: u32 = 20;

/// Where the sessions worked, by turns.
pub(super) const PROJECTS: [&str; 2] = ["/bench/kiln", "/bench/loom"];

/// 2026-01-01, and the time from an entry to the next.
const START_MICROS: i64 = 1_767_225_600_000_000;
const STEP_MICROS: i64 = 5_000_000;

/// Draws numbers.
pub(crate) struct Draw(u64);

impl Draw {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Draws a word's rank by Zipf's law: the r-th is as frequent as 1/r.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a rank is below the vocabulary"
    )]
    fn rank(&mut self) -> u32 {
        let share = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        VOCABULARY.powf(share) as u32
    }

    fn below(&mut self, bound: u32) -> u32 {
        u32::try_from(self.next() % u64::from(bound)).unwrap_or_default()
    }

    /// Draws an entry's text.
    pub(super) fn text(&mut self) -> String {
        let words: Vec<String> = (0..WORDS).map(|_| word(self.rank())).collect();
        words.join(" ")
    }
}

/// Kinds of questions.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Question {
    /// Three words that one entry of some tens of thousands has.
    Rare,
    /// Three words that one entry of five to thirty has.
    Common,
    /// Ten words, each as likely as it is said; no stop words.
    Ten,
}

impl Question {
    pub(super) const ALL: [Self; 3] = [Self::Rare, Self::Common, Self::Ten];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Rare => "three rare words",
            Self::Common => "three common words",
            Self::Ten => "ten words",
        }
    }

    /// Draws the words of a question, each once.
    pub(crate) fn words(self, draw: &mut Draw) -> Vec<String> {
        let (count, mut rank): (usize, Box<dyn FnMut() -> u32 + '_>) = match self {
            Self::Rare => (3, Box::new(|| 100_000 + draw.below(100_000))),
            Self::Common => (3, Box::new(|| STOPS + draw.below(100))),
            Self::Ten => (10, Box::new(|| draw.rank())),
        };
        let mut ranks = Vec::new();
        while ranks.len() < count {
            let rank = rank();
            if rank >= STOPS && !ranks.contains(&rank) {
                ranks.push(rank);
            }
        }
        ranks.into_iter().map(word).collect()
    }
}

/// Returns a word that no entry has yet, another for each number.
pub(super) fn unheard(number: usize) -> anyhow::Result<String> {
    Ok(word(200_000 + u32::try_from(number)?))
}

/// Names a word: as long as words are, and not in the order of the ranks.
fn word(rank: u32) -> String {
    let mut word = String::new();
    let mut rest = rank.wrapping_mul(2_654_435_761);
    for _ in 0..7 {
        word.push(char::from(b'a' + (rest % 26).to_le_bytes()[0]));
        rest /= 26;
    }
    word
}

/// Returns an entry as a line of a transcript: a prompt, then answers and what tools said.
pub(super) fn line(number: usize, text: &str) -> anyhow::Result<String> {
    let at = START_MICROS + i64::try_from(number)? * STEP_MICROS;
    let said = json!({ "type": "text", "text": text });
    let (role, kind, part) = match number % TURN {
        0 => ("user", "message", said),
        odd if odd % 2 == 1 => ("assistant", "message", said),
        _ => ("tool", "tool_result", json!({ "type": "tool_result", "call_id": "", "parts": [said] })),
    };
    let line = json!({
        "v": "stemmata-v1",
        "id": format!("e{number}"),
        "timestamp": Timestamp::from_micros(at).to_string(),
        "role": role,
        "kind": kind,
        "parts": [part],
        "meta": { "cwd": PROJECTS.get(number / SESSION % 2) },
    });
    Ok(format!("{line}\n"))
}

/// Sessions as files.
pub(super) struct Made {
    pub(super) files: Vec<PathBuf>,
    pub(super) entries: usize,
    pub(super) text_bytes: u64,
    /// When the entry in the middle was said.
    pub(super) middle: Timestamp,
}

impl Made {
    /// Writes the sessions of so many entries, and hands each session's texts to `texts`.
    pub(super) fn write(
        folder: &Path,
        entries: usize,
        texts: &mut dyn FnMut(&[String]) -> anyhow::Result<()>,
    ) -> anyhow::Result<Self> {
        let mut draw = Draw::new(7);
        let middle = START_MICROS + i64::try_from(entries / 2)? * STEP_MICROS;
        let mut made =
            Self { files: Vec::new(), entries: 0, text_bytes: 0, middle: Timestamp::from_micros(middle) };
        for session in 0..entries.div_ceil(SESSION) {
            let own: Vec<String> = (0..SESSION).map(|_| draw.text()).collect();
            made.text_bytes += own.iter().map(|text| text.len() as u64 + 1).sum::<u64>();
            let file = folder.join(format!("be9c0000-0000-4000-8000-{session:012}.jsonl"));
            scratch::write(&file, |output| {
                for (at, text) in own.iter().enumerate() {
                    let line = line(session * SESSION + at, text).map_err(std::io::Error::other)?;
                    output.write_all(line.as_bytes())?;
                }
                Ok(())
            })?;
            made.files.push(file);
            made.entries += SESSION;
            texts(&own)?;
        }
        Ok(made)
    }
}
