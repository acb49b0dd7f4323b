//! The names of ledgers as names of folders, on any file system.
//!
//! What is in the folders is not known here.

use stemmata_model::LedgerId;

/// Bytes of a folder's name that is kept whole: most file systems take 255, and what is set aside has a longer name.
const NAME_BYTES_MAX: usize = 200;

/// Bytes of a longer name that are kept, with a hash after them.
const KEPT_BYTES: usize = 150;

/// Digits of that hash.
const HASH_DIGITS: usize = 32;

/// What stands before the number in the name of a folder that was set aside.
pub(super) const ASIDE: &str = ".unreadable-";

/// What a folder's name says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FolderName {
    /// It is this ledger's.
    Ledger(LedgerId),
    /// It is a ledger's whose name is too long; its `meta.json` has it.
    Shortened,
    /// It is no ledger's.
    Other,
}

/// Returns the name of a ledger's folder. Capital letters are encoded too: some file systems take them for small ones.
pub(super) fn folder_of(id: &LedgerId) -> String {
    let text = id.as_str();
    let reserved = is_reserved(text);
    // A name of dots only, or with a dot at its end, is not taken everywhere; nor may it look set aside.
    let dot_at = text.rfind(ASIDE).filter(|at| is_number(text.get(at + ASIDE.len()..).unwrap_or_default()));
    let mut name = String::new();
    for (at, byte) in text.bytes().enumerate() {
        let plain = matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'.');
        let edge = byte == b'.' && (at == 0 || at + 1 == text.len() || dot_at == Some(at));
        if plain && !edge && !(reserved && at == 0) {
            name.push(char::from(byte));
        } else {
            name.extend(['%', hex_digit(byte >> 4), hex_digit(byte & 15)]);
        }
    }
    if name.len() <= NAME_BYTES_MAX {
        return name;
    }
    let mut kept = KEPT_BYTES;
    // Not within an encoded byte.
    while name.get(..kept).is_some_and(|name| name.bytes().rev().take(2).any(|byte| byte == b'%')) {
        kept -= 1;
    }
    let mut hash = blake3::hash(text.as_bytes()).to_hex().to_string();
    hash.truncate(HASH_DIGITS);
    format!("{}~{hash}", name.get(..kept).unwrap_or_default())
}

/// Reads a folder's name.
pub(super) fn read(name: &str) -> FolderName {
    if let Some((kept, hash)) = name.split_once('~') {
        // Other programs end the names of their copies with one.
        let is_hash =
            hash.len() == HASH_DIGITS && hash.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let is_ours = is_hash && kept.len() <= KEPT_BYTES && kept.len() + 2 >= KEPT_BYTES;
        return if is_ours { FolderName::Shortened } else { FolderName::Other };
    }
    let mut bytes = Vec::new();
    let mut rest = name.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = [rest.next().unwrap_or_default(), rest.next().unwrap_or_default()];
        let digits = std::str::from_utf8(&digits).ok();
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => bytes.push(byte),
            None => return FolderName::Other,
        }
    }
    let id = String::from_utf8(bytes).ok().and_then(|text| LedgerId::new(text).ok());
    // A name that we would write otherwise is not ours, as one that was set aside.
    id.filter(|id| folder_of(id) == name).map_or(FolderName::Other, FolderName::Ledger)
}

/// Returns the name of a folder or a file that is set aside.
pub(super) fn aside(name: &str, number: u32) -> String {
    format!("{name}{ASIDE}{number}")
}

fn hex_digit(value: u8) -> char {
    char::from_digit(u32::from(value), 16).unwrap_or_default().to_ascii_uppercase()
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Says whether Windows keeps a name for a device.
fn is_reserved(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default();
    let numbered =
        |device: &str| stem.strip_prefix(device).is_some_and(|rest| rest.len() == 1 && is_number(rest));
    ["con", "prn", "aux", "nul"].contains(&stem) || numbered("com") || numbered("lpt")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn id(text: &str) -> LedgerId {
        LedgerId::new(text).expect("a name")
    }

    #[test]
    fn names_are_readable_and_safe() {
        for (text, name) in [
            ("0b9f-1c", "0b9f-1c"),
            ("github.com/a/b", "github.com%2Fa%2Fb"),
            ("Ab", "%41b"),
            ("..", "%2E%2E"),
            (".hidden", "%2Ehidden"),
            ("end.", "end%2E"),
            ("nul", "%6Eul"),
            ("com1.txt", "%63om1.txt"),
            ("a~b", "a%7Eb"),
            ("ä", "%C3%A4"),
            ("p.unreadable-1", "p%2Eunreadable-1"),
        ] {
            assert_eq!(folder_of(&id(text)), name);
            assert_eq!(read(name), FolderName::Ledger(id(text)));
        }
        for other in [
            "notes~",
            "~",
            "a~0123456789abcdef0123456789abcdef",
            "A",
            "%zz",
            "%4",
            "p.unreadable-1",
            ".stemma-1-0.tmp",
            "%41%",
            "%61",
        ] {
            assert_eq!(read(other), FolderName::Other, "{other}");
        }
    }

    proptest! {
        #[test]
        fn law_names_come_back_and_never_meet(texts in proptest::collection::btree_set("[a-cA-C./% ä~-]{1,200}", 1..8)) {
            let mut names = BTreeSet::new();
            for text in &texts {
                let name = folder_of(&id(text));
                prop_assert!(name.len() <= NAME_BYTES_MAX && !name.contains('/'));
                prop_assert!(matches!(read(&name), FolderName::Shortened) || read(&name) == FolderName::Ledger(id(text)));
                names.insert(name.to_lowercase());
            }
            prop_assert_eq!(names.len(), texts.len());
        }

        #[test]
        fn any_name_is_read(name in ".{0,60}") {
            let _said = read(&name);
        }
    }
}
