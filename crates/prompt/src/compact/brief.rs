//! The brief: what a client's own summary is likely to lose, for its agent to read beside that summary.
//!
//! Facts in, text out: the facts are a summary's and a memory's own. Nothing is read or kept here.

use stemmata_model::quote;

use crate::compact::summary::Facts;
use crate::reduce::memory::SessionMemory;
use crate::reduce::memory::v1::Decision;

/// The most UTF-16 units that clients take from a hook; they cut or refuse what is longer.
pub const BRIEF_UNITS_MAX: usize = 10_000;

/// Lines of one part.
pub const BRIEF_LINES_MAX: usize = 40;

/// Characters of one line.
pub const BRIEF_LINE_CHARS_MAX: usize = 600;

/// The parts with their titles, the most useful first, and the thousandths of the text that each has for sure. What a part
/// does not need goes to the others, in this order.
const PARTS: [(&str, usize); 8] = [
    ("Tasks that were open:", 150),
    ("Pinned:", 120),
    ("What users demanded or forbade, the newest first:", 200),
    ("Decisions, the newest first:", 180),
    ("Files that were changed, and how last:", 150),
    ("What failed and was not resolved:", 80),
    ("Notes, the newest first:", 80),
    ("The last summary:", 40),
];

/// What is told, a line each, the best of each part first. Every line was written by somebody else.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Brief {
    /// Tasks that are not done.
    pub tasks: Vec<String>,
    /// Commits that somebody pinned.
    pub pins: Vec<String>,
    /// Sentences of users that demand or forbid something.
    pub constraints: Vec<String>,
    /// Decisions that nothing replaced.
    pub decisions: Vec<String>,
    /// Files that were changed.
    pub files: Vec<String>,
    /// Commands and tools that failed, and did not go well since.
    pub failures: Vec<String>,
    /// Notes.
    pub notes: Vec<String>,
    /// The last summary that somebody gave.
    pub summary: Vec<String>,
}

impl Brief {
    /// Returns what a conversation itself says; pins, notes and summaries are said about it. The memory's ordinals are the
    /// numbers of entries.
    pub fn of(facts: Facts, memory: &SessionMemory) -> Self {
        let Facts { mut constraints, mut tasks, mut files } = facts;
        let items = memory.items();
        let stands = |decision: &&Decision| decision.superseded.is_none();
        let told_already = |text: &str| constraints.iter().any(|line| line.contains(text));
        let decisions = items.decisions.iter().rev().filter(stands);
        let decisions = decisions.filter(|decision| !told_already(&decision.text)).map(|decision| {
            let reason = decision.reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default();
            format!("@{} {}{reason}", decision.proof.ordinal, decision.text)
        });
        let mut decisions: Vec<String> = decisions.collect();
        let failures = items.errors.iter().rev().filter(|failure| failure.is_open());
        let mut failures: Vec<String> =
            failures.map(|failure| format!("@{} {}", failure.last.ordinal, failure.describe())).collect();
        for lines in [&mut constraints, &mut tasks, &mut files, &mut decisions, &mut failures] {
            lines.truncate(BRIEF_LINES_MAX);
            for line in lines {
                *line = quote::one_line_within(line, BRIEF_LINE_CHARS_MAX);
            }
        }
        Self { tasks, constraints, decisions, files, failures, ..Self::default() }
    }

    /// Returns whether there is nothing to tell.
    pub fn is_empty(&self) -> bool {
        self.parts().iter().all(|lines| lines.is_empty())
    }

    /// Renders the brief between two texts of the caller's, [`BRIEF_UNITS_MAX`] in all where these leave room. Each line is
    /// quoted; lines that do not fit are counted.
    pub fn render(&self, head: &str, end: &str) -> String {
        let room = BRIEF_UNITS_MAX.saturating_sub(units(head) + units(end));
        let parts = self.parts().map(|lines| {
            let lines = lines.iter().take(BRIEF_LINES_MAX);
            lines
                .map(|line| format!("> {}\n", quote::one_line_within(line, BRIEF_LINE_CHARS_MAX)))
                .collect::<Vec<_>>()
        });
        let wanted: Vec<usize> =
            parts.iter().zip(PARTS).map(|(lines, (title, _))| wanted(title, lines)).collect();
        let shares = PARTS.iter().map(|(_, share)| room * share / 1_000);
        let mut given: Vec<usize> = wanted.iter().zip(shares).map(|(want, share)| share.min(*want)).collect();
        let mut left = room.saturating_sub(given.iter().sum());
        for (given, want) in given.iter_mut().zip(&wanted) {
            let more = (want - *given).min(left);
            *given += more;
            left -= more;
        }
        let mut text = head.to_owned();
        for ((lines, (title, _)), given) in parts.iter().zip(PARTS).zip(given) {
            part(&mut text, (title, lines), given);
        }
        text.push_str(end);
        text
    }

    const fn parts(&self) -> [&Vec<String>; 8] {
        [
            &self.tasks,
            &self.pins,
            &self.constraints,
            &self.decisions,
            &self.files,
            &self.failures,
            &self.notes,
            &self.summary,
        ]
    }
}

/// Returns the units of a part with all its lines.
fn wanted(title: &str, lines: &[String]) -> usize {
    if lines.is_empty() {
        0
    } else {
        heading(title).len() + lines.iter().map(|line| units(line)).sum::<usize>()
    }
}

fn heading(title: &str) -> String {
    format!("\n{title}\n")
}

/// Adds the lines of a part that fit into so many units, with its title; none where not one of them does.
fn part(text: &mut String, (title, lines): (&str, &[String]), units_max: usize) {
    let more = |left: usize| format!("({left} more do not fit)\n");
    let mut shown = heading(title);
    let mut used = units(&shown);
    for (index, line) in lines.iter().enumerate() {
        let rest = if index + 1 == lines.len() { 0 } else { more(lines.len()).len() };
        if used + units(line) + rest > units_max {
            let left = more(lines.len() - index);
            if used + left.len() > units_max {
                return;
            }
            shown.push_str(&left);
            break;
        }
        used += units(line);
        shown.push_str(line);
    }
    if !lines.is_empty() {
        text.push_str(&shown);
    }
}

fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use stemmata_model::SessionId;

    use super::*;

    fn items() -> impl Strategy<Value = Vec<String>> {
        let item = ("(\\PC|\n|\u{202e}|😀){0,6}", 0_usize..200).prop_map(|(text, times)| text.repeat(times));
        proptest::collection::vec(item, 0..60)
    }

    proptest! {
        #[test]
        fn a_brief_fits_and_what_is_foreign_is_quoted(lists in proptest::array::uniform8(items())) {
            let [tasks, pins, constraints, decisions, files, failures, notes, summary] = lists;
            let brief = Brief { tasks, pins, constraints, decisions, files, failures, notes, summary };
            let text = brief.render("Head.\n", "End.\n");
            prop_assert!(units(&text) <= BRIEF_UNITS_MAX);
            prop_assert!(text.starts_with("Head.\n") && text.ends_with("End.\n"));
            for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with("> ")) {
                let is_ours = line.ends_with(" more do not fit)")
                    || ["Head.", "End."].contains(&line)
                    || PARTS.iter().any(|(title, _)| *title == line);
                prop_assert!(is_ours, "{}", line);
            }
            prop_assert!(!text.contains('\u{202e}'), "nothing hidden reaches the agent");
            prop_assert_eq!(brief.render("Head.\n", "End.\n"), text, "the same facts, the same text");
        }

        #[test]
        fn no_part_starves_and_the_room_is_used(longs in 1_usize..8) {
            let full = vec!["word ".repeat(60); BRIEF_LINES_MAX];
            let lists: [Vec<String>; 8] =
                std::array::from_fn(|at| if at <= longs { full.clone() } else { vec!["short".to_owned()] });
            let [tasks, pins, constraints, decisions, files, failures, notes, summary] = lists;
            let brief = Brief { tasks, pins, constraints, decisions, files, failures, notes, summary };
            let text = brief.render("", "");
            for (title, _) in PARTS {
                prop_assert!(text.contains(&heading(title)), "{title} is not in {text}");
            }
            prop_assert!(units(&text) > BRIEF_UNITS_MAX - 8 * 340, "{}", units(&text));
        }
    }

    #[test]
    fn characters_of_two_units_count_twice_and_the_bytes_stay_bounded() {
        for wide in ["😀", "𝄞", "語", "é", "x"] {
            let list = || vec![wide.repeat(BRIEF_LINE_CHARS_MAX * 2); BRIEF_LINES_MAX];
            let brief = Brief { tasks: list(), decisions: list(), notes: list(), ..Brief::default() };
            let text = brief.render("Head.\n", "End.\n");
            let used = units(&text);
            assert!(used <= BRIEF_UNITS_MAX && used > BRIEF_UNITS_MAX * 8 / 10, "{wide}: {used}");
            // A unit is three bytes at most.
            assert!(text.len() <= 3 * BRIEF_UNITS_MAX, "{wide}: {}", text.len());
            assert!(text.ends_with("End.\n"), "{wide}");
        }
    }

    #[test]
    fn a_brief_of_nothing_is_empty() {
        let session = SessionId::new("s").expect("a name");
        let brief = Brief::of(Facts::default(), &SessionMemory::new(&session, None));
        assert!(brief.is_empty());
        assert_eq!(brief.render("a", "b"), "ab");
        let notes = Brief { notes: vec!["Use\nport 81".to_owned()], ..Brief::default() };
        assert_eq!(notes.render("", "."), "\nNotes, the newest first:\n> Use port 81\n.");
    }
}
