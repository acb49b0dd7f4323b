//! CBOR items (RFC 8949) inside bytes: borrowed, with their places.
//!
//! Not a codec of values: what is not looked at keeps its bytes, whatever spelling they have. Bytes are foreign, so a
//! length is never believed before as many bytes are there, and nothing is allocated by one.

pub(crate) mod json;
pub(crate) mod scrub;
pub(crate) mod write;

use std::borrow::Cow;
use std::ops::Range;

/// Items inside each other at most: twice what the library reads that Bureau writes with.
pub(crate) const DEPTH_MAX: usize = 64;

/// Items of one array, or members of one map, that are handed out at most: each costs more in memory than the one
/// byte that it may take.
pub(crate) const ELEMENTS_MAX: usize = 1 << 20;

/// Keys and values of a map that is cut which are looked at.
const CUT_ITEMS_MAX: usize = 32;

/// The tag that says no more than that CBOR follows.
const SELF_DESCRIBED: u64 = 55_799;

/// Major types.
const UNSIGNED: u8 = 0;
const NEGATIVE: u8 = 1;
const BYTES: u8 = 2;
const TEXT: u8 = 3;
const ARRAY: u8 = 4;
const MAP: u8 = 5;
const TAG: u8 = 6;
const SIMPLE: u8 = 7;

/// The byte that ends an item of indefinite length.
const BREAK: u8 = 0xff;

/// Why bytes are no item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The item goes on behind the last byte.
    Cut,
    /// No item looks like this.
    Malformed,
    /// More than [`DEPTH_MAX`] items stand in each other.
    TooDeep,
    /// An array or a map has more than [`ELEMENTS_MAX`].
    TooMany,
    /// The first item is not the only one.
    NotAlone,
    /// An item of another kind was expected.
    OtherKind,
}

impl Fault {
    /// Returns what a person reads.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Cut => "it is cut",
            Self::Malformed => "no CBOR looks like this",
            Self::TooDeep => "too many items stand in each other",
            Self::TooMany => "an array or a map has too many items",
            Self::NotAlone => "something follows the first item",
            Self::OtherKind => "it is not an array",
        }
    }
}

/// A fault and where it is, in bytes of what was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Broken {
    pub(crate) fault: Fault,
    pub(crate) offset: usize,
}

/// The first bytes of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    major: u8,
    /// The number in it; none where the length is indefinite, and for the break.
    argument: Option<u64>,
    /// Bytes that it takes.
    length: usize,
}

/// Reads the head at the start of bytes.
fn head(bytes: &[u8]) -> Result<Head, Fault> {
    let first = *bytes.first().ok_or(Fault::Cut)?;
    let (major, info) = (first >> 5, first & 0x1f);
    let width = match info {
        0..=23 => return Ok(Head { major, argument: Some(u64::from(info)), length: 1 }),
        24 => 1,
        25 => 2,
        26 => 4,
        27 => 8,
        31 if (BYTES..=MAP).contains(&major) || major == SIMPLE => {
            return Ok(Head { major, argument: None, length: 1 });
        }
        _ => return Err(Fault::Malformed),
    };
    let digits = bytes.get(1..=width).ok_or(Fault::Cut)?;
    let argument = digits.iter().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
    if major == SIMPLE && width == 1 && argument < 32 {
        return Err(Fault::Malformed);
    }
    Ok(Head { major, argument: Some(argument), length: 1 + width })
}

/// Returns where the item at `at` ends, checked all through.
fn end_of(bytes: &[u8], at: usize, depth: usize) -> Result<usize, Broken> {
    let broken = |fault, offset| Broken { fault, offset };
    let rest = bytes.get(at..).unwrap_or_default();
    let head = head(rest).map_err(|fault| broken(fault, at))?;
    if depth == 0 {
        return Err(broken(Fault::TooDeep, at));
    }
    let inside = at + head.length;
    match (head.major, head.argument) {
        (SIMPLE, None) => Err(broken(Fault::Malformed, at)),
        (BYTES | TEXT, Some(length)) => {
            let room = bytes.len() - inside;
            let length = usize::try_from(length).ok().filter(|length| *length <= room);
            Ok(inside + length.ok_or(broken(Fault::Cut, at))?)
        }
        (BYTES | TEXT, None) => chunks_end(bytes, inside, head.major),
        (ARRAY, Some(count)) => many(bytes, inside, count, depth),
        // Twice a count that does not fit is more than there are bytes.
        (MAP, Some(count)) => many(bytes, inside, count.saturating_mul(2), depth),
        (ARRAY, None) => until_break(bytes, inside, 1, depth),
        (MAP, None) => until_break(bytes, inside, 2, depth),
        (TAG, _) => end_of(bytes, inside, depth - 1),
        _ => Ok(inside),
    }
}

fn many(bytes: &[u8], mut at: usize, count: u64, depth: usize) -> Result<usize, Broken> {
    for _ in 0..count {
        at = end_of(bytes, at, depth - 1)?;
    }
    Ok(at)
}

fn until_break(bytes: &[u8], mut at: usize, step: usize, depth: usize) -> Result<usize, Broken> {
    while bytes.get(at) != Some(&BREAK) {
        for _ in 0..step {
            at = end_of(bytes, at, depth - 1)?;
        }
    }
    Ok(at + 1)
}

fn chunks_end(bytes: &[u8], mut at: usize, major: u8) -> Result<usize, Broken> {
    while bytes.get(at) != Some(&BREAK) {
        let is_chunk = head(bytes.get(at..).unwrap_or_default())
            .map_err(|fault| Broken { fault, offset: at })
            .map(|head| head.major == major && head.argument.is_some())?;
        if !is_chunk {
            return Err(Broken { fault: Fault::Malformed, offset: at });
        }
        at = end_of(bytes, at, 1)?;
    }
    Ok(at + 1)
}

/// A whole item, which was checked when it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Item<'a> {
    raw: &'a [u8],
    offset: usize,
}

/// A key of a map and its value.
pub(crate) type Member<'a> = (Item<'a>, Item<'a>);

impl<'a> Item<'a> {
    /// Reads the only item of bytes.
    pub(crate) fn whole(bytes: &'a [u8]) -> Result<Self, Broken> {
        let end = end_of(bytes, 0, DEPTH_MAX)?;
        if end < bytes.len() {
            return Err(Broken { fault: Fault::NotAlone, offset: end });
        }
        Ok(Self { raw: bytes, offset: 0 })
    }

    /// Returns its bytes, head included.
    pub(crate) const fn raw(&self) -> &'a [u8] {
        self.raw
    }

    /// Returns where it stands in what was read.
    pub(crate) const fn span(&self) -> Range<usize> {
        self.offset..self.offset + self.raw.len()
    }

    /// Returns the item inside of tags, or itself.
    pub(crate) fn untagged(self) -> Self {
        let mut item = self;
        while let Some(Head { major: TAG, length, .. }) = item.head() {
            item = Self { raw: item.raw.get(length..).unwrap_or_default(), offset: item.offset + length };
        }
        item
    }

    fn head(&self) -> Option<Head> {
        head(self.raw).ok()
    }

    /// Returns the tag around an item.
    pub(crate) fn tag(&self) -> Option<u64> {
        self.head().filter(|head| head.major == TAG)?.argument
    }

    /// Returns the text of a text string. What is no UTF-8 in it becomes U+FFFD.
    pub(crate) fn text(&self) -> Option<Cow<'a, str>> {
        Some(match self.string(TEXT)? {
            Cow::Borrowed(bytes) => String::from_utf8_lossy(bytes),
            Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
        })
    }

    /// Returns the bytes of a text string as they are.
    pub(crate) fn text_bytes(&self) -> Option<Cow<'a, [u8]>> {
        self.string(TEXT)
    }

    /// Returns the bytes of a byte string.
    pub(crate) fn bytes(&self) -> Option<Cow<'a, [u8]>> {
        self.string(BYTES)
    }

    fn string(&self, major: u8) -> Option<Cow<'a, [u8]>> {
        let head = self.head().filter(|head| head.major == major)?;
        let inside = self.raw.get(head.length..)?;
        if head.argument.is_some() {
            return Some(Cow::Borrowed(inside));
        }
        let mut joined = Vec::new();
        let mut at = 0;
        while inside.get(at) != Some(&BREAK) {
            let chunk = self::head(inside.get(at..)?).ok()?;
            let end = end_of(inside, at, 1).ok()?;
            joined.extend_from_slice(inside.get(at + chunk.length..end)?);
            at = end;
        }
        Some(Cow::Owned(joined))
    }

    /// Returns how many bytes stand before the text of a string that is whole: none where it stands in chunks.
    pub(crate) fn string_start(&self) -> Option<usize> {
        let head = self.head()?;
        head.argument.is_some().then_some(self.offset + head.length)
    }

    pub(crate) fn is_array(&self) -> bool {
        self.head().is_some_and(|head| head.major == ARRAY)
    }

    pub(crate) fn is_map(&self) -> bool {
        self.head().is_some_and(|head| head.major == MAP)
    }

    /// Returns whether a break ends it.
    pub(crate) fn is_indefinite(&self) -> bool {
        self.head().is_some_and(|head| head.argument.is_none())
    }

    /// Returns a number that is whole.
    pub(crate) fn integer(&self) -> Option<i128> {
        let head = self.head()?;
        match head.major {
            UNSIGNED => Some(i128::from(head.argument?)),
            NEGATIVE => Some(-1 - i128::from(head.argument?)),
            _ => None,
        }
    }

    /// Returns a number with a point, whatever its width.
    pub(crate) fn float(&self) -> Option<f64> {
        let head = self.head().filter(|head| head.major == SIMPLE)?;
        let bits = head.argument?;
        match head.length {
            3 => Some(half(u16::try_from(bits).ok()?)),
            5 => Some(f64::from(f32::from_bits(u32::try_from(bits).ok()?))),
            9 => Some(f64::from_bits(bits)),
            _ => None,
        }
    }

    /// Returns the number of a simple value: 20 and 21 are `false` and `true`, 22 `null`, 23 `undefined`.
    pub(crate) fn simple(&self) -> Option<u64> {
        self.head().filter(|head| head.major == SIMPLE && head.length <= 2)?.argument
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self.simple(), Some(22 | 23))
    }

    pub(crate) fn is_true(&self) -> bool {
        self.simple() == Some(21)
    }

    /// Returns the items of an array, in order; none for anything else, and for too many.
    pub(crate) fn elements(&self) -> Option<Vec<Item<'a>>> {
        self.inside(ARRAY).ok().map(|(_, items)| items)
    }

    /// Returns the members of a map, in order; none for anything else, and for too many.
    pub(crate) fn members(&self) -> Option<Vec<Member<'a>>> {
        let (_, items) = self.inside(MAP).ok()?;
        Some(items.chunks_exact(2).filter_map(|pair| Some((*pair.first()?, *pair.get(1)?))).collect())
    }

    /// Returns where the inside of an array or a map stands, and the items in it.
    fn inside(&self, major: u8) -> Result<(Range<usize>, Vec<Item<'a>>), Broken> {
        let broken = |fault| Broken { fault, offset: self.offset };
        let head = self.head().filter(|head| head.major == major).ok_or(broken(Fault::OtherKind))?;
        let end = self.raw.len() - usize::from(head.argument.is_none());
        let mut items = Vec::new();
        let mut at = head.length;
        while at < end {
            if items.len() >= ELEMENTS_MAX {
                return Err(broken(Fault::TooMany));
            }
            let next = end_of(self.raw, at, DEPTH_MAX)?;
            items.push(Item { raw: self.raw.get(at..next).unwrap_or_default(), offset: self.offset + at });
            at = next;
        }
        Ok((self.offset + head.length..self.offset + end, items))
    }

    /// Returns the value of a key, spelled so or else with other capitals: the library of the program that writes these
    /// formats reads them so.
    pub(crate) fn get(members: &[Member<'a>], key: &str) -> Option<Item<'a>> {
        let named = |is_it: &dyn Fn(&str) -> bool| {
            members.iter().find(|(name, _)| name.text().is_some_and(|name| is_it(&name)))
        };
        let found = named(&|name| name == key).or_else(|| named(&|name| name.eq_ignore_ascii_case(key)));
        found.map(|(_, value)| *value)
    }
}

/// An array that is all of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct List<'a> {
    /// Where its head ends and its last item does.
    pub(crate) inside: Range<usize>,
    pub(crate) items: Vec<Item<'a>>,
}

impl<'a> List<'a> {
    /// Reads an array, self-described or not, that is all of the bytes.
    pub(crate) fn whole(bytes: &'a [u8]) -> Result<Self, Broken> {
        let item = Item::whole(bytes)?;
        let array = if item.tag() == Some(SELF_DESCRIBED) { item.untagged() } else { item };
        let (inside, items) = array.inside(ARRAY)?;
        Ok(Self { inside, items })
    }

    /// Reads the first items of an array that may be cut anywhere; none where it is no array, or broken.
    pub(crate) fn beginning(bytes: &'a [u8]) -> Option<Self> {
        let start = list_head(bytes)?;
        let mut items = Vec::new();
        let mut at = start;
        while items.len() < ELEMENTS_MAX {
            match end_of(bytes, at, DEPTH_MAX) {
                Ok(end) => {
                    items.push(Item { raw: bytes.get(at..end).unwrap_or_default(), offset: at });
                    at = end;
                }
                Err(Broken { fault: Fault::Cut, .. }) => break,
                Err(_) if bytes.get(at) == Some(&BREAK) => break,
                Err(_) => return None,
            }
        }
        Some(Self { inside: start..at, items })
    }
}

/// Returns the members of a map at a place of bytes that end inside of it, as far as they go.
pub(crate) fn cut_members(bytes: &[u8], at: usize) -> Vec<Member<'_>> {
    let rest = bytes.get(at..).unwrap_or_default();
    let Some(map) = head(rest).ok().filter(|head| head.major == MAP) else { return Vec::new() };
    let mut items = Vec::new();
    let mut next = at + map.length;
    while let Ok(end) = end_of(bytes, next, DEPTH_MAX) {
        if items.len() >= CUT_ITEMS_MAX {
            break;
        }
        items.push(Item { raw: bytes.get(next..end).unwrap_or_default(), offset: next });
        next = end;
    }
    items.chunks_exact(2).filter_map(|pair| Some((*pair.first()?, *pair.get(1)?))).collect()
}

/// Returns how many bytes the head of an array takes at the start of a document, a tag that says no more than that it is
/// CBOR included.
pub(crate) fn list_head(bytes: &[u8]) -> Option<usize> {
    let first = head(bytes).ok()?;
    let tag = if first.major == TAG && first.argument == Some(SELF_DESCRIBED) { first.length } else { 0 };
    let array = head(bytes.get(tag..)?).ok().filter(|head| head.major == ARRAY)?;
    Some(tag + array.length)
}

/// Returns whether bytes only hold the items of a document's array together: its head, the break behind it, or both.
pub(crate) fn is_frame(bytes: &[u8]) -> bool {
    let rest = bytes.get(list_head(bytes).unwrap_or(0)..).unwrap_or_default();
    rest.is_empty() || rest == [BREAK]
}

fn half(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff));
    let size = match exponent {
        0 => fraction * 2_f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2_f64.powi(exponent - 25),
    };
    if bits >> 15 == 1 { -size } else { size }
}

#[cfg(test)]
mod tests;
