//! Addresses in titles: of a link in Markdown its name, of an address its end, and each once.

/// Columns of an address that is shown whole.
const ADDRESS_CHARS_MAX: usize = 32;

/// Returns a text with the names of its links, and with short addresses, each once.
pub(super) fn without_links(text: &str) -> String {
    let mut known: Vec<String> = Vec::new();
    let named = names_of_links(text);
    let words = named.split_whitespace().filter_map(|word| {
        let Some((before, address, after)) = address_of(word) else { return Some(word.to_owned()) };
        let short = short(address);
        if known.contains(&short) {
            return None;
        }
        known.push(short.clone());
        Some(format!("{before}{short}{after}"))
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Returns a text with `name` for every `[name](address)`, and for an image; the address of the last one may be cut.
fn names_of_links(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some((before, link)) = rest.split_once('[') {
        shown.push_str(before);
        let found = link.split_once("](").filter(|(name, _)| !name.is_empty() && !name.contains(['[', ']']));
        let (address, after) = match found {
            Some((_, after)) => match after.split_once(')') {
                Some((address, after)) => (Some(address), after),
                None => (Some(after), ""),
            },
            None => (None, link),
        };
        let address = address.filter(|address| !address.trim().contains(char::is_whitespace));
        if let (Some((name, _)), Some(_)) = (found, address) {
            if shown.ends_with('!') {
                shown.pop();
            }
            shown.push_str(name);
            rest = after;
        } else {
            shown.push('[');
            rest = link;
        }
    }
    shown + rest
}

/// Returns what stands before an address in a word, the address without its scheme, and what stands behind.
fn address_of(word: &str) -> Option<(&str, &str, &str)> {
    let at = ["https://", "http://"].iter().find_map(|scheme| Some((word.find(scheme)?, scheme.len())))?;
    let address = word.get(at.0 + at.1..)?;
    let end = address.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '>', '"', '\'']).len();
    (end > 0).then_some((word.get(..at.0)?, address.get(..end)?, address.get(end..)?))
}

/// Returns an address without its question, its place in the page and the middle of a long path.
fn short(address: &str) -> String {
    let address = address.strip_prefix("www.").unwrap_or(address);
    let address = address.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
    if address.chars().count() <= ADDRESS_CHARS_MAX {
        return address.to_owned();
    }
    let (host, path) = address.split_once('/').unwrap_or((address, ""));
    let parts: Vec<&str> = path.split('/').collect();
    let last = parts.last().copied().unwrap_or_default();
    let room = ADDRESS_CHARS_MAX.saturating_sub(host.chars().count() + last.chars().count() + 3);
    let mut start = String::new();
    for part in parts.iter().take(parts.len().saturating_sub(1)) {
        if start.chars().count() + part.chars().count() + 1 > room {
            break;
        }
        start.push('/');
        start.push_str(part);
    }
    let end: Vec<char> = last.chars().rev().take(ADDRESS_CHARS_MAX / 2).collect();
    let end: String = end.into_iter().rev().collect();
    format!("{host}{start}/…{}{end}", if end.len() == last.len() { "/" } else { "" })
}
