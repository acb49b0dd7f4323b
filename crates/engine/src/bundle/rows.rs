//! Commits and contents as rows of records: what refers to what by number, and the hashed fields.
//!
//! Specified in `docs/format/bundle.md`. Where commits were seen and what was said of them is in `facts`.

use stemmata_model::{
    ArtifactId, Closure, CommitId, CommitType, Counts, FormatId, NAME_BYTES_MAX, RulesHash, Template,
    Timestamp, to_u64,
};
use stemmata_store::{HOLE_BYTES_MAX, PART_BYTES_MAX, PARTS_MAX};

use super::bytes::{Malformed, Take, put_length, put_number, put_signed, put_text};

/// A derived count that is larger is no count of anything: sums over a whole store stay within 64 bits.
const COUNT_MAX: u64 = 1 << 40;

/// A content of a bundle, by its kind and its number among those.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum ContentRef {
    /// Bytes in a block.
    Literal(u64),
    /// Ranges of literal and named ones.
    Composed(u64),
    /// Only its hash and length: it is in the receiver's store, or it was forgotten.
    Named(u64),
}

impl ContentRef {
    const fn encode(self) -> u64 {
        match self {
            Self::Literal(number) => number << 2,
            Self::Composed(number) => (number << 2) | 1,
            Self::Named(number) => (number << 2) | 2,
        }
    }

    fn decode(value: u64) -> Result<Self, Malformed> {
        match value & 3 {
            0 => Ok(Self::Literal(value >> 2)),
            1 => Ok(Self::Composed(value >> 2)),
            2 => Ok(Self::Named(value >> 2)),
            _ => Err(Malformed::new("it refers to a content of a kind that there is not")),
        }
    }

    /// Writes the distance from the one before, which is short for neighbours.
    fn put(self, bytes: &mut Vec<u8>, last: &mut u64) {
        let value = self.encode();
        put_signed(bytes, value.wrapping_sub(*last).cast_signed());
        *last = value;
    }

    fn take(take: &mut Take<'_>, last: &mut u64) -> Result<Self, Malformed> {
        let value = last.wrapping_add(take.signed()?.cast_unsigned());
        *last = value;
        Self::decode(value)
    }
}

/// A commit that a row refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum CommitRef {
    /// One of the bundle, by its number.
    Number(u64),
    /// Another one.
    Id(CommitId),
}

impl CommitRef {
    pub(super) fn put(self, bytes: &mut Vec<u8>) {
        match self {
            Self::Number(number) => put_number(bytes, number + 1),
            Self::Id(id) => {
                bytes.push(0);
                bytes.extend_from_slice(&id.to_bytes());
            }
        }
    }

    pub(super) fn take(take: &mut Take<'_>) -> Result<Self, Malformed> {
        match take.number()? {
            0 => take.commit().map(Self::Id),
            number => Ok(Self::Number(number - 1)),
        }
    }
}

/// What many commits share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CommitKind {
    pub(super) format: FormatId,
    pub(super) template: Template,
    pub(super) rules: RulesHash,
}

/// A commit of a bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CommitRow {
    pub(super) id: CommitId,
    pub(super) parent: Option<CommitRef>,
    pub(super) commit_type: CommitType,
    pub(super) closure: Closure,
    pub(super) kind: CommitKind,
    pub(super) artifact: ContentRef,
    pub(super) native: Option<ContentRef>,
    pub(super) created_at: Timestamp,
    pub(super) counts: Counts,
}

/// Encodes commits of which the first has the number `first`.
pub(super) fn put_commits(rows: &[CommitRow], first: u64) -> Vec<u8> {
    let mut kinds: Vec<&CommitKind> = Vec::new();
    let mut body = Vec::new();
    let (mut content, mut created_at) = (0_u64, 0_i64);
    for (number, row) in (first..).zip(rows) {
        let kind = kinds.iter().position(|kind| **kind == row.kind).unwrap_or_else(|| {
            kinds.push(&row.kind);
            kinds.len() - 1
        });
        let (tag, restated) = match row.commit_type {
            CommitType::Delta => (0, None),
            CommitType::Compaction => (1, None),
            CommitType::Snapshot { restated_entries } => (2, Some(restated_entries)),
        };
        let closure = match row.closure {
            Closure::Closed => 0,
            Closure::Provisional => 1,
            Closure::Covered => 2,
            Closure::Forgotten => 3,
        };
        body.push(tag | (closure << 2) | (u8::from(row.native.is_some()) << 4));
        body.extend_from_slice(&row.id.to_bytes());
        put_length(&mut body, kind);
        match row.parent {
            None => body.push(0),
            Some(CommitRef::Id(id)) => {
                body.push(1);
                body.extend_from_slice(&id.to_bytes());
            }
            Some(CommitRef::Number(parent)) => put_number(&mut body, number - parent + 1),
        }
        if let Some(restated) = restated {
            put_number(&mut body, restated);
        }
        row.artifact.put(&mut body, &mut content);
        if let Some(native) = row.native {
            native.put(&mut body, &mut content);
        }
        put_signed(&mut body, row.created_at.as_micros().wrapping_sub(created_at));
        created_at = row.created_at.as_micros();
        for count in [row.counts.messages, row.counts.entries, row.counts.tokens] {
            put_number(&mut body, count.min(COUNT_MAX));
        }
    }
    let mut whole = Vec::with_capacity(body.len() + 128);
    put_length(&mut whole, kinds.len());
    for kind in kinds {
        put_text(&mut whole, kind.format.as_str());
        put_text(&mut whole, kind.template.as_str());
        whole.extend_from_slice(&kind.rules.0);
    }
    put_length(&mut whole, rows.len());
    whole.extend_from_slice(&body);
    whole
}

/// Decodes commits of which the first has the number `first`, one after the other.
pub(super) fn take_commits(
    body: &[u8],
    first: u64,
    each: &mut dyn FnMut(CommitRow) -> Result<(), Malformed>,
) -> Result<(), Malformed> {
    let mut take = Take::new(body);
    let mut kinds = Vec::new();
    for _ in 0..take.rows("kinds of commits")? {
        kinds.push(CommitKind {
            format: FormatId::new(take.text("a format", NAME_BYTES_MAX)?)?,
            template: Template::new(take.text("a template", NAME_BYTES_MAX)?)?,
            rules: RulesHash(take.array()?),
        });
    }
    let (mut content, mut created_at) = (0_u64, 0_i64);
    let rows = to_u64(take.rows("commits")?);
    for number in first..first.saturating_add(rows) {
        let flags = take.byte()?;
        let id = take.commit()?;
        let kind = usize::try_from(take.number()?).ok().and_then(|kind| kinds.get(kind));
        let kind = kind.ok_or_else(|| Malformed(format!("{id} is of a kind that there is not")))?.clone();
        let parent = match take.number()? {
            0 => None,
            1 => Some(CommitRef::Id(take.commit()?)),
            distance => {
                let parent = number.checked_sub(distance - 1);
                Some(CommitRef::Number(
                    parent.ok_or_else(|| Malformed(format!("{id} continues a commit that there is not")))?,
                ))
            }
        };
        let commit_type = match flags & 3 {
            0 => CommitType::Delta,
            1 => CommitType::Compaction,
            2 => CommitType::Snapshot { restated_entries: take.count("restated entries", COUNT_MAX)? },
            _ => return Err(Malformed(format!("{id} is of a type that there is not"))),
        };
        let closure = match (flags >> 2) & 3 {
            0 => Closure::Closed,
            1 => Closure::Provisional,
            2 => Closure::Covered,
            _ => Closure::Forgotten,
        };
        if flags >> 5 != 0 {
            return Err(Malformed(format!("{id} has flags that there are not")));
        }
        let artifact = ContentRef::take(&mut take, &mut content)?;
        let native = if flags & 16 == 0 { None } else { Some(ContentRef::take(&mut take, &mut content)?) };
        created_at = created_at.wrapping_add(take.signed()?);
        let counts = Counts {
            messages: take.count("messages", COUNT_MAX)?,
            entries: take.count("entries", COUNT_MAX)?,
            tokens: take.count("tokens", COUNT_MAX)?,
        };
        let created_at = Timestamp::from_micros(created_at);
        each(CommitRow { id, parent, commit_type, closure, kind, artifact, native, created_at, counts })?;
    }
    take.end()
}

/// A range of a literal or named content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PartRow {
    pub(super) of: ContentRef,
    pub(super) offset: u64,
    pub(super) length: u64,
}

/// A content that consists of ranges of others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ComposedRow {
    /// Given where a part is not in the bundle, so that the row says what it is without it.
    pub(super) hash: Option<ArtifactId>,
    pub(super) parts: Vec<PartRow>,
}

pub(super) fn put_composed(body: &mut Vec<u8>, row: &ComposedRow) {
    body.push(u8::from(row.hash.is_some()));
    if let Some(hash) = &row.hash {
        body.extend_from_slice(hash.as_bytes());
    }
    put_length(body, row.parts.len());
    let mut last = 0;
    for part in &row.parts {
        part.of.put(body, &mut last);
        put_number(body, part.offset);
        put_number(body, part.length);
    }
}

pub(super) fn take_composed(take: &mut Take<'_>) -> Result<ComposedRow, Malformed> {
    let hash = match take.byte()? {
        0 => None,
        1 => Some(take.artifact()?),
        _ => return Err(Malformed::new("a content has flags that there are not")),
    };
    let rows = take.rows("parts of a content")?;
    if rows > PARTS_MAX {
        return Err(Malformed(format!("a content has {rows} parts, more than {PARTS_MAX}")));
    }
    let mut parts = Vec::with_capacity(rows);
    let mut last = 0;
    for _ in 0..rows {
        let of = ContentRef::take(take, &mut last)?;
        parts.push(PartRow { of, offset: take.number()?, length: take.number()? });
    }
    Ok(ComposedRow { hash, parts })
}

/// A content of which a bundle has no bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NamedRow {
    pub(super) hash: ArtifactId,
    pub(super) length: u64,
    /// It was forgotten; else the receiver has it.
    pub(super) is_forgotten: bool,
}

pub(super) fn put_named(body: &mut Vec<u8>, row: &NamedRow) {
    body.push(u8::from(row.is_forgotten));
    body.extend_from_slice(row.hash.as_bytes());
    put_number(body, row.length);
}

pub(super) fn take_named(take: &mut Take<'_>) -> Result<NamedRow, Malformed> {
    let is_forgotten = match take.byte()? {
        0 => false,
        1 => true,
        _ => return Err(Malformed::new("a content has flags that there are not")),
    };
    let hash = take.artifact()?;
    let bound = if is_forgotten { HOLE_BYTES_MAX } else { u64::MAX };
    Ok(NamedRow { hash, length: take.count("bytes of a content", bound)?, is_forgotten })
}

/// Reads the lengths of a block's contents; what is left in `take` are their bytes.
pub(super) fn take_lengths(take: &mut Take<'_>) -> Result<Vec<usize>, Malformed> {
    let bound = to_u64(PART_BYTES_MAX);
    let rows = take.rows("contents of a block")?;
    let mut lengths = Vec::with_capacity(rows);
    let mut whole = 0_usize;
    for _ in 0..rows {
        let length = usize::try_from(take.count("bytes of a content", bound)?).unwrap_or(usize::MAX);
        whole = whole.saturating_add(length);
        lengths.push(length);
    }
    if whole == take.rest().len() {
        return Ok(lengths);
    }
    Err(Malformed(format!("a block has {} bytes instead of {whole}", take.rest().len())))
}
