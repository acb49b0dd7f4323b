//! How the bytes of a literal content are kept: as they are, or compressed with or without the dictionary.
//!
//! Which rows there are, and whose hash they must have, is not known here. Specified in
//! `docs/format/content.md`.

use std::cell::RefCell;
use std::io;
use std::sync::LazyLock;

use zstd::bulk::{Compressor, Decompressor};
use zstd::dict::{DecoderDictionary, EncoderDictionary};
use zstd::zstd_safe::CParameter;

/// The dictionary that this version compresses with, as `docs/format/dictionary.md` describes it. A stored number names it;
/// another dictionary is another number.
static DICTIONARY: &[u8] = include_bytes!("../../dict/v1.dict");

/// The number that rows name the dictionary by.
pub const DICTIONARY_NUMBER: i64 = 1;

/// Level 3: higher ones cost more than a commit may take, and packing compresses again.
const LEVEL: i32 = 3;

/// Bytes up to which the dictionary is used: longer contents hold their own context, and compress as well
/// without it.
const DICTIONARY_BYTES_MAX: usize = 16 * 1024;

/// Bytes below which nothing is compressed: the frame's own header is longer than what it saves.
const COMPRESSED_BYTES_MIN: usize = 16;

static ENCODER: LazyLock<EncoderDictionary<'static>> =
    LazyLock::new(|| EncoderDictionary::copy(DICTIONARY, LEVEL));
static DECODER: LazyLock<DecoderDictionary<'static>> = LazyLock::new(|| DecoderDictionary::copy(DICTIONARY));

/// How a row's bytes are to be read, as its column says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coding {
    /// The bytes themselves.
    Raw,
    /// A zstd frame.
    Zstd,
    /// A zstd frame made with a dictionary.
    Dictionary,
    /// No bytes, but a list of ranges of other rows.
    Composed,
    /// Nothing: the bytes were forgotten.
    Forgotten,
}

impl Coding {
    /// Returns the number that a row stores.
    pub const fn number(self) -> i64 {
        match self {
            Self::Raw => 0,
            Self::Zstd => 1,
            Self::Dictionary => 2,
            Self::Composed => 3,
            Self::Forgotten => 5,
        }
    }

    /// Reads a number; `None` for one that no version writes.
    pub const fn from_number(number: i64) -> Option<Self> {
        match number {
            0 => Some(Self::Raw),
            1 => Some(Self::Zstd),
            2 => Some(Self::Dictionary),
            3 => Some(Self::Composed),
            5 => Some(Self::Forgotten),
            _ => None,
        }
    }

    /// Returns the number of the dictionary that a new row names.
    pub const fn dictionary(self) -> Option<i64> {
        match self {
            Self::Dictionary => Some(DICTIONARY_NUMBER),
            Self::Raw | Self::Zstd | Self::Composed | Self::Forgotten => None,
        }
    }
}

/// Contexts are made once a thread: making one costs as much as compressing a few small contents.
struct Contexts {
    bare: Compressor<'static>,
    with_dictionary: Compressor<'static>,
    bare_decoder: Decompressor<'static>,
    dictionary_decoder: Decompressor<'static>,
}

impl Contexts {
    fn new() -> io::Result<Self> {
        let mut bare = Compressor::new(LEVEL)?;
        let mut with_dictionary = Compressor::with_prepared_dictionary(&ENCODER)?;
        for context in [&mut bare, &mut with_dictionary] {
            // The row names the dictionary, in fewer bytes.
            context.set_parameter(CParameter::DictIdFlag(false))?;
        }
        Ok(Self {
            bare,
            with_dictionary,
            bare_decoder: Decompressor::new()?,
            dictionary_decoder: Decompressor::with_prepared_dictionary(&DECODER)?,
        })
    }
}

thread_local! {
    static CONTEXTS: RefCell<Option<Contexts>> = const { RefCell::new(None) };
}

fn with_contexts<T>(act: impl FnOnce(&mut Contexts) -> io::Result<T>) -> io::Result<T> {
    CONTEXTS.with_borrow_mut(|contexts| {
        let contexts = match contexts {
            Some(contexts) => contexts,
            None => contexts.insert(Contexts::new()?),
        };
        act(contexts)
    })
}

/// Returns the bytes in the form in which they are kept. One compression at most: the dictionary wins on
/// short contents and loses on long ones, so their length decides.
pub fn encode(bytes: Vec<u8>) -> (Coding, Vec<u8>) {
    if bytes.len() < COMPRESSED_BYTES_MIN {
        return (Coding::Raw, bytes);
    }
    let short = bytes.len() <= DICTIONARY_BYTES_MAX;
    let compressed = with_contexts(|contexts| {
        if short { contexts.with_dictionary.compress(&bytes) } else { contexts.bare.compress(&bytes) }
    });
    match compressed {
        Ok(compressed) if compressed.len() < bytes.len() => {
            let coding = if short { Coding::Dictionary } else { Coding::Zstd };
            (coding, compressed)
        }
        // Compression fails for want of memory only, and the bytes themselves are always a right answer.
        Ok(_) | Err(_) => (Coding::Raw, bytes),
    }
}

/// Decodes into `into`, which is cleared first, and holds the result to `length`.
pub fn decode(
    coding: Coding,
    dictionary: Option<i64>,
    stored: &[u8],
    length: usize,
    into: &mut Vec<u8>,
) -> Result<(), String> {
    into.clear();
    match coding {
        Coding::Raw => into.extend_from_slice(stored),
        Coding::Zstd => {
            into.reserve(length);
            with_contexts(|contexts| contexts.bare_decoder.decompress_to_buffer(stored, into))
                .map_err(|error| format!("it cannot be decompressed ({error})"))?;
        }
        Coding::Dictionary => {
            if dictionary != Some(DICTIONARY_NUMBER) {
                return Err(format!("it names dictionary {dictionary:?}, which this version does not have"));
            }
            into.reserve(length);
            with_contexts(|contexts| contexts.dictionary_decoder.decompress_to_buffer(stored, into))
                .map_err(|error| format!("it cannot be decompressed ({error})"))?;
        }
        Coding::Composed => return Err("a list of ranges stands where bytes should".to_owned()),
        Coding::Forgotten => return Err("it was forgotten".to_owned()),
    }
    if into.len() == length {
        Ok(())
    } else {
        Err(format!("it has {} bytes instead of {length}", into.len()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_released_dictionary_never_changes() {
        let hash = blake3::hash(DICTIONARY).to_string();
        assert_eq!(hash, "fbd1d9003079c97a384f4b5437fd2ff77c50fdcc658c82c9e67424cb64ff2430");
        assert!(include_str!("../../../../docs/format/dictionary.md").contains(&hash));
    }

    proptest! {
        #[test]
        fn bytes_come_back(bytes in proptest::collection::vec(any::<u8>(), 0..400), times in 1..600_usize) {
            let bytes = bytes.repeat(times);
            let (coding, stored) = encode(bytes.clone());
            let mut back = Vec::new();
            prop_assert_eq!(decode(coding, coding.dictionary(), &stored, bytes.len(), &mut back), Ok(()));
            prop_assert!(back == bytes && stored.len() <= bytes.len());
        }

        #[test]
        fn damaged_bytes_are_an_error_or_have_the_length(stored in proptest::collection::vec(any::<u8>(), 0..200), length in 0..300_usize) {
            for coding in [Coding::Raw, Coding::Zstd, Coding::Dictionary, Coding::Composed, Coding::Forgotten] {
                let mut back = Vec::new();
                if decode(coding, coding.dictionary(), &stored, length, &mut back).is_ok() {
                    prop_assert_eq!(back.len(), length);
                }
            }
        }
    }
}
