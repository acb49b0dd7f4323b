//! What a text's names have beside them and in the lines that follow.
//! Which values count is `beside`'s to say; here is which names are asked, and of which view of the text.

use super::{Scanner, Span, whole_characters};
use crate::assignment::{Certainty, Hit};
use crate::beside::Beside;
use crate::escape::View;
use crate::escape::prefix;
use crate::keywords::Target;
use crate::rules::Rule;
use crate::said::begins_line;

/// Longest line of which the beginning is looked at.
const LINE_BYTES_MAX: usize = 2048;

/// What stands before the line of a name that its text does not say: a diff's mark, a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Prefix {
    None,
    Apart,
    /// `-password`, `a.yml-13-password`: it looks like a part of the name.
    InName,
}

impl Prefix {
    fn of(text: &[u8], hit: Hit) -> Prefix {
        let from = hit.start.saturating_sub(LINE_BYTES_MAX);
        let start = match memchr::memrchr(b'\n', text.get(from..hit.start).unwrap_or_default()) {
            Some(at) => from + at + 1,
            None if from == 0 => 0,
            None => return Prefix::None,
        };
        // The word behind it says whether a mark is one.
        let prefix = text.get(start..hit.end).and_then(prefix::prefix).map(|(at, len)| start + at + len);
        let Some(end) = prefix.filter(|end| *end <= hit.start) else { return Prefix::None };
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        let is_in_name = text.get(end - 1..hit.start).unwrap_or_default().iter().all(is_part);
        if is_in_name { Prefix::InName } else { Prefix::Apart }
    }
}

impl Scanner {
    pub(crate) fn looks_beside(&self) -> bool {
        self.rules.edition.looks_beside()
    }

    /// Tells whether a name is asked for its value where it stands, and notes those that are asked without the prefix of their line.
    pub(super) fn is_asked_here(
        &self,
        text: &[u8],
        (hit, index): (Hit, usize),
        prefixed: &mut Vec<(Hit, usize)>,
    ) -> bool {
        let prefix = Prefix::of(text, hit);
        if prefix != Prefix::None && self.may_have_value(text, hit, index) {
            prefixed.push((hit, index));
        }
        // Without its prefix the name is whole.
        prefix != Prefix::InName
    }

    /// Collects what names have behind and beside them in their text without prefixes. What other rules find they find with any.
    pub(super) fn collect_unprefixed(&self, text: &[u8], names: &[(Hit, usize)], found: &mut Vec<Span>) {
        // Most texts have no such name, and are not copied.
        let view = (!names.is_empty()).then(|| View::without_prefixes(text)).flatten();
        let Some(view) = view else { return };
        let (mut spans, mut beside) = (Vec::new(), Beside::default());
        for &(Hit { start, end }, index) in names {
            let hit = Hit { start: view.place_of(start), end: view.place_of(end) };
            match self.assigned(&view.text, hit, index, Certainty::Exact) {
                Some((start, end)) => {
                    let order = self.rules.list.len() + index;
                    spans.push(whole_characters(&view.text, Span { start, end, order }));
                }
                None => self.stands_beside(&view.text, (hit, index), &mut beside, &mut spans),
            }
        }
        for Span { start, end, order } in spans.into_iter().filter(|span| !self.is_allowed(&view.text, *span))
        {
            found.push(Span { start: view.source_start(start), end: view.source_end(end), order });
        }
    }

    /// Adds what stands beside a name and is no other text's.
    pub(super) fn stands_beside<'a>(
        &'a self,
        text: &'a [u8],
        (hit, index): (Hit, usize),
        beside: &mut Beside<'a>,
        spans: &mut Vec<Span>,
    ) {
        let Some(name) = self.rules.names.get(index) else { return };
        self.assignments().beside(text, hit, name, beside);
        let order = self.rules.list.len() + index;
        let places = beside.found.drain(..);
        spans.extend(places.map(|(start, end)| whole_characters(text, Span { start, end, order })));
    }

    /// Tells whether a name in a raw text may have a value. Errs on the side of yes.
    pub(super) fn may_have_value(&self, raw: &[u8], hit: Hit, index: usize) -> bool {
        let may_stand_beside =
            |name| self.looks_beside() && self.assignments().may_stand_beside(raw, hit, name);
        self.assigned(raw, hit, index, Certainty::Possible).is_some()
            || self.rules.names.get(index).is_some_and(may_stand_beside)
    }

    /// Tells whether lines that follow may hold the value of a name in this one, or the rest of what a rule knows.
    pub(crate) fn opens(&self, line: &[u8]) -> bool {
        let uncoloured = View::without_colours(line);
        let line = uncoloured.as_ref().map_or(line, |view| view.text.as_slice());
        self.line_opens(line) || View::without_prefixes(line).is_some_and(|view| self.line_opens(&view.text))
    }

    fn line_opens(&self, line: &[u8]) -> bool {
        self.keywords.any(line, |start, end, target| match target {
            Target::Rule(index) => {
                let is_open =
                    |rule: &Rule| rule.spec.lines && begins_line(line.get(..start).unwrap_or_default());
                self.rules.list.get(index).is_some_and(is_open)
            }
            Target::Name(index) => {
                let opens = |name| self.assignments().opens(line, Hit { start, end }, name);
                self.rules.names.get(index).is_some_and(opens)
            }
            Target::Word | Target::Escape | Target::Colour => false,
        })
    }

    /// Tells whether the last of three lines is a row of a table that the first one heads.
    pub(crate) fn is_row(&self, lines: &[u8]) -> bool {
        let uncoloured = View::without_colours(lines);
        let lines = uncoloured.as_ref().map_or(lines, |view| view.text.as_slice());
        self.last_is_row(lines)
            || View::without_prefixes(lines).is_some_and(|view| self.last_is_row(&view.text))
    }

    fn last_is_row(&self, lines: &[u8]) -> bool {
        self.keywords.any(lines, |start, end, target| {
            let Target::Name(index) = target else { return false };
            let is_row = |name| self.assignments().is_row(lines, Hit { start, end }, name);
            self.rules.names.get(index).is_some_and(is_row)
        })
    }
}
