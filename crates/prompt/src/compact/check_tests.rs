//! What of a model's summary is used, and what is dropped for which reason.

use proptest::prelude::*;
use stemmata_model::{Entry, EntryId, Part, Role};

use super::*;

fn entries() -> Vec<Entry> {
    let said = |role, text: &str| {
        Entry::said(EntryId::new("e").expect("a name"), role, vec![Part::Text(text.to_owned())])
    };
    vec![
        said(
            Role::User,
            "Please never touch the public API of src/client.rs, and keep retries at five. Look at how the pool of \
             connections behaves when the other side is slow, too.",
        ),
        said(Role::Assistant, "I change retry_limit in src/client.rs because the server drops slow clients."),
        said(Role::Tool, "error[E0308]: mismatched types in src/retry.rs"),
    ]
}

const BLOCK: &str = "Files\nsrc/client.rs edited ×2 @2: retry_limit\nCommands\n$ cargo test → fail ×2 @3\n$ cargo fmt → ok @3";

fn check(answer: &str) -> Result<Checked, SummarizeError> {
    let known = Known { entries: &entries(), numbers: &[11, 12, 13], root: "", block: BLOCK };
    checked(answer, &known, 2_000)
}

#[test]
fn what_was_said_stays() {
    let answer = "Goal:\nRetries stay at five @11\nretry_limit in src/client.rs was changed, the server drops slow clients. @12\n\
                  The person said \"never touch the public API\" @11\n`cargo test` still fails with E0308 @13";
    let made = check(answer).expect("usable");
    assert_eq!((made.text.as_str(), made.dropped), (answer, Vec::new()));
}

#[test]
fn each_kind_of_claim_that_does_not_hold_is_dropped() {
    for (sentence, why) in [
        ("src/server.rs was changed too @12", WhyDropped::UnknownName),
        ("max_retry_count is five @11", WhyDropped::UnknownName),
        ("Retries stay at five @99", WhyDropped::WrongEntry),
        ("src/retry.rs does not compile @11", WhyDropped::WrongEntry),
        ("cargo test passes now @13", WhyDropped::Contradicts),
        ("cargo fmt failed @13", WhyDropped::Contradicts),
        ("src/client.rs was deleted @12", WhyDropped::Contradicts),
        ("The person said \"rewrite the public API\" @11", WhyDropped::WrongQuote),
    ] {
        let made =
            check(&format!("The server drops slow clients @12\n{sentence}")).expect("the first is usable");
        let want = vec![Dropped { sentence: sentence.to_owned(), why }];
        assert_eq!(
            (made.text.as_str(), made.dropped),
            ("The server drops slow clients @12", want),
            "{sentence}"
        );
    }
}

#[test]
fn an_answer_with_nothing_in_it_is_none() {
    for answer in ["", "  \n", "Goal:\n\nNext steps:", "Goal: src/unknown_file.rs is wanted"] {
        assert_eq!(check(answer), Err(SummarizeError::Empty), "{answer:?}");
    }
}

#[test]
fn an_answer_that_is_the_conversation_is_not_used() {
    let all: Vec<String> = entries().iter().map(|entry| texts(&entry.parts).join(" ")).collect();
    let error = check(&format!("Here is it: {}", all.join("\n"))).expect_err("a copy");
    assert!(error.to_string().contains("the conversation itself"), "{error}");
}

#[test]
fn the_answer_has_its_limit() {
    let known = Known { entries: &entries(), numbers: &[], root: "", block: BLOCK };
    let answer = "Retries stay at five. The server drops slow clients.";
    let made = checked(answer, &known, 30).expect("the first is usable");
    assert_eq!(made.text, "Retries stay at five.");
    assert_eq!(made.dropped.first().map(|dropped| dropped.why), Some(WhyDropped::NoRoom));
}

proptest! {
    #[test]
    fn law_every_name_of_a_checked_answer_was_said_before(
        answer in "([a-z_]{1,12}(\\.rs|/[a-z]{1,6}|@[0-9]{1,3})?[ .\n]){1,40}", chars_max in 0..400_usize,
    ) {
        let entries = entries();
        let known = Known { entries: &entries, numbers: &[], root: "", block: BLOCK };
        if let Ok(made) = checked(&answer, &known, chars_max) {
            prop_assert!(made.text.chars().count() <= chars_max);
            let said = Said::of(&known);
            let (claim, _) = without_numbers(&made.text);
            each_name(&claim, "", &mut |name| assert!(said.knows(name.text), "{}", name.text));
        }
    }

    #[test]
    fn any_answer_is_read(answer in "\\PC{0,500}") {
        let _checked = check(&answer);
    }

    #[test]
    fn sentences_joined_are_the_line(line in "\\PC{0,200}") {
        prop_assert_eq!(sentences(&line).collect::<String>(), line);
    }
}
