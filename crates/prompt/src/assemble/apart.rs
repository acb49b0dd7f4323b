//! A prompt taken apart for an API whose requests have a system prompt and messages: who the agent is, what it is told in this turn,
//! and what began the turn.
//!
//! Which text is whose is read from the trace, so that a prompt that was kept can be taken apart, too.

use stemmata_api::v1::PromptTrace;

use crate::strategy::SectionKind;

/// Sections that say who the agent is. They depend on its profile alone, so they are the same in each turn.
const STANDING: [&str; 3] = ["header", "instructions", "output_schema"];

/// The section of what began the turn.
const TRIGGER: &str = "trigger";

/// The parts of a prompt, each without the white space around it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PromptParts {
    /// Who the agent is, what it is told to do, and how it answers: the system prompt. Empty in a continuation, whose provider has it.
    pub standing: String,
    /// What else it is told.
    pub told: String,
    /// What began the turn.
    pub trigger: String,
}

/// Where a model reads the earlier turns of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EarlierTurns {
    /// In the prompt, as far as its strategy selects them.
    InPrompt,
    /// In the messages of the request: the prompt's own are left out, so that nothing is said twice.
    InMessages,
}

/// Takes a prompt apart. `text` and `trace` are of one prompt.
pub fn parts(text: &str, trace: &PromptTrace, earlier: EarlierTurns) -> PromptParts {
    let is_full = trace.mode == super::prompt::mode_name(super::Mode::Full);
    let is_elsewhere = |section: &str| {
        earlier == EarlierTurns::InMessages
            && trace.sections.iter().any(|one| one.id == section && one.kind == SectionKind::Turns.as_str())
    };
    let mut parts = PromptParts::default();
    let mut rest = text;
    for candidate in &trace.candidates {
        let chars = usize::try_from(candidate.chars).unwrap_or(usize::MAX);
        let end = rest.char_indices().nth(chars).map_or(rest.len(), |(at, _)| at);
        let (own, behind) = rest.split_at(end);
        rest = behind;
        let part = match candidate.section.as_str() {
            section if is_full && STANDING.contains(&section) => &mut parts.standing,
            TRIGGER => &mut parts.trigger,
            section if is_elsewhere(section) => continue,
            _ => &mut parts.told,
        };
        part.push_str(own);
    }
    let PromptParts { standing, told, trigger } = parts;
    let [standing, told, trigger] = [standing, told, trigger].map(|part| part.trim().to_owned());
    PromptParts { standing, told, trigger }
}

#[cfg(test)]
mod tests {
    use stemmata_api::v1::{PromptDecision, PromptReason};
    use stemmata_model::{Estimate, EventSeq, Party, Topic};

    use super::super::{Assembled, Mode, PromptRequest, Trigger, build, summary};
    use super::*;
    use crate::profile::Profile;
    use crate::select::Message;
    use crate::select::tests::{MadeUp, anchors};
    use crate::strategy::{DocumentFormat, parse};

    fn made(mode: Mode, state: &str) -> Assembled {
        let agent = Profile {
            instructions: "Do the wörk.".to_owned(),
            ..Profile::new(Party::new("agent-1").expect("a name"), "worker")
        };
        let sources = r#"{"maxTokens": 60, "sources": [{"topic": "state", "priority": "required"},
            {"topic": "turns", "priority": "required", "amount": 2}, {"topic": "A", "priority": "low", "amount": 3}]}"#;
        let strategy = parse(sources, DocumentFormat::Json).expect("a strategy");
        let topic = Topic::new("user_turn").expect("a name");
        let said = Message {
            id: "9".to_owned(),
            at: None,
            sender: Party::new("user").expect("a name"),
            text: Some("Why does it fail?".to_owned()),
            data: None,
            calls: Vec::new(),
            pieces: Vec::new(),
            answers: Vec::new(),
            images: Vec::new(),
        };
        let request = PromptRequest {
            trigger: Some(Trigger { topic: &topic, message: &said }),
            mode,
            ..PromptRequest::new(&agent, &strategy, anchors(), &Estimate)
        };
        let ledger = MadeUp { state: Some(state.to_owned()), ..MadeUp::of(9) };
        let Ok(prompt) = build(&request, &ledger);
        prompt
    }

    #[test]
    fn a_prompt_comes_apart_into_what_stays_what_is_told_and_what_began_the_turn() {
        let Assembled { text, trace } = made(Mode::Full, "## Decisions\n- WAL");
        let whole = parts(&text, &trace, EarlierTurns::InPrompt);
        assert!(whole.standing.starts_with("You are agent `agent-1`."), "{whole:?}");
        assert!(whole.standing.ends_with("## Instructions\n\nDo the wörk."), "{whole:?}");
        assert!(whole.told.contains("- WAL") && !whole.told.contains("Why does"), "{whole:?}");
        assert!(whole.trigger.ends_with("Why does it fail?"), "{whole:?}");
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let PromptParts { standing, told, trigger } = &whole;
        assert_eq!(
            words(&[standing.as_str(), told, trigger].join("\n")),
            words(&text),
            "nothing is lost or said twice"
        );
        let without = parts(&text, &trace, EarlierTurns::InMessages);
        assert!(
            whole.told.contains("## Recent turns") && !without.told.contains("## Recent turns"),
            "{text}"
        );
        assert!(without.told.contains("- WAL") && without.standing == whole.standing, "{without:?}");
        let other = made(Mode::Full, "## Decisions\n- another");
        let standing = parts(&other.text, &other.trace, EarlierTurns::InPrompt).standing;
        assert_eq!(standing, whole.standing, "what changes from turn to turn is not in it");
    }

    #[test]
    fn a_continuation_has_no_system_prompt() {
        let after = EventSeq::new(1).expect("a number");
        let Assembled { text, trace } =
            made(Mode::Continuation { after, is_profile_changed: true }, "## Decisions\n- WAL");
        let parts = parts(&text, &trace, EarlierTurns::InMessages);
        assert_eq!(parts.standing, "");
        assert!(
            parts.told.starts_with("## Continuation") && parts.told.contains("Do the wörk."),
            "{parts:?}"
        );
    }

    #[test]
    fn a_summary_of_a_trace_adds_up() {
        let Assembled { trace, .. } = made(Mode::Full, &"lorem ipsum ".repeat(40));
        let summary = summary(&trace);
        let tokens: u64 = trace.candidates.iter().map(|one| one.tokens).sum();
        assert_eq!(summary.sections.iter().map(|one| one.tokens).sum::<u64>(), tokens);
        assert_eq!(summary.reasons.iter().map(|one| one.tokens).sum::<u64>(), tokens);
        let candidates: u64 = summary.reasons.iter().map(|one| one.candidates).sum();
        assert_eq!(candidates, trace.candidates.len() as u64);
        let over = summary.reasons.iter().find(|one| one.reason == PromptReason::OverBudget);
        assert!(
            over.is_some_and(|over| over.decision == PromptDecision::Full && over.tokens > 0),
            "{summary:?}"
        );
        assert!(summary.budget.over_budget_tokens > 0 && !summary.is_cut);
    }
}
