//! Keys as a terminal sends them: bytes, of which some begin a sequence.

/// Bytes of a sequence at most; a longer one is none of those that are known.
const SEQUENCE_BYTES_MAX: usize = 16;

const ESCAPE: u8 = 0x1b;
/// Ctrl-C.
const INTERRUPT: u8 = 0x03;
/// What a terminal puts before and after pasted text once it was asked to.
const PASTE_BEGINS: &[u8] = b"[200~";
const PASTE_ENDS: &[u8] = b"[201~";

/// What somebody pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Key {
    /// A character of the text.
    Char(char),
    /// Removes the character before the cursor.
    Erase,
    /// Removes the character behind the cursor.
    EraseNext,
    /// Removes the word before the cursor.
    EraseWord,
    /// Removes the text.
    Clear,
    /// The cursor a character back.
    Left,
    /// The cursor a character on.
    Right,
    /// The cursor before the text.
    Home,
    /// The cursor behind the text.
    End,
    /// The row above.
    Up,
    /// The row below.
    Down,
    /// A screen up.
    PageUp,
    /// A screen down.
    PageDown,
    /// The first row.
    First,
    /// The last row.
    Last,
    /// Everything instead of what is near, and back.
    Widen,
    /// Does what the picker is for.
    Enter,
    /// Resumes.
    Resume,
    /// Forks.
    Fork,
    /// Copies the id.
    Copy,
    /// Leaves.
    Leave,
}

/// Sequences after an escape, and what they mean.
const SEQUENCES: &[(&[u8], Key)] = &[
    (b"[A", Key::Up),
    (b"OA", Key::Up),
    (b"[B", Key::Down),
    (b"OB", Key::Down),
    (b"[C", Key::Right),
    (b"OC", Key::Right),
    (b"[D", Key::Left),
    (b"OD", Key::Left),
    (b"[H", Key::Home),
    (b"OH", Key::Home),
    (b"[1~", Key::Home),
    (b"[7~", Key::Home),
    (b"[F", Key::End),
    (b"OF", Key::End),
    (b"[4~", Key::End),
    (b"[8~", Key::End),
    (b"[3~", Key::EraseNext),
    (b"[1;5H", Key::First),
    (b"[1;5F", Key::Last),
    (b"[5~", Key::PageUp),
    (b"[6~", Key::PageDown),
    (b"[Z", Key::Widen),
    (b"\x7f", Key::EraseWord),
    (b"\x08", Key::EraseWord),
    (b"\x1b", Key::Leave),
];

/// Reads keys from bytes, wherever these are cut.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    held: Vec<u8>,
    is_pasting: bool,
}

impl Keys {
    /// Says whether bytes are held that are a key of their own where nothing follows. A pasted text always goes on.
    pub(crate) const fn is_unfinished(&self) -> bool {
        !self.held.is_empty() && !self.is_pasting
    }

    /// Takes bytes, and returns the keys that they end.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Vec<Key> {
        let mut keys = Vec::new();
        for byte in bytes {
            self.held.push(*byte);
            keys.extend(self.key());
        }
        keys
    }

    /// Returns the key that held bytes are where nothing follows: an escape alone is a key.
    pub(crate) fn finish(&mut self) -> Option<Key> {
        let is_escape = std::mem::take(&mut self.held) == [ESCAPE];
        (is_escape && !self.is_pasting).then_some(Key::Leave)
    }

    /// Returns the key that the held bytes are; they stay held where they may be the beginning of one.
    fn key(&mut self) -> Option<Key> {
        let first = *self.held.first()?;
        if first == ESCAPE {
            return self.sequence();
        }
        if first.is_ascii() {
            self.held.clear();
            // Also where a terminal never says that a paste has ended.
            let is_key = !self.is_pasting || first == INTERRUPT;
            return if is_key { of_byte(first) } else { Some(pasted(char::from(first))) };
        }
        match std::str::from_utf8(&self.held) {
            Ok(text) => {
                let char = text.chars().next();
                self.held.clear();
                char.map(Key::Char)
            }
            Err(error) if error.error_len().is_none() => None,
            Err(_) => {
                // What began a character ends with what cannot go on with it, which may be a key.
                let last = self.held.pop();
                let was_alone = self.held.is_empty();
                self.held.clear();
                self.held.extend(last.filter(|_| !was_alone));
                self.key()
            }
        }
    }

    fn sequence(&mut self) -> Option<Key> {
        let after = self.held.get(1..).unwrap_or_default();
        if after == PASTE_BEGINS || after == PASTE_ENDS {
            self.is_pasting = after == PASTE_BEGINS;
            self.held.clear();
            return None;
        }
        let known = SEQUENCES.iter().find(|(bytes, _)| *bytes == after).map(|(_, key)| *key);
        if known.is_some() || is_whole(after) || self.held.len() > SEQUENCE_BYTES_MAX {
            self.held.clear();
        }
        known.filter(|_| !self.is_pasting)
    }
}

/// Says whether a sequence has ended: after `[` with a letter or `~`, after `O` with anything, else with its first byte.
const fn is_whole(after: &[u8]) -> bool {
    match after {
        [] | [b'[' | b'O'] => false,
        [b'[', .., last] => matches!(last, 0x40..=0x7e),
        [_, ..] => true,
    }
}

/// Returns the character of a pasted text: a line end in it chooses nothing.
fn pasted(char: char) -> Key {
    Key::Char(if char.is_control() { ' ' } else { char })
}

fn of_byte(byte: u8) -> Option<Key> {
    Some(match byte {
        b'\r' | b'\n' => Key::Enter,
        b'\t' => Key::Widen,
        0x7f | 0x08 => Key::Erase,
        INTERRUPT | 0x04 | 0x07 => Key::Leave,
        0x01 => Key::Home,
        0x05 => Key::End,
        0x10 => Key::Up,
        0x0e => Key::Down,
        0x15 => Key::Clear,
        0x17 => Key::EraseWord,
        0x12 => Key::Resume,
        0x06 => Key::Fork,
        0x19 => Key::Copy,
        0x20..=0x7e => Key::Char(char::from(byte)),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn keys(bytes: &[u8]) -> Vec<Key> {
        let mut keys = Keys::default();
        let mut all = keys.take(bytes);
        all.extend(keys.finish());
        all
    }

    #[test]
    fn keys_are_read() {
        for (bytes, wanted) in [
            (b"a\xc3\xa4" as &[u8], vec![Key::Char('a'), Key::Char('ä')]),
            (b"\x1b", vec![Key::Leave]),
            (b"\x1b[A\x1bOB\x1b[6~x", vec![Key::Up, Key::Down, Key::PageDown, Key::Char('x')]),
            (
                b"\x1b[D\x1b[C\x1b[H\x1bOF\x01\x05\x1b[3~\x1b[1;5H",
                vec![
                    Key::Left,
                    Key::Right,
                    Key::Home,
                    Key::End,
                    Key::Home,
                    Key::End,
                    Key::EraseNext,
                    Key::First,
                ],
            ),
            // Sequences that mean nothing here leave nothing of themselves in the text.
            (b"\x1b[1;5Cx\x1b[97;5ux", vec![Key::Char('x'), Key::Char('x')]),
            (b"\xc3a\xff\xffb", vec![Key::Char('a'), Key::Char('b')]),
            (
                b"\x1b[200~a\r\x12\x1b[A\x1b[201~\r",
                vec![Key::Char('a'), Key::Char(' '), Key::Char(' '), Key::Enter],
            ),
            (
                b"\r\t\x12\x06\x19\x03",
                vec![Key::Enter, Key::Widen, Key::Resume, Key::Fork, Key::Copy, Key::Leave],
            ),
        ] {
            assert_eq!(keys(bytes), wanted, "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_keys_wherever_they_are_cut(bytes in proptest::collection::vec(any::<u8>(), 0..60), cut in 1..9_usize) {
            let mut reader = Keys::default();
            let mut all: Vec<Key> = bytes.chunks(cut).flat_map(|piece| reader.take(piece)).collect();
            prop_assert!(reader.held.len() <= SEQUENCE_BYTES_MAX);
            all.extend(reader.finish());
            prop_assert!(all.len() <= bytes.len());
            prop_assert!(all.iter().all(|key| !matches!(key, Key::Char(char) if char.is_ascii_control())));
            prop_assert_eq!(all, keys(&bytes));
        }
    }
}
