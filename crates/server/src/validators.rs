//! Whether a client has an answer already, and which part of one it wants: `If-None-Match`, `If-Range` and `Range` (RFC 9110).
//!
//! All pure. A validator is strong: it is made of the bytes, or of what they are made of and nothing else.

use std::ops::Range;

use hyper::header::{HeaderMap, HeaderName, HeaderValue, IF_NONE_MATCH, IF_RANGE, RANGE};

use crate::coding::Coding;

/// The validator of an answer, packed or not: each is another one, because its bytes are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tag(String);

impl Tag {
    /// Returns the validator of bytes.
    pub(crate) fn of_bytes(bytes: &[u8], coding: Option<Coding>) -> Self {
        Self::of_name(blake3::hash(bytes).to_hex().get(..32).unwrap_or_default(), coding)
    }

    /// Returns the validator of bytes that a name stands for, of letters and digits.
    pub(crate) fn of_name(name: &str, coding: Option<Coding>) -> Self {
        Self(match coding {
            Some(coding) => format!("\"{name}.{}\"", coding.name()),
            None => format!("\"{name}\""),
        })
    }

    /// Returns it as a header.
    pub(crate) fn header(&self) -> HeaderValue {
        HeaderValue::from_str(&self.0).expect("letters and digits are a header")
    }

    /// Says whether the client has the answer already.
    pub(crate) fn is_known(&self, headers: &HeaderMap) -> bool {
        let listed = texts(headers, IF_NONE_MATCH).flat_map(|value| value.split(','));
        listed.map(str::trim).any(|tag| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == self.0)
    }

    /// Says whether a part of this answer continues what the client has. A date never does: none is sent.
    pub(crate) fn is_continued(&self, headers: &HeaderMap) -> bool {
        texts(headers, IF_RANGE).all(|tag| tag.trim() == self.0)
    }
}

fn texts(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = &str> {
    headers.get_all(name).into_iter().map(|value| value.to_str().unwrap_or_default())
}

/// Which part of an answer is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    /// All of it: no part was named, several were, or none that can be read.
    Whole,
    /// These bytes.
    Of(Range<u64>),
    /// Bytes that it does not have.
    Beyond,
}

impl Part {
    /// Reads the header `Range` for an answer of so many bytes.
    pub(crate) fn wanted(headers: &HeaderMap, length: u64) -> Self {
        let mut values = texts(headers, RANGE);
        let (Some(value), None) = (values.next(), values.next()) else { return Self::Whole };
        let parsed = value.split_once('=').filter(|(unit, _)| unit.trim().eq_ignore_ascii_case("bytes"));
        let Some((first, last)) = parsed.and_then(|(_, range)| range.trim().split_once('-')) else {
            return Self::Whole;
        };
        match (number(first), number(last)) {
            (None, Some(suffix)) if first.is_empty() => match length.min(suffix) {
                0 => Self::Beyond,
                suffix => Self::Of(length - suffix..length),
            },
            (Some(first), None) if last.is_empty() && first < length => Self::Of(first..length),
            (Some(_), None) if last.is_empty() => Self::Beyond,
            (Some(first), Some(last)) if first > last => Self::Whole,
            (Some(first), Some(last)) if first < length => {
                Self::Of(first..length.min(last.saturating_add(1)))
            }
            (Some(_), Some(_)) => Self::Beyond,
            _ => Self::Whole,
        }
    }
}

/// Returns a number of digits alone; one that is too large for us is as large as can be.
fn number(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: HeaderName, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_static(value))])
    }

    #[test]
    fn a_range_is_read_as_the_rfc_says() {
        let whole = |text| Part::wanted(&headers(RANGE, text), 10);
        for (text, range) in [
            ("bytes=0-0", 0..1),
            ("bytes=2-4", 2..5),
            ("bytes=2-", 2..10),
            ("bytes=9-9", 9..10),
            ("bytes=0-99", 0..10),
            ("Bytes = 3-99999999999999999999", 3..10),
            ("bytes=-3", 7..10),
            ("bytes=-99", 0..10),
        ] {
            assert_eq!(whole(text), Part::Of(range), "{text}");
        }
        for text in ["bytes=10-", "bytes=10-12", "bytes=-0", "bytes=99999999999999999999-"] {
            assert_eq!(whole(text), Part::Beyond, "{text}");
        }
        for text in [
            "bytes=4-2",
            "bytes=0-1,3-4",
            "bytes=",
            "bytes=-",
            "bytes=a-b",
            "bytes=+1-2",
            "lines=1-2",
            "1-2",
            "bytes=1--2",
        ] {
            assert_eq!(whole(text), Part::Whole, "{text}");
        }
        assert_eq!(Part::wanted(&headers(RANGE, "bytes=0-"), 0), Part::Beyond);
        assert_eq!(Part::wanted(&HeaderMap::new(), 10), Part::Whole);
        let mut twice = headers(RANGE, "bytes=0-1");
        twice.append(RANGE, HeaderValue::from_static("bytes=2-3"));
        assert_eq!(Part::wanted(&twice, 10), Part::Whole);
    }

    #[test]
    fn what_a_client_has_is_told_by_its_tag() {
        let tag = Tag::of_bytes(b"x", None);
        assert_ne!(tag, Tag::of_bytes(b"y", None));
        let packed = Tag::of_name("a1", Some(Coding::Gzip));
        for known in ["\"a1.gzip\"", "W/\"a1.gzip\"", "\"z\" , \"a1.gzip\"", "*"] {
            assert!(packed.is_known(&headers(IF_NONE_MATCH, known)), "{known}");
        }
        for other in ["\"a1\"", "a1.gzip", "\"A1.GZIP\"", ""] {
            assert!(!packed.is_known(&headers(IF_NONE_MATCH, other)), "{other}");
        }
        let plain = Tag::of_name("a1", None);
        assert!(!plain.is_known(&HeaderMap::new()) && plain.is_continued(&HeaderMap::new()));
        assert!(plain.is_continued(&headers(IF_RANGE, "\"a1\"")));
        for other in ["W/\"a1\"", "\"a2\"", "Sat, 29 Oct 1994 19:43:31 GMT", "*"] {
            assert!(!plain.is_continued(&headers(IF_RANGE, other)), "{other}");
        }
    }
}
