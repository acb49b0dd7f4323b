//! What sentences claim of tests, builds and linters.

use super::*;

fn said(sentence: &str) -> Vec<bool> {
    claims(sentence).into_iter().map(|claim| claim.passes).collect()
}

#[test]
fn sentences_claim_outcomes_in_several_languages() {
    for sentence in [
        "All tests pass.",
        "The build is green now",
        "No tests fail.",
        "No unit test fails",
        "None of the 41 tests failed.",
        "0 of 41 tests failed",
        "The suite ran with 0 failures",
        "The tests no longer fail",
        "Alle Tests bestehen.",
        "Die Tests laufen durch.",
        "Kein Test schlägt fehl.",
        "Tous les tests passent.",
        "Las pruebas pasan.",
        "It compiles.",
        "The crate builds again",
        "The build works.",
        "The build is fixed.",
        "The compile errors are gone.",
        "Compilation went fine.",
        "No warnings remain.",
        "clippy: 0 warnings",
        "Clippy gave zero warnings.",
        "No lint errors.",
        "Linting went through.",
        "Der Build läuft.",
    ] {
        assert_eq!(said(sentence), [true], "{sentence}");
    }
    for sentence in [
        "The tests fail.",
        "The build is broken",
        "Tests don't pass",
        "The tests do not yet all pass.",
        "Not all tests pass",
        "The tests, however, do not pass",
        "Die Tests schlagen fehl.",
        "Die Tests bestehen nicht.",
        "Les tests ne passent pas.",
        "Two tests still failed",
        "The suite: 40 passed, 1 failed",
    ] {
        assert_eq!(said(sentence), [false], "{sentence}");
    }
    for sentence in [
        "The tests must pass.",
        "Do the tests pass?",
        "Next: lint is clean, the tests pass",
        "It passes the port on.",
        "Run it until the tests are green",
        "`--no-fail-fast` is set for the tests",
        "The build script prints an error",
        "Tests for errors were added",
        "The Makefile builds the docs",
        "No errors in the log",
        "The fixed parser has tests",
    ] {
        assert!(said(sentence).is_empty(), "{sentence}");
    }
}

#[test]
fn a_negation_turns_only_what_it_stands_at() {
    for (sentence, claimed) in [
        ("All tests pass, no code was changed.", &[true][..]),
        ("All tests pass without any change", &[true]),
        ("No code was changed and all tests pass", &[true]),
        ("It is not clear why, but the tests pass", &[true]),
        ("The tests pass with no failures", &[true, true]),
        ("The tests fail, though nothing was changed", &[false]),
        ("Without touching the API the build is green", &[true]),
        ("No tests were changed, the build passes", &[true]),
        ("No tests were changed and the build passes", &[true]),
        ("Neither the tests nor the build pass", &[false]),
        ("Tests failed and pass now", &[false, true]),
        ("The goal was speed, and all tests pass", &[true]),
    ] {
        assert_eq!(said(sentence), claimed, "{sentence}");
    }
}

#[test]
fn a_claim_is_about_what_stands_before_it() {
    for (sentence, about) in [
        ("tests, lint and the build pass", &[TESTS | LINT | BUILD][..]),
        ("The tests fail and the build is green", &[TESTS, BUILD]),
        ("The failing test was removed", &[TESTS]),
        ("Clippy is clean", &[LINT]),
        ("The specific case passes", &[]),
    ] {
        let about: Vec<About> = about.iter().map(|kinds| About::Kinds(*kinds)).collect();
        assert_eq!(
            claims(sentence).into_iter().map(|claim| claim.about).collect::<Vec<_>>(),
            about,
            "{sentence}"
        );
    }
}

#[test]
fn a_long_row_of_such_words_takes_no_square_time() {
    let sentence = "no test pass ".repeat(60_000);
    assert_eq!(claims(&sentence).len(), 60_000);
}
