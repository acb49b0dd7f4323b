//! What the guard needs to know of an entry's text, counted once: its tokens, what it names, what its calls are about and how
//! they ended. A caller may keep it beside the entry and throw it away at any time; nothing else of the guard reads texts.

use stemmata_acts::{Act, Answer, Call, FileAct, Judged, Outcome, acts, judged, outcome};
use stemmata_model::{Entry, Part, TokenCounter, Tokens};

use crate::window::entry_tokens;

/// Names of one entry that are kept.
const MENTIONS_MAX: usize = 4_096;

/// Shorter names are words.
const NAME_BYTES_MIN: usize = 4;

/// How a call ended, as far as the guard asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Ended {
    Passed,
    Failed,
    /// Refused, stopped, running, or nobody can say.
    Otherwise,
}

/// A call of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CallCounters {
    /// Hash of its id.
    pub(super) id: u64,
    /// Hash of what it is about: its command, or its tool and file. The same one that passes later resolves an error.
    pub(super) subject: u64,
    pub(super) judged: Judged,
    /// Hashes of the files that it touches, whole and below the working directory.
    pub(super) files: Box<[u64]>,
    /// Hashes of the files that it changes.
    pub(super) changed: Box<[u64]>,
}

/// A result of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ResultCounters {
    /// Hash of the call's id.
    pub(super) call: u64,
    ended: [Ended; KINDS.len()],
}

impl ResultCounters {
    /// Returns how the call ended: that depends on what it did, which only the call says.
    pub(super) fn ended(&self, of: Judged) -> Ended {
        let at = KINDS.iter().position(|kind| *kind == of);
        at.and_then(|at| self.ended.get(at)).copied().unwrap_or(Ended::Otherwise)
    }
}

/// Every way in which a result is judged.
const KINDS: [Judged; 4] = [
    Judged::Command { is_checking: true },
    Judged::Command { is_checking: false },
    Judged::Change,
    Judged::Tool,
];

/// What is counted of one entry.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ItemCounters {
    /// Tokens that it takes of the window.
    pub tokens: Tokens,
    /// Hashes of the names in its text, ascending.
    pub(super) mentions: Box<[u64]>,
    pub(super) calls: Box<[CallCounters]>,
    pub(super) results: Box<[ResultCounters]>,
}

/// Counts one entry. Pure: the same entry and counter give the same.
pub fn item_counters(entry: &Entry, counter: &dyn TokenCounter) -> ItemCounters {
    let mut counters = ItemCounters { tokens: entry_tokens(entry, counter), ..ItemCounters::default() };
    let (mut mentions, mut calls, mut results) = (Vec::new(), Vec::new(), Vec::new());
    for part in &entry.parts {
        match part {
            Part::Text(text) | Part::Thinking { text, .. } | Part::Summary { text, .. } => {
                add_mentions(text, &mut mentions);
            }
            Part::ToolCall { call_id, name, arguments } => {
                add_mentions(arguments, &mut mentions);
                calls.push(of_call(call_id, Call { name, arguments }, entry.meta.cwd.as_deref()));
            }
            Part::ToolResult { call_id, is_error, parts } => {
                let answer = Answer::of(*is_error, parts);
                add_mentions(&answer.text, &mut mentions);
                let ended = KINDS.map(|kind| match outcome(kind, &answer) {
                    Outcome::Passed => Ended::Passed,
                    Outcome::Failed { .. } => Ended::Failed,
                    Outcome::Open
                    | Outcome::Refused
                    | Outcome::Stopped
                    | Outcome::Running { .. }
                    | Outcome::Unclear => Ended::Otherwise,
                });
                results.push(ResultCounters { call: hash(call_id), ended });
            }
            Part::File { name, .. } => add_mentions(name, &mut mentions),
            Part::Image { .. } | Part::Opaque { .. } => {}
        }
    }
    mentions.sort_unstable();
    mentions.dedup();
    mentions.truncate(MENTIONS_MAX);
    counters.mentions = mentions.into();
    counters.calls = calls.into();
    counters.results = results.into();
    counters
}

fn of_call(id: &str, call: Call<'_>, cwd: Option<&str>) -> CallCounters {
    let name = call.name;
    let acts = acts(call);
    let subject = acts.iter().find_map(|act| match act {
        Act::Command(command) => Some(format!("$ {}", command.line)),
        Act::File(file) => Some(format!("{name} {}", file.path)),
        _ => None,
    });
    let files: Vec<FileAct> = acts
        .iter()
        .flat_map(|act| match act {
            Act::File(file) => vec![file.clone()],
            Act::Command(command) => command.files(),
            _ => Vec::new(),
        })
        .collect();
    let hashes = |of: &dyn Fn(&FileAct) -> bool| -> Box<[u64]> {
        let paths =
            files.iter().filter(|file| of(file)).flat_map(|file| [file.path.as_str(), file.path_after()]);
        let below =
            |path: &str| Some(cwd.and_then(|cwd| path.strip_prefix(cwd))?.trim_start_matches('/').to_owned());
        let mut hashes: Vec<u64> = paths
            .flat_map(|path| [Some(hash(path)), below(path).map(|path| hash(&path))])
            .flatten()
            .collect();
        hashes.sort_unstable();
        hashes.dedup();
        hashes.into()
    };
    CallCounters {
        id: hash(id),
        subject: hash(subject.as_deref().unwrap_or(name)),
        judged: judged(&acts),
        files: hashes(&|_| true),
        changed: hashes(&FileAct::is_change),
    }
}

/// Adds what looks like the name of a file or an id: a long word with a sign or a number in it.
fn add_mentions(text: &str, mentions: &mut Vec<u64>) {
    let is_of_name = |character: char| character.is_alphanumeric() || "_-./~+@:\\".contains(character);
    for token in text.split(|character| !is_of_name(character)) {
        let token = token.trim_start_matches("./").trim_end_matches(['.', ':', '/', '\\']);
        let has = |is: fn(u8) -> bool| token.bytes().any(is);
        let is_name = token.len() >= NAME_BYTES_MIN
            && has(|byte| b"_-./\\".contains(&byte) || byte.is_ascii_digit())
            && has(|byte| byte.is_ascii_alphabetic() || byte >= 0x80);
        if !is_name {
            continue;
        }
        mentions.push(hash(token));
        // `src/a.rs:12` names `src/a.rs`.
        if let Some((file, _)) = token.split_once(':') {
            mentions.push(hash(file));
        }
    }
}

/// FNV-1a. A collision would make one reference too many: worth two points of a hundred.
pub(super) fn hash(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
