//! Values that stand beside their name without a sign between the two, or on another line: on the next one, in a block of YAML, in
//! a cell of a table, as an argument of `set`, in a sentence.
//!
//! Which names count is `assignment`; what a value behind a sign may be is `said`.

mod element;
mod lines;
mod sentence;
mod table;

use self::element::Element;
use self::lines::{Begin, Lead, Line, Mark, Raw, begin_of_value, lines_behind};
use crate::assignment::pairs::may_be_paired;
use crate::assignment::{Assignments, Hit, Whole, has_escape, is_bare_word};
use crate::quotes::closes_string;
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
    /// `passwords`: a list may follow, and nothing else.
    is_plural: bool,
}

/// How sure it is that a name has its value somewhere, and so what the value must look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Behind an option.
    Flag,
    /// Behind `:`, as YAML and people write it.
    Colon,
    /// In a list, between tags or three quotes.
    Told,
    /// Behind `=`, as code has it, too.
    Drawn,
}

/// What assigns something to a name.
#[derive(Debug, Clone, Copy)]
struct Signed<'a> {
    /// The name; its line ends with that of the sign.
    of: Named<'a>,
    form: Form,
    /// Where the sign ends.
    at: usize,
    /// Whether it stands in the name's line and is none of a tag.
    is_usual: bool,
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

    /// Tells whether nothing but marks stands behind it in its line.
    fn is_last(self) -> bool {
        let rest = self.rest(self.whole.end);
        rest.len() == lines::marks(rest, lines::MARKS)
    }

    fn name(self) -> &'a [u8] {
        self.text.get(self.whole.start..self.whole.end).unwrap_or_default()
    }
}

impl<'r> Assignments<'r> {
    /// Finds the values that stand beside the name around `hit`, where nothing is assigned to it.
    pub(crate) fn beside<'a>(self, text: &'a [u8], hit: Hit, name: &'a Name, beside: &mut Beside<'a>) {
        let Some(of) = self.named(text, hit, name) else { return };
        if let Some(element) = Element::of(of).filter(|_| !of.is_plural) {
            return self.in_element(of, element, beside);
        }
        if let Some(signed) = Signed::of(of) {
            return self.behind_sign(signed, &mut beside.found);
        }
        if of.is_plural {
            return;
        }
        if let Some(place) = self.paired_before(text, of.whole, name) {
            return beside.found.push(place);
        }
        if self.in_table(of, beside) {
            return;
        }
        if let Some(at) = flag_end(of) {
            return self.on_next_line(of, (at, Form::Flag), &mut beside.found);
        }
        if let Some(place) = self.set(of) {
            return beside.found.push(place);
        }
        self.in_sentence(of, &mut beside.found);
    }

    /// Tells whether the value of the name around `hit` may stand in lines that follow, where lines behind are known, too.
    pub(crate) fn opens(self, text: &[u8], hit: Hit, name: &Name) -> bool {
        let Some(of) = self.named(text, hit, name) else { return false };
        let ends = |of: Named<'_>, at| Lead::of(of.rest(at)).opens(of.rest(at));
        // The next line may begin with a sign.
        let begins = || begins_line(of.before()) || of.before().ends_with(b"? ");
        let waits = || of.is_last() && of.lines_behind().next().is_none() && begins();
        Signed::of(of).map_or_else(waits, |signed| !signed.is_usual || ends(signed.of, signed.at))
            || !of.is_plural
                && (flag_end(of).is_some()
                    || Element::of(of).is_some_and(|element| element.is_last(of))
                    || may_be_paired(text, of.whole)
                    || table::heads_table(of)
                    || sentence::value_start(of).is_some_and(|told| ends(of, told.at)))
    }

    /// Tells whether a name heads a table of which the last line is a row.
    pub(crate) fn is_row(self, text: &[u8], hit: Hit, name: &Name) -> bool {
        self.named(text, hit, name).is_some_and(|of| Signed::of(of).is_none() && table::heads_row(of))
    }

    /// Tells whether a value may stand beside a name in a raw text. Errs on the side of yes.
    pub(crate) fn may_stand_beside(self, raw: &[u8], hit: Hit, name: &Name) -> bool {
        let Some((whole, is_plural)) = self.whole_or_plural(raw, hit) else { return false };
        let before = raw.get(..whole.start).unwrap_or_default();
        if is_bare_word(whole.end - whole.start, name)
            || (self.is_other(raw, hit, whole, name) && !before.ends_with(b"\\"))
        {
            return false;
        }
        let raw = Raw {
            before,
            name: raw.get(whole.start..whole.end).unwrap_or_default(),
            after: raw.get(whole.end..).unwrap_or_default(),
        };
        if is_plural { raw.may_hold_list() } else { raw.may_hold_value(name.spec.said) }
    }

    fn named<'a>(self, text: &'a [u8], hit: Hit, name: &'a Name) -> Option<Named<'a>> {
        let (whole, is_plural) = self.whole_or_plural(text, hit)?;
        let is_none = self.is_other(text, hit, whole, name) || is_bare_word(whole.end - whole.start, name);
        let line = Line::around(text, whole)?;
        let before = text.get(line.start..whole.start)?;
        // A string is a text of its own; the name's own quotes are none.
        let string = after_opening_quote(before)
            .filter(|rest| !rest.is_empty() || before.last() != text.get(whole.end));
        let start = whole.start - string.map_or(before.len(), <[u8]>::len);
        let quote = string.and_then(|_| text.get(..start)?.last().copied());
        (!is_none).then_some(Named { text, whole, name, line: Line { start, ..line }, quote, is_plural })
    }

    /// Returns the name around `hit`, or that of a list in YAML, and whether it is one.
    fn whole_or_plural(self, text: &[u8], hit: Hit) -> Option<(Whole, bool)> {
        if let Some(whole) = self.whole_name(text, hit) {
            return Some((whole, false));
        }
        let is_plural = matches!(text.get(hit.end..)?, [b's' | b'S', b':', ..]);
        let plural = is_plural.then(|| self.whole_name(text, Hit { end: hit.end + 1, ..hit })).flatten();
        plural.map(|whole| (whole, true))
    }

    fn behind_sign(self, Signed { of, form, at, is_usual }: Signed<'_>, found: &mut Vec<(usize, usize)>) {
        let rest = of.rest(at);
        let lead = Lead::of(rest);
        if closes_string(of.text, at + lines::marks(rest, b"")) {
            // The name's string ends: nothing is assigned.
        } else if lead.len == rest.len() {
            let form = if lead.has_quotes { Form::Told } else { form };
            self.on_next_line(of, (at, form), found);
        } else if of.is_plural {
            // Nothing but a list.
        } else if lead.is_block {
            self.in_block(of, found);
        } else if of.rest(of.whole.end).get(..at - of.whole.end).is_some_and(|sign| sign.contains(&b'*')) {
            // `**Password:** hunter2`
            found.extend(self.told(of, at));
        } else if lead.mark != Mark::None
            || (!is_usual && (form != Form::Told || memchr::memmem::find(rest, b"</").is_some()))
        {
            let begin = Begin { at: at + lead.len, is_deeper: true };
            // The string around it may end in the line, too.
            let len = of.quote.and_then(|quote| lines::end_of_string(rest.get(lead.len..)?, quote));
            let end = len.map_or(of.line.end, |len| begin.at + len);
            let form = if lead.mark == Mark::OwnTag { Form::Told } else { form };
            found.extend(self.alone(of, (begin, end), form));
        }
    }

    /// Reads the value that has a line of its own behind the name's, or a list of them.
    fn on_next_line(self, of: Named<'_>, (at, form): (usize, Form), found: &mut Vec<(usize, usize)>) {
        let (mut is_behind_comment, mut lines) = (false, of.lines_behind());
        for _ in 0..=LINES_BETWEEN_MAX {
            let Some(line) = lines.next() else { return };
            let begin = begin_of_value(of, line);
            let rest = of.text.get(begin.at..line.end).unwrap_or_default();
            let lead = Lead::of(rest);
            if rest.starts_with(b"- ") {
                return self.in_list(of, &begin, found);
            }
            if lead.len < rest.len() && !rest.starts_with(b"```") {
                let is_none = of.is_plural || (is_behind_comment && !begin.is_deeper);
                let is_deeper = begin.is_deeper || of.rest(at).ends_with(b"\\");
                let begin = Begin { at: begin.at + lead.len, is_deeper };
                return found.extend(self.alone(of, (begin, line.end), form).filter(|_| !is_none));
            }
            is_behind_comment |= rest.starts_with(b"#");
        }
    }

    /// Reads the items of a list, the first of which begins there.
    fn in_list(self, of: Named<'_>, first: &Begin, found: &mut Vec<(usize, usize)>) {
        let mut column = None;
        for line in of.lines_behind().take(LINES_MAX) {
            let begin = begin_of_value(of, line);
            let rest = of.text.get(begin.at..line.end).unwrap_or_default();
            if Lead::of(rest).len == rest.len() {
                continue;
            }
            let (own, mark) = (begin.at - line.start, lines::marks(rest, b"-"));
            if *column.get_or_insert(own) != own || !rest.starts_with(b"- ") {
                return;
            }
            let begin = Begin { at: begin.at + mark, is_deeper: first.is_deeper };
            found.extend(self.alone(of, (begin, line.end), Form::Told));
        }
    }

    /// Reads a value behind which its line has nothing else.
    fn alone(self, of: Named<'_>, (begin, end): (Begin, usize), form: Form) -> Option<(usize, usize)> {
        let is_flag = form == Form::Flag;
        if let Some((start, last)) = quoted_text(of.text, begin.at) {
            let is_list = of.is_plural || form == Form::Told;
            let test = |values: Values<'r>, value: &[u8]| {
                values.is_said(value) && (!is_list || values.is_told(value))
            };
            return self.counts(of, (start, last), test).filter(|_| last <= end);
        }
        let content = of.text.get(begin.at..end)?.trim_ascii_end();
        let word = content.iter().position(u8::is_ascii_whitespace).unwrap_or(content.len());
        if !is_flag && Lead::of(content.get(word..)?).len < content.len() - word {
            return None;
        }
        let word = content.get(..word)?;
        let closing = [&b"</"[..], b"]]>", b"\"\"\"", b"'''"]
            .iter()
            .filter_map(|mark| memchr::memmem::find(word, mark))
            .min();
        let value = (begin.at, begin.at + closing.unwrap_or(word.len()));
        let test = |values: Values<'r>, value: &[u8]| {
            let after = of.text.get(begin.at + word.len()..).unwrap_or_default();
            let before = of.text.get(..of.whole.start).unwrap_or_default();
            let sign = if is_flag { Sign::Flag } else { Sign::Colon };
            let letters = value.iter().all(u8::is_ascii_alphabetic);
            let is_set = || values.is_said_bare(Bare { value, sign, before, after });
            let has_place = is_flag || (begins_line(before) && (!letters || begin.is_deeper));
            lines::is_word(value)
                && match form {
                    // `PASSWORD=` with nothing behind it sets nothing.
                    Form::Drawn => values.passes(ValueTest::Random, value),
                    Form::Told if of.is_plural => {
                        values.is_told(value) && self.passes(of.name(), of.name, value)
                    }
                    Form::Told => values.is_told(value),
                    Form::Flag | Form::Colon => values.is_told(value) || (has_place && is_set()),
                }
        };
        let place = self.counts(of, lines::without_marks(of.text, value), test);
        place.filter(|_| form != Form::Drawn || begin.is_deeper)
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
        let is_macro = setter == b"#define";
        let is_sure = match setter {
            b"set" | b"SET" => options > 0,
            b"setenv" | b"setx" | b"ENV" | b"config" | b"#define" => true,
            _ => return None,
        };
        let blank = of.rest(of.whole.end).iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let at = of.whole.end + blank;
        if blank == 0 || !before.ends_with(b" ") || closes_string(of.text, at) {
            return None;
        }
        if let Some(place) = quoted_text(of.text, at) {
            return self.counts(of, place, Values::is_said);
        }
        // Without quotes a macro is code.
        if is_macro {
            return None;
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

impl Signed<'_> {
    fn of(of: Named<'_>) -> Option<Signed<'_>> {
        if let Some(at) = sign_end(of) {
            let is_colon = !of.text.get(of.whole.end..at)?.contains(&b'=');
            let form = if is_colon { Form::Colon } else { Form::Drawn };
            return Some(Signed { of, form, at, is_usual: true });
        }
        if let Some(at) = tag_end(of) {
            return Some(Signed { of, form: Form::Told, at, is_usual: false });
        }
        let next = of.lines_behind().next().filter(|_| of.is_last())?;
        let at = begin_of_value(of, next).at;
        let is_sign = matches!(of.text.get(at..next.end)?, [b'=' | b':', b' ' | b'\t', ..]);
        let form = if of.before().ends_with(b"? ") { Form::Colon } else { Form::Drawn };
        let of = Named { line: Line { end: next.end, ..of.line }, ..of };
        is_sign.then_some(Signed { of, form, at: at + 1, is_usual: false })
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

/// Returns where the tag ends that a name opens, or of which it is the `name`; the tag begins its line.
fn tag_end(of: Named<'_>) -> Option<usize> {
    let before = of.before();
    let space = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b':';
    let len = before.iter().rev().take(MARKS_MAX).take_while(space).count();
    let is_tag = before.get(..before.len() - len)?.ends_with(b"<");
    if !is_tag && !may_be_paired(of.text, of.whole) {
        return None;
    }
    let (from, len) = (memchr::memrchr(b'<', before)?, memchr::memchr2(b'>', b'<', of.rest(of.whole.end))?);
    let (rest, before) = (of.rest(of.whole.end + len), before.get(..from)?);
    // Behind a letter stand the arguments of a type, also where the line's number looks like one word with it.
    let is_tag = rest.starts_with(b">") && !before.last().is_some_and(u8::is_ascii_alphabetic);
    (is_tag && begins_line(before)).then_some(of.whole.end + len + 1)
}
