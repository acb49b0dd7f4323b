//! Clients' transcripts as wire types.

use std::path::Path;

use stemmata_api::v1;
use stemmata_engine::{Diagnosis, Finding, Mended, Severity};

/// Returns the wire form of what a loader makes of a transcript.
pub(crate) fn diagnosis(path: &std::path::Path, diagnosis: &Diagnosis) -> v1::Diagnosis {
    v1::Diagnosis {
        path: path.to_string_lossy().into_owned(),
        format: diagnosis.format.clone(),
        version: diagnosis.version.clone(),
        ok: !diagnosis.loses(),
        lines: diagnosis.lines,
        bytes: diagnosis.bytes,
        messages_sent: diagnosis.validation.messages_sent,
        messages_present: diagnosis.validation.messages_present,
        findings: diagnosis.validation.findings.iter().map(finding).collect(),
        recoverable: None,
    }
}

/// Returns the wire form of a finding.
pub(crate) fn finding(finding: &Finding) -> v1::Finding {
    let severity = match finding.severity {
        Severity::Info => "info",
        Severity::Warning => "warning",
        Severity::Fatal => "fatal",
    };
    v1::Finding {
        severity: severity.to_owned(),
        check: finding.check.to_owned(),
        line: finding.line,
        message: finding.message.clone(),
    }
}

/// Returns the wire form of a repair whose copy is nowhere yet.
pub(crate) fn mended(path: &Path, mended: &Mended) -> v1::Mended {
    let changes = mended.changes.iter().map(|change| v1::MendedLine {
        line: change.line,
        kind: change.kind.to_owned(),
        message: change.message.clone(),
    });
    v1::Mended {
        path: path.to_string_lossy().into_owned(),
        out: None,
        format: mended.format.clone(),
        version: mended.version.clone(),
        bytes: mended.bytes.len() as u64,
        is_document: mended.is_document,
        changes: changes.collect(),
        messages_sent: mended.validation.messages_sent,
        messages_present: mended.validation.messages_present,
        findings: mended.validation.findings.iter().map(finding).collect(),
    }
}
