//! The shortest id of a session that names nothing else: what every listing prints and every command takes.

use stemmata_model::{CommitId, CommitPrefix, IdKind, NEWEST_WORDS, PREFIX_CHARS_MIN, SessionId};
use stemmata_store::IdPart;

use crate::engine::Engine;
use crate::error::Result;

/// Characters of a beginning at most: ids that share more begin with a time, and end with what tells them apart.
const BEGINNING_CHARS_MAX: usize = 8;

/// A session's id in short.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShortId {
    /// The text: the beginning or the end of the id, or all of it.
    pub text: String,
    /// Sessions that have the whole id: copies of one transcript, on one machine or several.
    pub sessions: u64,
}

impl Engine {
    /// Returns the shortest id by which [`Engine::find`] finds a session: its first characters, or its last ones where ids that
    /// were made at one time share the first. At least four, and they mean no other session, commit or tag. They never look like a
    /// flag or like a word for the newest session.
    ///
    /// A few look-ups in indexes, however many sessions there are.
    ///
    /// # Errors
    /// Store errors.
    pub fn short_id(&self, id: &SessionId) -> Result<ShortId> {
        let whole = id.as_str();
        let chars: Vec<usize> = whole.char_indices().map(|(at, _)| at).chain([whole.len()]).collect();
        let length = chars.len() - 1;
        let beginnings = (PREFIX_CHARS_MIN..=BEGINNING_CHARS_MAX.min(length)).filter_map(|count| {
            let end = chars.get(count)?;
            whole.get(..*end)
        });
        let ends = (PREFIX_CHARS_MIN..length).filter_map(|count| {
            let start = chars.get(length - count)?;
            whole.get(*start..)
        });
        for text in beginnings.chain(ends).filter(|text| is_typed(text)) {
            if let Some(sessions) = self.sessions_alone(text, whole)? {
                return Ok(ShortId { text: text.to_owned(), sessions });
            }
        }
        let own = self.store.session_ids(IdPart::Beginning(whole), 1)?;
        let sessions = own.first().filter(|(found, _)| found == id).map_or(0, |(_, count)| *count);
        Ok(ShortId { text: whole.to_owned(), sessions })
    }

    /// Returns how many characters of a commit's id, at least so many, mean no other commit of the store.
    ///
    /// # Errors
    /// Store errors.
    pub fn unique_chars(&self, id: CommitId, at_least: usize) -> Result<usize> {
        let mut chars = at_least;
        while let Ok(prefix) = id.short(chars).parse()
            && self.store.commits_in(prefix, 2)?.len() > 1
        {
            chars += 1;
        }
        Ok(chars)
    }

    /// Returns how many sessions have an id, where nothing else goes by this part of it.
    fn sessions_alone(&self, text: &str, whole: &str) -> Result<Option<u64>> {
        let mut sessions = 0;
        for part in [IdPart::Beginning(text), IdPart::End(text)] {
            for (found, count) in self.store.session_ids(part, 2)? {
                if found.as_str() != whole {
                    return Ok(None);
                }
                sessions = sessions.max(count);
            }
        }
        let is_commit = || -> Result<bool> {
            let prefix = format!("{}{text}", IdKind::Commit.tag()).parse::<CommitPrefix>();
            Ok(match prefix {
                Ok(prefix) => !self.store.commits_in(prefix, 1)?.is_empty(),
                Err(_) => false,
            })
        };
        if is_commit()? || !self.store.tagged(text, 1)?.is_empty() {
            return Ok(None);
        }
        Ok(Some(sessions))
    }
}

/// Returns whether a command takes a text for an id: `-789` is a flag, `a:12` a prompt, and `last` the newest session.
fn is_typed(text: &str) -> bool {
    text.starts_with(char::is_alphanumeric)
        && !text.contains([':', '~', '@'])
        && !text.contains("..")
        && !NEWEST_WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
}
