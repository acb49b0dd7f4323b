//! The vocabularies, the counts that `tiktoken-rs` recorded, and the law about hostile texts.

use proptest::prelude::*;

use super::*;
use crate::merge::Window;

/// Counts by `tiktoken-rs`, made by `cargo xtask bench tokens --record`.
const RECORDED: &str = include_str!("../tests/golden/counts.txt");

#[test]
fn the_vocabularies_are_those_of_tiktoken() {
    for (encoding, tokens, hash) in [
        (Encoding::O200k, 199_998, "cce5411fd5c203dd1f37a6b5f34d66e66721977a09b12524a33da2d3262bb713"),
        (Encoding::Cl100k, 100_256, "d751869eb857e8f76d8706a5d6c3038a30e3009e4ff09d4eed663ed67e5f1e78"),
    ] {
        let plain = zstd::bulk::decompress(encoding.packed(), VOCABULARY_BYTES_MAX).unwrap();
        assert_eq!(blake3::hash(&plain).to_hex().as_str(), hash, "{encoding:?}");
        assert_eq!(encoding.vocabulary().len(), tokens, "{encoding:?}");
    }
}

#[test]
fn every_token_is_found_by_its_bytes_and_counts_one() {
    for encoding in Encoding::ALL {
        let vocabulary = encoding.vocabulary();
        let mut merger = Merger::new(vocabulary);
        for rank in 0..u32::try_from(vocabulary.len()).unwrap() {
            let token = vocabulary.token(rank);
            assert_eq!((vocabulary.rank(token), merger.count(token)), (rank, 1), "{encoding:?}");
        }
    }
}

#[test]
fn counts_are_those_that_tiktoken_recorded() {
    let mut texts = 0;
    for line in RECORDED.lines() {
        let (counts, text) = line.split_once('\t').unwrap();
        let (o200k, cl100k) = counts.split_once(' ').unwrap();
        let text = unescape(text);
        assert_eq!(Encoding::O200k.count(&text).to_string(), o200k, "o200k {text:?}");
        assert_eq!(Encoding::Cl100k.count(&text).to_string(), cl100k, "cl100k {text:?}");
        texts += 1;
    }
    assert!(texts > 1_000, "{texts} texts");
}

/// Reads `\u{…}`, as `char::escape_default` writes whatever is no printable ASCII.
fn unescape(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, escaped)) = rest.split_once(r"\u{") {
        plain.push_str(before);
        let (number, behind) = escaped.split_once('}').unwrap();
        plain.push(char::from_u32(u32::from_str_radix(number, 16).unwrap()).unwrap());
        rest = behind;
    }
    plain + rest
}

#[test]
fn a_factor_is_put_on_the_whole_count() {
    let count = |spec: &str, text: &str| Counter { spec: spec.parse().unwrap() }.count(text).0;
    assert_eq!(count("o200k", "Hello, world"), 3);
    assert_eq!(count("o200k*1.500", "Hello, world"), 5);
    assert_eq!(count("utf16", "😀😀😀"), 2, "six units");
    assert_eq!(count("estimate", "😀😀😀"), 1, "three characters");
    assert_eq!(count("cl100k", "<|endoftext|>"), 7, "a special token is text");
}

/// Steps that a text may take for each of its bytes, however long it is.
const STEPS_A_BYTE: u64 = 8;

/// The number of steps, not the time: a machine under load would make a law of time fail.
#[test]
fn hostile_texts_take_work_in_proportion_to_their_length() {
    let mut state = 1_u64;
    let mut letter = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b'a' + u8::try_from(state >> 33 & 15).unwrap())
    };
    let random: String = (0..1_000_000).map(|_| letter()).collect();
    let letters = random.as_str();
    for encoding in Encoding::ALL {
        let check = |unit: &str, bytes: usize| {
            let text =
                if unit.is_empty() { letters[..bytes].to_owned() } else { unit.repeat(bytes / unit.len()) };
            let steps = encoding.measure(&text).steps;
            assert!(
                steps <= STEPS_A_BYTE * bytes as u64,
                "{encoding:?}, {unit:?} × {bytes} bytes: {steps} steps"
            );
        };
        for unit in ["", "a", " ", "\n", "日"] {
            for bytes in [1_000, 30_000, 1_000_000] {
                check(unit, bytes);
            }
        }
        for unit in [
            "A", "\r\n", "\u{301}", "!", "/", "1", "'", "'s", "aA", "日A", "A\u{301}", " \n", "a\u{301}",
            "!\n/",
        ] {
            for bytes in [1_000, 30_000] {
                check(unit, bytes);
            }
        }
    }
}

#[test]
fn a_million_of_one_letter_counts_as_it_does_in_one_go() {
    for encoding in Encoding::ALL {
        for unit in ["a", "=", "ab", "\u{301}", "日", "-_"] {
            let text = unit.repeat(300_000 / unit.len());
            let mut merger = Merger::new(encoding.vocabulary());
            assert_eq!(
                merger.count(text.as_bytes()),
                merger.ends(text.as_bytes()).len(),
                "{encoding:?} {unit:?}"
            );
        }
    }
}

fn any_text() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        "[ \t\r\n]{1,3}",
        "'(s|LL|ſ|ve|x)",
        "[A-Z]{1,3}",
        "[a-z]{1,4}",
        "[ǅǈ々ー日本]{1,3}",
        "[0-9²Ⅷ]{1,4}",
        "[!-/]{1,3}",
        "[\u{300}-\u{310}]{1,2}",
        "\\PC{1,3}",
        "[😀-😏]",
    ];
    proptest::collection::vec(part, 0..12).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn pieces_follow_each_other_without_a_gap(text in any_text()) {
        for encoding in Encoding::ALL {
            let pieces: Vec<&str> = Pieces::new(&text, encoding.pattern()).collect();
            prop_assert!(pieces.iter().all(|piece| !piece.is_empty()));
            let joined = pieces.concat();
            prop_assert_eq!(&joined, &text);
        }
    }

    /// The two ways to merge are one rule; pieces around their border are tried.
    #[test]
    fn long_and_short_pieces_merge_alike(text in "[a-f]{2,64}|[一-龥]{1,21}|(ab|abc|0x){1,20}") {
        for encoding in Encoding::ALL {
            let mut merger = Merger::new(encoding.vocabulary());
            prop_assert_eq!(merger.short(text.as_bytes()), merger.ends(text.as_bytes()).len());
        }
    }

    /// Windows of every size give the count of the whole, or say that they cannot.
    #[test]
    fn a_long_piece_counts_the_same_in_windows(
        text in "[ab]{100,900}|[a-f]{100,900}|a{100,900}|(ab|the|_|=|0x|日本){40,200}|[一-龥]{40,300}|[\u{300}-\u{310}]{40,300}",
        bytes in 300..600_usize, overlap in 0..130_usize,
    ) {
        for encoding in Encoding::ALL {
            let mut merger = Merger::new(encoding.vocabulary());
            let whole = merger.ends(text.as_bytes()).len();
            let counted = merger.windows(text.as_bytes(), Window { bytes, overlap });
            prop_assert!(counted.is_none_or(|count| count == whole), "{counted:?} {whole}");
            prop_assert!(counted.is_some() || overlap < 32, "windows that share {overlap} bytes share a token");
        }
    }

    #[test]
    fn no_text_counts_more_than_its_bytes(text in any_text()) {
        for encoding in Encoding::ALL {
            let count = encoding.count(&text);
            prop_assert!(count <= text.len() as u64 && (count > 0) != text.is_empty());
        }
    }
}
