//! Other tokenizers of the same encoding, behind the feature `oracle`.
//! Not ours with other settings: each splits and merges by itself.

/// A tokenizer that is measured beside ours.
pub(crate) struct Tokenizer {
    /// What the table calls it.
    pub name: &'static str,
    /// Counts the tokens of a text.
    pub count: Box<dyn Fn(&str) -> u64>,
}

/// Loads the peers for o200k; none without the feature.
///
/// # Errors
/// When one cannot be loaded.
#[cfg(not(feature = "oracle"))]
#[expect(clippy::unnecessary_wraps, reason = "with the feature, loading can fail")]
pub(crate) fn load() -> anyhow::Result<Vec<Tokenizer>> {
    Ok(Vec::new())
}

/// Loads the peers for o200k.
///
/// # Errors
/// When one cannot be loaded.
#[cfg(feature = "oracle")]
pub(crate) fn load() -> anyhow::Result<Vec<Tokenizer>> {
    let tiktoken = tiktoken_rs::o200k_base()?;
    let tiktoken = move |text: &str| tiktoken.encode_ordinary(text).len() as u64;
    let bpe = oracle::Bpe::load()?;
    Ok(vec![
        Tokenizer { name: "tiktoken-rs", count: Box::new(tiktoken) },
        Tokenizer { name: "bpe", count: Box::new(move |text| bpe.count(text)) },
    ])
}

#[cfg(feature = "oracle")]
mod oracle {
    use anyhow::Context as _;
    use bpe::byte_pair_encoding::BytePairEncoding;
    use regex_automata::meta::Regex;

    /// What `cargo xtask vocabulary` packed: a count, lengths, bytes.
    const VOCABULARY: &[u8] = include_bytes!("../../../crates/tokens/data/o200k.zst");

    const VOCABULARY_BYTES_MAX: usize = 4 << 20;

    /// Keeps the hashes of all tokens apart; the one that the crate `bpe-openai` found.
    const HASH_FACTOR: u64 = 17_846_336_922_010_275_747;

    /// The pattern of o200k without its look-ahead, as `bpe-openai` splits: where the second one matches, the last
    /// character is given back.
    const PATTERNS: [&str; 3] = [
        concat!(
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|",
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|",
            r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+$",
        ),
        r"\s+\s",
        r"\s+",
    ];

    /// The crate `bpe` with the pieces of a regular expression.
    pub(super) struct Bpe {
        encoding: BytePairEncoding,
        pieces: Regex,
    }

    impl Bpe {
        pub(super) fn load() -> anyhow::Result<Self> {
            let plain = zstd::bulk::decompress(VOCABULARY, VOCABULARY_BYTES_MAX)?;
            let (count, rest) = plain.split_first_chunk::<4>().context("no count")?;
            let count = usize::try_from(u32::from_le_bytes(*count))?;
            let (lengths, mut bytes) = rest.split_at_checked(count).context("cut short")?;
            let tokens = lengths.iter().map(|length| {
                let (token, behind) = bytes.split_at(usize::from(*length));
                bytes = behind;
                token.to_vec()
            });
            let encoding = BytePairEncoding::from_dictionary(tokens.collect::<Vec<_>>(), Some(HASH_FACTOR));
            Ok(Self { encoding, pieces: Regex::new_many(&PATTERNS)? })
        }

        pub(super) fn count(&self, text: &str) -> u64 {
            let (mut at, mut tokens) = (0, 0);
            while let Some(found) = self.pieces.find(regex_automata::Input::new(text).range(at..)) {
                let mut end = found.end();
                if found.pattern().as_usize() == 1 {
                    end -= text[..end].chars().next_back().map_or(0, char::len_utf8);
                }
                tokens += self.encoding.count(&text.as_bytes()[at..end]) as u64;
                at = end;
            }
            tokens
        }
    }
}
