//! Names of clients as people type them: `claude`, `Codex`, `gemini-cli`.

use super::homes::RUNTIMES;

/// Other names of clients, as [`plain`] leaves them.
const ALIASES: &[(&str, &str)] = &[
    ("claude", "claude-code"),
    ("claudecode", "claude-code"),
    ("codexcli", "codex"),
    ("openaicodex", "codex"),
    ("geminicli", "gemini"),
    ("googlegemini", "gemini"),
    ("opencode", "opencode"),
    ("picodingagent", "pi"),
];

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
pub fn client_named(name: &str) -> Result<&'static str, UnknownClient> {
    let typed = plain(name);
    let known = || {
        let own = RUNTIMES.iter().map(|place| (plain(place.runtime), place.runtime));
        own.chain(ALIASES.iter().map(|(alias, runtime)| ((*alias).to_owned(), *runtime)))
    };
    if let Some((_, runtime)) = known().find(|(known, _)| *known == typed) {
        return Ok(runtime);
    }
    let near = known().map(|(known, runtime)| (typos(&typed, &known), known.len(), runtime));
    // Two letters of a short name are most of it.
    let nearest = near.filter(|(typos, length, _)| *typos <= TYPOS_MAX && typos * 2 < *length).min();
    Err(UnknownClient { name: name.to_owned(), nearest: nearest.map(|(_, _, runtime)| runtime) })
}

fn meant(nearest: Option<&str>) -> String {
    let known = || RUNTIMES.iter().map(|place| place.runtime).collect::<Vec<_>>().join(", ");
    nearest.map_or_else(
        || format!("; supported clients: {}", known()),
        |nearest| format!(". Did you mean `{nearest}`?"),
    )
}

/// Returns a name in small letters, without what people put between words.
fn plain(name: &str) -> String {
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
            let found = client_named(name).map_err(|error| error.nearest);
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
