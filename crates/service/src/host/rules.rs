//! Which projects' rules for secrets count.

use std::path::{Path, PathBuf};

use stemmata_api::{Answer, Code, Problem, v1};
use stemmata_engine::{TrustedRules, rules_file_hash};
use stemmata_model::Timestamp;

use super::Host;

impl Host {
    /// Returns the projects' rules that are trusted.
    ///
    /// # Errors
    /// `io_failed`.
    pub fn trusted_rules(&self) -> Answer<v1::TrustedRules> {
        let of = |known: TrustedRules| v1::TrustedFile {
            is_current: rules_file_hash(&known.path).as_ref() == Some(&known.hash),
            path: known.path.to_string_lossy().into_owned(),
            hash: known.hash,
            trusted_at: Timestamp::from_micros(known.at),
        };
        self.with(|home| {
            Ok(v1::TrustedRules { trusted: home.trusted_rules()?.into_iter().map(of).collect() })
        })
    }

    /// Trusts the rules of a directory's project as they are now. Returns the file.
    ///
    /// # Errors
    /// `no_project_rules`, `rules_not_trusted`, `secret_rules_bad`; `io_failed`.
    pub fn trust_rules(&self, folder: &Path) -> Answer<PathBuf> {
        self.with(|home| Ok(home.trust_rules(folder)?))
    }

    /// Trusts the rules of a directory's project no more.
    ///
    /// # Errors
    /// `bad_request` where none of it are trusted; `io_failed`.
    pub fn distrust_rules(&self, folder: &Path) -> Answer<()> {
        self.with(|home| {
            if home.distrust_rules(folder)? {
                return Ok(());
            }
            let detail = format!(
                "no rules of {} are trusted; `stemma secrets list` shows those that are",
                folder.display()
            );
            Err(Problem::new(Code::BadRequest, detail).into())
        })
    }
}
