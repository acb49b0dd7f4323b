//! Names of clients as people type them: `claude`, `Codex`, `gemini-cli`.

use super::{Client, at_home};

/// Letters by which a mistyped name may differ from a client's.
const TYPOS_MAX: usize = 2;

/// A name that no client has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown client `{name}`{}", meant(*.nearest))]
pub struct UnknownClient {
    /// The name.
    pub name: String,
    /// The client that was probably meant.
    pub nearest: Option<&'static str>,
}

/// Returns the client that a name means.
///
/// # Errors
/// `UnknownClient`, with the client that was probably meant.
pub fn client_named(name: &str) -> Result<&'static Client, UnknownClient> {
    let typed = plain(name);
    let known = || at_home().flat_map(|client| names(client).map(move |known| (known, client)));
    if let Some((_, client)) = known().find(|(known, _)| *known == typed) {
        return Ok(client);
    }
    let near = known().map(|(known, client)| (typos(&typed, &known), known.len(), client.id));
    // Two letters of a short name are most of it.
    let nearest = near.filter(|(typos, length, _)| *typos <= TYPOS_MAX && typos * 2 < *length).min();
    Err(UnknownClient { name: name.to_owned(), nearest: nearest.map(|(_, _, id)| id) })
}

/// Returns the names that a client goes by, as [`plain`] leaves them.
pub(super) fn names(client: &'static Client) -> impl Iterator<Item = String> {
    [plain(client.id)].into_iter().chain(client.aliases.iter().map(|alias| (*alias).to_owned()))
}

fn meant(nearest: Option<&str>) -> String {
    let known = || at_home().map(|client| client.id).collect::<Vec<_>>().join(", ");
    nearest.map_or_else(
        || format!("; supported clients: {}", known()),
        |nearest| format!(". Did you mean `{nearest}`?"),
    )
}

/// Returns names as a list for people: `a`, `b` or `c`.
pub fn listed(names: impl IntoIterator<Item = impl Into<String>>, last: &str) -> String {
    let mut names: Vec<String> = names.into_iter().map(Into::into).collect();
    match names.pop() {
        Some(only) if names.is_empty() => only,
        Some(end) => format!("{} {last} {end}", names.join(", ")),
        None => String::new(),
    }
}

/// Returns a name in small letters, without what people put between words.
pub(super) fn plain(name: &str) -> String {
    name.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Returns how many letters must be typed, deleted or replaced to make one name of another.
fn typos(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (line, letter) in from.chars().enumerate() {
        let mut left = line + 1;
        let mut next = vec![left];
        for (above, other) in row.windows(2).zip(&to) {
            if let [corner, above] = above {
                left = (corner + usize::from(letter != *other)).min(above + 1).min(left + 1);
                next.push(left);
            }
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_go_by_the_names_that_people_type() {
        for (name, wanted) in [
            ("claude", Ok("claude-code")),
            ("Claude Code", Ok("claude-code")),
            ("claude_code", Ok("claude-code")),
            ("Codex", Ok("codex")),
            ("gemini-cli", Ok("gemini")),
            ("open-code", Ok("opencode")),
            ("PI", Ok("pi")),
            ("cluade", Err(Some("claude-code"))),
            ("codx", Err(Some("codex"))),
            ("cursor", Err(None)),
            ("p", Err(None)),
            ("", Err(None)),
        ] {
            let found = client_named(name).map(|client| client.id).map_err(|error| error.nearest);
            assert_eq!(found, wanted, "{name}");
        }
        let said = |name| client_named(name).expect_err("unknown").to_string();
        assert_eq!(said("cluade"), "unknown client `cluade`. Did you mean `claude-code`?");
        assert_eq!(
            said("cursor"),
            "unknown client `cursor`; supported clients: claude-code, codex, gemini, pi, opencode"
        );
    }
}
