//! The lines of an answer as they are judged: a sentence that goes on in the next line is one, and what is in a fence is code.

use stemmata_model::quote::{NUMBER_SIGNS, begins_section, begins_something, visible_lines};

use super::thoughts;

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Sentences.
    Said,
    /// A line between fences.
    Code,
    /// A thought, as its mark says.
    Thought,
}

/// A line of an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) kind: Kind,
    text: String,
}

impl Line {
    /// Returns its sentences; of anything else all of it.
    pub(super) fn sentences(&self) -> impl Iterator<Item = &str> {
        let is_said = self.kind == Kind::Said;
        let whole = (!is_said && !self.text.is_empty()).then_some(self.text.as_str());
        whole.into_iter().chain(sentences(&self.text).filter(move |_| is_said))
    }
}

/// Divides an answer into lines, without the marks of its headings.
pub(super) fn lines(answer: &str) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    let (mut is_fenced, mut is_thought, mut last_indent) = (false, false, None);
    for line in visible_lines(answer) {
        let bare = line.trim();
        let indent = line.len() - line.trim_start().len();
        let is_fence = bare.starts_with("```") || bare.starts_with("~~~");
        if is_fenced && !is_fence {
            lines.push(Line { kind: Kind::Code, text: line });
            continue;
        }
        is_fenced ^= is_fence;
        is_thought &= !bare.is_empty();
        let begins_thought = thoughts::begins(bare);
        let is_heading = begins_section(bare);
        if let Some(last) = lines.last_mut().filter(|last| {
            let goes_on = |last_indent| goes_on(&last.text, bare, indent > last_indent);
            begins_thought.is_none()
                && !is_fence
                && !is_heading
                && last.kind != Kind::Code
                && last_indent.is_some_and(goes_on)
        }) {
            last.text.push(' ');
            last.text.push_str(bare);
        } else {
            let kind = if is_thought || begins_thought.is_some() { Kind::Thought } else { Kind::Said };
            // A heading of the answer would begin a section of the summary.
            let text = if is_heading {
                bare.trim_start_matches(NUMBER_SIGNS).trim_start().to_owned()
            } else {
                line.clone()
            };
            lines.push(Line { kind, text });
        }
        // Below a mark that stands alone all is thought, up to an empty line.
        is_thought |= begins_thought == Some(true);
        last_indent = (!is_heading).then_some(indent);
    }
    lines
}

/// Whether a line goes on with the sentence of the line before it: that has no end, and this one begins in small letters or deeper.
fn goes_on(last: &str, line: &str, is_deeper: bool) -> bool {
    let last = last.trim_end();
    let word = last.rsplit(' ').next().unwrap_or_default();
    let is_number =
        word.strip_prefix('@').is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
    let has_end = last.is_empty() || is_number || last.ends_with(['.', '!', '?', ';', ':', '|', '`', '…']);
    let first = line.split(' ').next().unwrap_or_default();
    let first = first.trim_end_matches(|char: char| ",.;:!?".contains(char));
    let is_word = !first.is_empty() && first.chars().all(char::is_alphabetic);
    let is_item = line.starts_with(['-', '*', '+', '•', '|']) || begins_something(line);
    !has_end
        && is_word
        && !is_item
        && !begins_something(last)
        && (is_deeper || first.starts_with(char::is_lowercase))
}

/// Splits a line behind each stop that a blank follows. The parts joined are the line.
pub(super) fn sentences(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        // The number of a list's item belongs to what follows, and that of an entry behind a stop to the sentence before it.
        let is_of_item = |char: char| char.is_ascii_digit() || " -*.".contains(char);
        let item = rest.len() - rest.trim_start_matches(is_of_item).len();
        let ends = rest.match_indices(['.', '!', '?', ';']).map(|(at, stop)| at + stop.len());
        let end = ends.filter(|at| *at > item).find(|at| {
            let after = rest.get(*at..).unwrap_or_default();
            after.starts_with(char::is_whitespace) && !after.trim_start().starts_with('@')
        });
        let (sentence, after) = rest.split_at(end.unwrap_or(rest.len()));
        rest = after;
        Some(sentence)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_that_goes_on_in_the_next_line_is_one() {
        let of =
            |answer: &str| lines(answer).into_iter().map(|line| (line.kind, line.text)).collect::<Vec<_>>();
        let said = |text: &str| (Kind::Said, text.to_owned());
        assert_eq!(of("Clippy\n  passes."), [said("Clippy passes.")]);
        assert_eq!(of("The\nbuild works"), [said("The build works")]);
        for apart in [
            "A @3\nb",
            "Goal:\nkeep it",
            "One\nTwo",
            "One.\ntwo",
            "- a\n- b",
            "## A\nb",
            "a\nsrc/b.rs",
            "a\n\nb",
        ] {
            assert!(of(apart).len() > 1, "{apart}");
        }
        assert_eq!(
            of("Thoughts:\nx\n\nReasoning: y\nZ\n```\nrm\n```"),
            [
                (Kind::Thought, "Thoughts:".to_owned()),
                (Kind::Thought, "x".to_owned()),
                said(""),
                (Kind::Thought, "Reasoning: y".to_owned()),
                said("Z"),
                said("```"),
                (Kind::Code, "rm".to_owned()),
                said("```"),
            ]
        );
    }
}
