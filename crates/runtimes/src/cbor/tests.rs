//! Tests of reading and writing: the examples of RFC 8949, and laws over any bytes and any values.

use proptest::prelude::*;

use super::json::{of_item, to_item};
use super::write::Map;
use super::*;

fn unhex(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex")).collect()
}

fn fault(hex: &str) -> (Fault, usize) {
    let bytes = unhex(hex);
    let broken = Item::whole(&bytes).expect_err("broken");
    (broken.fault, broken.offset)
}

#[test]
fn the_examples_of_the_rfc_are_read() {
    for (hex, json) in [
        ("00", "0"),
        ("1818", "24"),
        ("1b000000e8d4a51000", "1000000000000"),
        ("1bffffffffffffffff", "18446744073709551615"),
        ("20", "-1"),
        ("3bffffffffffffffff", "-18446744073709551616"),
        ("f90000", "0.0"),
        ("f98000", "-0.0"),
        ("f93c00", "1.0"),
        ("fb3ff199999999999a", "1.1"),
        ("f97bff", "65504.0"),
        ("fa47c35000", "100000.0"),
        ("f90001", "5.960464477539063e-8"),
        ("f90400", "6.103515625e-5"),
        ("f9c400", "-4.0"),
        ("f97c00", "{\"$cbor\":\"f97c00\"}"),
        ("f4", "false"),
        ("f5", "true"),
        ("f6", "null"),
        ("f7", "{\"$cbor\":\"f7\"}"),
        ("f0", "{\"$cbor\":\"f0\"}"),
        ("c11a514b67b0", "{\"$cbor\":\"c11a514b67b0\"}"),
        ("4401020304", "{\"$cbor\":\"4401020304\"}"),
        ("477b2261223a317d", "{\"$json\":{\"a\":1}}"),
        ("62225c", "\"\\\"\\\\\""),
        ("64f0908591", "\"\u{10151}\""),
        ("8301820203820405", "[1,[2,3],[4,5]]"),
        ("a201020304", "{\"$cbor\":\"a201020304\"}"),
        ("a26161016162820203", "{\"a\":1,\"b\":[2,3]}"),
        ("7f657374726561646d696e67ff", "\"streaming\""),
        ("9f018202039f0405ffff", "[1,[2,3],[4,5]]"),
        ("bf61610161629f0203ffff", "{\"a\":1,\"b\":[2,3]}"),
        ("61ff", "{\"$cbor\":\"61ff\"}"),
        ("a165246a736f6e01", "{\"$cbor\":\"a165246a736f6e01\"}"),
    ] {
        let bytes = unhex(hex);
        let item = Item::whole(&bytes).unwrap_or_else(|broken| panic!("{hex}: {broken:?}"));
        assert_eq!(of_item(item), json, "{hex}");
        let again = to_item(json).unwrap_or_else(|| panic!("{hex}: not written"));
        assert_eq!(of_item(Item::whole(&again).expect("an item")), json, "{hex} again");
    }
}

#[test]
fn what_is_no_item_is_told_where() {
    for (hex, found) in [
        ("", (Fault::Cut, 0)),
        ("18", (Fault::Cut, 0)),
        ("1c", (Fault::Malformed, 0)),
        ("ff", (Fault::Malformed, 0)),
        ("f818", (Fault::Malformed, 0)),
        ("8201ff", (Fault::Malformed, 2)),
        ("820102ff", (Fault::NotAlone, 3)),
        ("6261", (Fault::Cut, 0)),
        ("7f4161ff", (Fault::Malformed, 1)),
        ("7f7f6161ffff", (Fault::Malformed, 1)),
        // Lengths that nothing has.
        ("5bffffffffffffffff", (Fault::Cut, 0)),
        ("9bffffffffffffffff", (Fault::Cut, 9)),
        ("bb8000000000000001", (Fault::Cut, 9)),
        ("bf6161ff", (Fault::Malformed, 3)),
    ] {
        assert_eq!(fault(hex), found, "{hex}");
    }
    let deep = |depth: usize| [vec![0x81; depth], vec![0x00]].concat();
    assert!(Item::whole(&deep(DEPTH_MAX - 1)).is_ok());
    let broken = Item::whole(&deep(DEPTH_MAX)).expect_err("too deep");
    assert_eq!((broken.fault, broken.offset), (Fault::TooDeep, DEPTH_MAX));
    let tags = [vec![0xc1; 100_000], vec![0x00]].concat();
    assert_eq!(Item::whole(&tags).expect_err("too deep").fault, Fault::TooDeep);
}

#[test]
fn more_items_than_are_handed_out_are_none() {
    let many = [vec![0x9a, 0x00, 0x10, 0x00, 0x01], vec![0x00; ELEMENTS_MAX + 1]].concat();
    assert_eq!(List::whole(&many).map_err(|broken| broken.fault), Err(Fault::TooMany));
    assert_eq!(Item::whole(&many).expect("an item").elements(), None);
    assert_eq!(scrub::readable(&many), None, "what is not looked at all of is not said to be looked at");
}

#[test]
fn a_list_knows_where_its_items_stand() {
    for (hex, inside, items) in [
        ("80", 1..1, 0),
        ("820102", 1..3, 2),
        ("98020102", 2..4, 2),
        ("9f0102ff", 1..3, 2),
        ("d9d9f7820102", 4..6, 2),
    ] {
        let bytes = unhex(hex);
        let list = List::whole(&bytes).expect("a list");
        assert_eq!((list.inside.clone(), list.items.len()), (inside, items), "{hex}");
        assert!(is_frame(&[&bytes[..list.inside.start], &bytes[list.inside.end..]].concat()), "{hex}");
    }
    for hex in ["a0", "01", "c1820102", "82010203"] {
        assert!(List::whole(&unhex(hex)).is_err(), "{hex}");
    }
    assert!(!is_frame(&[0x82, 0x01]) && !is_frame(&[0x00]) && is_frame(&[]));
}

#[test]
fn a_cut_list_begins_wherever_it_is_cut() {
    let whole = unhex("83a26161016162820203616103");
    for end in 1..whole.len() {
        let begun = List::beginning(&whole[..end]).expect("a list");
        assert!(begun.items.len() <= 3 && begun.inside.end <= end);
        assert_eq!(begun.items.is_empty(), end < 10, "{end}");
    }
    let names: Vec<String> =
        cut_members(&whole[..9], 1).iter().filter_map(|(key, _)| Some(key.text()?.into_owned())).collect();
    assert_eq!(names, ["a"]);
}

#[test]
fn maps_are_written_in_the_order_of_their_keys() {
    let map = Map::default().text("bb", "1").text("c", "2").text("a", "3").finish();
    assert_eq!(map, unhex("a3616161336163613262626261 31".replace(' ', "").as_str()));
}

/// Any value, spelled in any of the ways that CBOR has.
fn any_item() -> impl Strategy<Value = Vec<u8>> {
    let leaf = prop_oneof![
        any::<u64>().prop_map(|number| write::integer(number.into())),
        any::<i64>().prop_map(|number| write::integer(number.into())),
        any::<u8>().prop_map(|number| vec![0x18, number]),
        any::<f64>().prop_map(write::float),
        any::<f32>().prop_map(|number| write::float(number.into())),
        "\\PC{0,12}".prop_map(|text| write::text(&text)),
        "[a-z\"\\\\\n]{0,12}".prop_map(|text| [&[0x7f][..], &write::text(&text), &[BREAK]].concat()),
        proptest::collection::vec(any::<u8>(), 0..9).prop_map(|bytes| write::bytes(&bytes)),
        Just(write::bytes(br#"{"a":[1.50,"b"]}"#)),
        Just(write::null()),
        any::<bool>().prop_map(write::flag),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let items = proptest::collection::vec(inner.clone(), 0..4);
        let members = proptest::collection::vec((inner.clone(), inner.clone()), 0..4);
        prop_oneof![
            items.clone().prop_map(|items| write::array(&items)),
            items.prop_map(|items| [&[0x9f][..], &items.concat(), &[BREAK]].concat()),
            members.prop_map(|members| write::map(&members)),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| [&[0xbf][..], &a, &b, &[BREAK]].concat()),
            proptest::collection::vec(("[$a-cA-C]{1,5}", inner.clone()), 0..4).prop_map(|members| {
                members.into_iter().fold(Map::default(), |map, (key, value)| map.with(&key, value)).finish()
            }),
            inner.prop_map(|item| [&[0xc1][..], &item].concat()),
        ]
    })
}

proptest! {
    #[test]
    fn every_item_is_json_that_says_all_of_it(bytes in any_item()) {
        let item = Item::whole(&bytes).expect("an item");
        let json = of_item(item);
        prop_assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok(), "{}", json);
        let again = to_item(&json).expect("an item");
        prop_assert_eq!(of_item(Item::whole(&again).expect("an item")), json);
    }

    #[test]
    fn parts_lie_in_their_items_and_make_them_up(bytes in any_item()) {
        let item = Item::whole(&bytes).expect("an item");
        let members = item.members().unwrap_or_default().into_iter().flat_map(|(key, value)| [key, value]);
        let parts: Vec<Item<'_>> = item.elements().unwrap_or_default().into_iter().chain(members).collect();
        let mut at = parts.first().map_or(0, |first| first.span().start);
        for part in &parts {
            prop_assert_eq!(part.span().start, at);
            prop_assert_eq!(part.raw(), &bytes[part.span()]);
            at = part.span().end;
        }
        prop_assert!(parts.is_empty() || bytes.len() - at <= 1);
    }

    #[test]
    fn what_is_read_for_secrets_makes_the_item_again(bytes in any_item()) {
        let readable = scrub::readable(&bytes).expect("an item");
        prop_assert_eq!(scrub::rewritten(&bytes, &readable.json), Some(bytes));
    }

    #[test]
    fn floats_come_back(number in any::<f64>()) {
        let bytes = write::float(number);
        let read = Item::whole(&bytes).expect("an item").float().expect("a number");
        prop_assert!(read.to_bits() == number.to_bits() || (read.is_nan() && number.is_nan()));
    }

    #[test]
    fn every_half_is_written_as_one(bits in any::<u16>()) {
        let number = half(bits);
        prop_assume!(number.is_finite());
        let [high, low] = bits.to_be_bytes();
        prop_assert_eq!(write::float(number), vec![0xf9, high, low]);
    }

    #[test]
    fn no_bytes_upset_it(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(item) = Item::whole(&bytes) {
            of_item(item);
        }
        if let Some(list) = List::beginning(&bytes) {
            prop_assert!(list.inside.end <= bytes.len());
        }
        cut_members(&bytes, 0);
        scrub::readable(&bytes);
    }
}
