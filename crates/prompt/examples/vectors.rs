//! Runs golden vectors through the product: `cargo xtask vectors FILE…` calls it for files of these shapes.

#![expect(clippy::print_stdout, reason = "the verdicts are the output")]

use std::io::Read as _;
use std::process::ExitCode;

use stemmata_prompt::vectors::{Verdict, run};

/// Bytes of a file at most.
const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;

fn main() -> ExitCode {
    let mut is_fine = true;
    for path in std::env::args().skip(1) {
        println!("{path}");
        match verdicts(&path) {
            Ok(fine) => is_fine &= fine,
            Err(error) => {
                println!("  FAIL {error}");
                is_fine = false;
            }
        }
    }
    if is_fine { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn verdicts(path: &str) -> Result<bool, String> {
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
    file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text).map_err(|error| error.to_string())?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(format!("it has more than {FILE_BYTES_MAX} bytes"));
    }
    let cases = run(&text)?;
    for case in &cases {
        match &case.verdict {
            Verdict::Held => println!("  ok {}", case.name),
            Verdict::Deviates { reason, difference } => {
                println!("  deviation {}: {reason}\n    {difference}", case.name);
            }
            Verdict::Failed { difference } => println!("  FAIL {}\n    {difference}", case.name),
        }
    }
    Ok(cases.iter().all(stemmata_prompt::vectors::CaseVerdict::is_fine))
}
