//! Tests that a pass of our own accepts what `serde_json` accepts, and finds the values where they are.

use proptest::prelude::*;
use serde_json::value::RawValue;

use super::*;
use crate::claude_code::samples_tests::line;

/// Fails where the two disagree on a text, on the elements of a list, or on the members of an object.
fn agrees(text: &str) {
    let field = Field::whole(text);
    let raw: Option<&RawValue> = serde_json::from_str(text).ok();
    let value = Skim::whole(field, Skim::value).ok();
    assert_eq!(value.map(|value| value.raw()), raw.map(RawValue::get), "{text:?}");
    let Some(value) = value else { return };
    assert_eq!(text.get(value.span()), Some(value.raw()));
    let elements: Option<Vec<&RawValue>> = serde_json::from_str(value.raw()).ok();
    let raws = |fields: Vec<Field<'_>>| fields.iter().map(|field| field.raw().to_owned()).collect::<Vec<_>>();
    let expected = elements.map(|elements| elements.iter().map(|element| element.get().to_owned()).collect());
    assert_eq!(value.elements().map(raws), expected, "{text:?}");
    let mut values = Vec::new();
    let is_object = Skim::whole(value, |skim| {
        skim.object(|key, skim| {
            values.push((key.to_owned(), skim.value()?.raw().to_owned()));
            Ok(())
        })
    });
    assert_eq!(is_object.is_ok(), value.raw().starts_with('{'), "{text:?}");
    let read: Option<serde_json::Map<String, serde_json::Value>> = serde_json::from_str(value.raw()).ok();
    for (key, expected) in read.unwrap_or_default() {
        let last = values.iter().rfind(|(name, _)| *name == key).expect("a key");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&last.1).expect("a value"), expected);
    }
}

/// Texts of JSON with these keys and others, and texts that are nearly JSON.
pub(crate) fn any_json(keys: &'static [&'static str]) -> impl Strategy<Value = String> {
    let valid = r#"null true 0 -0.5e+3 "" "user" "\u00e9\n" "\ud800" "1234567\"" "é𝄞-and-more-than-eight""#;
    let wrong = "nul fals - 01 1. 1e .5 +1 \"a \"\\u12g4\" \"\\x\" \"a\tb\" ";
    let one_of = |texts: &'static str| proptest::sample::select(texts.split(' ').collect::<Vec<_>>());
    let leaf = prop_oneof![
        20 => one_of(valid).prop_map(str::to_owned),
        1 => one_of(wrong).prop_map(str::to_owned),
        3 => any::<f64>().prop_map(|number| number.to_string()),
        6 => any::<String>().prop_map(|text| serde_json::Value::from(text).to_string()),
    ];
    let odd = ["\"b\"", "\"a\tb\"", "7", ""].map(str::to_owned);
    let quoted = proptest::sample::select(keys).prop_map(|key| format!("\"{key}\""));
    let key = prop_oneof![20 => quoted, 1 => proptest::sample::select(odd.to_vec())];
    leaf.prop_recursive(5, 40, 5, move |inner| {
        let field = (key.clone(), inner.clone()).prop_map(|(key, value)| format!("{key} :{value}"));
        prop_oneof![
            proptest::collection::vec(inner, 0..4).prop_map(|list| format!("[{}]", list.join(" ,"))),
            proptest::collection::vec(field, 0..6).prop_map(|fields| format!("{{{}\n}}", fields.join(", "))),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_nearly_json_is_judged_alike(text in any_json(&["a", "\\u0061"]), end in any::<prop::sample::Index>()) {
        agrees(&text);
        agrees(text.get(..end.index(text.len() + 1)).unwrap_or_default());
        agrees(&format!(" {text}\r\n"));
    }

    #[test]
    fn any_text_is_judged_alike(text in any::<String>(), marks in "[\\[\\]{},:\"\\\\0-9a-f.eE+\\- \u{1}]{0,24}") {
        agrees(&text);
        agrees(&marks);
    }

    #[test]
    fn altered_lines_are_judged_alike(letter in proptest::sample::select("UATZRIBCdxm".chars().collect::<Vec<_>>()), at in any::<prop::sample::Index>(), byte in 0..128_u8) {
        let mut line = line(letter, 3);
        let at = at.index(line.len());
        line[at] = byte;
        agrees(&String::from_utf8_lossy(&line));
    }
}

#[test]
fn nesting_has_no_limit() {
    let deep = format!("{}1{}", "[{\"a\":".repeat(100_000), "}]".repeat(100_000));
    assert!(Skim::whole(Field::whole(&deep), Skim::value).is_ok());
    assert!(Skim::whole(Field::whole(deep.trim_end_matches(']')), Skim::value).is_err());
}
