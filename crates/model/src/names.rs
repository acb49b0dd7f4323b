//! Names given from outside: opaque strings with a bound, as newtypes.
//!
//! Nothing here is computed from content; ids that are, are in `ids`.

use std::fmt;

use crate::ids::{IdKind, PREFIX_CHARS_MIN};

/// The most bytes a name may have: names are keys of indexes and columns of listings.
pub const NAME_BYTES_MAX: usize = 512;

/// Why a text cannot be a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// The text is empty.
    #[error("{what} is empty")]
    Empty {
        /// The kind of name.
        what: &'static str,
    },
    /// The text is longer than [`NAME_BYTES_MAX`].
    #[error("{what} has {bytes} bytes, more than {NAME_BYTES_MAX}")]
    TooLong {
        /// The kind of name.
        what: &'static str,
        /// The bytes it has.
        bytes: usize,
    },
    /// The text holds a control character, which would break listings and logs.
    #[error("{what} holds a control character at byte {offset}")]
    Control {
        /// The kind of name.
        what: &'static str,
        /// Where the first one is.
        offset: usize,
    },
    /// The text would mean something else where a commit is named.
    #[error("`{text}` cannot be a tag: {reason}")]
    Tag {
        /// The text.
        text: Box<str>,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The text would not survive in a path of a URL.
    #[error("`{text}` cannot name a pointer: {reason}")]
    Pointer {
        /// The text.
        text: Box<str>,
        /// What is wrong with it.
        reason: &'static str,
    },
}

/// What people write for the newest session, who know it from elsewhere.
pub const NEWEST_WORDS: [&str; 4] = ["last", "latest", "newest", "HEAD"];

/// Accepts what can name a commit beside ids, their beginnings, and `@`, `~`, `:` behind them. A tag comes before all of these, so
/// that one called `@` or `4a36` would redirect what everybody else means by it.
///
/// # Errors
/// `NameError` says what is wrong with the text.
pub fn check_tag(text: &str) -> Result<(), NameError> {
    let is_id = text.len() >= PREFIX_CHARS_MIN && text.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
    let reason = if text.is_empty() {
        return Err(NameError::Empty { what: "the tag" });
    } else if text.contains(|c: char| c.is_whitespace() || c.is_control() || matches!(c, '@' | '~' | ':')) {
        "a tag has no spaces, `@`, `~` or `:`"
    } else if is_id || text.starts_with(IdKind::Commit.tag()) || text == "none" {
        "it looks like an id; a tag comes after the session that it names"
    } else if NEWEST_WORDS.iter().any(|word| text.eq_ignore_ascii_case(word)) {
        "it means the newest session of a directory"
    } else {
        return Ok(());
    };
    Err(NameError::Tag { text: text.into(), reason })
}

/// Accepts what a URL carries in its path as it is: clients resolve `.` and `..` and join `//` before they send, and then ask for
/// another pointer.
fn check_pointer(text: &str) -> Result<(), NameError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | ':' | '@' | '/');
    let reason = if !text.chars().all(is_plain) {
        "it has letters without accents, digits, and `.`, `_`, `-`, `:`, `@`, `/`"
    } else if text.split('/').any(|part| matches!(part, "" | "." | "..")) {
        "between slashes there is a name, other than `.` and `..`"
    } else {
        return Ok(());
    };
    Err(NameError::Pointer { text: text.into(), reason })
}

fn check(what: &'static str, text: &str) -> Result<(), NameError> {
    if text.is_empty() {
        return Err(NameError::Empty { what });
    }
    if text.len() > NAME_BYTES_MAX {
        return Err(NameError::TooLong { what, bytes: text.len() });
    }
    match text.char_indices().find(|(_, character)| character.is_control()) {
        Some((offset, _)) => Err(NameError::Control { what, offset }),
        None => Ok(()),
    }
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $what:literal $(, $also:path)?) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Box<str>);

        impl $name {
            /// Accepts 1 to [`NAME_BYTES_MAX`] bytes without control characters, and not all of them where its type says so.
            ///
            /// # Errors
            /// `NameError` says what is wrong with the text.
            pub fn new(text: impl Into<Box<str>>) -> Result<Self, NameError> {
                let text = text.into();
                check($what, &text)?;
                $( $also(&text)?; )?
                Ok(Self(text))
            }

            /// Returns the text as given.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.pad(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(formatter, "{:?}", &self.0)
            }
        }

        impl std::str::FromStr for $name {
            type Err = NameError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::new(text)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }
    };
}

name!(
    /// A delta encoding of a runtime, with its version: `claude-code-v1`.
    FormatId, "format"
);
name!(
    /// What kind of agent a commit came from: `claude-code/main`, or a configured name.
    Template, "template"
);
name!(
    /// Who ran the agent, and where: `<user>@<machine>/<runtime>` for imports.
    Principal, "principal"
);
name!(
    /// A machine: a random 128-bit number in hex, created once in a data directory.
    MachineId, "machine"
);
name!(
    /// A runtime's own session id, or one that a caller made up.
    SessionId, "session"
);
name!(
    /// A ticket in somebody's tracker.
    TicketId, "ticket"
);
name!(
    /// A thread of a discussion.
    ThreadId, "thread"
);
name!(
    /// A runtime's own id of an entry, or one derived from position and content.
    EntryId, "entry"
);
name!(
    /// A ledger: a project's id, or one that a caller gives a cluster of agents.
    LedgerId, "ledger"
);
name!(
    /// What an event is about: one of [`topics`](crate::topics), or a caller's own.
    Topic, "topic"
);
name!(
    /// Who sends or receives an event: an agent's name, or `broadcast`.
    Party, "sender or receiver"
);
name!(
    /// A pointer: a name that programs give a commit and move to another one. ASCII letters, digits and `.`, `_`, `-`, `:`, `@`, in
    /// parts that slashes separate.
    PointerKey, "pointer", check_pointer
);
name!(
    /// A kind of background job: `pack`.
    JobKind, "kind of job"
);
name!(
    /// A token, without its secret: `tok-…`.
    TokenId, "token"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_bounds() {
        assert_eq!(SessionId::new(""), Err(NameError::Empty { what: "session" }));
        assert_eq!(SessionId::new("a\nb"), Err(NameError::Control { what: "session", offset: 1 }));
        assert_eq!(SessionId::new("x".repeat(513)), Err(NameError::TooLong { what: "session", bytes: 513 }));
        assert_eq!(SessionId::new("7f").map(|name| name.to_string()), Ok("7f".to_owned()));
    }

    #[test]
    fn a_pointer_is_named_by_what_a_path_carries() {
        for text in ["main", "agents/ada@workshop/claude-code", "a.b_c-d:e", "...", "a/.b"] {
            assert_eq!(PointerKey::new(text).map(|key| key.to_string()), Ok(text.to_owned()));
        }
        for text in ["/a", "a/", "a//b", ".", "a/../b", "a b", "a%2Fb", "a?b", "a#b", "ä"] {
            assert!(matches!(PointerKey::new(text), Err(NameError::Pointer { .. })), "{text}");
        }
        assert_eq!(PointerKey::new(""), Err(NameError::Empty { what: "pointer" }));
    }
}
