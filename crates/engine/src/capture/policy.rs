//! What is captured and what is not: exclusions and pauses, as a pure decision.
//!
//! Keeping them in a file is `home/policy_file`'s; asking here, before anything of a transcript is stored, is the capture's.

use std::path::{Path, PathBuf};

use stemmata_model::Timestamp;

use crate::capture::transcript_file::Transcript;
use crate::engine::Engine;
use crate::error::Result;

/// Exclusions and pauses at most; each is one that a person made.
pub const RULES_MAX: usize = 1_000;

/// Bytes of a pattern or a path at most.
pub const RULE_BYTES_MAX: usize = 4_096;

/// Steps that matching one pattern takes at most, so that no pattern holds a capture up.
const MATCH_STEPS_MAX: usize = 100_000;

/// A pause of capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pause {
    /// Only sessions that work at or below this directory; none: all.
    pub project: Option<PathBuf>,
    /// When it ends by itself; none: when somebody ends it.
    pub until: Option<Timestamp>,
}

/// What somebody does not want captured.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CapturePolicy {
    /// Paths, and patterns of paths (`*` within a name, `**` across names, `?` one character). A session is
    /// excluded where its transcript or its working directory is there or below.
    pub excluded: Vec<String>,
    /// Pauses; of several, any one is enough.
    pub pauses: Vec<Pause>,
    /// Why the two above are not known; then everything is held back.
    pub unknown: Option<String>,
}

/// Why a transcript is not captured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeldBack {
    /// By this exclusion.
    Excluded(String),
    /// By this pause.
    Paused(Pause),
    /// What is to be held back is not known: then nothing is captured rather than too much.
    Unknown(String),
}

impl std::fmt::Display for HeldBack {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Excluded(rule) => write!(formatter, "it is excluded by `{rule}`"),
            Self::Paused(pause) => pause.fmt(formatter),
            Self::Unknown(reason) => write!(formatter, "the exclusions cannot be read: {reason}"),
        }
    }
}

impl std::fmt::Display for Pause {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("capture is paused")?;
        if let Some(project) = &self.project {
            write!(formatter, " below {}", project.display())?;
        }
        match self.until {
            Some(until) => write!(formatter, " until {until}"),
            None => formatter.write_str(" until `stemma unpause`"),
        }
    }
}

impl CapturePolicy {
    /// Returns whether nothing is held back, so that nobody need look for a working directory.
    pub const fn is_empty(&self) -> bool {
        self.excluded.is_empty() && self.pauses.is_empty() && self.unknown.is_none()
    }

    /// Decides about one transcript. `cwd` is every working directory that is known of it.
    pub fn decide(&self, transcript: &Path, cwd: &[&Path], now: Timestamp) -> Option<HeldBack> {
        if let Some(reason) = &self.unknown {
            return Some(HeldBack::Unknown(reason.clone()));
        }
        let places = || std::iter::once(transcript).chain(cwd.iter().copied());
        let excluded = self.excluded.iter().find(|rule| places().any(|place| covers(rule, place)));
        if let Some(rule) = excluded {
            return Some(HeldBack::Excluded(rule.clone()));
        }
        let holds = |pause: &&Pause| {
            let is_over = pause.until.is_some_and(|until| until <= now);
            let concerns = |project: &Path| places().any(|place| place.starts_with(project));
            !is_over && pause.project.as_deref().is_none_or(concerns)
        };
        self.pauses.iter().find(holds).cloned().map(HeldBack::Paused)
    }

    /// Returns the pause that holds everything back at a moment.
    pub fn paused(&self, now: Timestamp) -> Option<&Pause> {
        let holds = |pause: &&Pause| pause.project.is_none() && pause.until.is_none_or(|until| until > now);
        self.pauses.iter().find(holds)
    }
}

impl Engine {
    /// Decides about a transcript by where it is and where its session worked: as it was listed, and as the first
    /// records say where it could be opened.
    pub(crate) fn held_back(&self, path: &Path, opened: Option<&mut Transcript>) -> Result<Option<HeldBack>> {
        if self.policy.is_empty() {
            return Ok(None);
        }
        let key = opened.as_deref().map_or_else(|| self.session_key(path), |opened| self.key_of(opened));
        let known = self.store.session(&key)?.and_then(|session| session.cwd).map(PathBuf::from);
        let mut places: Vec<PathBuf> = std::iter::once(PathBuf::from(&key.path)).chain(known).collect();
        let now = self.clock.now();
        let decide = |places: &[PathBuf]| {
            self.policy.decide(path, &places.iter().map(PathBuf::as_path).collect::<Vec<_>>(), now)
        };
        // If its path or an earlier reading decides, the transcript is not read: it may be busy.
        if let (None, Some(opened)) = (decide(&places), opened) {
            places.extend(opened.cwds()?);
        }
        Ok(decide(&places))
    }
}

/// Says whether a path, or a folder above it, is what a rule names.
fn covers(rule: &str, path: &Path) -> bool {
    if !rule.contains(['*', '?']) {
        return path.starts_with(rule);
    }
    let pattern: Vec<char> = rule.trim_end_matches('/').chars().collect();
    path.ancestors().any(|folder| {
        let text: Vec<char> = folder.to_string_lossy().chars().collect();
        matches(&pattern, &text)
    })
}

/// Matches a whole text: `*` stands for anything without `/`, `**` for anything, `?` for one character but `/`.
/// What takes too long to decide counts as matched: too little is captured rather than too much.
fn matches(pattern: &[char], text: &[char]) -> bool {
    // The furthest star of either kind, and where in the text it was last let to end.
    let mut within: Option<(usize, usize)> = None;
    let mut across: Option<(usize, usize)> = None;
    let (mut at, mut seen) = (0, 0);
    for _ in 0..MATCH_STEPS_MAX {
        let next = pattern.get(at);
        let character = text.get(seen);
        match (next, character) {
            (None, None) => return true,
            (Some('*'), _) => {
                if pattern.get(at + 1) == Some(&'*') {
                    across = Some((at + 2, seen));
                    within = None;
                    at += 2;
                } else {
                    within = Some((at + 1, seen));
                    at += 1;
                }
                continue;
            }
            (Some('?'), Some(found)) if *found != '/' => {
                (at, seen) = (at + 1, seen + 1);
                continue;
            }
            (Some(wanted), Some(found)) if wanted == found => {
                (at, seen) = (at + 1, seen + 1);
                continue;
            }
            _ => {}
        }
        // A mismatch: the latest star takes one character more.
        if let Some((after, taken)) =
            within.filter(|(_, taken)| text.get(*taken).is_some_and(|own| *own != '/'))
        {
            within = Some((after, taken + 1));
            (at, seen) = (after, taken + 1);
        } else if let Some((after, taken)) = across.filter(|(_, taken)| *taken < text.len()) {
            across = Some((after, taken + 1));
            within = None;
            (at, seen) = (after, taken + 1);
        } else {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(rules: &[&str]) -> CapturePolicy {
        CapturePolicy {
            excluded: rules.iter().map(|rule| (*rule).to_owned()).collect(),
            ..CapturePolicy::default()
        }
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    #[test]
    fn a_rule_covers_what_it_names_and_what_is_below() {
        for (rule, path, covered) in [
            ("/home/ann/secret", "/home/ann/secret", true),
            ("/home/ann/secret", "/home/ann/secret/a/b", true),
            ("/home/ann/secret/", "/home/ann/secret/a", true),
            ("/home/ann/secret", "/home/ann/secrets", false),
            ("/home/ann/secret", "/home/ann", false),
            ("/home/*/secret", "/home/bob/secret/a", true),
            ("/home/*/secret", "/home/bob/x/secret", false),
            ("/home/**/secret", "/home/bob/x/secret/y", true),
            ("**/secret", "/a/b/secret", true),
            ("**/secret", "/a/b/secretive", false),
            ("**/*.private/*", "/a/b.private/c/d", true),
            ("/srv/client-?", "/srv/client-7/x", true),
            ("/srv/client-?", "/srv/client-17", false),
            ("/srv/client-?", "/srv/client-", false),
            ("*", "/a", false),
            ("**", "/a", true),
        ] {
            let decided = policy(&[rule]).decide(Path::new("/t.jsonl"), &[Path::new(path)], at(0));
            assert_eq!(covers(rule, Path::new(path)), covered, "{rule} {path}");
            assert_eq!(decided.is_some(), covered || rule == "**", "{rule} {path}");
            let transcript = policy(&[rule]).decide(Path::new(path), &[], at(0));
            assert_eq!(transcript.is_some(), covered, "{rule} {path}");
        }
    }

    #[test]
    fn a_pattern_that_would_take_forever_holds_back() {
        let rule = "*a".repeat(200);
        let path = format!("/{}b", "a".repeat(4000));
        let started: Vec<char> = path.chars().collect();
        let _answer = matches(&rule.chars().collect::<Vec<char>>(), &started);
        assert!(covers("**a**a**a**a**a**a**a**b", Path::new(&path)));
    }

    #[test]
    fn a_pause_holds_until_its_end_and_for_its_project() {
        let pause = |project: Option<&str>, until: Option<i64>| CapturePolicy {
            pauses: vec![Pause { project: project.map(PathBuf::from), until: until.map(at) }],
            ..CapturePolicy::default()
        };
        let held = |policy: &CapturePolicy, cwd: &str, now: i64| {
            policy.decide(Path::new("/t.jsonl"), &[Path::new(cwd)], at(now)).is_some()
        };
        assert!(held(&pause(None, None), "/a", 5));
        assert!(held(&pause(None, Some(6)), "/a", 5));
        assert!(!held(&pause(None, Some(5)), "/a", 5));
        assert!(held(&pause(Some("/a"), None), "/a/b", 5));
        assert!(!held(&pause(Some("/a"), None), "/ab", 5));
        assert_eq!(pause(Some("/a"), None).paused(at(0)), None);
        assert!(pause(None, None).paused(at(0)).is_some());
        assert!(CapturePolicy::default().is_empty());
    }
}
