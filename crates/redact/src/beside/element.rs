//! Values in the element behind the one that holds their name: of a property list, a table and a list of HTML.

use super::{Beside, Named, lines};
use crate::assignment::Assignments;
use crate::value::Values;

/// Elements of a name, and of its value. The last ones hold words of all kinds.
const PAIRS: [(&[u8], &[u8]); 4] = [(b"key", b"string"), (b"td", b"td"), (b"th", b"td"), (b"dt", b"dd")];

/// Where the element behind that of a name may begin.
#[derive(Debug, Clone, Copy)]
pub(super) struct Element {
    at: usize,
    /// Bytes before it in its line.
    before: usize,
    is_key: bool,
    value: &'static [u8],
}

impl Element {
    /// Finds the end of the element that holds a name, maybe with a colon, and nothing else.
    pub(super) fn of(of: Named<'_>) -> Option<Element> {
        let start = memchr::memrchr(b'<', of.before().strip_suffix(b">")?)?;
        let tag = of.before().get(start + 1..)?;
        let (name, value) = PAIRS.into_iter().find(|(name, _)| opens(tag, name).is_some())?;
        let rest = of.rest(of.whole.end);
        let colon = usize::from(rest.starts_with(b":"));
        let close = rest.get(colon..)?.strip_prefix(b"</")?.strip_prefix(name)?.strip_prefix(b">")?;
        Some(Element { before: start, at: of.line.end - close.len(), is_key: name == b"key", value })
    }

    /// Tells whether the line ends with it.
    pub(super) fn is_last(self, of: Named<'_>) -> bool {
        of.rest(self.at).trim_ascii().is_empty()
    }
}

impl Assignments<'_> {
    /// Finds the value in the next element, which may stand in the next line.
    pub(super) fn in_element(self, of: Named<'_>, element: Element, beside: &mut Beside<'_>) {
        let Element { at, before, is_key, value } = element;
        let (at, end) = match of.lines_behind().next().filter(|_| element.is_last(of)) {
            Some(line) => {
                let text = of.text.get(line.start..line.end).unwrap_or_default();
                let prefix = lines::common_prefix(of.before().get(..before).unwrap_or_default(), text).1;
                let rest = text.get(prefix..).unwrap_or_default();
                (line.end - rest.trim_ascii_start().len(), line.end)
            }
            None => (at + lines::marks(of.rest(at), b""), of.line.end),
        };
        let rest = of.text.get(at..end).unwrap_or_default();
        let Some(len) = rest.strip_prefix(b"<").and_then(|tag| opens(tag, value)).map(|len| len + 1) else {
            return;
        };
        let Some(text) = rest.get(len..).and_then(|text| Some(memchr::memmem::find(text, b"</")? + len))
        else {
            return;
        };
        let passes = |values: Values<'_>, found: &[u8]| {
            if is_key { values.is_said(found) } else { values.is_told(found) }
        };
        let place = lines::without_marks(of.text, (at + len, at + text));
        beside.found.extend(self.counts(of, place, passes));
    }
}

/// Measures a tag with this name and its `>`, with or without attributes.
fn opens(tag: &[u8], name: &[u8]) -> Option<usize> {
    let rest = tag.strip_prefix(name)?;
    let end = memchr::memchr2(b'>', b'<', rest).filter(|end| rest.get(*end) == Some(&b'>'))?;
    matches!(rest.first(), Some(b'>' | b' ')).then_some(name.len() + end + 1)
}
