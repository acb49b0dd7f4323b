//! Content-made ids of artifacts and commits, and their prefixes.
//!
//! Names that come from outside (sessions, tickets, machines) are in `names`, not here.

use std::fmt;
use std::str::FromStr;

use crate::base32;

/// The fewest characters of an id that name something where nothing says what kind of id it is.
pub const PREFIX_CHARS_MIN: usize = 4;

/// The fewest characters after the tag that output shows, so that a shown id stays unique for long.
pub const SHORT_CHARS_MIN: usize = 8;

/// Which kind of id a text was read as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IdKind {
    /// `art-…`, stored bytes.
    Artifact,
    /// `ctx-…`, a commit.
    Commit,
}

impl IdKind {
    /// Returns the tag that ids of this kind start with.
    pub const fn tag(self) -> &'static str {
        match self {
            Self::Artifact => "art-",
            Self::Commit => "ctx-",
        }
    }

    const fn chars(self) -> usize {
        match self {
            Self::Artifact => 64,
            Self::Commit => base32::ENCODED_CHARS,
        }
    }
}

/// Why a text is no id or prefix.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseIdError {
    /// The text does not start with the tag of its kind.
    #[error("`{text}` does not start with `{}`", kind.tag())]
    Tag {
        /// The text as given.
        text: String,
        /// The kind that was asked for.
        kind: IdKind,
    },
    /// The text is too short, too long, or not all digits of the kind's alphabet.
    #[error("`{text}` is not an id: `{}` wants {min} to {max} characters of its alphabet after the tag", kind.tag())]
    Digits {
        /// The text as given.
        text: String,
        /// The kind that was asked for.
        kind: IdKind,
        /// The fewest characters accepted here.
        min: usize,
        /// The most characters accepted here.
        max: usize,
    },
}

/// Names stored bytes: the BLAKE3 hash of the uncompressed content.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ArtifactId([u8; 32]);

impl ArtifactId {
    /// Wraps a hash that was computed elsewhere; `artifact_id` computes it.
    pub const fn from_bytes(hash: [u8; 32]) -> Self {
        Self(hash)
    }

    /// Returns the 32 bytes of the hash.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for ArtifactId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&format!("{}{}", IdKind::Artifact.tag(), blake3::Hash::from_bytes(self.0)))
    }
}

impl fmt::Debug for ArtifactId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl FromStr for ArtifactId {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let prefix = parse_artifact(text, IdKind::Artifact.chars())?;
        Ok(Self(prefix.low))
    }
}

/// Names a commit: 128 bits of a hash over what decides its materialization (`docs/format/commit.md`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CommitId(u128);

impl CommitId {
    /// Wraps 16 bytes, highest first.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(u128::from_be_bytes(bytes))
    }

    /// Returns the 16 bytes, highest first, so that their order is the order of the text.
    pub const fn to_bytes(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }

    /// Returns the id cut to `chars` characters after the tag (at least [`SHORT_CHARS_MIN`]).
    pub fn short(&self, chars: usize) -> String {
        let text = base32::encode(self.0);
        let end = chars.clamp(SHORT_CHARS_MIN, base32::ENCODED_CHARS);
        format!("{}{}", IdKind::Commit.tag(), &text[..end])
    }

    /// Returns how many leading characters (after the tag) two ids share.
    pub fn shared_chars(&self, other: &Self) -> usize {
        let bits = (self.0 ^ other.0).leading_zeros();
        usize::try_from(bits / 5).expect("at most 25 characters").min(base32::ENCODED_CHARS)
    }
}

impl fmt::Display for CommitId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&format!("{}{}", IdKind::Commit.tag(), base32::encode(self.0)))
    }
}

impl fmt::Debug for CommitId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl FromStr for CommitId {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let prefix = parse_commit(text, IdKind::Commit.chars())?;
        Ok(prefix.low)
    }
}

/// The first characters of a commit id: a range of ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommitPrefix {
    /// The lowest id that starts so.
    pub low: CommitId,
    /// The highest id that starts so.
    pub high: CommitId,
}

impl FromStr for CommitPrefix {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse_commit(text, 1)
    }
}

/// The first characters of an artifact id: a range of hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArtifactPrefix {
    low: [u8; 32],
    high: [u8; 32],
}

impl ArtifactPrefix {
    /// Returns the lowest and the highest artifact id that start so.
    pub const fn range(&self) -> (ArtifactId, ArtifactId) {
        (ArtifactId(self.low), ArtifactId(self.high))
    }
}

impl FromStr for ArtifactPrefix {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse_artifact(text, PREFIX_CHARS_MIN)
    }
}

/// Names the redaction rules that a commit's bytes went through.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RulesHash(pub [u8; 32]);

impl RulesHash {
    /// The hash of no rules at all: content that was made by Stemmata itself.
    pub const NONE: Self = Self([0; 32]);
}

impl fmt::Display for RulesHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl FromStr for RulesHash {
    type Err = blake3::HexError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        blake3::Hash::from_hex(text).map(|hash| Self(*hash.as_bytes()))
    }
}

impl fmt::Debug for RulesHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// Returns how many characters each of `ids` needs to be told from the others, at least [`SHORT_CHARS_MIN`].
///
/// One length for all, so that a column of ids lines up.
pub fn shortest_unique(ids: &[CommitId]) -> usize {
    let mut sorted = ids.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let shared = sorted.windows(2).map(|pair| pair[0].shared_chars(&pair[1]) + 1).max().unwrap_or(0);
    shared.clamp(SHORT_CHARS_MIN, base32::ENCODED_CHARS)
}

fn strip_tag(text: &str, kind: IdKind, chars_min: usize) -> Result<&str, ParseIdError> {
    let digits =
        text.strip_prefix(kind.tag()).ok_or_else(|| ParseIdError::Tag { text: text.to_owned(), kind })?;
    if (chars_min..=kind.chars()).contains(&digits.len()) {
        Ok(digits)
    } else {
        Err(digits_error(text, kind, chars_min))
    }
}

fn digits_error(text: &str, kind: IdKind, chars_min: usize) -> ParseIdError {
    ParseIdError::Digits { text: text.to_owned(), kind, min: chars_min, max: kind.chars() }
}

fn parse_commit(text: &str, chars_min: usize) -> Result<CommitPrefix, ParseIdError> {
    let digits = strip_tag(text, IdKind::Commit, chars_min)?;
    let (low, high) =
        base32::decode_range(digits).ok_or_else(|| digits_error(text, IdKind::Commit, chars_min))?;
    Ok(CommitPrefix { low: CommitId(low), high: CommitId(high) })
}

fn parse_artifact(text: &str, chars_min: usize) -> Result<ArtifactPrefix, ParseIdError> {
    let digits = strip_tag(text, IdKind::Artifact, chars_min)?;
    let mut prefix = ArtifactPrefix { low: [0; 32], high: [0xff; 32] };
    for (position, character) in digits.chars().enumerate() {
        let nibble = character
            .to_digit(16)
            .and_then(|digit| u8::try_from(digit).ok())
            .ok_or_else(|| digits_error(text, IdKind::Artifact, chars_min))?;
        let (shift, keep) = if position % 2 == 0 { (4, 0x0f) } else { (0, 0xf0) };
        let byte = position / 2;
        prefix.low[byte] |= nibble << shift;
        prefix.high[byte] &= (nibble << shift) | keep;
    }
    Ok(prefix)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn ids_come_back_from_their_text(commit: [u8; 16], artifact: [u8; 32]) {
            let commit = CommitId::from_bytes(commit);
            prop_assert_eq!(commit.to_string().parse::<CommitId>(), Ok(commit));
            prop_assert_eq!(commit.to_string().len(), 30);
            let artifact = ArtifactId::from_bytes(artifact);
            prop_assert_eq!(artifact.to_string().parse::<ArtifactId>(), Ok(artifact));
        }

        #[test]
        fn a_prefix_is_a_range_that_holds_its_ids(artifact: [u8; 32], chars in 4..64_usize) {
            let artifact = ArtifactId::from_bytes(artifact);
            let prefix: ArtifactPrefix = artifact.to_string()[..4 + chars].parse().expect("a prefix");
            let (low, high) = prefix.range();
            prop_assert!(low <= artifact && artifact <= high);
        }

        #[test]
        fn short_ids_tell_all_apart(ids in proptest::collection::vec(any::<[u8; 16]>(), 1..40)) {
            let ids: Vec<CommitId> = ids.into_iter().map(CommitId::from_bytes).collect();
            let chars = shortest_unique(&ids);
            let mut shown: Vec<String> = ids.iter().map(|id| id.short(chars)).collect();
            let mut whole: Vec<CommitId> = ids;
            shown.sort();
            shown.dedup();
            whole.sort();
            whole.dedup();
            prop_assert_eq!(shown.len(), whole.len());
        }

        #[test]
        fn any_text_is_an_id_or_an_error(text in "(ctx-|art-)?.{0,70}") {
            let _commit = text.parse::<CommitPrefix>();
            let _artifact = text.parse::<ArtifactPrefix>();
        }
    }

    #[test]
    fn errors_say_what_was_expected() {
        let short = "ctx-".parse::<CommitPrefix>().expect_err("nothing is too little");
        assert_eq!(
            short.to_string(),
            "`ctx-` is not an id: `ctx-` wants 1 to 26 characters of its alphabet after the tag"
        );
        let untagged = "3f9k2m7q".parse::<CommitId>().expect_err("no tag");
        assert_eq!(untagged.to_string(), "`3f9k2m7q` does not start with `ctx-`");
    }
}
