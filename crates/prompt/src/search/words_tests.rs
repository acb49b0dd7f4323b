//! Texts with the terms that they must have, and laws of the tokenizer.

use proptest::prelude::*;

use super::*;

fn terms_of(text: &str) -> Vec<String> {
    entry_terms(text).terms.into_iter().map(|(term, _)| term).collect()
}

#[test]
fn texts_have_these_terms() {
    for (text, wanted) in [
        ("John's retries, it’s dropped", vec!["drop", "it", "john", "retri"]),
        (
            "parse_query foo::bar E0502",
            vec!["0502", "=e0502", "=parse_query", "bar", "e", "foo", "pars", "queri"],
        ),
        ("src/search/Mod.rs", vec!["=mod.rs", "=search/mod.rs", "mod", "rs", "search", "src"]),
        (r"C:\src\lib.rs", vec!["=lib.rs", "=src/lib.rs", "c", "lib", "rs", "src"]),
        ("the café in Köln", vec!["cafe", "in", "koln", "the"]),
        ("検索する a", vec!["a", "~する", "~検索", "~索す"]),
        ("Поиск 검색", vec!["~검색", "поиск", "검색"]),
        (
            "at 9e1b2c3 or E0308A1, deadbeef 1234567 9e1b2c",
            vec![
                "=9e1b2c3", "=e0308a1", "at", "or", "deadbeef", "1234567", "=9e1b2c", "9", "e", "1", "b",
                "2", "c",
            ],
        ),
        ("字", vec!["~字"]),
        ("ﾃﾞｰﾀ データ", vec!["~デー", "~ータ"]),
        ("ＡＰＩ straße", vec!["api", "strass"]),
        ("الإعدادات", vec!["اعدادات", "الاعدادات"]),
        ("השומר", vec!["השומר", "שומר"]),
        ("🦀 -- !", vec![]),
        ("went children", vec!["go", "child"]),
    ] {
        let mut wanted: Vec<&str> = wanted;
        wanted.sort_unstable();
        assert_eq!(terms_of(text), wanted, "{text}");
    }
}

#[test]
fn hashes_and_long_words_are_left_out_and_entries_are_cut() {
    assert_eq!(terms_of(&"a1".repeat(40)), Vec::<String>::new());
    let long = format!("{} last", "word ".repeat(4_000));
    assert_eq!(terms_of(&long), ["word"]);
    assert_eq!(entry_terms(&long).length, 4_000);
}

#[test]
fn terms_are_those_of_the_recipe() {
    // Made by `code` of the recipe: the text, a tab, its terms in ascending order with their counts.
    for line in include_str!("fixtures/terms.tsv").lines() {
        let (text, wanted) = line.split_once('\t').expect("two fields");
        let found: Vec<String> =
            // The recipe knows no folders; nothing that it has is different for them.
            entry_terms(text).terms.into_iter().filter(|(term, _)| !has_folder(term)).map(|(term, count)| format!("{term}:{count}")).collect();
        assert_eq!(found.join(" "), wanted, "{text}");
    }
}

proptest! {
    #[test]
    fn terms_ascend_and_add_up_to_the_length(text in "(\\PC|[a-zA-Z_.'?/ -]|検|ก|é|검){0,80}") {
        let found = entry_terms(&text);
        prop_assert!(found.terms.is_sorted_by(|one, two| one.0 < two.0));
        prop_assert_eq!(u64::from(found.length), found.terms.iter().filter(|term| !has_folder(&term.0)).map(|term| u64::from(term.1)).sum::<u64>());
        prop_assert!(found.terms.iter().all(|(term, _)| !term.is_empty() && !term.starts_with('@') && term.len() <= 4 * NAME_BYTES_MAX));
        scan(&text, &mut |_, range| assert!(text.get(range).is_some_and(|bytes| !bytes.is_empty())));
    }

    #[test]
    fn a_text_twice_has_each_term_twice(text in "[a-zA-Z_. é検]{0,40}") {
        let (once, twice) = (entry_terms(&text), entry_terms(&format!("{text}\n{text}")));
        prop_assert_eq!(twice.length, once.length * 2);
        prop_assert_eq!(once.terms.into_iter().map(|(term, count)| (term, count * 2)).collect::<Vec<_>>(), twice.terms);
    }
}
