//! The vectors of the seeds' implementations, where they are at hand, and the runner itself.

use super::*;

/// A file of vectors, where the folder of them is there.
fn vectors(file: &str) -> Option<String> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the corpus is not part of the project: tests may run without"
    )]
    let Some(root) = std::env::var_os("STEMMATA_CORPUS").map(std::path::PathBuf::from) else {
        println!("skipped: STEMMATA_CORPUS is not set");
        return None;
    };
    let path = root.join("../golden").join(file);
    let Ok(text) = std::fs::read_to_string(&path) else {
        println!("skipped: no {}", path.display());
        return None;
    };
    Some(text)
}

/// Runs files: every case holds or deviates for a reason, and every reason has its case.
fn every_case_is_fine(files: &[&str], cases_min: usize, deviations: &[(&str, &str)]) {
    let Some(texts) = files.iter().map(|file| vectors(file)).collect::<Option<Vec<String>>>() else { return };
    let verdicts: Vec<CaseVerdict> = texts.iter().flat_map(|text| run(text).expect("vectors")).collect();
    let failed: Vec<&CaseVerdict> = verdicts.iter().filter(|case| !case.is_fine()).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    assert!(verdicts.len() >= cases_min, "{} cases are fewer than there were", verdicts.len());
    let unknown: Vec<&str> = deviations
        .iter()
        .map(|(name, _)| *name)
        .filter(|name| !verdicts.iter().any(|case| case.name == *name))
        .collect();
    assert_eq!(unknown, [""; 0], "deviations of cases that are not there");
}

#[test]
fn every_vector_of_seed_000_holds_or_deviates_for_a_reason() {
    every_case_is_fine(&["zeroshot_context.json"], 65, DEVIATIONS);
}

#[test]
fn every_vector_of_seed_002_holds_or_deviates_for_a_reason() {
    every_case_is_fine(&["moderator_pseudocode.json"], 26, DEVIATIONS_002);
}

#[test]
fn every_vector_of_seed_003_holds_or_deviates_for_a_reason() {
    every_case_is_fine(&["ai_compact.json", "ai_tool_output.json"], 90, DEVIATIONS_003);
}

#[test]
fn every_vector_of_seed_004_deviates_for_a_reason() {
    every_case_is_fine(&["zagent/zagent_context.json"], 11, &[]);
}

/// Three turns and two queries in the shape of the file, with what a query found.
fn six_turns(indices: &str) -> String {
    let turns = "User: Fix ALPHA\nAssistant: done\nUser: b\nAssistant: c\nUser: d\nAssistant: e";
    let prompt = format!("x\n\nRelevant turns:\n{turns}\n\nCurrent user request:\nq");
    let case =
        |query: &str, indices: &str| format!("{{\"query\":\"{query}\",\"max\":8,\"indices\":{indices}}}");
    format!(
        "{{\"turns\":6,\"relevant_0\":{},\"relevant_1\":{},\"messagesJson_for_'a'\":[],\"prompt_for_q\":{}}}",
        case("zzz", "[1,2,3,4,5]"),
        case("alpha", indices),
        Value::from(prompt),
    )
}

#[test]
fn the_retrieval_rule_of_seed_004_is_asked_of_the_turns_of_its_file() {
    let fine = |text: &str| run(text).expect("cases").iter().all(CaseVerdict::is_fine);
    assert!(fine(&six_turns("[0,1,2,3,4,5]")), "the first turn has the word, the second called a tool");
    assert!(!fine(&six_turns("[1,2,3,4,5]")), "the rule finds the first turn too");
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
