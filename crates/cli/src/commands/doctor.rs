//! `doctor`: whether a client would take a transcript whole, and why not.
//!
//! Changes nothing. What loaders stumble over is the adapters' to know.

use std::path::Path;

use stemmata_api::v1::{Diagnoses, Diagnosis, Finding};
use stemmata_service::NamedFile;

use crate::args::maintain::Doctor;
use crate::errors::{CliError, Exit};
use crate::output::left_out;
use crate::output::size::{self, many, plural};
use crate::output::style::Style;
use crate::wiring::App;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Doctor) -> Result<Exit, CliError> {
    let named: Vec<NamedFile> = args.files.iter().map(|given| file(app, given)).collect();
    // Files need no store.
    let is_stored = args.all || named.iter().any(|named| !named.path.exists());
    let host = if is_stored { app.opened_host()? } else { app.host()? };
    let found = host.diagnose(&named, args.all, args.client_version.as_deref())?;
    for failure in &found.failures {
        let causes: String = failure.causes.iter().map(|cause| format!(": {cause}")).collect();
        app.console.warn(&format!("one could not be checked: {}{causes}", failure.error));
    }
    left_out::warn(app, &found.unread);
    app.answer(&found, || Ok(told_all(app, &found, args.all)))?;
    if !app.console.json {
        say_verdict(app, &found.transcripts);
    }
    // Of many, one that cannot be read is no reason to say nothing of the others.
    let worst = found.failures.first().map_or(Exit::Done, |failure| Exit::of_code(failure.exit_code));
    Ok(if found.ok { worst } else { Exit::Corrupt })
}

/// Returns a transcript as the user named it.
pub(super) fn file(app: &App, given: &str) -> NamedFile {
    let environment = &app.environment;
    let (path, here) = (environment.absolute(Path::new(given)), environment.current_dir.clone());
    NamedFile { text: given.to_owned(), path, here }
}

fn told_all(app: &App, found: &Diagnoses, only_troubled: bool) -> String {
    let mut rows: Vec<String> = Vec::new();
    for diagnosis in &found.transcripts {
        if only_troubled && diagnosis.ok && !has_trouble(diagnosis) {
            continue;
        }
        let version = diagnosis.version.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
        let (lines, bytes) = (many(diagnosis.lines, "line"), size::bytes(diagnosis.bytes));
        rows.push(app.environment.shown(Path::new(&diagnosis.path)));
        rows.push(format!("  {}{version}, {lines}, {bytes}", diagnosis.format));
        rows.push(format!("  {}", verdict(diagnosis)));
        rows.extend(folded(&diagnosis.findings));
    }
    rows.push(String::new());
    rows.join("\n")
}

/// Returns whether `doctor --all` shows a file: one with a warning or worse, unless a subagent wrote it, and each one with a type of
/// record that is not known.
fn has_trouble(diagnosis: &Diagnosis) -> bool {
    let is_trouble = |found: &Finding| found.severity != "info" && !is_subagent(diagnosis);
    diagnosis.findings.iter().any(|found| found.check == "unknown_type" || is_trouble(found))
}

/// Says whether it is a subagent's, of which nothing is lost to anyone.
fn is_subagent(diagnosis: &Diagnosis) -> bool {
    diagnosis.ok && diagnosis.messages_sent < diagnosis.messages_present
}

fn say_verdict(app: &App, diagnoses: &[Diagnosis]) {
    let lossy = diagnoses.iter().filter(|diagnosis| !diagnosis.ok).count();
    let files = plural(diagnoses.len(), "transcript");
    app.console.say(&match lossy {
        0 => format!("{files} checked: OK"),
        lossy => format!("{files} checked: {lossy} would be refused or lose history"),
    });
    if let Some(session) = diagnoses.iter().find_map(|diagnosis| diagnosis.recoverable.as_ref()) {
        app.console.hint(&format!("the store has it intact: `stemma recover {session}` gives it back"));
    } else if lossy > 0 {
        app.console.hint("`stemma repair FILE` writes a repaired copy and lists what it changed");
    }
}

/// Returns a line for each kind of finding: of several that say the same, the first one with how many there are.
fn folded(findings: &[Finding]) -> Vec<String> {
    let mut kinds: Vec<(String, &Finding, usize)> = Vec::new();
    for finding in findings {
        // Of what is not known the name is all there is to say.
        let is_name = finding.check == "unknown_type";
        let said = if is_name { finding.message.clone() } else { shape(&finding.message) };
        let kind = format!("{} {} {said}", finding.severity, finding.check);
        match kinds.iter_mut().find(|(known, ..)| *known == kind) {
            Some((.., count)) => *count += 1,
            None => kinds.push((kind, finding, 1)),
        }
    }
    let shown = |(_, finding, count): (String, &Finding, usize)| match count {
        1 => format!("  {}", told(finding)),
        several => format!("  {} (×{several})", told(finding)),
    };
    kinds.into_iter().map(shown).collect()
}

/// Returns a message without what differs from case to case: what is quoted, and numbers.
fn shape(message: &str) -> String {
    let unquoted = message.split('`').step_by(2).collect::<Vec<_>>().join("`");
    unquoted.chars().filter(|letter| !letter.is_ascii_digit()).collect()
}

/// Says what the client would do, in one sentence.
fn verdict(diagnosis: &Diagnosis) -> String {
    let (sent, present) = (diagnosis.messages_sent, diagnosis.messages_present);
    match (diagnosis.ok, sent >= present) {
        (true, true) => sends_all(present),
        (true, false) => {
            format!("{sent} of {}; no client resumes a subagent's transcript", many(present, "message"))
        }
        (false, _) if diagnosis.findings.iter().any(|found| found.check == "lines_missing") => {
            format!("{}, and lines of it are missing", sends_all(present))
        }
        (false, _) if present == 0 => "the client would refuse it: there is no message in it".to_owned(),
        (false, _) if sent == 0 => {
            format!("the client would refuse it, or send none of its {}", many(present, "message"))
        }
        (false, true) => format!("{}, and the provider would refuse them", sends_all(present)),
        (false, false) => format!("the client would silently send {sent} of {}", many(present, "message")),
    }
}

/// Says that nothing is lost.
pub(super) fn sends_all(present: u64) -> String {
    match present {
        0 => "the client would send nothing: there is no message in it".to_owned(),
        1 => "the client would send its only message".to_owned(),
        present => format!("the client would send all {}", many(present, "message")),
    }
}

pub(super) fn told(finding: &Finding) -> String {
    let (style, word) = match finding.severity.as_str() {
        "info" => (Style::Faint, "note"),
        "warning" => (Style::Note, "warning"),
        severity => (Style::Error, severity),
    };
    let line = finding.line.map(|line| format!("line {line}: ")).unwrap_or_default();
    format!("{}: {line}{}", style.paint(word), finding.message)
}
