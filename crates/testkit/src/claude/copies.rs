//! Copies of a transcript as its clients make them: forks, and old versions' resumed sessions.
//! Not copies of ours: what we place is the engine's. The rules are the clients' own, as observed.

use std::collections::HashMap;

/// Letters of a UUID as the client writes it.
const UUID_LETTERS: usize = 36;

/// How a client copied a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyKind {
    /// `claude --fork-session` of versions 2.x, and `--resume` of 1.0.x: entry ids stay, each line names the
    /// new session.
    KeepsIds,
    /// The SDK's `forkSession`: each entry has a new id, and says which one it was.
    NewIds,
}

/// Returns what the client writes when it copies the lines of `text` from session `from` into session `to`.
///
/// Lines are kept in order. `to` is a UUID, from which the new entry ids are derived.
pub fn copy_of(text: &str, from: &str, to: &str, kind: CopyKind) -> String {
    let renamed = text.replace(&format!("\"sessionId\":\"{from}\""), &format!("\"sessionId\":\"{to}\""));
    match kind {
        CopyKind::KeepsIds => renamed,
        CopyKind::NewIds => with_new_ids(&renamed, from, to),
    }
}

fn with_new_ids(text: &str, from: &str, to: &str) -> String {
    let mut known: HashMap<String, String> = HashMap::new();
    for line in text.lines() {
        if let Some(id) = field(line, "uuid") {
            let fresh = fresh(to, known.len());
            known.entry(id.to_owned()).or_insert(fresh);
        }
    }
    let mut copied = String::with_capacity(text.len() + text.len() / 8);
    for line in text.lines().filter(|line| field(line, "type") != Some("file-history-snapshot")) {
        let origin = field(line, "uuid").map(str::to_owned);
        let mut line = replaced(line, &known);
        if let (Some(origin), Some(open)) = (origin, line.strip_suffix('}')) {
            line =
                format!("{open},\"forkedFrom\":{{\"sessionId\":\"{from}\",\"messageUuid\":\"{origin}\"}}}}");
        }
        copied.push_str(&line);
        copied.push('\n');
    }
    copied
}

/// Returns the value of the first field of that name that is a plain string.
fn field<'l>(line: &'l str, name: &str) -> Option<&'l str> {
    let (_, rest) = line.split_once(&format!("\"{name}\":\""))?;
    rest.split_once('"').map(|(value, _)| value)
}

/// Replaces every known id that stands between quotes.
fn replaced(line: &str, known: &HashMap<String, String>) -> String {
    let mut parts = line.split('"').map(|part| match known.get(part) {
        Some(new) if part.len() == UUID_LETTERS => new.as_str(),
        _ => part,
    });
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        whole.push('"');
        whole.push_str(part);
    }
    whole
}

/// Returns the `number`th entry id of session `session`: spread like random ones, and always the same.
fn fresh(session: &str, number: usize) -> String {
    let mut hash: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    for byte in session.bytes().chain(number.to_le_bytes()) {
        hash = (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
    }
    hash ^= hash >> 67;
    let digits = format!("{:032x}", hash.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835));
    let part = |from: usize, to: usize| digits.get(from..to).unwrap_or_default();
    format!("{}-{}-4{}-8{}-{}", part(0, 8), part(8, 12), part(13, 16), part(17, 20), part(20, 32))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::claude::ClaudeSession;

    const TO: &str = "c0c0c0c0-0000-4000-8000-000000000001";

    fn session() -> (String, String) {
        let session = ClaudeSession::new(3).turns(4).build();
        (session.lines.join("\n") + "\n", session.session_id)
    }

    fn ids(text: &str) -> Vec<&str> {
        text.lines().filter_map(|line| field(line, "uuid")).collect()
    }

    #[test]
    fn a_fork_keeps_every_id_and_shares_no_line_that_names_its_session() {
        let (text, from) = session();
        let copy = copy_of(&text, &from, TO, CopyKind::KeepsIds);
        assert_eq!(ids(&copy), ids(&text));
        assert!(!copy.contains(&format!("\"sessionId\":\"{from}\"")) && copy.contains(TO));
    }

    #[test]
    fn the_sdk_gives_every_entry_a_new_id_and_names_the_old_one() {
        let (text, from) = session();
        let copy = copy_of(&text, &from, TO, CopyKind::NewIds);
        let new: HashSet<&str> = ids(&copy).into_iter().collect();
        assert!(!new.is_empty() && ids(&text).iter().all(|old| !new.contains(old)));
        assert!(copy.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()));
        let parents = copy.lines().filter_map(|line| field(line, "parentUuid"));
        assert!(parents.into_iter().all(|parent| new.contains(parent)));
        assert!(ids(&text).iter().all(|old| copy.contains(&format!("\"messageUuid\":\"{old}\""))));
    }
}
