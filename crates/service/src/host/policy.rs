//! What is not captured: exclusions and pauses.

use std::path::{Path, PathBuf};

use stemmata_api::{Answer, Code, Problem, v1};
use stemmata_engine::{CapturePolicy, Pause};
use stemmata_model::Timestamp;

use super::Host;
use crate::fault::Fault;

/// A change of what is not captured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PolicyChange {
    /// Excludes a path, or a pattern of paths.
    Exclude(String),
    /// Takes an exclusion back.
    Include(String),
    /// Pauses capture, everywhere or below a directory, until somebody ends it or a time.
    Pause(Option<PathBuf>, Option<Timestamp>),
    /// Ends the pause of a directory, or all.
    Unpause(Option<PathBuf>),
}

impl Host {
    /// Changes what is not captured, and returns it.
    ///
    /// # Errors
    /// `bad_request` where nothing like that is excluded; `policy_file_bad`, `policy_bad`; those of the system.
    pub fn policy(&self, change: Option<PolicyChange>) -> Answer<v1::Exclusions> {
        let now = self.now();
        self.with(|home| {
            let policy = match change {
                None => home.policy()?,
                Some(change) => home.change_policy(|policy| changed(policy, change, now))?,
            };
            Ok(exclusions(&policy))
        })
    }
}

fn changed(policy: &mut CapturePolicy, change: PolicyChange, now: Timestamp) -> Result<(), Fault> {
    match change {
        PolicyChange::Exclude(given) => {
            let rule = rule_of(given);
            if !policy.excluded.contains(&rule) {
                policy.excluded.push(rule);
            }
        }
        PolicyChange::Include(given) => {
            let rule = rule_of(given);
            if !policy.excluded.contains(&rule) {
                return Err(Problem::new(Code::NotExcluded, format!("`{rule}` is not excluded")).into());
            }
            policy.excluded.retain(|known| *known != rule);
        }
        PolicyChange::Pause(project, until) => {
            let project = project.map(real);
            let is_over = |pause: &Pause| pause.until.is_some_and(|until| until <= now);
            policy.pauses.retain(|pause| pause.project != project && !is_over(pause));
            policy.pauses.push(Pause { project, until });
        }
        PolicyChange::Unpause(project) => {
            let project = project.map(real);
            policy.pauses.retain(|pause| project.is_some() && pause.project != project);
        }
    }
    Ok(())
}

/// Returns what is kept of an exclusion: a whole path, or a pattern of one.
fn rule_of(given: String) -> String {
    // A link is excluded by where it leads: that is what transcripts name.
    if given.contains(['*', '?']) {
        return given;
    }
    real(PathBuf::from(given)).to_string_lossy().into_owned()
}

fn real(path: PathBuf) -> PathBuf {
    std::fs::canonicalize(&path).unwrap_or(path)
}

fn exclusions(policy: &CapturePolicy) -> v1::Exclusions {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let pause = |pause: &Pause| v1::Pause { project: pause.project.as_deref().map(text), until: pause.until };
    v1::Exclusions { excluded: policy.excluded.clone(), pauses: policy.pauses.iter().map(pause).collect() }
}
