//! What a command answered: how it ended, what it printed, and the file that it wrote.
//! Not what of it is compared: `normal` says that.

use serde_json::Value;

use super::normal::Normal;
use super::record::Outcome;

/// The answer of one command.
#[derive(Debug)]
pub(super) struct Answer {
    /// The exit code, or `signal`.
    pub(super) exit: String,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
    pub(super) file: Option<Vec<u8>>,
}

/// An answer as it is compared.
#[derive(Debug)]
pub(super) struct Compared {
    pub(super) exit: String,
    pub(super) bytes: Vec<u8>,
}

impl Answer {
    /// Returns what was printed, where it is JSON.
    pub(super) fn json(&self) -> Option<Value> {
        serde_json::from_slice(&self.stdout).ok()
    }

    /// Returns all of the answer without what clock, chance and paths put there.
    pub(super) fn compared(self, normal: &Normal<'_>) -> Compared {
        let mut whole = format!("exit {}\n", self.exit).into_bytes();
        let parts = [("stdout", Some(self.stdout)), ("stderr", Some(self.stderr)), ("file", self.file)];
        for (name, bytes) in parts {
            let Some(bytes) = bytes.filter(|bytes| !bytes.is_empty()) else { continue };
            whole.extend(format!("--- {name}\n").bytes());
            whole.extend(bytes);
            whole.push(b'\n');
        }
        Compared { exit: self.exit, bytes: normal.apply(whole) }
    }

    /// Returns the ids of a history with what makes a commit what it is: kind, closure, format and parent. The rest of a commit
    /// may gain fields, these lines never change. What is no history is compared whole.
    pub(super) fn ids(self, normal: &Normal<'_>) -> Compared {
        let Some(lines) = self.json().as_ref().and_then(id_lines) else { return self.compared(normal) };
        Compared { exit: self.exit, bytes: lines.into_bytes() }
    }
}

impl Compared {
    pub(super) fn outcome(&self) -> Outcome {
        let digest = blake3::hash(&self.bytes).to_hex().to_string();
        Outcome { exit: self.exit.clone(), bytes: self.bytes.len() as u64, digest }
    }
}

fn id_lines(history: &Value) -> Option<String> {
    let mut lines = String::new();
    for commit in history.get("commits")?.as_array()? {
        for field in ["id", "commit_type", "closure", "format", "parent"] {
            lines.push_str(commit.get(field).and_then(Value::as_str).unwrap_or("-"));
            lines.push(if field == "parent" { '\n' } else { ' ' });
        }
    }
    Some(lines)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    fn answer(exit: &str, stdout: &str, file: Option<&str>) -> Answer {
        let file = file.map(|text| text.as_bytes().to_vec());
        Answer { exit: exit.to_owned(), stdout: stdout.as_bytes().to_vec(), stderr: Vec::new(), file }
    }

    fn normal() -> Normal<'static> {
        Normal { names: &[], since: Timestamp::UNIX_EPOCH, until: Timestamp::UNIX_EPOCH, known: None }
    }

    #[test]
    fn how_it_ended_what_it_printed_and_what_it_wrote_all_change_the_digest() {
        let digest = |answer: Answer| answer.compared(&normal()).outcome().digest;
        let one = digest(answer("0", "text", None));
        assert_eq!(one, digest(answer("0", "text", None)));
        for other in
            [answer("1", "text", None), answer("0", "texts", None), answer("0", "text", Some("file"))]
        {
            assert_ne!(one, digest(other));
        }
    }

    #[test]
    fn of_a_history_only_what_makes_a_commit_is_compared() {
        let history = |title: &str, closure: &str| {
            let commit =
                format!(r#"{{"id":"ctx-1","format":"pi-v3","closure":"{closure}","title":"{title}"}}"#);
            let compared = answer("0", &format!(r#"{{"commits":[{commit}]}}"#), None).ids(&normal());
            String::from_utf8(compared.bytes).unwrap()
        };
        assert_eq!(history("one", "closed"), "ctx-1 - closed pi-v3 -\n");
        assert_eq!(history("one", "closed"), history("two", "closed"));
        assert_ne!(history("one", "closed"), history("one", "provisional"));
    }

    #[test]
    fn what_is_no_history_is_compared_whole() {
        let compared = answer("3", "no such commit", None).ids(&normal());
        assert_eq!(String::from_utf8(compared.bytes).unwrap(), "exit 3\n--- stdout\nno such commit\n");
    }
}
