//! Sessions for people.
//!
//! Tables and trees are laid out elsewhere; here is what one session says of itself.

use stemmata_api::v1;

use crate::output::style::tame;

/// What a line reads of a session. The store's own form has it too until every command asks the service.
pub(crate) trait Named {
    /// The runtime's own id.
    fn id(&self) -> &str;
    /// Its first prompt, or the name that the client gave it.
    fn title(&self) -> Option<&str>;
    /// The working directory.
    fn cwd(&self) -> Option<&str>;
}

impl Named for v1::Session {
    fn id(&self) -> &str {
        &self.session_id
    }

    fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    fn cwd(&self) -> Option<&str> {
        self.cwd.as_deref()
    }
}

impl Named for stemmata_store::Session {
    fn id(&self) -> &str {
        self.session.as_str()
    }

    fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    fn cwd(&self) -> Option<&str> {
        self.cwd.as_deref()
    }
}

/// Returns a session's title on one line.
pub(crate) fn title(session: &impl Named) -> String {
    title_of(session.title())
}

/// Returns a title on one line.
pub(crate) fn title_of(title: Option<&str>) -> String {
    let line = tame(title.unwrap_or_default()).split_whitespace().collect::<Vec<_>>().join(" ");
    if line.is_empty() { "(no prompt)".to_owned() } else { line }
}

/// Returns the first characters of a session's id, enough for a person to tell sessions apart.
pub(crate) fn short(session: &impl Named) -> String {
    short_id(session.id())
}

/// Returns the first characters of a session's id.
pub(crate) fn short_id(id: &str) -> String {
    let is_uuid = id.len() == 36 && id.split('-').map(str::len).eq([8, 4, 4, 4, 12]);
    if is_uuid { id.chars().take(8).collect() } else { crate::output::table::fit(&tame(id), 16) }
}

/// Returns the last part of a session's working directory.
pub(crate) fn project(session: &impl Named) -> String {
    project_of(session.cwd())
}

/// Returns the last part of a directory.
pub(crate) fn project_of(cwd: Option<&str>) -> String {
    let cwd = cwd.unwrap_or_default();
    let name = cwd.rsplit(['/', '\\']).find(|part| !part.is_empty()).unwrap_or("–");
    tame(name)
}
