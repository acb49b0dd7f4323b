//! Secrets in the clients' own transcripts, which no redaction of ours changes.

use std::path::Path;

use stemmata_api::{Answer, Control, v1};

use super::Host;
use crate::fault::{problem_of, with_causes};

/// Findings that one scan returns at most.
const FINDINGS_MAX: usize = 100_000;

impl Host {
    /// Finds secrets in the transcripts of this machine's clients, by the current rules; `limit` is how many at most, 0 all.
    ///
    /// # Errors
    /// `secret_rules_bad`, `secret_rule_failed`; `cancelled`; those of the store.
    pub fn scan_clients(&self, limit: u64, control: &Control<'_>) -> Answer<v1::ClientScan> {
        let limit = match usize::try_from(limit) {
            Ok(limit @ 1..=FINDINGS_MAX) => limit,
            _ => FINDINGS_MAX,
        };
        let folders = self.clients_folders();
        self.with_engine(|engine| {
            let mut findings = Vec::new();
            let scanned = engine.scan_files(&folders, &mut |found| {
                findings.push(found);
                findings.len() < limit && !control.is_cancelled()
            })?;
            control.check()?;
            let unread = |path: &Path, reason: String| v1::UnreadFile {
                path: path.to_string_lossy().into_owned(),
                reason,
            };
            Ok(v1::ClientScan {
                files: scanned.files,
                bytes: scanned.bytes,
                complete: scanned.unread.is_empty() && findings.len() < limit,
                unread: scanned
                    .unread
                    .iter()
                    .map(|(path, error)| unread(path, with_causes(&problem_of(error))))
                    .collect(),
                findings,
            })
        })
    }
}
