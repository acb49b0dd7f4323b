//! Sessions for people.
//!
//! Tables and trees are laid out elsewhere; here is what one session says of itself.

use stemmata_api::v1::Session;

use crate::output::style::tame;

/// Returns a session's title on one line.
pub(crate) fn title(session: &Session) -> String {
    title_of(session.title.as_deref().unwrap_or_default())
}

/// Returns a title on one line, of a link in Markdown only what it is called: an address said twice leaves no room for the rest.
pub(crate) fn title_of(text: &str) -> String {
    let line = tame(&without_addresses(text)).split_whitespace().collect::<Vec<_>>().join(" ");
    if line.is_empty() { "(no prompt)".to_owned() } else { line }
}

/// Returns a text with `name` for every `[name](address)`.
fn without_addresses(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some((before, (name, after))) = rest.split_once('[').and_then(|(before, link)| {
        let (name, after) = link.split_once("](")?;
        let (address, after) = after.split_once(')')?;
        let is_link =
            !name.is_empty() && !name.contains(['[', ']', '\n']) && !address.contains(char::is_whitespace);
        is_link.then_some((before, (name, after)))
    }) {
        shown.extend([before, name]);
        rest = after;
    }
    shown + rest
}

/// Returns the first characters of a session's id, enough for a person to tell sessions apart.
pub(crate) fn short(session: &Session) -> String {
    short_id(&session.session_id)
}

/// Returns the first characters of a session's id.
pub(crate) fn short_id(id: &str) -> String {
    let is_uuid = id.len() == 36 && id.split('-').map(str::len).eq([8, 4, 4, 4, 12]);
    if is_uuid { id.chars().take(8).collect() } else { crate::output::table::fit(&tame(id), 16) }
}

/// Returns the client that a session is of.
pub(crate) fn client(session: &Session) -> &str {
    session.format.rsplit_once("-v").map_or(session.format.as_str(), |(client, _)| client)
}

/// Returns the last part of a session's working directory.
pub(crate) fn project(session: &Session) -> String {
    project_of(session.cwd.as_deref())
}

/// Returns the last part of a directory.
pub(crate) fn project_of(cwd: Option<&str>) -> String {
    let cwd = cwd.unwrap_or_default();
    let name = cwd.rsplit(['/', '\\']).find(|part| !part.is_empty()).unwrap_or("–");
    tame(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_has_the_names_of_links_alone() {
        for (text, title) in [
            ("look at [https://a.b/1](https://a.b/1) now", "look at https://a.b/1 now"),
            ("[one](x) and [two](y)\nthree", "one and two three"),
            ("a [b] (c)", "a [b] (c)"),
            ("[a](b c) [x", "[a](b c) [x"),
            (" \n", "(no prompt)"),
        ] {
            assert_eq!(title_of(text), title, "{text}");
        }
    }
}
