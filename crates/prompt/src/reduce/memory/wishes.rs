//! What users decide and want, by how they say it.
//!
//! How a text becomes sentences, and what models decide, is in `phrases`.

use super::naming::{self, POINTING};
use super::phrases::chooses;
use super::v1::Kind;

/// Says what a user's sentence decides.
pub(super) fn of_user(opening: &[&str], bare: &str) -> Option<Kind> {
    if chooses(bare) {
        return Some(Kind::Decision);
    }
    if bare.starts_with("from now on") || bare.contains(" from now on") || bare.starts_with("going forward, ")
    {
        return Some(Kind::Fact);
    }
    if bare.starts_with("don't ever ")
        || bare.starts_with("do not ever ")
        || bare.starts_with("always ")
        || (bare.starts_with("never ") && !bare.starts_with("never mind"))
    {
        return Some(Kind::Fact);
    }
    if is_rule(bare) || is_wish(bare) || is_need(bare) || is_ban(bare) || is_demand(bare) {
        return Some(Kind::Fact);
    }
    if is_pick(bare) || is_use(bare) {
        return Some(Kind::Decision);
    }
    let is_correction = opening.first().is_some_and(|word| matches!(*word, "no" | "nope" | "nah"));
    let has = |words: &[&str]| words.iter().any(|word| bare.starts_with(word));
    if has(&["use ", "we should "])
        && (bare.contains(" instead")
            || bare.contains(" rather than ")
            || bare.contains(", not ")
            || (bare.starts_with("use ") && bare.contains(", no ")))
    {
        return Some(Kind::Decision);
    }
    let corrects = has(&[
        "use ",
        "keep ",
        "put ",
        "we want ",
        "we need ",
        "it should ",
        "the ",
        "don't ",
        "do not ",
        "we should ",
        "make it ",
    ]) || bare.contains(" should be ");
    let says_what = has(&["use ", "keep ", "put ", "we want ", "make it ", "don't ", "do not "])
        || bare.contains(" should ")
        || bare.contains(" must ");
    (is_correction
        && corrects
        && says_what
        && bare.split_whitespace().count() >= 4
        && naming::is_clear(bare, 2))
    .then_some(Kind::Decision)
}

/// «X must never …», where X is named.
fn is_rule(bare: &str) -> bool {
    let rules =
        [" must never ", " must always ", " should never ", " should always ", " must not ", " may never "];
    rules.iter().any(|rule| {
        let Some((subject, rest)) = bare.split_once(rule) else { return false };
        let last = subject.rsplit([' ', ',']).next().unwrap_or_default();
        let is_pointing = matches!(
            last,
            "that" | "this" | "it" | "which" | "they" | "these" | "those" | "there" | "what" | "why"
        );
        !is_pointing
            && !rest.starts_with("have ")
            && !rest.trim().is_empty()
            && subject.split_whitespace().count() <= 8
    })
}

/// «X must …», where X is named: what it has to do, not what somebody guesses of it.
fn is_demand(bare: &str) -> bool {
    let Some((subject, rest)) = bare.split_once(" must ") else { return false };
    let first = subject.split([' ', ',']).next().unwrap_or_default();
    let is_named = !naming::is_function_word(first)
        || (matches!(first, "the" | "our" | "all" | "every" | "each" | "no" | "any")
            && subject.contains(' '));
    let guesses =
        ["have ", "be why", "be because", "be wrong", "be missing", "be a bug", "be something", "be the "];
    let last = subject.rsplit([' ', ',']).next().unwrap_or_default();
    is_named
        && !naming::is_function_word(last)
        && !guesses.iter().any(|begin| rest.starts_with(begin))
        && (1..=8).contains(&subject.split_whitespace().count())
        && rest.split_whitespace().count() >= 2
}

/// «We need to support X»: what has to hold, not what is to be done once.
fn is_need(bare: &str) -> bool {
    let needs = ["we need to ", "we have to ", "we must ", "it has to ", "it needs to "];
    let holds =
        ["support ", "stay ", "remain ", "keep supporting ", "preserve ", "avoid ", "work with ", "work on "];
    needs.iter().any(|need| {
        bare.strip_prefix(need).is_some_and(|rest| holds.iter().any(|verb| rest.starts_with(verb)))
    })
}

/// «No X!», in a few words.
fn is_ban(bare: &str) -> bool {
    let Some(rest) = bare.strip_prefix("no ").and_then(|rest| rest.strip_suffix('!')) else { return false };
    let first = rest.split(' ').next().unwrap_or_default();
    let is_idiom = matches!(
        first,
        "problem"
            | "problems"
            | "way"
            | "worries"
            | "idea"
            | "thanks"
            | "need"
            | "clue"
            | "luck"
            | "wonder"
            | "doubt"
    );
    !is_idiom && !naming::is_function_word(first) && (2..=6).contains(&rest.split_whitespace().count())
}

/// «B, nested in the options», «just X for now»: one of what was offered, said so that it can be understood.
fn is_pick(bare: &str) -> bool {
    if bare.contains(" for now") && (bare.starts_with("just ") || bare.starts_with("only ")) {
        return true;
    }
    let rest = ["i think ", "i'd say ", "i'd go with ", "i like "]
        .iter()
        .find_map(|opening| bare.strip_prefix(opening))
        .unwrap_or(bare);
    let rest = rest.strip_prefix("option ").unwrap_or(rest);
    let Some((pick, why)) = rest.split_once([',', ':', '-']) else { return false };
    let is_letter = matches!(pick.trim().as_bytes(), [b'a'..=b'f' | b'1'..=b'9']);
    let what = why.split_whitespace().next().unwrap_or_default();
    // «a, then run the tests» goes on with something else.
    is_letter
        && !matches!(what, "then" | "and" | "but" | "can" | "please" | "also" | "is" | "let's")
        && naming::is_clear(why, 2)
}

/// «Use X as Y», «use the Z spelling»: what holds for all that follows.
fn is_use(bare: &str) -> bool {
    let Some(rest) = bare.strip_prefix("use ") else { return false };
    let conventions = [
        "spelling",
        "naming",
        "convention",
        "conventions",
        "style",
        "format",
        "formatting",
        "syntax",
        "tabs",
        "spaces",
        "casing",
        "names",
    ];
    let first = rest.split(' ').next().unwrap_or_default();
    let words = || rest.split_whitespace().map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    let is_short = words().count() <= 12;
    is_short
        && !POINTING.contains(&first)
        && (rest.contains(" as the ")
            || rest.contains(" as a ")
            || words().any(|word| conventions.contains(&word)))
}

/// «I don't want X», «I prefer X», «I want X in Y».
fn is_wish(bare: &str) -> bool {
    let wishes = [
        "i don't want ",
        "we don't want ",
        "i do not want ",
        "we do not want ",
        "i prefer ",
        "i'd prefer ",
        "we prefer ",
        "i'd rather ",
    ];
    let wants = ["i want ", "we want ", "i only want ", "we only want ", "i would only want "];
    let is_wanted = wants.iter().any(|want| {
        bare.strip_prefix(want).is_some_and(|rest| {
            let first = rest.split([' ', ',']).next().unwrap_or_default();
            let asks = ["you", "to", "a", "an", "some", "more", "your", "my", "the", "another"];
            !POINTING.contains(&first) && !asks.contains(&first) && !rest.contains(" you to ")
        })
    });
    if is_wanted {
        return true;
    }
    wishes.iter().any(|wish| {
        bare.strip_prefix(wish).is_some_and(|rest| {
            let first = rest.split([' ', ',']).next().unwrap_or_default();
            !POINTING.contains(&first) && first != "you"
        })
    })
}
