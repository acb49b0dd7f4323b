//! What went wrong, for people and for programs: the only form in which a failure leaves the service.
//!
//! Which codes there are stands in `table`; a caller asks for the code, never for the text.

mod table;

use std::collections::BTreeMap;
use std::fmt;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use table::{Code, Row};

/// Candidates that an ambiguous name is shown with.
pub const CANDIDATES_MAX: usize = 10;

/// A failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Problem {
    /// Stable name: `commit_not_found`. The page of errors lists all.
    pub code: String,
    /// What kind of problem it is: the exit code and the HTTP status follow from it.
    pub kind: Kind,
    /// The code in words, the same each time.
    pub title: String,
    /// What happened this time: object and operation, lower case, no full stop.
    pub detail: String,
    /// Causes, outermost first, without what was said already.
    #[serde(default)]
    pub causes: Vec<String>,
    /// The next step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// What an ambiguous name may mean, at most ten.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<Candidate>,
    /// What it is about, by name: `ctx`, `path`, `line`, `bound` …
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub about: BTreeMap<String, String>,
    /// Warnings and notes of the command before it failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The exit code that stands for it.
    pub exit_code: u64,
}

/// Something that an ambiguous name may mean.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Candidate {
    /// Its whole id.
    pub id: String,
    /// What it is about, on one line.
    pub summary: String,
}

/// What kind of problem it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema), schemars(inline))]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The command line or the request has the wrong shape.
    Usage,
    /// Something that was named does not exist.
    NotFound,
    /// A name could mean several things.
    Ambiguous,
    /// A file or value that was given cannot be used.
    BadInput,
    /// It changed meanwhile; trying again helps.
    Conflict,
    /// It would do harm or make no sense; nothing was changed.
    Refused,
    /// The caller may not do that.
    Forbidden,
    /// Stored or sent bytes are damaged.
    Corrupt,
    /// Another process holds the store or a database.
    Locked,
    /// No space is left.
    Full,
    /// It was written by another version.
    Incompatible,
    /// The caller cancelled it.
    Cancelled,
    /// A file, the database or the system failed.
    System,
    /// A kind that a newer version knows.
    #[serde(other)]
    Unknown,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 14] = [
        Self::Usage,
        Self::NotFound,
        Self::Ambiguous,
        Self::BadInput,
        Self::Conflict,
        Self::Refused,
        Self::Forbidden,
        Self::Corrupt,
        Self::Locked,
        Self::Full,
        Self::Incompatible,
        Self::Cancelled,
        Self::System,
        Self::Unknown,
    ];

    /// Returns the exit code. Stable: scripts rely on the numbers.
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::BadInput | Self::Conflict | Self::Cancelled | Self::System | Self::Unknown => 1,
            Self::Usage => 2,
            Self::NotFound => 3,
            Self::Ambiguous => 4,
            Self::Refused | Self::Forbidden => 5,
            Self::Corrupt => 6,
            Self::Locked => 7,
            Self::Full => 8,
            Self::Incompatible => 9,
        }
    }

    /// Returns the HTTP status. A locked store comes with `Retry-After`.
    pub const fn http_status(self) -> u16 {
        match self {
            Self::Usage => 400,
            Self::Forbidden => 403,
            Self::NotFound => 404,
            Self::Ambiguous | Self::Conflict | Self::Refused | Self::Incompatible => 409,
            Self::BadInput => 422,
            Self::Cancelled => 499,
            Self::Corrupt | Self::System | Self::Unknown => 500,
            Self::Locked => 503,
            Self::Full => 507,
        }
    }
}

impl Problem {
    /// Returns the problem with this code. `detail` says what happened this time.
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        let row = code.row();
        Self {
            code: row.code.to_owned(),
            kind: row.kind,
            title: row.title.to_owned(),
            detail: detail.into(),
            causes: Vec::new(),
            hint: row.hint.map(str::to_owned),
            candidates: Vec::new(),
            about: BTreeMap::new(),
            notes: Vec::new(),
            exit_code: row.kind.exit_code().into(),
        }
    }

    /// Adds what it is about, and fills `{name}` in the hint.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl fmt::Display) -> Self {
        let value = value.to_string();
        self.hint = self.hint.map(|hint| hint.replace(&format!("{{{name}}}"), &value));
        self.about.insert(name.to_owned(), value);
        self
    }

    /// Adds its causes, outermost first.
    #[must_use]
    pub fn because(mut self, causes: Vec<String>) -> Self {
        self.causes = causes;
        self
    }

    /// Adds what an ambiguous name may mean; beyond [`CANDIDATES_MAX`] they are left out.
    #[must_use]
    pub fn among(mut self, candidates: impl IntoIterator<Item = Candidate>) -> Self {
        self.candidates = candidates.into_iter().take(CANDIDATES_MAX).collect();
        self
    }

    /// Says whether it has this code.
    pub fn is(&self, code: Code) -> bool {
        self.code == code.row().code
    }

    /// Returns the HTTP status.
    pub const fn http_status(&self) -> u16 {
        self.kind.http_status()
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)
    }
}

impl std::error::Error for Problem {}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn codes_are_snake_case_and_unique_and_said_plainly() {
        let codes: BTreeSet<&str> = Code::ALL.iter().map(|code| code.row().code).collect();
        assert_eq!(codes.len(), Code::ALL.len());
        for row in Code::ALL.iter().map(|code| code.row()) {
            assert!(row.code.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{}", row.code);
            for text in [row.title, row.hint.unwrap_or("none")] {
                assert!(!text.ends_with('.') && !text.contains("  "), "{text}");
            }
            assert_ne!(row.kind, Kind::Unknown, "{}", row.code);
        }
    }

    #[test]
    fn every_problem_says_the_next_step() {
        let silent: Vec<&str> = Code::ALL
            .iter()
            .map(|code| code.row())
            .filter(|row| row.hint.is_none())
            .map(|row| row.code)
            .collect();
        assert_eq!(silent, [""; 0]);
    }

    #[test]
    fn a_hint_names_what_the_problem_is_about() {
        let problem = Problem::new(Code::NoCompaction, "no compaction before it").with("ctx", "ctx-abc");
        assert_eq!(problem.hint.as_deref(), Some("`stemma tree ctx-abc` shows where compactions are (◆)"));
        assert_eq!(problem.about["ctx"], "ctx-abc");
        assert!(problem.is(Code::NoCompaction) && !problem.is(Code::CommitNotFound));
        assert_eq!((problem.exit_code, problem.http_status()), (3, 404));
        assert_eq!(problem.to_string(), "no compaction before it");
    }

    #[test]
    fn a_problem_of_a_newer_version_is_read() {
        let text = r#"{"code":"moon_phase","kind":"lunar","title":"t","detail":"d","causes":[],"exit_code":1,"x":{}}"#;
        let problem: Problem = serde_json::from_str(text).unwrap();
        assert_eq!(problem.kind, Kind::Unknown);
        for kind in Kind::ALL {
            let text = serde_json::to_string(&kind).unwrap();
            assert_eq!(serde_json::from_str::<Kind>(&text).unwrap(), kind);
        }
    }

    #[test]
    fn a_problem_comes_back_as_it_was_written() {
        for code in Code::ALL {
            let one = Candidate { id: "ctx-1".to_owned(), summary: "s".to_owned() };
            let problem = Problem::new(*code, "d").with("path", "/a").because(vec!["c".to_owned()]);
            let problem = problem.among(std::iter::repeat_n(one, CANDIDATES_MAX + 1));
            assert_eq!(problem.candidates.len(), CANDIDATES_MAX);
            let text = serde_json::to_string(&problem).unwrap();
            assert_eq!(serde_json::from_str::<Problem>(&text).unwrap(), problem);
        }
    }
}
