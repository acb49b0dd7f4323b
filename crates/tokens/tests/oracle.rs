//! oracle
use proptest::prelude::*;
use stemmata_tokens::Encoding;

fn oracle(encoding: Encoding, text: &str) -> u64 {
    let bpe = match encoding { Encoding::O200k => tiktoken_rs::o200k_base_singleton(), Encoding::Cl100k => tiktoken_rs::cl100k_base_singleton() };
    bpe.encode_ordinary(text).len() as u64
}

fn mixed() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("'s".to_owned()), Just("'LL".to_owned()), Just("'ſ".to_owned()), Just("don't".to_owned()), Just("\r\n".to_owned()), Just("\n".to_owned()), Just("/".to_owned()), Just(" ".to_owned()), Just("  ".to_owned()), Just("\t".to_owned()), Just("\u{3000}".to_owned()), Just("\u{301}".to_owned()),Just("'".to_owned()), Just("_".to_owned()),
        "[A-Z]{1,3}", "[a-z]{1,4}", "[ǅǈǲ]", "[ʰʱ々ー]", "[一-龥]{1,3}", "[а-яА-Я]{1,3}", "[ا-ي]{1,3}", "[0-9]{1,5}", "[²½Ⅷ٣]", "[!-/:-@]{1,3}", "[😀-😏]", "\\PC{1,3}", "[ก-๛]{1,3}", "[\u{300}-\u{310}]{1,2}"
    ];
    prop::collection::vec(part, 0..12).prop_map(|parts| parts.concat())
}
proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]
    #[test]
    fn counts_are_tiktokens(text in prop_oneof![mixed(), "\\PC{0,40}", "[A-Za-z0-9+/]{60,200}", "(?s).{0,30}"]) {
        for encoding in Encoding::ALL {
            prop_assert_eq!(encoding.count(&text), oracle(encoding, &text), "{:?} {:?}", encoding, text);
        }
    }
}
