//! What of an answer is not the build's: the clock, chance, and where things are. Each is replaced by a word.
//! Pure: the moments and names to replace come in.

use jiff::Timestamp;
use memchr::memmem;

/// Digits of a number of milliseconds, and of microseconds, since 1970.
const EPOCH_DIGITS: [usize; 2] = [13, 16];

/// An id that a command makes by chance or of the clock: what it begins with, then hexadecimal digits, then letters and digits.
struct Made {
    prefix: &'static str,
    digits: usize,
    symbols: usize,
}

/// Ids that any command may make: of a project's ledger, and of its mark.
const MADE: [Made; 2] = [
    Made { prefix: "project-", digits: 32, symbols: 0 },
    Made { prefix: "\"stored:", digits: 36, symbols: 0 },
];

/// Ids that only a command makes which adds to sessions: of a compaction's summary, behind its moment, and of the records of a
/// session that is placed. Others may look like them.
const ADDED: [Made; 3] = [
    Made { prefix: "summary-<now>-", digits: 16, symbols: 0 },
    Made { prefix: "msg_", digits: 12, symbols: 14 },
    Made { prefix: "prt_", digits: 12, symbols: 14 },
];

/// Symbols of a commit's id.
const COMMIT_SYMBOLS: usize = 26;

/// What is replaced.
#[derive(Debug, Clone)]
pub(super) struct Normal<'a> {
    /// Texts and the words for them, replaced in this order: a path before the folder that it is in.
    pub(super) names: &'a [(String, &'static str)],
    /// When the build was asked first. No transcript is from then on.
    pub(super) since: Timestamp,
    /// When the answer was complete.
    pub(super) until: Timestamp,
    /// The commits that were there before; ids of others hold a moment. None: no commit is new.
    pub(super) known: Option<&'a [String]>,
}

/// How many bytes go, and what comes for them.
type Replaced = (usize, Vec<u8>);

/// Says what comes for a needle. It is given the byte before it, and all bytes from it on.
type Replace<'a> = &'a mut dyn FnMut(Option<u8>, &[u8]) -> Option<Replaced>;

impl Normal<'_> {
    /// Replaces all of it.
    pub(super) fn apply(&self, mut bytes: Vec<u8>) -> Vec<u8> {
        for (name, word) in self.names {
            bytes =
                replaced(&bytes, name.as_bytes(), &mut |_, _| Some((name.len(), word.as_bytes().to_vec())));
        }
        for day in self.days() {
            bytes = replaced(&bytes, day.as_bytes(), &mut |_, rest| self.moment(rest));
        }
        let (first, last) =
            (self.since.as_millisecond().to_string(), self.until.as_millisecond().to_string());
        let shared = first.bytes().zip(last.bytes()).take_while(|(first, last)| first == last).count();
        if let Some(start) = first.get(..shared).filter(|start| !start.is_empty()) {
            bytes = replaced(&bytes, start.as_bytes(), &mut |before, rest| self.number(before, rest));
        }
        let took = br#""elapsed_ms": "#;
        bytes = replaced(&bytes, took, &mut |_, rest| {
            let digits = rest.get(took.len()..)?.iter().take_while(|byte| byte.is_ascii_digit()).count();
            Some((took.len() + digits, b"\"elapsed_ms\": 0".to_vec()))
        });
        for made in MADE {
            bytes = numbered(&bytes, made.prefix, |id| made.length(id));
        }
        let Some(known) = self.known else { return bytes };
        for made in ADDED {
            bytes = numbered(&bytes, made.prefix, |id| made.length(id));
        }
        numbered(&bytes, "ctx-", |id| new_commit(id, known))
    }

    /// Returns the days of UTC on which the build was asked, as moments begin with them.
    fn days(&self) -> Vec<String> {
        let day = |at: Timestamp| format!("{}T", at.strftime("%Y-%m-%d"));
        let mut days = vec![day(self.since), day(self.until)];
        days.dedup();
        days
    }

    /// Reads a moment as `2026-02-01T10:20:30.5Z`, in names of files also with `-` for the colons and the dot.
    fn moment(&self, rest: &[u8]) -> Option<Replaced> {
        let text = std::str::from_utf8(rest.get(..19)?).ok()?;
        let (day, time) = text.split_once('T')?;
        let read = format!("{day}T{}Z", time.replace('-', ":")).parse::<Timestamp>().ok()?;
        // A moment without a fraction is up to a second earlier than it was.
        if read.as_second() < self.since.as_second() || read.as_second() > self.until.as_second() {
            return None;
        }
        let fraction = rest.get(19..)?.strip_prefix(b".").or_else(|| rest.get(19..)?.strip_prefix(b"-"));
        let digits =
            fraction.map_or(0, |digits| digits.iter().take_while(|byte| byte.is_ascii_digit()).count());
        let mut length = if digits == 0 { 19 } else { 20 + digits };
        length += usize::from(rest.get(length) == Some(&b'Z'));
        Some((length, b"<now>".to_vec()))
    }

    /// Reads a moment as a number since 1970.
    fn number(&self, before: Option<u8>, rest: &[u8]) -> Option<Replaced> {
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if before.is_some_and(|byte| byte.is_ascii_digit()) || !EPOCH_DIGITS.contains(&digits) {
            return None;
        }
        let milliseconds: i64 = std::str::from_utf8(rest.get(..EPOCH_DIGITS[0])?).ok()?.parse().ok()?;
        let within = self.since.as_millisecond()..=self.until.as_millisecond();
        within.contains(&milliseconds).then(|| (digits, b"<now>".to_vec()))
    }
}

/// Replaces where a needle stands and `what` says so.
fn replaced(bytes: &[u8], needle: &[u8], what: Replace<'_>) -> Vec<u8> {
    let mut done = Vec::with_capacity(bytes.len());
    let mut from = 0;
    for at in memmem::find_iter(bytes, needle) {
        // Behind what was replaced: a needle may stand within it.
        let (Some(between), Some(rest)) = (bytes.get(from..at), bytes.get(at..)) else { continue };
        let before = at.checked_sub(1).and_then(|at| bytes.get(at)).copied();
        if let Some((length, word)) = what(before, rest) {
            done.extend_from_slice(between);
            done.extend(word);
            from = at + length;
        }
    }
    done.extend_from_slice(bytes.get(from..).unwrap_or_default());
    done
}

/// Replaces ids behind a prefix by numbers, the same id by the same one, in the order in which they come: so it still shows
/// which of them are equal. `length` says how long the id is, where there is one to replace.
fn numbered(bytes: &[u8], prefix: &str, length: impl Fn(&[u8]) -> Option<usize>) -> Vec<u8> {
    let mut seen: Vec<Vec<u8>> = Vec::new();
    replaced(bytes, prefix.as_bytes(), &mut |_, rest| {
        let id = rest.get(prefix.len()..)?;
        let id = id.get(..length(id)?)?;
        let number = seen.iter().position(|known| known == id).unwrap_or_else(|| {
            seen.push(id.to_vec());
            seen.len() - 1
        });
        Some((prefix.len() + id.len(), format!("{prefix}<{}>", number + 1).into_bytes()))
    })
}

impl Made {
    /// Returns the length of such an id, where one comes.
    fn length(&self, id: &[u8]) -> Option<usize> {
        let (digits, symbols) = id.get(..self.digits + self.symbols)?.split_at(self.digits);
        let is_digit = |byte: &u8| byte.is_ascii_hexdigit() || *byte == b'-';
        let is_one = digits.iter().all(is_digit) && symbols.iter().all(u8::is_ascii_alphanumeric);
        is_one.then_some(self.digits + self.symbols)
    }
}

/// Returns the length of a whole id of a commit that is not known.
fn new_commit(id: &[u8], known: &[String]) -> Option<usize> {
    let is_symbol = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let id = id.get(..COMMIT_SYMBOLS).filter(|id| id.iter().all(is_symbol))?;
    let is_known =
        known.iter().any(|known| known.strip_prefix("ctx-").is_some_and(|known| known.as_bytes() == id));
    (!is_known).then_some(COMMIT_SYMBOLS)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: &str = "ctx-gbdwq90a95f6tzgmw5zrkaahy8";

    fn apply(text: &str, known: Option<&[String]>) -> String {
        let names = [("/tmp/lane-0/turns".to_owned(), "<home>"), ("/tmp/lane-0".to_owned(), "<lane>")];
        let moment = |text: &str| text.parse::<Timestamp>().unwrap();
        let (since, until) = (moment("2026-02-28T23:59:58.25Z"), moment("2026-03-01T00:00:07Z"));
        let bytes = Normal { names: &names, since, until, known }.apply(text.as_bytes().to_vec());
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn moments_of_the_run_are_replaced_however_they_are_written() {
        for text in [
            "2026-02-28T23:59:58.250000Z",
            "2026-02-28T23:59:58Z",
            "2026-03-01T00:00:07Z",
            "2026-03-01T00:00:03.123Z",
            "2026-03-01T00-00-03-123Z",
            "2026-03-01T00-00-03",
            "1772323200000",
            "1772323203123456",
        ] {
            assert_eq!(apply(&format!("at \"{text}\", then"), None), "at \"<now>\", then");
        }
    }

    #[test]
    fn other_moments_and_numbers_stay() {
        for text in [
            "2026-02-28T23:59:57.999Z",
            "2026-03-01T00:00:08Z",
            "2026-03-01",
            "2026-03-01T",
            "2026-03-01T00:00",
            "2026-03-01Tea:at:ten",
            "1772323209999",
            "17723232000001",
            "91772323200000",
            "1772323200",
        ] {
            assert_eq!(apply(text, None), text);
        }
    }

    #[test]
    fn a_folder_within_another_has_its_own_name() {
        assert_eq!(
            apply("/tmp/lane-0/turns/work /tmp/lane-0/x /tmp/lane-1", None),
            "<home>/work <lane>/x /tmp/lane-1"
        );
    }

    #[test]
    fn ids_by_chance_become_numbers_that_still_show_which_are_equal() {
        let (one, two) = ("6ce27ebcdd11fad2292a8d4e032a6e5f", "2306c38c47cd607d45af680bd767fe5e");
        assert_eq!(
            apply(&format!("project-{one} project-{two} project-{one} project-plan"), None),
            "project-<1> project-<2> project-<1> project-plan"
        );
        assert_eq!(apply("\"stored:c40da62f-0676-47bf-94d3-0494a1c4160e\"", None), "\"stored:<1>\"");
        assert_eq!(
            apply(r#"{"elapsed_ms": 1709, "took_ms": 3}"#, None),
            r#"{"elapsed_ms": 0, "took_ms": 3}"#
        );
    }

    #[test]
    fn only_commits_that_were_not_there_before_become_numbers() {
        let new = "ctx-sew8zmrx6b0wpsr8k5be02144g";
        let summary = "summary-1772323200000-f4c2892e6fbc0980";
        let records = "msg_220253d72000yzOkLfUS2PKk6O msg_01CMGuW2P1JzPATgNYJBzsEU";
        let text = format!("{KNOWN} {new} ctx-short {new} {summary} {records}");
        assert_eq!(
            apply(&text, Some(&[KNOWN.to_owned()])),
            format!(
                "{KNOWN} ctx-<1> ctx-short ctx-<1> summary-<now>-<1> msg_<1> msg_01CMGuW2P1JzPATgNYJBzsEU"
            )
        );
        assert_eq!(apply(&format!("{KNOWN} {new}"), None), format!("{KNOWN} {new}"));
    }

    #[test]
    fn bytes_that_are_no_text_stay() {
        let bytes = vec![0xff, b'2', 0, 0xfe, b'c', b't', b'x', b'-'];
        let at = Timestamp::UNIX_EPOCH;
        let normal = Normal { names: &[], since: at, until: at, known: Some(&[]) };
        assert_eq!(normal.apply(bytes.clone()), bytes);
    }
}
