//! Looking only where a token can stand finds what looking everywhere does.

use std::ops::Range;
use std::sync::OnceLock;

use proptest::prelude::*;

use super::*;
use crate::rules::Rules;

#[test]
fn entropy_in_whole_numbers() {
    assert_eq!(entropy_milli(b""), 0);
    assert_eq!(entropy_milli(b"aaaa"), 0);
    assert_eq!(entropy_milli(b"abab"), 1_000);
    assert_eq!(entropy_milli(b"abcdabcd"), 2_000);
    assert!((3_169..=3_170).contains(&entropy_milli(b"abcdefghi")));
    for value in 1..2_000_u32 {
        let exact = f64::from(value).log2() * 1e6;
        #[expect(clippy::cast_precision_loss, reason = "small numbers")]
        let ours = log2_micro(value) as f64;
        assert!((ours - exact).abs() < 40.0, "{value}: {ours} {exact}");
    }
}

/// As `look` was first: it looks at all that is in reach, and then at what leads to it.
fn look_slowly(
    entropy: &Entropy,
    text: &[u8],
    word: Place,
    (placeholders, look): (&Placeholders, Look),
) -> Option<Place> {
    if !stands_alone(text, word) || entropy.is_other_before(text.get(..word.0).unwrap_or_default(), look) {
        return None;
    }
    let is_token = |run: &Place| {
        let unsure = look == Look::Raw && text.get(run.0..run.1).is_some_and(|run| run.contains(&b'\\'));
        unsure || entropy.is_secret(text, *run, placeholders)
    };
    let reach = if look == Look::Raw { AFTER_BYTES_MAX * ESCAPED_BYTES } else { AFTER_BYTES_MAX };
    let behind = runs(text, word.1..word.1.saturating_add(reach), look)
        .find(|run| text.get(word.1..run.0).is_some_and(|gap| entropy.leads(gap, look)) && is_token(run));
    behind.or_else(|| {
        let from = word.0.saturating_sub(BEFORE_BYTES_MAX + TOKEN_BYTES_MAX);
        let is_prose =
            |gap: &[u8]| gap.iter().all(|byte| byte.is_ascii_alphabetic() || b" '`:".contains(byte));
        let close = |run: &Place| run.1 <= word.0 && word.0 - run.1 <= BEFORE_BYTES_MAX;
        runs(text, from..word.0, look).filter(close).find(|run| {
            text.get(run.1..word.0).is_some_and(|gap| is_prose(gap) && entropy.leads(gap, look))
                && is_token(run)
        })
    })
}

fn in_field_slowly(entropy: &Entropy, value: &[u8], placeholders: &Placeholders) -> Option<Place> {
    runs(value, 0..AFTER_BYTES_MAX, Look::Plain).find(|run| {
        value.get(..run.0).is_some_and(|gap| entropy.leads(gap, Look::Plain))
            && entropy.is_secret(value, *run, placeholders)
    })
}

fn rules() -> &'static Rules {
    static RULES: OnceLock<Rules> = OnceLock::new();
    RULES.get_or_init(|| Rules::parse(include_str!("../../rules/structured.toml")).unwrap())
}

/// Compares the two at every range of bytes that may be a word. Returns how many tokens they found.
fn compare(text: &[u8], words: impl Iterator<Item = Range<usize>>) -> usize {
    let Rules { entropy, placeholders, .. } = rules();
    let mut found = 0;
    for word in words {
        for look in [Look::Plain, Look::Raw] {
            let place = (word.start, word.end);
            let fast = entropy.look(text, place, (placeholders, look));
            let slow = look_slowly(entropy, text, place, (placeholders, look));
            assert_eq!(fast, slow, "{word:?} {look:?} of {:?}", String::from_utf8_lossy(text));
            found += usize::from(fast.is_some());
        }
    }
    let value = entropy.in_field(text, placeholders);
    assert_eq!(value, in_field_slowly(entropy, text, placeholders), "{:?}", String::from_utf8_lossy(text));
    found
}

/// The places of words that say secret.
fn words_in(text: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let lower = text.to_ascii_lowercase();
    let found = rules().entropy.words.iter().flat_map(move |word| {
        let places: Vec<usize> = memchr::memmem::find_iter(&lower, word.as_bytes()).collect();
        places.into_iter().map(move |at| at..at + word.len())
    });
    found.collect::<Vec<_>>().into_iter()
}

/// Words, runs of every length near the bounds, escapes, stops and what is between.
fn texts() -> impl Strategy<Value = Vec<u8>> {
    let atoms = prop_oneof![
        6 => prop::sample::select(vec!["token", "key", "Secret", "TOKEN", "auth", "password", "apiKey", "_tokens"]),
        6 => prop::sample::select(vec![" ", "'", "`", ":", ": ", " = ", "=", "==", "\"", "\\", "\\\"", "-", "_", ".", "/"]),
        2 => prop::sample::select(vec!["\n", ",", ";", "&", "}", "\\n", "\\/", "\\\\/", "\\u0041", "\\x2d", "é"]),
        4 => prop::sample::select(vec!["the", " is ", "of", "hash", "id", "public", "digest", "sentence", "4", "7x"]),
    ];
    let run = (
        prop::sample::select(vec![3, 17, 18, 19, 20, 21, 24, 60, 127, 128, 129, 140]),
        any::<u64>(),
        any::<bool>(),
    );
    let run = run.prop_map(|(length, seed, has_slash)| {
        let letters = if has_slash { "aZ3kQ9/xB7mT2-wL5+R8" } else { "aZ3kQ9pxB7mT2vwL5dR8" };
        let mut state = seed | 1;
        let next = |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            char::from(letters.as_bytes()[usize::try_from(state >> 33).unwrap() % letters.len()])
        };
        (0..length).map(next).collect::<String>()
    });
    let letters =
        (1..160_usize).prop_map(|length| "abcdefg".chars().cycle().take(length).collect::<String>());
    let escaped_slashes = (1..40_usize).prop_map(|count| "aB3\\/".repeat(count));
    let atom = prop_oneof![
        16 => atoms.prop_map(str::to_owned),
        5 => run,
        1 => letters,
        1 => escaped_slashes,
    ];
    prop::collection::vec(atom, 1..14).prop_map(|atoms| atoms.concat().into_bytes())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases * 64))]

    #[test]
    fn looking_where_a_token_can_stand_finds_what_looking_everywhere_does(text in texts()) {
        compare(&text, words_in(&text));
    }

    /// Words of a user's own may begin and end with anything.
    #[test]
    fn the_same_tokens_are_found_around_any_word(text in texts(), places in prop::collection::vec((0..200_usize, 1..9_usize), 8)) {
        let words = places.into_iter().map(|(at, length)| (at % text.len(), length));
        let words = words.map(|(at, length)| at..(at + length).min(text.len()));
        compare(&text, words);
    }
}

#[test]
fn texts_of_these_laws_have_tokens() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let found: usize = (0..2_000)
        .map(|_| texts().new_tree(&mut runner).unwrap().current())
        .map(|text| compare(&text, words_in(&text)))
        .sum();
    assert!(found > 200, "{found}");
}

#[test]
fn the_corpus_has_the_same_tokens() {
    #[expect(clippy::disallowed_methods, reason = "a test is told here where the corpus is")]
    let Some(corpus) = std::env::var_os("STEMMATA_CORPUS") else {
        println!("skipped: STEMMATA_CORPUS is not set");
        return;
    };
    let mut folders = vec![std::path::PathBuf::from(corpus)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let bytes = std::fs::read(&path).unwrap();
                bytes.split_inclusive(|byte| *byte == b'\n').for_each(|line| {
                    compare(line, words_in(line));
                });
            }
        }
    }
}
