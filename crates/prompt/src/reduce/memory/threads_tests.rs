//! Open threads by example: what leaves something open and what does not, and what closes it.

use serde_json::json;
use stemmata_model::{Event, SessionId, topics};

use super::threads::{asked, deferred};
use super::v1::{Thread, ThreadKind};
use super::*;
use crate::reduce::laws_tests::{event, plain};

fn said(seq: u64, topic: &str, text: &str) -> Event {
    event(seq, "s", topic, plain(text, &json!({})))
}

fn decided(seq: u64, session: &str, kind: &str, text: &str) -> Event {
    event(seq, session, topics::DECISION_EVENT, plain("", &json!({ "kind": kind, "decision": text })))
}

fn fold(session: &str, events: &[Event]) -> SessionMemory {
    let mut memory = SessionMemory::new(&SessionId::new(session).expect("a name"), None);
    for event in events {
        memory.event(event);
    }
    memory
}

fn open(events: &[Event]) -> Vec<(ThreadKind, String)> {
    let memory = ProjectMemory::merge([&fold("s", events)], []);
    let threads = memory.items.threads.into_iter().filter(Thread::is_open);
    threads.map(|thread| (thread.kind, thread.text)).collect()
}

const USER: &str = topics::USER_TURN;
const MODEL: &str = topics::ASSISTANT_TURN;

#[test]
fn what_puts_off_is_found_and_what_might_is_not() {
    for (text, expected) in [
        ("The kiln is lit. The damper is left for later.", vec!["The damper is left for later."]),
        ("Follow-up: wash the **shelves** twice.", vec!["Follow-up: wash the shelves twice."]),
        ("TODO: weigh the clay", vec!["TODO: weigh the clay"]),
        ("Glazing the lids is out of scope for now.", vec!["Glazing the lids is out of scope for now."]),
        ("The second firing is not done yet.", vec!["The second firing is not done yet."]),
        ("I'd do the chimney in a follow-up.", vec!["I'd do the chimney in a follow-up."]),
        ("The vent still needs to be done.", vec!["The vent still needs to be done."]),
        (
            "## Open questions\n- which cone for celadon\n- who has the key",
            vec!["which cone for celadon", "who has the key"],
        ),
        ("**Next steps:**\n1. Wash the shelves\n2. Fire again", vec!["Wash the shelves"]),
        ("Remaining work:\n- [ ] mend the door frame\n- [x] mend the lid well", vec!["mend the door frame"]),
        ("### Still to do\n* stack the lower shelves", vec!["stack the lower shelves"]),
        ("## Follow-ups\n- order more kaolin clay", vec!["order more kaolin clay"]),
        ("Still open: does the cone bend?", vec![]),
        ("Could we leave that for later?", vec![]),
        ("If you want, the lids can be left for later.", vec![]),
        ("Happy to do the lids as a follow-up.", vec![]),
        ("The TODO list is empty.", vec![]),
        ("Nothing remains to be done.", vec![]),
        ("It is no longer out of scope for now.", vec![]),
        ("```\n// TODO: weigh the clay\n```", vec![]),
        ("> Follow-up: wash the shelves twice.", vec![]),
        ("The next steps are simple: fire and wait.", vec![]),
        ("## Done\n- wash the shelves well", vec![]),
        ("I would do that in a follow-up.", vec![]),
        ("The remaining pots are dry.", vec![]),
        ("TODO:", vec![]),
        ("Yes, but in a follow-up PR, not this one.", vec![]),
        ("No, that is left for later.", vec![]),
    ] {
        let found: Vec<String> = deferred(text).into_iter().map(|words| words.text).collect();
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn a_question_at_the_end_of_an_answer_is_asked() {
    for (text, expected) in [
        ("It is lit. Which cone does the celadon need?", Some("Which cone does the celadon need?")),
        (
            "Two ways:\n- gas\n- wood\n\nShould the lids be fired with wood?",
            Some("Should the lids be fired with wood?"),
        ),
        ("**Should I wash the `shelves` first?**", Some("Should I wash the shelves first?")),
        ("Which cone does it need? I took ten.", None),
        ("It is hot. Anything else you need?", None),
        ("Ok?", None),
        ("Does that make sense to you?", None),
        ("```\nwhy not this one?\n```", None),
        ("> is it hot enough now?", None),
        // Of kinds that real sessions end with: leave to go on, with nothing in it that anybody could take up.
        ("All fired. Ready to commit these changes?", None),
        ("Want me to proceed with this structure?", None),
        ("Two ways. Which approach would you prefer?", None),
        ("What's your preference?", None),
        ("Does this look complete now?", None),
        ("Any files I'm missing?", None),
        ("Ready for next task or want to merge to main?", None),
        ("Want me to start implementing it?", None),
        ("Would you like me to either remove it or keep this?", None),
        ("Should I start implementing `KilnSession`?", Some("Should I start implementing KilnSession?")),
        ("Want me to add `--dry` to the damper script?", Some("Want me to add --dry to the damper script?")),
        ("Which timing model do you want?", Some("Which timing model do you want?")),
    ] {
        assert_eq!(asked(text).map(|words| words.text).as_deref(), expected, "{text}");
    }
}

#[test]
fn a_question_is_open_until_the_user_speaks_and_a_prompt_until_it_is_answered() {
    let mut events =
        vec![said(1, USER, "Fire the celadon bowls"), said(2, MODEL, "Which cone does the celadon need?")];
    assert_eq!(open(&events), [(ThreadKind::Question, "Which cone does the celadon need?".to_owned())]);
    events.push(said(3, USER, "ten, as always here"));
    assert_eq!(open(&events), [(ThreadKind::Prompt, "ten, as always here".to_owned())]);
    // What a model says between its calls is not its answer.
    events.push(said(4, MODEL, "Let me look. The lids are left for later."));
    events.push(said(5, MODEL, "Fired. The glaze test is left for later."));
    let put_off = (ThreadKind::Deferred, "The glaze test is left for later.".to_owned());
    assert_eq!(open(&events), std::slice::from_ref(&put_off));
    for turn in 0..9 {
        events.push(said(6 + 2 * turn, USER, &format!("and the bowl number {turn}")));
        events.push(said(7 + 2 * turn, MODEL, "Fired."));
        assert_eq!(open(&events), std::slice::from_ref(&put_off));
    }
    events.push(said(30, USER, "and the last bowl"));
    events.push(said(31, MODEL, "Fired."));
    assert_eq!(open(&events), [], "nobody has come back to it for so long");
}

/// What a client writes in the user's name is nobody's prompt.
#[test]
fn what_clients_write_for_a_user_opens_nothing() {
    for text in [
        "[Request interrupted by user]",
        "[Request interrupted by user for tool use]",
        "<system-reminder>\nAttribution for git commits\n</system-reminder>",
        "<command-name>/clear</command-name>",
        "<local-command-stdout>ok then, done</local-command-stdout>",
    ] {
        assert_eq!(open(&[said(1, USER, text)]), [], "{text}");
    }
}

#[test]
fn a_thread_is_closed_by_its_words_from_any_session_and_opened_again() {
    let put_off =
        [said(1, USER, "Fire the bowls"), said(2, MODEL, "Fired. The glaze test is left for later.")];
    let of = |closing: &[Event]| {
        let memory = ProjectMemory::merge([&fold("s", &put_off), &fold("stemma", closing)], []);
        memory.items.threads.iter().filter(|thread| thread.is_open()).count()
    };
    let words = "the glaze test  is left for later.";
    assert_eq!(of(&[]), 1);
    assert_eq!(of(&[decided(3, "stemma", "thread_closed", words)]), 0);
    assert_eq!(of(&[decided(3, "stemma", "task_done", words)]), 0);
    assert_eq!(of(&[decided(3, "stemma", "thread_closed", words), decided(4, "stemma", "thread", words)]), 1);
    assert_eq!(of(&[decided(3, "stemma", "thread", "buy more clay")]), 2);
}

#[test]
fn threads_are_bounded_and_the_closed_ones_go_first() {
    let mut events = vec![decided(1, "s", "thread", "kept to the end")];
    for seq in 2..200_u64 {
        events.push(decided(seq, "s", "thread_closed", &format!("thread number {seq}")));
    }
    let memory = fold("s", &events);
    assert_eq!(memory.items().threads.len(), Bounds::SESSION.threads_max);
    assert_eq!(open(&events), [(ThreadKind::Told, "kept to the end".to_owned())]);
}
