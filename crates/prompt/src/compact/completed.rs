//! A model's summary above the one that no model made. Asks the model, checks what it says, and does without it where it fails.

use stemmata_model::{Entry, Estimate, Tokens};

use super::check::{Dropped, Known, checked, not_copied};
use super::summarizer::{SummarizeError, Summarizer, SummaryAsked, SummaryOf};
use super::summary::{Limits, Size, Summary, Window, compose, root};
use crate::window::{NextSummary, Progress, summary_input};

/// The share of a summary that a model may write, in thousandths; the rest is the record.
const MODEL_PERMILLE: u64 = 300;
/// Characters that the estimate takes for a token.
const CHARS_A_TOKEN: u64 = 4;

/// A summary of which a model wrote a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completed {
    /// The text: a heading, what the model wrote and may be used of it, and the record.
    pub text: String,
    /// Whether a part of it is the model's.
    pub is_by_model: bool,
    /// Why the model's answers could not be used, one for each that was asked for in vain.
    pub failures: Vec<SummarizeError>,
    /// Sentences of the answer that are not used.
    pub dropped: Vec<Dropped>,
    /// Entries that the model was not shown, since its window is too small; the record knows them.
    pub unseen: usize,
}

/// Writes the summary of `entries[..window.recent_from]` with a model. `entries` are those that `window` counts.
///
/// What a model says is checked against what the entries say; what it leaves out, the record below it has. After three
/// answers that cannot be used there is the record alone, and after an error of the model's client at once: the client has
/// tried several times by then.
pub fn completed(
    model: &dyn Summarizer,
    entries: &[Entry],
    window: &Window<'_>,
    limits: &Limits,
) -> Completed {
    let record = compose(window, limits);
    let compacted = entries.get(..window.recent_from).unwrap_or(entries);
    let shown = summary_input(compacted, window.numbers, model.window_tokens().map(Tokens), &Estimate);
    let chars_max = usize::try_from(record.chars_max * MODEL_PERMILLE / 1_000).unwrap_or(usize::MAX);
    let focus = Some(limits.focus.as_str()).filter(|focus| !focus.trim().is_empty());
    let asked = SummaryAsked {
        of: SummaryOf::Conversation,
        block: &record.text,
        conversation: &shown.text,
        focus,
        chars_max,
    };
    let known = Known { entries: compacted, numbers: window.numbers, root: root(entries) };
    let mut progress = Progress::default();
    let mut failures = Vec::new();
    while progress.next_summary() == NextSummary::Llm && !record.text.is_empty() {
        let answer = model.summarize(&asked);
        // The client made its own attempts: another one now would end as they did.
        let is_final = matches!(answer, Err(SummarizeError::Failed { .. } | SummarizeError::TooLong { .. }));
        let usable = |answer: String| {
            not_copied(&answer, &shown.text)?;
            checked(&answer, &known, chars_max)
        };
        match answer.and_then(usable) {
            Ok(said) => {
                if let Some(text) = above(&said.text, &record, (window, limits)) {
                    let (is_by_model, dropped, unseen) = (true, said.dropped, shown.left_out);
                    return Completed { text, is_by_model, failures, dropped, unseen };
                }
                let reason = "so small a summary has no room for the model's".to_owned();
                failures.push(SummarizeError::Failed { reason });
                break;
            }
            Err(error) => failures.push(error),
        }
        if is_final {
            break;
        }
        progress.summarizer_failed();
    }
    Completed { text: record.text, is_by_model: false, failures, dropped: Vec::new(), unseen: shown.left_out }
}

/// Puts what a model said below the heading, above a record that leaves room for it. None where that has no room for its heading.
fn above(said: &str, record: &Summary, (window, limits): (&Window<'_>, &Limits)) -> Option<String> {
    let said_chars = said.chars().count() as u64 + 1;
    let left = Tokens(record.chars_max.saturating_sub(said_chars) / CHARS_A_TOKEN);
    let record = compose(window, &Limits { size: Size::Tokens(left), ..limits.clone() });
    let (heading, lines) = record.text.split_at(record.heading_bytes);
    (!heading.is_empty()).then(|| format!("{heading}{said}\n{lines}"))
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use proptest::prelude::*;
    use stemmata_model::{EntryId, Part, Role, TokenCounter as _};

    use super::*;
    use crate::compact::summary::count;
    use crate::window::SUMMARY_PREFIX;

    /// A model that gives these answers, the last one again and again, and remembers what it was asked.
    struct Scripted {
        answers: Mutex<Vec<Result<String, SummarizeError>>>,
        asked: Mutex<Vec<String>>,
    }

    impl Scripted {
        fn of(answers: &[Result<&str, SummarizeError>]) -> Self {
            let answers = answers.iter().rev().map(|answer| answer.clone().map(str::to_owned)).collect();
            Self { answers: Mutex::new(answers), asked: Mutex::default() }
        }

        fn times(&self) -> usize {
            self.asked.lock().expect("no panic").len()
        }
    }

    impl Summarizer for Scripted {
        fn name(&self) -> &'static str {
            "scripted"
        }

        fn window_tokens(&self) -> Option<u64> {
            None
        }

        fn summarize(&self, asked: &SummaryAsked<'_>) -> Result<String, SummarizeError> {
            let mut seen = self.asked.lock().expect("no panic");
            seen.push(format!("{}\n{:?}", asked.conversation, asked.focus));
            let mut answers = self.answers.lock().expect("no panic");
            if answers.len() > 1 { answers.pop().expect("one") } else { answers.last().expect("one").clone() }
        }
    }

    fn conversation() -> Vec<Entry> {
        let said = |at: usize, role, text: String| {
            Entry::said(EntryId::new(format!("e{at}")).expect("a name"), role, vec![Part::Text(text)])
        };
        let turn = |at: usize| {
            let ask = format!("Mend parse_query_{at} in src/lex_{at}.rs, and never touch Cargo.lock.");
            let answer =
                format!("I mended parse_query_{at} in src/lex_{at}.rs. {}", "It went well. ".repeat(30));
            [said(2 * at, Role::User, ask), said(2 * at + 1, Role::Assistant, answer)]
        };
        (0..12).flat_map(turn).collect()
    }

    fn asked(model: &Scripted, focus: &str) -> (Completed, Summary) {
        let entries = conversation();
        let counted = count(&entries);
        let limits = Limits { focus: focus.to_owned(), ..Limits::default() };
        let numbers: Vec<u64> = (1..=24).collect();
        let window = Window {
            entries: &counted,
            recent_from: 20,
            pins: &[],
            numbers: &numbers,
            commit: Some("ctx-0"),
        };
        (completed(model, &entries, &window, &limits), compose(&window, &limits))
    }

    #[test]
    fn a_model_s_summary_is_checked_and_the_record_completes_it() {
        let model = Scripted::of(&[Ok(
            "Goal: mend parse_query_3. It also rewrote parse_other_9.\nNext steps: none.",
        )]);
        let (made, record) = asked(&model, "parse_query_3");
        assert!(made.is_by_model && made.failures.is_empty() && model.times() == 1);
        assert!(made.text.starts_with(SUMMARY_PREFIX) && made.text.matches(SUMMARY_PREFIX).count() == 1);
        assert!(
            made.text.contains("\nGoal: mend parse_query_3.") && made.text.contains("## User"),
            "{}",
            made.text
        );
        assert!(!made.text.contains("parse_other_9"));
        assert_eq!(made.dropped.len(), 1);
        assert!(made.text.chars().count() as u64 <= record.chars_max, "the model's part is within the size");
        let seen = model.asked.lock().expect("no panic").join("");
        assert!(
            seen.contains("@1 [User]: Mend parse_query_0") && seen.contains("Some(\"parse_query_3\")"),
            "{seen}"
        );
        assert!(!seen.contains("parse_query_11"), "what is kept is not summarized");
    }

    #[test]
    fn after_three_answers_that_cannot_be_used_the_record_stands_alone() {
        let itself: String = conversation()
            .iter()
            .map(|entry| match &entry.parts[..] {
                [Part::Text(text)] => format!("{text}\n"),
                _ => String::new(),
            })
            .collect();
        let huge = "Progress: it goes on and on. ".repeat(100_000);
        for (answer, wanted) in [
            (Ok(""), Some(3)),
            (Ok(" \n\t"), Some(3)),
            (Ok(itself.as_str()), Some(3)),
            (Ok("Goal:\n## Decisions\n"), Some(3)),
            (Ok("Rewrote parse_nothing_1 and src/nowhere.rs."), Some(3)),
            (Err(SummarizeError::Empty), Some(3)),
            (Err(SummarizeError::Failed { reason: "429".to_owned() }), Some(1)),
            (Err(SummarizeError::TooLong { reason: "too long".to_owned() }), Some(1)),
            (Ok(huge.as_str()), None),
        ] {
            let model = Scripted::of(std::slice::from_ref(&answer));
            let (made, record) = asked(&model, "");
            let Some(times) = wanted else {
                assert!(made.is_by_model && made.text.chars().count() as u64 <= record.chars_max);
                continue;
            };
            assert_eq!((made.is_by_model, made.text.as_str()), (false, record.text.as_str()), "{answer:?}");
            assert_eq!((made.failures.len(), model.times()), (times, times), "{answer:?}");
        }
        let model = Scripted::of(&[Ok(""), Err(SummarizeError::Empty), Ok("Goal: mend the parser.")]);
        let (made, _) = asked(&model, "");
        assert!(made.is_by_model && made.failures.len() == 2, "{made:?}");
    }

    /// A model that says what it was shown.
    struct Parrot;

    impl Summarizer for Parrot {
        fn name(&self) -> &'static str {
            "parrot"
        }

        fn window_tokens(&self) -> Option<u64> {
            None
        }

        fn summarize(&self, asked: &SummaryAsked<'_>) -> Result<String, SummarizeError> {
            Ok(asked.conversation.to_owned())
        }
    }

    #[test]
    fn what_a_model_thought_and_marks_of_speakers_are_part_of_the_conversation_itself() {
        let mut entries = conversation();
        for (at, entry) in entries.iter_mut().enumerate() {
            let text = (0..60).map(|word| format!("thought{at}x{word} ")).collect();
            entry.parts.insert(0, Part::Thinking { text, signature: None, encrypted: None });
        }
        let counted = count(&entries);
        let window = Window { entries: &counted, recent_from: 20, pins: &[], numbers: &[], commit: None };
        let made = completed(&Parrot, &entries, &window, &Limits::default());
        assert_eq!((made.is_by_model, made.failures.len()), (false, 3), "{}", made.text);
    }

    proptest! {
        #[test]
        fn whatever_a_model_answers_the_summary_keeps_to_its_size(answer in "(?s).{0,2000}", tokens in 0..400_u64) {
            let entries = conversation();
            let counted = count(&entries);
            let limits = Limits { size: Size::Tokens(Tokens(tokens)), ..Limits::default() };
            let window = Window { entries: &counted, recent_from: 20, pins: &[], numbers: &[], commit: None };
            let made = completed(&Scripted::of(&[Ok(&answer)]), &entries, &window, &limits);
            prop_assert!(Estimate.count(&made.text).0 <= tokens);
        }
    }
}
