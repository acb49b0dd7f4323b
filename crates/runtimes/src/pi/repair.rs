//! Mends a session for its loader: a header that is first, ids, parents that are there, `usage`, results.

use stemmata_model::Timestamp;

use super::encode::{derive, header, result, text_block};
use super::place::{NO_USAGE, Unfolded, said_instead, unfold};
use super::record::{Kind, Record, apart};
use super::trail::{Node, Trail, Waiting};
use super::ways::Mended;
use crate::apart::{each, mend_lines};
use crate::json::{Object, quote};
use crate::lines::iso;
use crate::repair::{Document, REPAIRED_TEXT, made_up_uuid};

/// Mends one kind of trouble, the first that there is.
pub(super) fn mend(document: &mut Document) {
    let lines = |document: &mut Document| mend_lines(document, is_record, apart);
    document.mend_first(&[&lines, &begin, &fields, &parents, &ends, &tails, &orphans, &results]);
}

fn is_record(line: &[u8]) -> bool {
    Record::parse(line).is_ok()
}

/// Reads the session as its loader walks it; lines are counted from 0.
fn trail(document: &Document) -> Trail {
    let mut trail = Trail::default();
    for (index, line) in (0..).zip(document.lines()) {
        let mut take = |text: &[u8], _| {
            let record = Record::parse(text)?;
            let is_node = trail.take(&record, index).is_node;
            if let Some(node) = trail.nodes.last_mut().filter(|_| is_node && text != line) {
                node.row.found = Some(record.whole.raw().into());
            }
            Ok(())
        };
        // A line that is no record is nothing to the loader.
        each(line, apart, &mut take).unwrap_or_default();
    }
    trail
}

fn begin(document: &mut Document) {
    let is_header = |line: &[u8]| Record::parse(line).is_ok_and(|record| record.kind == Kind::Session);
    let Some(first) = document.lines().position(is_record) else { return };
    let line = document.line(first).to_vec();
    if !is_header(&line) {
        let what = ("header", "the session's header: without it, first, the loader takes the file for empty");
        let later = document.lines().position(is_header);
        if let Some(later) = later {
            return document.move_line(later, first, what);
        }
        let at = document.lines().find_map(|line| Record::parse(line).ok()?.time());
        let made = header(&made_up_uuid(&[b"pi session", &line]), at.unwrap_or(Timestamp::EPOCH), "/");
        // The loader gives ids to entries that have none, in a file that names no version.
        let has_ids = Record::parse(&line).is_ok_and(|record| record.entry_id().is_some());
        let made = if has_ids { made } else { made.replacen("\"version\":3,", "", 1) };
        return document.insert(first, &made, what);
    }
    let Ok(record) = Record::parse(&line) else { return };
    if record.envelope.id.is_some_and(|id| id.text().is_some()) {
        return;
    }
    let id = quote(&made_up_uuid(&[b"pi session", &line]));
    let what = ("header", "the loader takes a file whose header has no `id` for empty");
    document.put(first, [("id", record.envelope.id, id)], what);
}

/// Gives ids to entries, and `usage` to answers.
fn fields(document: &mut Document) {
    let is_linear = trail(document).is_linear == Some(true);
    for index in 0..document.len() {
        let line = document.line(index).to_vec();
        let Ok(record) = Record::parse(&line) else { continue };
        let is_lacking = record.is_role("assistant") && record.message.usage.is_none();
        let end = record.envelope.message.filter(|_| is_lacking).map(|message| message.span().end - 1);
        if let Some(end) = end {
            let what = "the client crashes on an answer without `usage`: it got one of zeros";
            document.edit(index, vec![(end..end, format!(",{NO_USAGE}"))], ("field", what));
        } else if !is_linear && record.is_seen() && record.entry_id().is_none() {
            let place = u64::try_from(index).unwrap_or(u64::MAX);
            let id = quote(&derive(&String::from_utf8_lossy(&line), place.saturating_add(1)));
            let what = ("field", "the loader loses an entry without `id`, or all before it: it got one");
            document.put(index, [("id", record.envelope.id, id)], what);
        }
    }
}

/// Hangs entries on what they follow, where they name nothing, or what is not there, leads in a circle, or was answered late.
fn parents(document: &mut Document) {
    let trail = trail(document);
    let (ways, way) = (trail.ways(), trail.whole().nodes);
    let way: std::collections::HashSet<usize> = way.into_iter().collect();
    for (index, node) in trail.nodes.iter().enumerate() {
        let Some(mended) = ways.mended(index) else { continue };
        let up = ways.up(index).and_then(|up| trail.nodes.get(up));
        let is_named = mended != Mended::Unnamed;
        if is_named && !way.contains(&index) {
            continue;
        }
        let what = match mended {
            Mended::Missing => "the entry's parent is not there, and the loader loses what is before it",
            Mended::Unnamed => "the entry names no parent, and the loader loses what is before it",
            Mended::Answered => {
                "the result of the call that it hangs on was written late, and the loader loses it"
            }
            Mended::Circle => "the entry's parents lead in a circle, in which the loader never ends",
        };
        let value = up.and_then(|up| up.row.id.as_deref()).map_or_else(|| "null".to_owned(), quote);
        let value = if is_named { value } else { format!(",\"parentId\":{value}") };
        if !is_rewritten(document, node) {
            let line = usize::try_from(node.line).unwrap_or(usize::MAX);
            document.edit(line, vec![(node.row.parent_span.clone(), value)], ("parent", what));
        }
    }
}

/// Writes a line that is to be mended as the client reads it, where that is something else. The next round mends it.
fn is_rewritten(document: &mut Document, node: &Node) -> bool {
    let Some(found) = &node.row.found else { return false };
    let index = usize::try_from(node.line).unwrap_or(usize::MAX);
    let end = document.line(index).trim_ascii_end().len();
    let what = "bytes that are not UTF-8 are U+FFFD now, as the client reads them";
    document.edit(index, vec![(0..end, found.to_string())], ("line", what));
    true
}

/// Takes the entry where the conversation stands to the end of the file, where the loader looks for it.
fn ends(document: &mut Document) {
    let trail = trail(document);
    let leaf = trail.leaf(&trail.ways());
    let Some(node) = leaf.and_then(|leaf| trail.nodes.get(leaf)) else { return };
    if trail.is_linear == Some(true) || trail.loaded().nodes.last() == leaf.as_ref() {
        return;
    }
    let line = usize::try_from(node.line).unwrap_or(usize::MAX);
    let what = "the conversation stands at this entry: the loader takes it to end at the one that was last, an older one or for nobody";
    document.move_line(line, document.len().saturating_sub(1), ("order", what));
}

/// Gives the messages that a compaction holds word for word lines of their own, which the client reads.
fn tails(document: &mut Document) {
    let trail = trail(document);
    let Some(node) = trail.passed_over(&trail.whole()) else { return };
    if is_rewritten(document, node) {
        return;
    }
    let index = usize::try_from(node.line).unwrap_or(usize::MAX);
    let line = document.line(index).to_vec();
    let Some(Unfolded { lines, edits }) =
        Record::parse(&line).ok().and_then(|record| unfold(&record, &node.row, None))
    else {
        return;
    };
    let what = "it names the messages that it holds word for word, which the client passes over there";
    document.edit(index, edits, ("retained", what));
    for line in lines.into_iter().rev() {
        let what = "a message that a compaction holds word for word: it got a line of its own";
        document.insert(index, &line, ("retained", what));
    }
}

/// Turns results that no call waits for into what a user says: the provider refuses them.
fn orphans(document: &mut Document) {
    let trail = trail(document);
    let mut waiting = Waiting::mended();
    let sent = trail.sent(&trail.whole(), true);
    for node in sent.entries.iter().filter_map(|index| trail.nodes.get(*index)) {
        let Some(call) = waiting.take_node(node, sent.holds) else { continue };
        if is_rewritten(document, node) {
            continue;
        }
        let index = usize::try_from(node.line).unwrap_or(usize::MAX);
        let line = document.line(index).to_vec();
        let Some(edit) = Record::parse(&line).ok().and_then(|record| said_instead(&record)) else { continue };
        let what = format!(
            "the result of `{call}` has no call, and the provider refuses it: it is a message of the user now"
        );
        document.edit(index, vec![edit], ("result", what));
    }
}

/// Answers the calls that wait at the end. For others, which something followed, the client makes results up.
fn results(document: &mut Document) {
    let trail = trail(document);
    let way = trail.whole();
    let mut last = trail.nodes.last().and_then(|node| node.row.id.as_deref()).map(str::to_owned);
    let at = document.lines().rev().find_map(|line| Record::parse(line).ok()?.time());
    let at = at.unwrap_or(Timestamp::EPOCH);
    for (call, name) in trail.open(&way) {
        let content = format!("[{}]", text_block(REPAIRED_TEXT));
        let message = result(&call, &name, true, &content, at).finish();
        let mut object = Object::new().text("type", "message");
        if let Some(parent) = last.take() {
            let id = derive(&format!("{parent} {call}"), 0);
            object = object.text("id", &id).text("parentId", &parent);
            last = Some(id);
        }
        let line = object.text("timestamp", &iso(at)).raw("message", &message).finish();
        let what = format!("the call `{call}` had no result: it got a marked one");
        document.insert(document.len(), &line, ("result", what));
    }
}
