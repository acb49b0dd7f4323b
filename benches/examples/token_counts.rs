//! Prints made-up texts with their counts by `tiktoken-rs`, for `crates/tokens/tests/golden/counts.txt`.
//! Not a test: `cargo run --release --package stemmata-benches --features oracle --example token_counts`.

use std::io::Write as _;

use stemmata_testkit::rng::Rng;

/// How many texts are made.
const TEXTS: usize = 1_500;

/// What texts are put together from: whatever a rule of either pattern names, and scripts with and without case.
const PARTS: &[&str] = &[
    " ",
    " ",
    "  ",
    "   ",
    "\t",
    "\n",
    "\r\n",
    "\n\n",
    "\u{3000}",
    "\u{a0}",
    "\u{85}",
    "'s",
    "'S",
    "'t",
    "'re",
    "'VE",
    "'ll",
    "'lL",
    "'m",
    "'d",
    "'x",
    "'\u{17f}",
    "'",
    "a",
    "b",
    "the",
    "The",
    "THE",
    "camelCase",
    "PascalCase",
    "HTTPServer",
    "snake_case",
    "\u{1c5}",
    "\u{2b0}",
    "\u{301}",
    "\u{300}\u{302}",
    "é",
    "e\u{301}",
    "E\u{301}",
    "ß",
    "Ω",
    "мир",
    "Мир",
    "МИР",
    "日",
    "本語",
    "日本語",
    "한국어",
    "あ",
    "カタカナ",
    "ー",
    "々",
    "สวัสดี",
    "नमस्ते",
    "שלום",
    "مرحبا",
    "👍",
    "👩‍👩‍👧",
    "🇩🇪",
    "0",
    "12",
    "345",
    "6789",
    "٣",
    "²",
    "½",
    "Ⅷ",
    "!",
    "?!",
    "...",
    "=>",
    "//",
    "/",
    "/usr/bin",
    "\\n",
    "\\\"",
    "{\"key\":",
    "\"}",
    "[]",
    "--",
    "==",
    "#",
    "@",
    "$",
    "%",
    "^",
    "&",
    "*",
    "(",
    ")",
    "<|endoftext|>",
    "fn main() {",
    "    return",
    "https://example.org/a?b=c",
    "deadbeef0123",
    "QWxhZGRpbjpvcGVu",
    "aaaaaaaa",
    "\u{0}",
    "\u{200b}",
    "\u{feff}",
    "\u{fffd}",
    "\u{e000}",
    "\u{10ffff}",
];

/// Lengths of runs of one character, around the borders of the merge.
const RUNS: &[usize] = &[2, 3, 15, 16, 17, 63, 64, 65, 66, 127, 128, 129, 500];

fn main() -> anyhow::Result<()> {
    let mut random = Rng::new(17);
    let mut texts: Vec<String> = Vec::new();
    for text in ["a", "A", " ", "\n", "\r\n", "日", "\u{301}", "!", "/", "1", "-", "=", "aA", "0x", "👍"] {
        texts.extend(RUNS.iter().map(|length| text.repeat(*length)));
    }
    while texts.len() < TEXTS {
        let parts = 1 + random.index(10);
        texts.push((0..parts).map(|_| PARTS[random.index(PARTS.len())]).collect());
    }
    texts.sort_unstable();
    texts.dedup();
    let (o200k, cl100k) = (tiktoken_rs::o200k_base()?, tiktoken_rs::cl100k_base()?);
    let mut output = std::io::stdout().lock();
    for text in texts {
        let counts = [&o200k, &cl100k].map(|encoding| encoding.encode_ordinary(&text).len());
        writeln!(output, "{} {}\t{}", counts[0], counts[1], escape(&text))?;
    }
    Ok(())
}

/// Writes whatever is no printable ASCII as `\u{…}`, the backslash too.
fn escape(text: &str) -> String {
    let plain = |character: &char| matches!(character, ' '..='~') && *character != '\\';
    text.chars()
        .map(
            |character| {
                if plain(&character) { character.to_string() } else { character.escape_unicode().to_string() }
            },
        )
        .collect()
}
