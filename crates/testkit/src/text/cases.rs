//! The cases a word takes in code: `snake_case`, `PascalCase` and their kin.
//! Not about languages: the grammar says which case goes where.

/// Returns the word in the named case; the word itself where no case is named.
///
/// # Panics
/// When the grammar names a case that does not exist.
pub(super) fn apply(case: &str, word: &str) -> String {
    match case {
        "" => word.to_owned(),
        "snake" => joined(word, "_"),
        "kebab" => joined(word, "-"),
        "upper" => joined(word, "_").to_uppercase(),
        "pascal" => parts(word).map(capital).collect(),
        "camel" => {
            let pascal: String = parts(word).map(capital).collect();
            let mut characters = pascal.chars();
            characters
                .next()
                .map(|first| first.to_lowercase().collect::<String>() + characters.as_str())
                .unwrap_or_default()
        }
        "cap" => capital(word),
        other => unreachable!("the grammar knows no case `{other}`"),
    }
}

fn parts(word: &str) -> impl Iterator<Item = &str> {
    word.split([' ', '-', '_']).filter(|part| !part.is_empty())
}

fn joined(word: &str, separator: &str) -> String {
    parts(word).collect::<Vec<_>>().join(separator)
}

fn capital(word: &str) -> String {
    let mut characters = word.chars();
    characters
        .next()
        .map(|first| first.to_uppercase().collect::<String>() + characters.as_str())
        .unwrap_or_default()
}
