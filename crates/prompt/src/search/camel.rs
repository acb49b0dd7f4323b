//! The parts of identifiers: `HTTPServer2` is `HTTP`, `Server`, `2`.

use std::ops::Range;

/// Iterates over the parts of a run of ASCII letters, digits and underscores.
///
/// The same as `[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+`, by hand because the `regex` crate has no look-ahead.
pub(super) fn parts(run: &str) -> Parts<'_> {
    Parts { bytes: run.as_bytes(), at: 0 }
}

/// The parts of a run; see [`parts`].
#[derive(Debug, Clone)]
pub(super) struct Parts<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Parts<'_> {
    /// Returns how many bytes from `from` on are of a kind.
    fn while_at(&self, from: usize, is: impl Fn(&u8) -> bool) -> usize {
        self.bytes.get(from..).unwrap_or_default().iter().take_while(|byte| is(byte)).count()
    }
}

impl Iterator for Parts<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        loop {
            let start = self.at;
            let byte = *self.bytes.get(start)?;
            let capitals = self.while_at(start, u8::is_ascii_uppercase);
            let length = if byte.is_ascii_digit() {
                self.while_at(start, u8::is_ascii_digit)
            } else if capitals == 0 {
                self.while_at(start, u8::is_ascii_lowercase)
            } else {
                match (capitals, self.while_at(start + capitals, u8::is_ascii_lowercase)) {
                    (_, 0) => capitals,
                    (1, small) => 1 + small,
                    // The last capital begins the next part.
                    (_, _) => capitals - 1,
                }
            };
            self.at = start + length.max(1);
            if length > 0 {
                return Some(start..self.at);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_come_apart() {
        for (run, wanted) in [
            ("HTTPServer2", vec!["HTTP", "Server", "2"]),
            ("parse_json5Line", vec!["parse", "json", "5", "Line"]),
            ("ABc", vec!["A", "Bc"]),
            ("E0502", vec!["E", "0502"]),
            ("__init__", vec!["init"]),
            ("___", vec![]),
            ("iOS", vec!["i", "OS"]),
        ] {
            let found: Vec<&str> = parts(run).map(|part| &run[part]).collect();
            assert_eq!(found, wanted, "{run}");
        }
    }
}
