//! Runs golden vectors through the product: `cargo xtask vectors FILE…` calls it for files about prompts and windows.

mod cases;

use std::io::{Read as _, Write};
use std::process::ExitCode;

use cases::{CaseVerdict, Verdict, run};

/// Bytes of a file at most.
const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;

fn main() -> ExitCode {
    let paths: Vec<String> = std::env::args().skip(1).collect();
    match judge(&paths, &mut std::io::stdout().lock()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) | Err(_) => ExitCode::FAILURE,
    }
}

/// Prints each case's verdict. Returns whether every case holds or deviates for a documented reason.
fn judge(paths: &[String], out: &mut dyn Write) -> std::io::Result<bool> {
    let mut is_fine = true;
    for path in paths {
        writeln!(out, "{path}")?;
        match verdicts(path) {
            Ok(cases) => {
                for case in &cases {
                    print(case, out)?;
                }
                is_fine &= cases.iter().all(CaseVerdict::is_fine);
            }
            Err(error) => {
                writeln!(out, "  FAIL {error}")?;
                is_fine = false;
            }
        }
    }
    Ok(is_fine)
}

fn print(case: &CaseVerdict, out: &mut dyn Write) -> std::io::Result<()> {
    let name = &case.name;
    match &case.verdict {
        Verdict::Held => writeln!(out, "  ok {name}"),
        Verdict::Deviates { reason, difference } => {
            writeln!(out, "  deviation {name}: {reason}\n    {difference}")
        }
        Verdict::Failed { difference } => writeln!(out, "  FAIL {name}\n    {difference}"),
    }
}

fn verdicts(path: &str) -> Result<Vec<CaseVerdict>, String> {
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
    file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text).map_err(|error| error.to_string())?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(format!("it has more than {FILE_BYTES_MAX} bytes"));
    }
    run(&text)
}

#[cfg(test)]
mod tests {
    use super::judge;

    /// Returns whether a file with this text passes, and what is printed about it.
    fn judged(name: &str, text: &str) -> (bool, String) {
        let path = std::env::temp_dir().join(format!("stemmata-vectors-{}-{name}.json", std::process::id()));
        let mut file = std::fs::File::create(&path).expect("a file");
        std::io::Write::write_all(&mut file, text.as_bytes()).expect("written");
        let mut out = Vec::new();
        let is_fine = judge(&[path.display().to_string()], &mut out).expect("printed");
        std::fs::remove_file(&path).expect("removed");
        (is_fine, String::from_utf8(out).expect("text"))
    }

    #[test]
    fn a_case_that_holds_passes_and_one_that_does_not_fails_with_its_difference() {
        let defaults = |priority: &str| {
            format!("{{\"priorityDefaults\":[{{\"topic\":\"PLAN_READY\",\"priority\":\"{priority}\"}}]}}")
        };
        let (is_fine, text) = judged("held", &defaults("required"));
        assert!(is_fine && text.contains("  ok priorityDefaults/"), "{text}");
        let (is_fine, text) = judged("failed", &defaults("low"));
        assert!(!is_fine && text.contains("  FAIL priorityDefaults/"), "{text}");
        assert!(text.contains("expected \"low\", found \"required\""), "{text}");
    }

    #[test]
    fn a_file_that_is_no_json_or_not_there_fails() {
        let (is_fine, text) = judged("broken", "{");
        assert!(!is_fine && text.contains("  FAIL "), "{text}");
        assert!(!judge(&["/no/such/file".to_owned()], &mut Vec::new()).expect("printed"));
    }
}
