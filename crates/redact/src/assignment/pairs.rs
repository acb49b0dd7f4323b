//! A name in one member of an object and its value in another: `{"name": "DB_PASSWORD", "value": "…"}`, in YAML and HCL too, and
//! `"db_password": {"value": "…"}`. Finds the value's member; what in it is a secret is the assignment's.

use super::{Assignments, Certainty, GAP_BYTES_MAX, Hit, Looking, Whole, gap, is_name_byte, sign};
use crate::bounds::ends_with_colour;
use crate::rules::Name;

/// Members that hold a name.
pub(crate) const NAMES: [&[u8]; 5] = [b"name", b"key", b"Name", b"Key", b"ParameterKey"];
/// Members that hold its value.
pub(crate) const VALUES: [&[u8]; 3] = [b"value", b"Value", b"ParameterValue"];
/// Bytes between a name and the member with its value: other members, and what stands before each line.
const BETWEEN_BYTES_MAX: usize = 512;

impl Assignments<'_> {
    /// Finds the value of the name around `hit` in another member of its object. In a raw text this says only that there may be
    /// one.
    pub(super) fn paired(
        self,
        text: &[u8],
        hit: Hit,
        name: &Name,
        certainty: Certainty,
    ) -> Option<(usize, usize)> {
        let whole = self.whole_name(text, hit)?;
        let from = if is_named(text, path_start(text, whole.start)) {
            end_of_name(text, whole, certainty)?
        } else {
            end_of_opening(text, whole, certainty)?
        };
        if self.is_other(text, hit, whole, name) {
            return None;
        }
        if certainty == Certainty::Possible {
            return Some((whole.start, whole.end));
        }
        let key = name_key(text, path_start(text, whole.start));
        let member = value_member(text, from, key)?;
        // A name without quotes is YAML, where each member has a line of its own, or prose.
        let is_bare = !text.get(..from)?.ends_with(b"{") && from == whole.end;
        if is_bare && !text.get(from..member.start)?.contains(&b'\n') {
            return None;
        }
        let at = sign(text, member, Certainty::Exact)?;
        let place = self.value_behind(text, at, Looking { whole: member, name, certainty })?;
        let value = text.get(place.0..place.1)?;
        (name.spec.said || self.passes(text.get(whole.start..whole.end)?, name, value)).then_some(place)
    }

    /// Finds the value of a name in a member before it: in the same item of YAML, or the same object.
    pub(crate) fn paired_before(self, text: &[u8], whole: Whole, name: &Name) -> Option<(usize, usize)> {
        name_key(text, path_start(text, whole.start))?;
        end_of_name(text, whole, Certainty::Exact)?;
        let first = whole.start.saturating_sub(BETWEEN_BYTES_MAX);
        let begins = |at: &usize| match text.get(at.saturating_sub(1)..*at + 2) {
            Some([_, b'{' | b'}', _] | [b' ' | b'\t' | b'\n' | b':' | b'"' | b'\'' | b'`', b'-', b' ']) => {
                true
            }
            _ => *at == 0 && matches!(text, [b'{', ..] | [b'-', b' ', ..]),
        };
        let from = (first..whole.start).rev().find(begins)?;
        let member = value_member(text, from + 1, None).filter(|member| member.end < whole.start)?;
        let is_item = text.get(from) == Some(&b'-');
        if is_item && !text.get(member.end..whole.start)?.contains(&b'\n') {
            return None;
        }
        let at = sign(text, member, Certainty::Exact)?;
        let looking = Looking { whole: member, name, certainty: Certainty::Exact };
        let place = self.value_behind(text, at, looking).filter(|(_, end)| *end < whole.start)?;
        let value = text.get(place.0..place.1)?;
        (name.spec.said || self.passes(text.get(whole.start..whole.end)?, name, value)).then_some(place)
    }
}

/// Tells whether another member of its object may hold the value of a name.
pub(crate) fn may_be_paired(text: &[u8], whole: Whole) -> bool {
    let is_named = is_named(text, path_start(text, whole.start));
    (is_named && end_of_name(text, whole, Certainty::Exact).is_some())
        || end_of_opening(text, whole, Certainty::Exact).is_some()
}

/// A name may end a path: `/prod/db/password`, `auth.password`.
fn path_start(text: &[u8], start: usize) -> usize {
    let before = text.get(..start).unwrap_or_default().iter().rev().take(GAP_BYTES_MAX);
    start - before.take_while(|byte| is_name_byte(**byte) || b"./".contains(byte)).count()
}

/// Tells whether what begins there is the value of a member that holds names.
fn is_named(text: &[u8], start: usize) -> bool {
    name_key(text, start).is_some()
}

/// Returns the key of the member whose value begins there, where it is one that holds names.
fn name_key(text: &[u8], start: usize) -> Option<&'static [u8]> {
    let before = text.get(..start)?;
    let before = before.get(..before_gap(before))?;
    let ([before @ .., b'=', b'>'] | [before @ .., b':' | b'=']) = before else { return None };
    NAMES.into_iter().find(|key| is_key(before, before_gap(before), &[key]))
}

/// Returns where quotes, their escapes and blanks at the end begin.
fn before_gap(text: &[u8]) -> usize {
    let mut at = text.len();
    while text.len() - at < Certainty::Possible.reach(GAP_BYTES_MAX) {
        match text.get(..at).unwrap_or_default() {
            [.., b'\\', b't'] => at -= 2,
            [.., b'\\' | b'"' | b'\'' | b'`' | b' ' | b'\t'] => at -= 1,
            _ => break,
        }
    }
    at
}

/// Tells whether one of these keys ends there, whole.
fn is_key(text: &[u8], end: usize, keys: &[&[u8]]) -> bool {
    let text = text.get(..end).unwrap_or_default();
    keys.iter().filter_map(|key| text.strip_suffix(*key)).any(|before| {
        // The letter of an escape, or of a colour, before the key is no part of it.
        before.last().is_none_or(|byte| !is_name_byte(*byte))
            || matches!(before, [.., b'\\', b'n' | b'r' | b't'])
            || ends_with_colour(before)
    })
}

/// Returns where what follows a name that is a value begins: its string, or its line, has to end with it.
fn end_of_name(text: &[u8], whole: Whole, certainty: Certainty) -> Option<usize> {
    let rest = text.get(whole.end..)?;
    let escapes = rest.iter().take(GAP_BYTES_MAX).take_while(|byte| **byte == b'\\').count();
    match rest.get(escapes) {
        Some(b'"' | b'\'' | b'`') => Some(whole.end + escapes + 1),
        Some(b'n' | b'r' | b'u') if escapes > 0 && certainty == Certainty::Possible => Some(whole.end),
        None | Some(b'\n' | b'\r' | 0x1b | b' ') if escapes == 0 => Some(whole.end),
        _ => None,
    }
}

/// Returns where what stands in an object begins that is assigned to a name.
fn end_of_opening(text: &[u8], whole: Whole, certainty: Certainty) -> Option<usize> {
    let part = |byte| matches!(byte, b'"' | b'\'');
    let (len, _) = gap(text.get(whole.end..)?, certainty, part);
    let at = whole.end + len;
    let taken = match text.get(at..)? {
        [b'=', b'>', ..] => 2,
        [b':' | b'=', ..] => 1,
        _ => return None,
    };
    let at = at + taken;
    let (len, _) = gap(text.get(at..)?, certainty, |_| false);
    (text.get(at + len) == Some(&b'{')).then_some(at + len + 1)
}

/// Finds the member with the value in the same object: before its end, and before its first key comes again.
fn value_member(text: &[u8], from: usize, key: Option<&[u8]>) -> Option<Whole> {
    let rest = text.get(from..)?;
    let mut at = 0;
    while let Some(&byte) = rest.get(at).filter(|_| at < BETWEEN_BYTES_MAX) {
        if matches!(byte, b'{' | b'}') {
            return None;
        }
        if !is_name_byte(byte) {
            at += 1;
            continue;
        }
        let len = rest.get(at..)?.iter().take_while(|byte| is_name_byte(**byte)).count();
        let end = from + at + len;
        at += len;
        // In YAML another item; a colour may stand before the dash.
        if text.get(..end).is_some_and(|text| text.ends_with(b"-")) {
            return None;
        }
        let (gap, _) = gap(text.get(end..)?, Certainty::Exact, |byte| matches!(byte, b'"' | b'\''));
        if !matches!(text.get(end + gap), Some(b':' | b'=')) {
            continue;
        }
        if let Some(key) = VALUES.iter().find(|key| is_key(text, end, &[key])) {
            return Some(Whole { start: end - key.len(), end });
        }
        if is_key(text, end, key.as_slice()) {
            return None;
        }
    }
    None
}
