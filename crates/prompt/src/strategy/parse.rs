//! The text form of a strategy: the JSON of seed 000, with or without its `contextStrategy` wrapper, or TOML.
//!
//! Only what is wrong is said here. What is doubtful is `check`'s.

use stemmata_model::{Party, Tokens, Topic};

use super::document::{self, DocumentFormat, Node, Position, Value};
use super::fields::{Fields, Reader, shown};
use super::finding::{Finding, FindingCode, Severity};
use super::since::Since;
use super::source::{
    AMOUNT_MAX, MAX_TOKENS_DEFAULT, MAX_TOKENS_MAX, Priority, SOURCES_MAX, Selection, Share, Source,
    SourceTopic, Strategy,
};

/// The fields of a strategy.
const STRATEGY_FIELDS: &[&str] = &["sources", "maxTokens"];

/// The fields of a source.
const SOURCE_FIELDS: &[&str] = &[
    "topic",
    "sender",
    "since",
    "strategy",
    "amount",
    "limit",
    "priority",
    "compactAmount",
    "compactStrategy",
    "cap",
    "floor",
];

/// The wrapper of seed 000.
const WRAPPER: &str = "contextStrategy";

/// Why a text is no strategy: its first error. [`check`](super::check()) returns all of them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {message}{}", suggestion.as_ref().map(|text| format!(" ({text})")).unwrap_or_default())]
pub struct StrategyError {
    /// Where.
    pub at: Position,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub suggestion: Option<String>,
}

/// Reads a strategy. Deprecated names are read as what they stand for; `check` warns of them.
///
/// # Errors
/// The first thing that is wrong, with its line and column: no JSON or TOML, more than
/// [`DOCUMENT_BYTES_MAX`](super::DOCUMENT_BYTES_MAX), a field that is unknown, missing or outside its limits.
pub fn parse(text: &str, format: DocumentFormat) -> Result<Strategy, StrategyError> {
    let (strategy, findings) = read(text, format);
    whole(strategy, findings)
}

/// Returns what was read, or its first error.
pub(crate) fn whole<T>(read: Option<T>, findings: Vec<Finding>) -> Result<T, StrategyError> {
    let error = findings.into_iter().find(|finding| finding.severity == Severity::Error);
    match (read, error) {
        (Some(read), None) => Ok(read),
        (_, Some(Finding { at, message, suggestion, .. })) => Err(StrategyError { at, message, suggestion }),
        // No reader leaves it at that. These are texts of anybody, so nothing rests on it.
        (None, None) => {
            Err(StrategyError { at: Position::of("", 0), message: UNREADABLE.to_owned(), suggestion: None })
        }
    }
}

/// What is said of a text that gave neither a value nor a reason.
const UNREADABLE: &str = "nothing could be read from it";

/// Reads as much as can be read, and says what is wrong. The strategy is there where no finding is an error.
pub(super) fn read(text: &str, format: DocumentFormat) -> (Option<Strategy>, Vec<Finding>) {
    let root = match document::parse(text, format) {
        Ok(root) => root,
        Err(error) => {
            let finding = Finding::error(FindingCode::Unreadable, error.at, error.message);
            return (None, vec![finding]);
        }
    };
    let mut reader = Reader::new(text);
    let strategy = strategy(&mut reader, &root);
    let mut findings = reader.into_findings();
    if strategy.is_none() && findings.iter().all(|finding| finding.severity != Severity::Error) {
        findings.push(Finding::error(FindingCode::Unreadable, Position::of(text, 0), UNREADABLE));
    }
    let is_sound = findings.iter().all(|finding| finding.severity != Severity::Error);
    (strategy.filter(|_| is_sound), findings)
}

/// Returns what is within the wrapper of seed 000, where there is one.
fn unwrapped<'n>(reader: &mut Reader<'_>, root: &'n Node) -> Option<&'n Node> {
    let Value::Table(fields) = &root.value else { return Some(root) };
    let is_wrapper = |name: &str| name == WRAPPER || name == "context_strategy";
    if !fields.iter().any(|(key, _)| is_wrapper(&key.name)) {
        return Some(root);
    }
    let known = [WRAPPER];
    let found = reader.table(root, "a file with `contextStrategy`", &known)?.get(WRAPPER);
    if found.is_none() {
        reader.missing(root, "`contextStrategy` is null: the strategy stands there");
    }
    found
}

fn strategy(reader: &mut Reader<'_>, root: &Node) -> Option<Strategy> {
    let root = unwrapped(reader, root)?;
    let fields = reader.table(root, "a strategy", STRATEGY_FIELDS)?;
    let max_tokens = reader.count(&fields, "maxTokens", (1, MAX_TOKENS_MAX)).map(Tokens);
    let max_tokens = max_tokens.unwrap_or(MAX_TOKENS_DEFAULT);
    let Some(list) = fields.get("sources") else {
        reader.missing(root, "a strategy has a list `sources`, and this one has none");
        return None;
    };
    let Value::List(items) = &list.value else {
        reader.wrong(list, format!("`sources` is {}, not a list", list.value.kind()));
        return None;
    };
    if items.len() > SOURCES_MAX {
        reader.wrong(list, format!("{} sources, at most {SOURCES_MAX}", items.len()));
        return None;
    }
    let sources: Vec<Source> = items.iter().filter_map(|item| source(reader, item, max_tokens)).collect();
    let floors: Tokens = sources.iter().map(|source| source.floor(max_tokens)).sum();
    if floors > max_tokens {
        let message = format!("the floors together are {floors}, more than `maxTokens`, {max_tokens}");
        reader.wrong(list, message);
    }
    Some(Strategy { sources, max_tokens })
}

fn source(reader: &mut Reader<'_>, node: &Node, max_tokens: Tokens) -> Option<Source> {
    let fields = reader.table(node, "a source", SOURCE_FIELDS)?;
    let topic = topic(reader, node, &fields)?;
    let amounts = (0, u64::from(AMOUNT_MAX));
    let count = |reader: &mut Reader<'_>, name, limits| {
        reader.count(&fields, name, limits).and_then(|number| u32::try_from(number).ok())
    };
    let amount = count(reader, "amount", amounts);
    let limit = count(reader, "limit", amounts);
    let compact_amount = count(reader, "compactAmount", (1, amounts.1));
    if let Some(at) = fields.key_at("limit") {
        let at = reader.position(at);
        let deprecated = Finding::warning(FindingCode::Deprecated, at, "`limit` is a deprecated name");
        let instead =
            if amount.is_some() { "remove it: `amount` is there, and counts" } else { "call it `amount`" };
        reader.add(deprecated.try_instead(instead));
    }
    let selections = Selection::ALL.map(|selection| (selection.as_str(), selection));
    let priorities = Priority::ALL.map(|priority| (priority.as_str(), priority));
    let source = Source {
        sender: sender(reader, &fields),
        since: since(reader, &fields),
        strategy: reader.one_of(&fields, "strategy", &selections),
        amount: amount.or(limit),
        priority: reader.one_of(&fields, "priority", &priorities),
        compact_amount,
        compact_strategy: reader.one_of(&fields, "compactStrategy", &selections),
        cap: share(reader, &fields, "cap"),
        floor: share(reader, &fields, "floor"),
        at: reader.position(node.at),
        topic,
    };
    if let Some(node) = fields.get("floor")
        && source.floor(max_tokens) > source.cap(max_tokens)
    {
        let (floor, cap) = (source.floor(max_tokens), source.cap(max_tokens));
        reader.wrong(node, format!("`floor` is {floor}, more than the section's cap, {cap}"));
    }
    Some(source)
}

fn topic(reader: &mut Reader<'_>, source: &Node, fields: &Fields<'_>) -> Option<SourceTopic> {
    let Some(node) = fields.get("topic") else {
        reader.missing(source, "a source has a `topic`, and this one has none");
        return None;
    };
    match reader.text(fields, "topic")?.as_str() {
        "state" => Some(SourceTopic::State),
        "retriever" => Some(SourceTopic::Retriever),
        "turns" => Some(SourceTopic::Turns),
        name => match Topic::new(name) {
            Ok(topic) => Some(SourceTopic::Ledger(topic)),
            Err(error) => {
                reader.wrong(node, format!("`topic` is not a name: {error}"));
                None
            }
        },
    }
}

fn sender(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Party> {
    let text = reader.text(fields, "sender")?;
    match Party::new(text) {
        Ok(party) => Some(party),
        Err(error) => {
            let node = fields.get("sender")?;
            reader.wrong(node, format!("`sender` is not a name: {error}"));
            None
        }
    }
}

fn since(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Since> {
    let node = fields.get("since")?;
    let parsed = match &node.value {
        Value::Text(text) => text.parse(),
        Value::Integer(millis) => Since::from_millis(*millis),
        other => {
            let kind = other.kind();
            reader.wrong(node, format!("`since` is {kind}, not text or a whole number of milliseconds"));
            return None;
        }
    };
    parsed.map_err(|error| reader.wrong(node, error.to_string())).ok()
}

/// Reads a number of tokens or a percentage of the budget.
fn share(reader: &mut Reader<'_>, fields: &Fields<'_>, name: &str) -> Option<Share> {
    let node = fields.get(name)?;
    let Value::Text(text) = &node.value else {
        return reader.count(fields, name, (1, MAX_TOKENS_MAX)).map(|tokens| Share::Tokens(Tokens(tokens)));
    };
    let percent = text.strip_suffix('%').and_then(|digits| digits.trim().parse().ok());
    let percent = percent.filter(|percent: &u8| (1..=100).contains(percent));
    if percent.is_none() {
        let given = shown(text);
        reader.wrong(node, format!("`{name}` is `{given}`; it is a number of tokens, or `1%` to `100%`"));
    }
    percent.map(Share::Percent)
}
