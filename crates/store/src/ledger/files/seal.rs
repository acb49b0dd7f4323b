//! The checksum that ends a JSON object: the last field, over all bytes before it.
//!
//! It finds what a disk or an editor changed. It is no proof against who can compute it again.

/// What stands before the digits.
const BEFORE: &str = ",\"checksum\":\"";

/// What stands after them.
const AFTER: &str = "\"}";

/// Digits of a checksum: 64 bits of BLAKE3, enough for flipped bits and short enough to read.
const DIGITS: usize = 16;

/// Adds the checksum to the text of an object that has a field at least.
pub(super) fn seal(object: &str) -> String {
    let mut sealed = object.strip_suffix('}').unwrap_or(object).to_owned();
    close(&mut sealed, 0);
    sealed
}

/// Adds the checksum and the end to an object that starts there in a text.
pub(super) fn close(text: &mut String, start: usize) {
    let digits = digits(text.as_bytes().get(start..).unwrap_or_default());
    text.push_str(BEFORE);
    text.push_str(&digits);
    text.push_str(AFTER);
}

/// Says why the bytes of an object are not those that its checksum was made of.
pub(super) fn check(object: &[u8]) -> Result<(), String> {
    let parts = object.strip_suffix(AFTER.as_bytes()).and_then(|rest| {
        let (rest, digits) = rest.split_at_checked(rest.len().checked_sub(DIGITS)?)?;
        Some((rest.strip_suffix(BEFORE.as_bytes())?, digits))
    });
    let Some((open, found)) = parts else { return Err("it does not end with a checksum".to_owned()) };
    let expected = digits(open);
    if expected.as_bytes() == found {
        return Ok(());
    }
    let found = String::from_utf8_lossy(found);
    Err(format!("its checksum is `{found}`, and its bytes have `{expected}`"))
}

fn digits(bytes: &[u8]) -> String {
    let mut hex = blake3::hash(bytes).to_hex().to_string();
    hex.truncate(DIGITS);
    hex
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flipped_bit_is_found() {
        let sealed = seal(r#"{"a":"b","c":[1,2]}"#);
        assert_eq!(check(sealed.as_bytes()), Ok(()));
        for bit in 0..sealed.len() * 8 {
            let mut bytes = sealed.clone().into_bytes();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(check(&bytes).is_err(), "bit {bit}");
        }
        for length in 0..sealed.len() {
            assert!(check(&sealed.as_bytes()[..length]).is_err(), "{length} bytes");
        }
    }
}
