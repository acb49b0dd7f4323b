//! Markdown that somebody said, made safe to stand in a document: no HTML outside of code, and no fence left open.
//!
//! Where it cannot be told without all of `CommonMark` whether something is code (behind backticks that nothing closes on
//! their line, in blocks of lists), it counts as none: an escaped `<` in code is ugly, a tag of somebody's on a page is
//! worse.

/// Quotes within quotes that are looked into; deeper ones have no code.
const QUOTES_MAX: usize = 8;

/// Spaces ahead of a line from which on it may be code by that alone.
const DEEP: usize = 4;

/// Returns a text with a fence that it leaves open closed and without HTML.
pub(super) fn contained(text: &str) -> String {
    // Each of the three is the end of a line.
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut writer = Writer { quotes_left: QUOTES_MAX, ..Writer::default() };
    writer.lines(&text);
    writer.out
}

/// A fence that is open.
struct Fence {
    /// Its own marks.
    marks: String,
    /// Spaces ahead of it: a line with fewer ends the list that it may be in, and so the fence.
    indent: usize,
    /// Whether it is one wherever it stands, so that what is in it is code.
    is_certain: bool,
}

#[derive(Default)]
struct Writer {
    out: String,
    open: Option<Fence>,
    /// Whether a line stands right before that is not blank.
    has_before: bool,
    /// Whether backticks stand before in the paragraph that nothing on their line closed.
    is_doubtful: bool,
    quotes_left: usize,
}

impl Writer {
    fn lines(&mut self, text: &str) {
        let mut lines = text.split_inclusive('\n').peekable();
        while let Some(line) = lines.next() {
            if self.is_inside(line) {
                continue;
            }
            if let Some(mut quoted) = quote_of(line) {
                while let Some(more) = lines.peek().and_then(|line| quote_of(line)) {
                    quoted.push_str(&more);
                    lines.next();
                }
                self.quote(&quoted);
            } else {
                self.outside(line);
            }
        }
        if self.open.as_ref().is_some_and(|fence| fence.is_certain) {
            self.close(true);
            self.out.pop();
        }
    }

    /// Takes a line of the fence that is open; returns false where none is, or where this line ends it.
    fn is_inside(&mut self, line: &str) -> bool {
        let Some(fence) = &self.open else { return false };
        if is_blank(line) {
            self.out.push_str(line);
            return true;
        }
        let (indent, start) = indent_of(line);
        if indent < fence.indent {
            self.close(indent == 0);
            return false;
        }
        let is_end = fence_of(start)
            .is_some_and(|(marks, rest)| marks.starts_with(fence.marks.as_str()) && is_blank(rest));
        // At the top nothing so deep ends a fence; in a list it may.
        let is_end = is_end && (indent < DEEP || fence.indent > 0);
        if is_end && indent >= DEEP {
            self.out.push_str(&" ".repeat(fence.indent));
            self.out.push_str(start);
        } else if fence.is_certain {
            self.out.push_str(line);
        } else {
            escape(line, &mut self.out);
        }
        if is_end {
            self.is_doubtful = !fence.is_certain;
            self.has_before = false;
            self.open = None;
        }
        true
    }

    fn outside(&mut self, line: &str) {
        let has_before = std::mem::replace(&mut self.has_before, !is_blank(line));
        if is_blank(line) {
            self.is_doubtful = false;
            return self.out.push_str(line);
        }
        let (indent, item) = indent_of(line);
        let (marker, start) = marker_of(item);
        let inner = start.trim_start_matches(['>', ' ', '\t']);
        if fence_of(inner).is_some() && (inner != start || (has_before && goes_on(item))) {
            // A quote in a list, or what may be no list at all: it is no fence.
            let head = line.strip_suffix(inner).unwrap_or_default();
            self.is_doubtful = true;
            self.out.push_str(head);
            self.out.push('\\');
            return escape(inner, &mut self.out);
        }
        // What stands behind an opening fence of backticks has none, or it is no fence.
        let fence = fence_of(start).filter(|(marks, rest)| !(marks.starts_with('`') && rest.contains('`')));
        let Some((marks, rest)) = fence else { return self.paragraph(line) };
        let is_certain = marker == 0 && indent < DEEP;
        self.open = Some(Fence { marks: marks.to_owned(), indent: indent + marker, is_certain });
        if marker == 0 {
            self.out.push_str(line.strip_suffix(start).unwrap_or_default());
        } else {
            let head = line.strip_suffix(start).unwrap_or_default().trim_start_matches([' ', '\t']);
            // How far a tab goes depends on where it stands.
            self.out.push_str(&" ".repeat(indent));
            self.out.push_str(&head.replace('\t', " "));
        }
        self.out.push_str(marks);
        if is_certain {
            self.out.push_str(rest);
        } else {
            escape(rest, &mut self.out);
        }
    }

    /// Closes what is open, where it stands: at another place it would open a fence. At the start of a line all lists end,
    /// and what is open in them.
    fn close(&mut self, ends_lists: bool) {
        let Some(fence) = self.open.take() else { return };
        self.is_doubtful = !fence.is_certain;
        self.has_before = false;
        if ends_lists && !fence.is_certain {
            return;
        }
        if !self.out.is_empty() && !self.out.ends_with('\n') {
            self.out.push('\n');
        }
        self.out.push_str(&" ".repeat(fence.indent));
        self.out.push_str(&fence.marks);
        self.out.push('\n');
    }

    /// Writes a quote within: what it begins ends with it.
    fn quote(&mut self, text: &str) {
        let Some(quotes_left) = self.quotes_left.checked_sub(1) else {
            for line in text.split_inclusive('\n') {
                self.out.push_str("> ");
                escape(line, &mut self.out);
            }
            self.is_doubtful = true;
            return;
        };
        let mut inner = Self { quotes_left, ..Self::default() };
        inner.lines(text);
        // A line may have come that closes something: it is the quote's too.
        for line in inner.out.split_inclusive('\n') {
            self.out.push_str("> ");
            self.out.push_str(line);
        }
        if text.ends_with('\n') && !self.out.ends_with('\n') {
            self.out.push('\n');
        }
        // A paragraph of it goes on in a line without its mark.
        self.is_doubtful = inner.is_doubtful;
        self.has_before = inner.has_before;
    }

    /// Writes a line outside of fences: a tag in it would be one of the page that it is shown on. Code within it stays.
    fn paragraph(&mut self, line: &str) {
        if self.is_doubtful {
            return escape(line, &mut self.out);
        }
        let mut rest = line;
        while let Some(at) = rest.find(['`', '<', '\\']) {
            let (before, from) = rest.split_at(at);
            self.out.push_str(before);
            let taken = match from.as_bytes().first() {
                Some(b'`') => match code_span(from) {
                    // In a table each cell is by itself, and what parts them does so within code as well.
                    Ok(span) if from.get(..span).is_some_and(|code| code.contains('|')) => {
                        escape(from.get(..span).unwrap_or_default(), &mut self.out);
                        rest = from.get(span..).unwrap_or_default();
                        continue;
                    }
                    Ok(span) => span,
                    Err(marks) => {
                        self.is_doubtful = true;
                        marks
                    }
                },
                Some(b'<') => {
                    self.out.push('\\');
                    1
                }
                // What is escaped already stays so.
                _ => 1 + from.chars().nth(1).map_or(0, char::len_utf8),
            };
            let (taken, after) = from.split_at(taken);
            self.out.push_str(taken);
            rest = after;
        }
        self.out.push_str(rest);
    }
}

/// Appends a text without HTML, and without code.
fn escape(text: &str, out: &mut String) {
    let mut is_escaped = false;
    for character in text.chars() {
        if character == '<' && !is_escaped {
            out.push('\\');
        }
        out.push(character);
        is_escaped = character == '\\' && !is_escaped;
    }
}

fn is_blank(line: &str) -> bool {
    line.bytes().all(|byte| matches!(byte, b' ' | b'\t' | b'\n'))
}

/// Returns how far in a line begins, a tab going on to the next of every four columns, and what begins there.
fn indent_of(line: &str) -> (usize, &str) {
    let start = line.trim_start_matches([' ', '\t']);
    let ahead = line.bytes().take(line.len() - start.len());
    let columns =
        ahead.fold(0, |columns, byte| if byte == b'\t' { columns / DEEP * DEEP + DEEP } else { columns + 1 });
    (columns, start)
}

/// Returns the columns of what begins items of a list, one in another, and what stands behind. A tab counts as a space.
fn marker_of(start: &str) -> (usize, &str) {
    let (mut columns, mut rest) = (0, start);
    loop {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let mark = rest.get(digits..).unwrap_or_default();
        let is_item = mark.starts_with(if digits == 0 { &['-', '+', '*'][..] } else { &['.', ')'] });
        let behind = mark.get(1..).filter(|behind| is_item && behind.starts_with([' ', '\t']));
        let Some(behind) = behind else { return (columns, rest) };
        rest = behind.trim_start_matches([' ', '\t']);
        columns += digits + 1 + (behind.len() - rest.len());
    }
}

/// Returns whether what looks like an item of a numbered list may go on a paragraph instead: one that is not the first.
fn goes_on(item: &str) -> bool {
    let digits = item.bytes().take_while(u8::is_ascii_digit).count();
    digits > 0 && item.get(..digits) != Some("1")
}

/// Returns what a line quotes, none where it is no quote. White space ahead of it is spaces from then on: how far a tab
/// goes depends on where it stands.
fn quote_of(line: &str) -> Option<String> {
    let start = line.trim_start_matches(' ');
    let rest = start.strip_prefix('>').filter(|_| line.len() - start.len() < DEEP)?;
    let (columns, start) = indent_of(rest.strip_prefix(' ').unwrap_or(rest));
    Some(format!("{}{start}", " ".repeat(columns)))
}

/// Returns the marks of a fence, and what stands behind them.
fn fence_of(start: &str) -> Option<(&str, &str)> {
    ['`', '~'].into_iter().find_map(|mark| {
        let length = start.len() - start.trim_start_matches(mark).len();
        (length >= 3).then(|| start.split_at_checked(length)).flatten()
    })
}

/// Returns the bytes of the code that a text begins with, or, of backticks that nothing closes, theirs.
fn code_span(text: &str) -> Result<usize, usize> {
    let run = |text: &str| text.len() - text.trim_start_matches('`').len();
    let marks = run(text);
    let mut at = marks;
    while let Some(next) = text.get(at..).and_then(|rest| rest.find('`')) {
        let found = run(text.get(at + next..).unwrap_or_default());
        at += next + found;
        if found == marks {
            return Ok(at);
        }
    }
    Err(marks)
}
