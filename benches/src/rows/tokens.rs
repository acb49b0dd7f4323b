//! Counting tokens of what agents write, and of texts that tokenizers are slow on.
//! Not whether the counts are right: `benches/tests/tokens.rs` holds them to `tiktoken-rs`.

use stemmata_tokens::Encoding;

use crate::input::Conversation;
use crate::machine;
use crate::measure::{Contender, alternate, spent};
use crate::peers::tokenizers;
use crate::report::{Figure, Line, Section, Target};

use super::Bench;

/// Lines of the conversation.
const LINES: usize = 1_003;

/// How often each is done.
const ROUNDS: usize = 5;

/// Bytes of the texts that are one piece.
const PIECE_BYTES: usize = 200_000;

/// Bytes of the two texts whose times are compared.
const GROWN_BYTES: [usize; 2] = [100_000, 1_000_000];

/// The least that is counted in a second.
const SPEED: Target = Target::AtLeast(Figure::BytesPerSecond(20_000_000.0));

/// The most that loading a vocabulary may take.
const LOAD: Target = Target::AtMost(Figure::Seconds(0.040));

/// The most that ten times the text may take; 10 would be exactly linear.
const GROWN: Target = Target::AtMost(Figure::Times(12.0));

pub(super) fn run(bench: &Bench) -> anyhow::Result<Section> {
    let mut lines = Vec::new();
    for (encoding, case) in [(Encoding::O200k, "loading o200k"), (Encoding::Cl100k, "loading cl100k")] {
        let before = machine::peak_memory_bytes();
        let loading = spent(|| {
            anyhow::ensure!(encoding.count("a") == 1, "a letter is a token");
            Ok(())
        })?;
        lines.push(Line::ours(1, case, Figure::time(loading.cpu)).target(LOAD));
        if let (Some(before), Some(after)) = (before, machine::peak_memory_bytes()) {
            lines.push(Line::ours(1, format!("{case}, memory"), Figure::bytes(after.saturating_sub(before))));
        }
    }
    let conversation = Conversation::load(bench.corpus(), LINES)?;
    let text = String::from_utf8(conversation.text())?;
    let spoken: Vec<&str> = text.lines().collect();
    let one_letter = "a".repeat(PIECE_BYTES);
    let japanese = "日本語の文章を数える。".repeat(PIECE_BYTES / 33);
    let cases: [(&str, &[&str], Option<Target>); 3] = [
        ("lines of a conversation", &spoken, Some(SPEED)),
        ("Japanese", &[&japanese], Some(SPEED)),
        ("one letter, 200 kB", &[&one_letter], None),
    ];
    let peers = tokenizers::load()?;
    for (case, texts, target) in cases {
        lines.extend(counted(case, texts, target, &peers)?);
    }
    let cl100k = speed(&spoken, &|text| Encoding::Cl100k.count(text))?;
    lines.push(Line::ours(1, "lines of a conversation, cl100k", cl100k).target(SPEED));
    let [short, long] = GROWN_BYTES.map(|bytes| "a".repeat(bytes));
    let [short, long] = alternate(ROUNDS, [&short, &long].map(|text| contender(text)))?;
    let grown = long.cpu.median().as_secs_f64() / short.cpu.median().as_secs_f64();
    lines.push(Line::ours(1, "one letter, 1 MB ÷ 100 kB", Figure::Times(grown)).target(GROWN));
    let notes = vec![format!(
        "{}, each line counted by itself; o200k where nothing else is said. Every peer splits and merges the same encoding and \
         gives the same counts. On a CPU, one thread.",
        conversation.about
    )];
    Ok(Section { name: "tokens", title: "counting tokens".to_owned(), notes, lines })
}

fn contender(text: &str) -> Contender<'_> {
    Box::new(move |_| {
        spent(|| {
            anyhow::ensure!(Encoding::O200k.count(text) > 0, "nothing was counted");
            Ok(())
        })
    })
}

fn counted(
    case: &str,
    texts: &[&str],
    target: Option<Target>,
    peers: &[tokenizers::Tokenizer],
) -> anyhow::Result<Vec<Line>> {
    let count = |text: &str| Encoding::O200k.count(text);
    let ours = speed(texts, &count)?;
    let line = |case: &str| {
        let line = Line::ours(1, case, ours);
        target.map_or_else(|| line.clone(), |target| line.clone().target(target))
    };
    if peers.is_empty() {
        return Ok(vec![line(case)]);
    }
    let mut lines = Vec::new();
    for peer in peers {
        let alike = texts.iter().all(|text| (peer.count)(text) == count(text));
        anyhow::ensure!(alike, "{} counts {case} otherwise", peer.name);
        lines.push(line(case).beside(peer.name, speed(texts, &peer.count)?));
    }
    Ok(lines)
}

fn speed(texts: &[&str], count: &dyn Fn(&str) -> u64) -> anyhow::Result<Figure> {
    let one: [Contender<'_>; 1] = [Box::new(|_| {
        spent(|| {
            let tokens: u64 = texts.iter().map(|text| count(text)).sum();
            anyhow::ensure!(tokens > 0, "nothing was counted");
            Ok(())
        })
    })];
    let [runs] = alternate(ROUNDS, one)?;
    let bytes: usize = texts.iter().map(|text| text.len()).sum();
    Ok(Figure::speed(u64::try_from(bytes)?, runs.cpu.median()))
}
