//! Our token counts beside those of `tiktoken-rs`, on made-up texts and on recorded sessions.
//! Run with `cargo test --release --package stemmata-benches --features oracle --test tokens`.
#![cfg(feature = "oracle")]

use std::path::Path;

use proptest::prelude::*;
use stemmata_tokens::Encoding;

/// The most of the recorded sessions that is counted twice: the peer takes a second for each 20 MB.
const CORPUS_BYTES_MAX: u64 = 100_000_000;

fn counts_alike(text: &str) -> Result<(), TestCaseError> {
    for encoding in Encoding::ALL {
        let oracle = match encoding {
            Encoding::O200k => tiktoken_rs::o200k_base_singleton(),
            Encoding::Cl100k => tiktoken_rs::cl100k_base_singleton(),
        };
        let wanted = oracle.encode_ordinary(text).len() as u64;
        prop_assert_eq!(encoding.count(text), wanted, "{:?} {:?}", encoding, text);
    }
    Ok(())
}

fn mixed() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        "[ \t\u{3000}]{1,3}",
        "[\r\n]{1,3}",
        "'(s|S|LL|ve|RE|ſ|x)",
        "[A-Z]{1,3}",
        "[a-z]{1,4}",
        "[ǅǈǲ]",
        "[ʰʱ々ー]",
        "[一-龥]{1,3}",
        "[а-яА-Я]{1,3}",
        "[ا-ي]{1,3}",
        "[0-9]{1,5}",
        "[²½Ⅷ٣]",
        "[!-/:-@]{1,3}",
        "[😀-😏]",
        "\\PC{1,3}",
        "[ก-๛]{1,3}",
        "[\u{300}-\u{310}]{1,2}",
    ];
    proptest::collection::vec(part, 0..12).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases * 800))]

    #[test]
    fn counts_are_tiktokens(
        text in prop_oneof![4 => mixed(), 1 => "\\PC{0,40}", 1 => "[A-Za-z0-9+/]{60,200}", 1 => "(?s).{0,30}"],
    ) {
        counts_alike(&text)?;
    }
}

#[test]
fn counts_of_recorded_lines_are_tiktokens() {
    #[expect(clippy::disallowed_methods, reason = "the one variable that names the recorded sessions")]
    let Some(corpus) = std::env::var_os("STEMMATA_CORPUS") else { return };
    let mut left = CORPUS_BYTES_MAX;
    for_each_file(Path::new(&corpus), &mut |path| {
        let bytes = std::fs::read(path).unwrap();
        let fits = left.checked_sub(bytes.len() as u64);
        if let (Some(after), Ok(text)) = (fits, std::str::from_utf8(&bytes)) {
            left = after;
            text.lines().for_each(|line| counts_alike(line).unwrap());
        }
    });
    assert!(left < CORPUS_BYTES_MAX, "no text below {}", corpus.display());
}

fn for_each_file(folder: &Path, each: &mut dyn FnMut(&Path)) {
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    paths.sort_unstable();
    for path in paths {
        if path.is_dir() {
            for_each_file(&path, each);
        } else if path.extension().is_some_and(|extension| extension == "jsonl" || extension == "json") {
            each(&path);
        }
    }
}
