//! Versions 2 to 9 of the stored cursor: bytes, and of the splitter's state only what the session's row does not say. Specified in
//! `docs/format/store.md`.
//!
//! A cursor lies beside its session for as long as that is known: version 1 took a page of the database for each.

use stemmata_store::Session;

use super::state::{SplitterState, pack};
use super::{Cursor, FileStamp, Provisional, RulesMark};
use crate::bundle::bytes::{Malformed, Take, put_length, put_number, put_signed, put_text};
use crate::capture::captured::{UnreadRecords, UnreadSoFar};
use crate::capture::ingest::ChainTotals;

/// The first byte; version 1 is JSON and begins with a brace.
const VERSION: u8 = 2;

/// What is added to the first byte where the transcript names no version that is not known.
const VERSION_KNOWN: u8 = 1;

/// What is added to the first byte where records follow that are not understood. Most transcripts have none.
const WITH_UNREAD: u8 = 2;

/// What is added to the first byte where the file began under the shipped rules before.
const WITH_EARLIER: u8 = 4;

/// Bytes of names at most, as elsewhere in a store.
const NAME_BYTES_MAX: usize = 512;

const NANOS: i128 = 1_000_000_000;

pub(super) fn encode(cursor: &Cursor, session: &Session) -> Vec<u8> {
    let has_unread = cursor.unread != UnreadSoFar::default();
    let known = if cursor.is_version_known { VERSION_KNOWN } else { 0 };
    let has_earlier = cursor.earlier_bytes > 0;
    let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
    let mut bytes = vec![VERSION + known + flag(has_unread, WITH_UNREAD) + flag(has_earlier, WITH_EARLIER)];
    put_text(&mut bytes, &cursor.format);
    bytes.extend_from_slice(&cursor.rules.0);
    put_text(&mut bytes, &cursor.granularity.to_string());
    bytes.push(u8::from(cursor.tip.is_some()));
    bytes.extend(cursor.tip.iter().flat_map(|id| id.to_bytes()));
    let FileStamp { device, inode, length, modified_ns } = cursor.stamp;
    let ChainTotals { commits, messages, entries, bytes: chain_bytes } = cursor.totals;
    let numbers = [
        cursor.closed_bytes,
        cursor.closed_line,
        cursor.seen_bytes,
        device,
        inode,
        length,
        cursor.redacted_bytes,
        commits,
        messages,
        entries,
        chain_bytes,
        cursor.seen_entries,
        cursor.seen_redacted_bytes,
    ];
    for number in numbers {
        put_number(&mut bytes, number);
    }
    put_signed(&mut bytes, i64::try_from(modified_ns.div_euclid(NANOS)).unwrap_or(0));
    put_number(&mut bytes, u64::try_from(modified_ns.rem_euclid(NANOS)).unwrap_or(0));
    bytes.extend_from_slice(&cursor.head);
    bytes.extend_from_slice(&cursor.tail);
    put_length(&mut bytes, cursor.provisional.len());
    for Provisional { commit, bytes: native } in &cursor.provisional {
        bytes.extend_from_slice(&commit.to_bytes());
        put_number(&mut bytes, *native);
    }
    if has_unread {
        put_unread(&mut bytes, &cursor.unread.closed);
        put_unread(&mut bytes, &cursor.unread.seen);
    }
    if has_earlier {
        put_number(&mut bytes, cursor.earlier_bytes);
    }
    match &cursor.splitter {
        SplitterState::Whole(state) => bytes.extend(pack(state, session)),
        SplitterState::Packed(packed) => bytes.extend_from_slice(packed),
    }
    bytes
}

fn put_unread(bytes: &mut Vec<u8>, unread: &UnreadRecords) {
    put_number(bytes, unread.unreadable);
    put_length(bytes, unread.unknown.len());
    for (name, count) in &unread.unknown {
        put_text(bytes, name);
        put_number(bytes, *count);
    }
}

fn take_unread(take: &mut Take<'_>) -> Result<UnreadRecords, Malformed> {
    let unreadable = take.number()?;
    let mut unknown = Vec::new();
    for _ in 0..take.rows("unknown types")? {
        unknown.push((take.text("a type", NAME_BYTES_MAX)?.to_owned(), take.number()?));
    }
    Ok(UnreadRecords { unknown, unreadable })
}

pub(super) fn decode(bytes: &[u8]) -> Option<Cursor> {
    taken(bytes).ok()
}

fn taken(bytes: &[u8]) -> Result<Cursor, Malformed> {
    let mut take = Take::new(bytes);
    let flags = take
        .byte()?
        .checked_sub(VERSION)
        .filter(|flags| *flags <= VERSION_KNOWN + WITH_UNREAD + WITH_EARLIER);
    let flags = flags.ok_or(Malformed::new("another version"))?;
    let format = take.text("a format", NAME_BYTES_MAX)?.to_owned();
    let rules = RulesMark(take.array()?);
    let granularity = take.text("a granularity", NAME_BYTES_MAX)?.parse();
    let tip = match take.byte()? {
        0 => None,
        _ => Some(take.commit()?),
    };
    let mut numbers = [0; 13];
    for number in &mut numbers {
        *number = take.number()?;
    }
    let [closed_bytes, closed_line, seen_bytes, device, inode, length, redacted_bytes, rest @ ..] = numbers;
    let [commits, messages, entries, chain_bytes, seen_entries, seen_redacted_bytes] = rest;
    let modified_ns = i128::from(take.signed()?) * NANOS + i128::from(take.number()?);
    let (head, tail) = (take.array()?, take.array()?);
    let mut provisional = Vec::new();
    for _ in 0..take.rows("looks at an open turn")? {
        provisional.push(Provisional { commit: take.commit()?, bytes: take.number()? });
    }
    let unread = if flags & WITH_UNREAD == 0 {
        UnreadSoFar::default()
    } else {
        UnreadSoFar { closed: take_unread(&mut take)?, seen: take_unread(&mut take)? }
    };
    let earlier_bytes = if flags & WITH_EARLIER == 0 { 0 } else { take.number()? };
    Ok(Cursor {
        format,
        rules,
        earlier_bytes,
        granularity: granularity.map_err(|_| Malformed::new("no granularity"))?,
        closed_bytes,
        closed_line,
        tip,
        splitter: SplitterState::Packed(take.rest().to_vec()),
        seen_bytes,
        provisional,
        stamp: FileStamp { device, inode, length, modified_ns },
        head,
        tail,
        redacted_bytes,
        totals: ChainTotals { commits, messages, entries, bytes: chain_bytes },
        seen_entries,
        seen_redacted_bytes,
        is_version_known: flags & VERSION_KNOWN != 0,
        unread,
    })
}
