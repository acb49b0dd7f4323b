//! Values that stand beside their name without a sign between the two, or on another line: on the next one, in a block of YAML, in
//! a cell of a table, as an argument of `set`, in a sentence.
//!
//! Which names count is `assignment`; what a value behind a sign may be is `said`.

mod lines;
mod sentence;
mod table;

use self::lines::{Line, begin_of_value, lines_behind};
use crate::assignment::pairs::may_be_paired;
use crate::assignment::{Assignments, Hit, Whole, has_escape, is_bare_word};
use crate::rules::{Name, ValueTest};
use crate::said::{Bare, Sign, after_opening_quote, begins_line, names_itself, quoted_text};
use crate::value::Values;

/// Lines after a name in which its value may stand, as a block of YAML has them. A stream keeps as many for those that follow.
pub(crate) const LINES_MAX: usize = 16;
/// Empty lines and fences (three backquotes) between a name and its value at most.
const LINES_BETWEEN_MAX: usize = 2;
/// Quotes, marks of emphasis and blanks beside a name or a value at most.
const MARKS_MAX: usize = 16;
/// Options between a command that sets and the name.
const OPTIONS_MAX: usize = 4;

/// What stands beside the names of one text.
#[derive(Debug, Default)]
pub(crate) struct Beside<'a> {
    /// Where secrets stand.
    pub(crate) found: Vec<(usize, usize)>,
    columns: table::Columns<'a>,
}

/// A name in its line.
#[derive(Debug, Clone, Copy)]
struct Named<'a> {
    text: &'a [u8],
    whole: Whole,
    name: &'a Name,
    line: Line,
    /// The quote of the string in which the line begins.
    quote: Option<u8>,
}

impl<'a> Named<'a> {
    /// Returns what stands before the name in its line.
    fn before(self) -> &'a [u8] {
        self.text.get(self.line.start..self.whole.start).unwrap_or_default()
    }

    /// Returns the rest of its line from there.
    fn rest(self, at: usize) -> &'a [u8] {
        self.text.get(at..self.line.end).unwrap_or_default()
    }

    /// Returns the lines behind the name's, to the end of the string in which it stands.
    fn lines_behind(self) -> impl Iterator<Item = Line> + use<'a> {
        let mut is_over = false;
        lines_behind(self.text, self.line.end).map_while(move |line| {
            let bytes = self.text.get(line.start..line.end)?;
            let end = self.quote.and_then(|quote| lines::end_of_string(bytes, quote));
            let is_last = std::mem::replace(&mut is_over, end.is_some());
            (!is_last).then_some(Line { end: end.map_or(line.end, |len| line.start + len), ..line })
        })
    }

    fn name(self) -> &'a [u8] {
        self.text.get(self.whole.start..self.whole.end).unwrap_or_default()
    }
}

impl<'r> Assignments<'r> {
    /// Finds the values that stand beside the name around `hit`, where nothing is assigned to it.
    pub(crate) fn beside<'a>(self, text: &'a [u8], hit: Hit, name: &'a Name, beside: &mut Beside<'a>) {
        let Some(of) = self.named(text, hit, name) else { return };
        if let Some(at) = sign_end(of) {
            return self.behind_sign(of, at, &mut beside.found);
        }
        if self.in_table(of, beside) {
            return;
        }
        let flag = flag_end(of).and_then(|at| self.on_next_line(of, at));
        let place = flag.or_else(|| self.set(of)).or_else(|| self.in_sentence(of));
        beside.found.extend(place);
    }

    /// Tells whether the value of the name around `hit` may stand in lines that follow.
    pub(crate) fn opens(self, text: &[u8], hit: Hit, name: &Name) -> bool {
        let Some(of) = self.named(text, hit, name) else { return false };
        let ends = |at: usize| matches!(of.rest(at).trim_ascii(), b"" | b"\\");
        let behind_sign = sign_end(of).is_some_and(|at| ends(at) || is_block(of.rest(at)));
        behind_sign
            || flag_end(of).is_some_and(ends)
            || may_be_paired(text, of.whole)
            || table::heads_table(of)
            || sentence::value_start(of).is_some_and(|told| ends(told.at))
    }

    /// Tells whether a name heads a table of which the next line is a row.
    pub(crate) fn is_row(self, text: &[u8], hit: Hit, name: &Name) -> bool {
        self.named(text, hit, name).is_some_and(table::heads_row)
    }

    /// Tells whether a value may stand beside a name in a raw text. Errs on the side of yes.
    pub(crate) fn may_stand_beside(self, raw: &[u8], hit: Hit, name: &Name) -> bool {
        let Some(whole) = self.whole_name(raw, hit) else { return false };
        let before = raw.get(..whole.start).unwrap_or_default();
        if is_bare_word(whole.end - whole.start, name)
            || (self.is_other(raw, hit, whole, name) && !before.ends_with(b"\\"))
        {
            return false;
        }
        let name = raw.get(whole.start..whole.end).unwrap_or_default();
        lines::may_hold_value(before, name, raw.get(whole.end..).unwrap_or_default())
    }

    fn named<'a>(self, text: &'a [u8], hit: Hit, name: &'a Name) -> Option<Named<'a>> {
        let whole = self.whole_name(text, hit)?;
        let is_none = self.is_other(text, hit, whole, name) || is_bare_word(whole.end - whole.start, name);
        let line = Line::around(text, whole)?;
        let before = text.get(line.start..whole.start)?;
        // A string is a text of its own; the name's own quotes are none.
        let string = after_opening_quote(before)
            .filter(|rest| !rest.is_empty() || before.last() != text.get(whole.end));
        let start = whole.start - string.map_or(before.len(), <[u8]>::len);
        let quote = string.and_then(|_| text.get(..start)?.last().copied());
        (!is_none).then_some(Named { text, whole, name, line: Line { start, ..line }, quote })
    }

    fn behind_sign(self, of: Named<'_>, at: usize, found: &mut Vec<(usize, usize)>) {
        let rest = of.rest(at);
        if matches!(rest.trim_ascii(), b"" | b"\\") {
            found.extend(self.on_next_line(of, at));
        } else if is_block(rest) {
            self.in_block(of, found);
        } else if of.rest(of.whole.end).get(..at - of.whole.end).is_some_and(|sign| sign.contains(&b'*')) {
            // `**Password:** hunter2`
            found.extend(self.told(of, at));
        }
    }

    /// Reads the value that has a line of its own behind the name's.
    fn on_next_line(self, of: Named<'_>, at: usize) -> Option<(usize, usize)> {
        let mut lines = of.lines_behind().take(LINES_BETWEEN_MAX + 1);
        let (line, begin) = lines.find_map(|line| {
            let begin = begin_of_value(of, line);
            let rest = of.text.get(begin.at..line.end)?;
            (!rest.is_empty() && !rest.starts_with(b"```")).then_some((line, begin))
        })?;
        if let Some((start, end)) = quoted_text(of.text, begin.at) {
            return self.counts(of, (start, end), Values::is_said).filter(|_| end <= line.end);
        }
        // `PASSWORD=` with nothing behind it sets nothing.
        let sign = of.text.get(of.whole.end..at)?;
        if sign.contains(&b'=') {
            return None;
        }
        let is_flag = !sign.contains(&b':');
        let content = of.text.get(begin.at..line.end)?.trim_ascii_end();
        let word = content.iter().position(u8::is_ascii_whitespace).unwrap_or(content.len());
        if word < content.len() && !is_flag {
            return None;
        }
        let value = lines::without_marks(of.text, (begin.at, begin.at + word));
        let test = |values: Values<'r>, value: &[u8]| {
            let after = of.text.get(begin.at + word..).unwrap_or_default();
            let before = of.text.get(..of.whole.start).unwrap_or_default();
            let sign = if is_flag { Sign::Flag } else { Sign::Colon };
            let letters = value.iter().all(u8::is_ascii_alphabetic);
            let is_set = values.is_said_bare(Bare { value, sign, before, after });
            let has_place = is_flag || (begins_line(before) && (!letters || begin.is_deeper));
            lines::is_word(value) && (values.is_told(value) || (is_set && has_place))
        };
        self.counts(of, value, test)
    }

    /// Reads the lines of a block of YAML: those that stand deeper than the name.
    fn in_block(self, of: Named<'_>, found: &mut Vec<(usize, usize)>) {
        for line in of.lines_behind().take(LINES_MAX) {
            let begin = begin_of_value(of, line);
            let content = of.text.get(begin.at..line.end).unwrap_or_default().trim_ascii_end();
            if content.is_empty() {
                continue;
            }
            if !begin.is_deeper {
                return;
            }
            // Keys in armour are found as a whole, in a stream by what is open.
            if !content.starts_with(b"-----") {
                found.extend(self.counts(of, (begin.at, begin.at + content.len()), Values::is_said));
            }
        }
    }

    /// `set PGPASSWORD hunter2`, `setenv`, `setx`, `ENV` of a container file, `git config http.password`.
    fn set(self, of: Named<'_>) -> Option<(usize, usize)> {
        let before = of.before();
        // What a setting stands in is a part of its name.
        let path = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_-.".contains(byte);
        let path = if before.ends_with(b".") { before.iter().rev().take_while(path).count() } else { 0 };
        let before = before.get(..before.len() - path)?;
        let mut words = before.split(u8::is_ascii_whitespace).rev().filter(|word| !word.is_empty());
        let mut options = 0;
        let setter = words.find(|word| {
            options += usize::from(word.starts_with(b"-"));
            !word.starts_with(b"-") || options > OPTIONS_MAX
        })?;
        // `grep` puts a file and a line right before it.
        let setter = setter.rsplit(|byte| matches!(byte, b':' | b'"' | b'\'' | b'`' | b';' | b'(')).next()?;
        let is_sure = match setter {
            b"set" | b"SET" => options > 0,
            b"setenv" | b"setx" | b"ENV" | b"config" => true,
            _ => return None,
        };
        let blank = of.rest(of.whole.end).iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let at = of.whole.end + blank;
        if blank == 0 || !before.ends_with(b" ") {
            return None;
        }
        if let Some(place) = quoted_text(of.text, at) {
            return self.counts(of, place, Values::is_said);
        }
        let len =
            of.rest(at).iter().position(|byte| byte.is_ascii_whitespace() || b";&|)\"'`".contains(byte));
        let len = len.unwrap_or(of.rest(at).len());
        // A word behind `set password` may be any; the name of a variable says that it is one.
        let is_variable = is_sure || !of.name().iter().any(u8::is_ascii_lowercase);
        self.counts(of, (at, at + len), |values, value| {
            let (before, after) = (of.before(), of.text.get(at + len..).unwrap_or_default());
            let is_set = values.is_said_bare(Bare { value, sign: Sign::Flag, before, after });
            is_set
                && lines::is_word(value)
                && !values.is_prose(value)
                && (is_variable || values.is_told(value))
        })
    }

    /// Returns the place if the value at it is a secret: behind a name that is `said` the value must pass `test`, behind any other the
    /// test of the name.
    fn counts(
        self,
        of: Named<'_>,
        (start, end): (usize, usize),
        test: impl Fn(Values<'r>, &[u8]) -> bool,
    ) -> Option<(usize, usize)> {
        let value = of.text.get(start..end)?;
        let values = Values { placeholders: &self.rules.placeholders };
        let passes =
            if of.name.spec.said { test(values, value) } else { self.passes(of.name(), of.name, value) };
        let is_whole = !has_escape(value) && !value.iter().any(u8::is_ascii_control) && !names_itself(value);
        debug_assert!(of.name.spec.value != ValueTest::Any, "no name takes anything");
        (passes && is_whole).then_some((start, end))
    }
}

/// Returns where the sign after a name ends: `:`, `=`, `:=`, `=>`, between quotes and marks of emphasis.
fn sign_end(of: Named<'_>) -> Option<usize> {
    let rest = of.rest(of.whole.end);
    let len = lines::marks(rest, b"\"'`*])");
    let sign = match rest.get(len..)? {
        [b':' | b'=', b'=' | b':' | b'~', b'=', ..] | [b'=', b'=' | b'~', ..] | [b':', b':', ..] => {
            return None;
        }
        [b':', b'=', ..] | [b'=', b'>', ..] => 2,
        [b':' | b'=', ..] => 1,
        _ => return None,
    };
    let emphasis =
        of.rest(of.whole.end + len + sign).iter().take(MARKS_MAX).take_while(|byte| **byte == b'*');
    Some(of.whole.end + len + sign + emphasis.count())
}

/// Returns where the value of an option may begin that a backslash moves to the next line.
fn flag_end(of: Named<'_>) -> Option<usize> {
    let is_flag = memchr::memmem::find(of.name(), b"--").is_some();
    (is_flag && of.rest(of.whole.end).trim_ascii() == b"\\").then_some(of.whole.end)
}

/// `|`, `>-`, `|2+`: the value is the block that follows.
fn is_block(rest: &[u8]) -> bool {
    let rest = rest.trim_ascii();
    let word = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
    let (head, comment) = rest.split_at(word);
    matches!(head, [b'|' | b'>', marks @ ..] if marks.len() <= 2 && marks.iter().all(|byte| b"+-123456789".contains(byte)))
        && (comment.is_empty() || comment.trim_ascii_start().starts_with(b"#"))
}
