//! Numbers in as few bytes as they need: seven bits a byte, the lowest first.
//!
//! Specified in `docs/format/store.md`.

/// Bytes that a 64-bit number takes at most.
const VARINT_BYTES_MAX: usize = 10;

pub(crate) fn put(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    bytes.push(value.to_le_bytes()[0]);
}

/// Takes a number off the front; none when the bytes end before it does or it has more than 64 bits.
pub(crate) fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for (place, byte) in bytes.iter().enumerate().take(VARINT_BYTES_MAX) {
        let bits = u64::from(byte & 0x7f);
        let shift = u32::try_from(place * 7).ok()?;
        if shift == 63 && bits > 1 {
            return None;
        }
        value |= bits << shift;
        if byte & 0x80 == 0 {
            *bytes = bytes.get(place + 1..)?;
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_come_back(values in proptest::collection::vec(any::<u64>().prop_flat_map(|value| (0..64_u32).prop_map(move |shift| value >> shift)), 0..9)) {
            let mut bytes = Vec::new();
            for value in &values {
                put(&mut bytes, *value);
            }
            let mut rest = bytes.as_slice();
            let back: Vec<u64> = std::iter::from_fn(|| take(&mut rest)).collect();
            prop_assert_eq!(back, values);
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn any_bytes_are_numbers_or_none(bytes in proptest::collection::vec(any::<u8>(), 0..24)) {
            let mut rest = bytes.as_slice();
            while take(&mut rest).is_some() {}
        }
    }

    #[test]
    fn small_numbers_take_one_byte() {
        let mut bytes = Vec::new();
        put(&mut bytes, 127);
        put(&mut bytes, 128);
        assert_eq!(bytes, [127, 0x80, 1]);
        assert_eq!(take(&mut &[0xff; 9][..]), None);
        assert_eq!(take(&mut &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2][..]), None);
    }
}
