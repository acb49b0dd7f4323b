//! The vectors of seed 000's implementation, where they are at hand, and the runner itself.

use super::*;

/// The vectors, where the folder of them is there.
fn vectors() -> Option<String> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the corpus is no part of the project: tests may run without"
    )]
    let Some(root) = std::env::var_os("STEMMATA_CORPUS").map(std::path::PathBuf::from) else {
        println!("skipped: STEMMATA_CORPUS is not set");
        return None;
    };
    let path = root.join("../golden/zeroshot_context.json");
    let Ok(text) = std::fs::read_to_string(&path) else {
        println!("skipped: no {}", path.display());
        return None;
    };
    Some(text)
}

#[test]
fn every_vector_of_seed_000_holds_or_deviates_for_a_reason() {
    let Some(text) = vectors() else { return };
    let verdicts = run_context(&text).expect("vectors");
    let failed: Vec<&CaseVerdict> = verdicts.iter().filter(|case| !case.is_fine()).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    assert!(verdicts.len() >= 65, "{} cases are fewer than there were", verdicts.len());
    let unknown: Vec<&str> = DEVIATIONS
        .iter()
        .map(|(name, _)| *name)
        .filter(|name| !verdicts.iter().any(|case| case.name == *name))
        .collect();
    assert_eq!(unknown, [""; 0], "deviations of cases that are not there");
}

#[test]
fn a_file_of_seed_004_is_named_case_by_case_and_what_is_unknown_fails() {
    let text = "{\"source\":\"x\",\"turns\":6,\"messagesJson_for_'a'\":[],\"colour\":1}";
    let verdicts = run(text).expect("cases");
    let fine: Vec<(&str, bool)> = verdicts.iter().map(|case| (case.name.as_str(), case.is_fine())).collect();
    assert_eq!(
        fine,
        [("zagent/colour", false), ("zagent/messagesJson_for_'a'", true), ("zagent/turns", true)]
    );
    assert!(run("[]").is_err() && run("{").is_err());
}
