//! What is packed comes back, and any bytes are what they say or damaged.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::bits::BLOCK;
use super::chunk::{ChunkWriter, Records, Row, seal, unseal};
use super::columns::{Packed, decode_packed, decode_plain, encode_packed, encode_plain};
use super::error::IndexError;
use super::postings::{Blocks, Posting, Record, blocks_of, encode};
use super::runs;

/// Postings with gaps of any size, some of them in more blocks than a chunk takes.
fn postings() -> impl Strategy<Value = Vec<Posting>> {
    let few = proptest::collection::vec((1..5_000_u32, any::<u16>()), 1..9);
    let many = proptest::collection::vec((1..40_u32, 1..300_u16), 1..6_000);
    let gaps = prop_oneof![4 => few, 1 => many];
    gaps.prop_map(|gaps| {
        let mut next = 0;
        let post = |(gap, tf): (u32, u16)| {
            next += gap;
            (next - 1, tf.max(1))
        };
        gaps.into_iter().map(post).collect()
    })
}

/// Reads all postings of a record, with the parts that follow its chunk.
fn read(record: &Record<&[u8]>, parts: &[Row], span: u32) -> Result<Vec<Posting>, IndexError> {
    let (mut numbers, mut tfs) = ([0; BLOCK], [0; BLOCK]);
    let mut read = Vec::new();
    match blocks_of(record, span)? {
        Blocks::Few(postings) => return Ok(postings),
        Blocks::Many { blocks, bytes } => {
            for block in blocks {
                let part = match block.part.checked_sub(1) {
                    None => &bytes,
                    Some(part) => unseal(&parts[part as usize].bytes)?,
                };
                let count = block.unpack(part, &mut numbers, &mut tfs)?;
                read.extend(numbers[..count].iter().copied().zip(tfs[..count].iter().copied()));
            }
        }
    }
    Ok(read)
}

proptest! {
    #[test]
    fn terms_and_their_postings_come_back(
        terms in proptest::collection::btree_map("[a-c]{1,9}", postings(), 1..12),
    ) {
        let terms: BTreeMap<String, Vec<Posting>> = terms;
        let span = terms.values().flatten().map(|(number, _)| number + 1).max().unwrap_or(1);
        let lengths: Vec<u16> = (0..span).map(|number| u16::try_from(number % 999).expect("small")).collect();
        let mut writer = ChunkWriter::default();
        for (term, postings) in &terms {
            writer.add(term.as_bytes(), &encode(postings, &lengths));
        }
        let rows = writer.finish();
        let mut back = BTreeMap::new();
        for (place, row) in rows.iter().enumerate().filter(|(_, row)| row.part == 0) {
            let bytes = unseal(&row.bytes).expect("whole");
            let mut records = Records::new(bytes);
            let mut first = None;
            while let Some(record) = records.next().expect("readable") {
                let term = String::from_utf8(records.term().to_vec()).expect("text");
                first.get_or_insert(term.clone().into_bytes());
                prop_assert_eq!(record.entries as usize, terms[&term].len());
                let parts = rows.get(place + 1..).unwrap_or_default();
                back.insert(term, read(&record, parts, span).expect("readable"));
            }
            prop_assert_eq!(first.as_ref(), Some(&row.first));
        }
        prop_assert_eq!(back, terms);
    }

    #[test]
    fn any_bytes_are_terms_or_damaged(
        bytes in proptest::collection::vec(prop_oneof![any::<u8>(), 0..9_u8], 0..64),
        span in 1..200_000_u32,
    ) {
        prop_assert!(unseal(&bytes).is_err());
        let mut records = Records::new(&bytes);
        while let Ok(Some(record)) = records.next() {
            if let Ok(found) = read(&record, &[], span) {
                prop_assert!(found.iter().all(|(number, _)| *number < span));
            }
        }
    }

    #[test]
    fn columns_come_back(values in proptest::collection::vec(prop_oneof![any::<u32>(), 7_000..7_100_u32], 0..400)) {
        let span = u32::try_from(values.len()).expect("small");
        let small: Vec<u16> = values.iter().map(|value| value.to_le_bytes()[0].into()).collect();
        prop_assert_eq!(decode_plain::<u16>(&encode_plain(&small), span).expect("readable"), small);
        let packed = encode_packed(&values);
        prop_assert!(decode_packed(&packed, span + 129).is_err());
        prop_assert!(Packed::read(&packed, span + 129).is_err());
        let one_by_one = Packed::read(&packed, span).expect("readable");
        prop_assert_eq!(one_by_one.all().expect("readable"), values.clone());
        for (at, value) in values.iter().enumerate() {
            prop_assert_eq!(one_by_one.get(at).expect("readable"), *value);
        }
        prop_assert!(one_by_one.get(values.len()).is_err());
        prop_assert_eq!(decode_packed(&packed, span).expect("readable"), values);
    }

    #[test]
    fn any_bytes_are_a_column_or_damaged(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        span in 0..300_u32,
    ) {
        let _read = decode_packed(&seal(bytes.clone()), span);
        let _read = Packed::read(&seal(bytes.clone()), span).and_then(|column| column.all());
        let _read = decode_plain::<u64>(&seal(bytes.clone()), span);
        let _read = runs::decode(&bytes);
    }

    #[test]
    fn runs_come_back(numbers in proptest::collection::vec(0..60_u32, 0..40), bound in 0..60_u32) {
        let mut list = runs::Runs::new();
        for number in &numbers {
            runs::push(&mut list, *number);
        }
        prop_assert_eq!(runs::decode(&runs::encode(&list)).expect("readable"), list.clone());
        prop_assert_eq!(runs::count(&list), numbers.len());
        prop_assert_eq!(runs::last(&list), numbers.last().copied());
        let below: Vec<u32> = runs::below(&list, bound).into_iter().flatten().collect();
        prop_assert_eq!(below, numbers.iter().copied().filter(|number| *number < bound).collect::<Vec<u32>>());
    }
}
