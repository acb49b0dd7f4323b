//! Mending one content: its bytes from a sound copy, or from a sound content that they are a part of.

use rusqlite::{Connection, params};
use stemmata_model::{ArtifactId, artifact_id, to_u64};

use crate::error::StoreError;
use crate::maintain::repair::{RepairSource, Repaired};
use crate::rules::coding::{Coding, encode};
use crate::rules::pieces::{self, Piece};
use crate::seam::{PART_BYTES_MAX, PARTS_MAX};
use crate::sqlite::SqliteStore;
use crate::sqlite::failure::During;
use crate::sqlite::read::contents::{Known, find};
use crate::sqlite::statements::one;

const MENDING: &str = "mending a content";

/// Composed contents that one damaged part is looked for in.
const TWINS_MAX: usize = 64;

/// Which contents are mended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pass {
    Literals,
    Lists,
}

impl SqliteStore {
    pub(super) fn repair_content(
        &self,
        id: ArtifactId,
        pass: Pass,
        sources: &[RepairSource<'_>],
    ) -> Result<Option<Repaired>, StoreError> {
        let Some(victim) = self.read(|reader| find(reader.connection(), id))? else { return Ok(None) };
        let sound = match (pass, victim.is_list) {
            (Pass::Literals, false) => self.sound_literal(id, &victim, sources)?,
            (Pass::Lists, true) => {
                return self.repair_list(id, &victim, sources);
            }
            (Pass::Literals, true) | (Pass::Lists, false) => return Ok(None),
        };
        let Some((bytes, from)) = sound else { return Ok(None) };
        self.group.maintain(|connection| put_literal(connection, id, victim.row, bytes))?;
        Ok(Some(Repaired { object: id.to_string(), from }))
    }

    /// Looks for the bytes of a literal content by its hash, then within sound copies of what it is a part of.
    fn sound_literal(
        &self,
        id: ArtifactId,
        victim: &Known,
        sources: &[RepairSource<'_>],
    ) -> Result<Option<(Vec<u8>, String)>, StoreError> {
        // All of it: the length that is kept here may be what is damaged.
        if let Some(found) = sources.iter().find_map(|source| bytes_of(source, id, None, id)) {
            return Ok(Some(found));
        }
        let twins = self.read(|reader| twins(reader.connection(), victim))?;
        Ok(twins.into_iter().find_map(|(twin, at)| {
            let range = at..at.saturating_add(victim.length);
            sources.iter().find_map(|source| bytes_of(source, twin, Some(&range), id))
        }))
    }

    /// Stores a content whose list is lost as its bytes, read from a sound copy.
    fn repair_list(
        &self,
        id: ArtifactId,
        victim: &Known,
        sources: &[RepairSource<'_>],
    ) -> Result<Option<Repaired>, StoreError> {
        for source in sources {
            if source.store.content_length(id).ok().flatten().is_none() {
                continue;
            }
            let put = self.group.maintain(|connection| put_list(connection, id, victim.row, source));
            match put {
                Ok(()) => return Ok(Some(Repaired { object: id.to_string(), from: source.name.clone() })),
                // A source that is damaged there too: nothing of it was kept.
                Err(StoreError::Corrupt { .. } | StoreError::Sink(_) | StoreError::ContentMissing(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }
}

/// Reads a range of a content from a source; none unless it has the hash that is wanted.
fn bytes_of(
    source: &RepairSource<'_>,
    of: ArtifactId,
    range: Option<&std::ops::Range<u64>>,
    wanted: ArtifactId,
) -> Option<(Vec<u8>, String)> {
    let mut bytes = Vec::new();
    let read = source.store.read_content(of, range.cloned(), &mut |piece| {
        if bytes.len() + piece.len() > PART_BYTES_MAX {
            return Err(std::io::ErrorKind::InvalidData.into());
        }
        bytes.extend_from_slice(piece);
        Ok(())
    });
    (read.is_ok() && artifact_id(&bytes) == wanted).then(|| (bytes, source.name.clone()))
}

/// Returns composed contents that a whole row is a part of, and where.
fn twins(connection: &Connection, victim: &Known) -> Result<Vec<(ArtifactId, u64)>, StoreError> {
    let mut statement =
        connection.prepare("SELECT hash, bytes FROM content WHERE coding = 3").during(MENDING)?;
    let mut rows = statement.query([]).during(MENDING)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next().during(MENDING)? {
        let (Ok(hash), Ok(list)) = (row.get(0), row.get::<_, Vec<u8>>(1)) else { continue };
        let mut at = 0_u64;
        for piece in pieces::decode(&list).unwrap_or_default() {
            if piece.of == victim.row && piece.offset == 0 && piece.length == victim.length {
                found.push((ArtifactId::from_bytes(hash), at));
                break;
            }
            at = at.saturating_add(piece.length);
        }
        if found.len() == TWINS_MAX {
            break;
        }
    }
    Ok(found)
}

/// Puts the bytes of a literal content into the inbox, under the row that it has.
fn put_literal(connection: &Connection, id: ArtifactId, row: i64, bytes: Vec<u8>) -> Result<(), StoreError> {
    let length = i64::try_from(bytes.len()).expect("a part is short");
    let (coding, stored) = encode(bytes);
    connection.during(MENDING).run("DELETE FROM packed WHERE row = ?1", [row])?;
    let sql = "INSERT INTO content (row, hash, length, coding, dictionary, referred, bytes) \
               VALUES (?1, ?2, ?3, ?4, ?5, 1, ?6) ON CONFLICT (row) DO UPDATE SET \
               length = ?3, coding = ?4, dictionary = ?5, bytes = ?6";
    connection
        .during(MENDING)
        .run(sql, params![row, id.as_bytes(), length, coding.number(), coding.dictionary(), stored])?;
    drop_unused_blocks(connection)
}

/// Removes the packs that nothing is in any more, after their contents came back into the inbox.
fn drop_unused_blocks(connection: &Connection) -> Result<(), StoreError> {
    connection
        .execute_batch(
            "DELETE FROM pack WHERE row NOT IN (SELECT b.pack FROM block b JOIN packed p ON p.block = b.row) \
             AND NOT EXISTS (SELECT 1 FROM block WHERE length(bases) > 0); \
             DELETE FROM block WHERE pack NOT IN (SELECT row FROM pack);",
        )
        .during(MENDING)
}

/// Stores a content as literal parts read from a source, and holds the whole to its hash before it counts.
fn put_list(
    connection: &Connection,
    id: ArtifactId,
    row: i64,
    source: &RepairSource<'_>,
) -> Result<(), StoreError> {
    let mut hasher = blake3::Hasher::new();
    let (mut list, mut part, mut length) = (Vec::new(), Vec::new(), 0_u64);
    let mut failed = None;
    source.store.read_content(id, None, &mut |piece| {
        hasher.update(piece);
        length += to_u64(piece.len());
        for chunk in piece.chunks(PART_BYTES_MAX) {
            if part.len() + chunk.len() > PART_BYTES_MAX {
                keep_part(connection, &mut list, &mut part, &mut failed)?;
            }
            part.extend_from_slice(chunk);
        }
        Ok(())
    })?;
    // The sink's own errors are told by the store that is read; the last part is put here.
    keep_part(connection, &mut list, &mut part, &mut failed).map_err(StoreError::Sink)?;
    if let Some(error) = failed {
        return Err(error);
    }
    if hasher.finalize().as_bytes() != id.as_bytes() || list.len() > PARTS_MAX {
        return Err(StoreError::Corrupt { artifact: id, reason: "the copy has another hash".to_owned() });
    }
    connection.during(MENDING).run(
        "UPDATE content SET coding = ?2, dictionary = NULL, length = ?3, bytes = ?4 WHERE row = ?1",
        params![row, Coding::Composed.number(), length.cast_signed(), pieces::encode(&list)],
    )?;
    Ok(())
}

/// Stores a part, or finds it stored, and adds it to a list.
fn keep_part(
    connection: &Connection,
    list: &mut Vec<Piece>,
    part: &mut Vec<u8>,
    failed: &mut Option<StoreError>,
) -> std::io::Result<()> {
    if part.is_empty() {
        return Ok(());
    }
    match literal_row(connection, std::mem::take(part)) {
        Ok(piece) => {
            list.push(piece);
            Ok(())
        }
        Err(error) => {
            *failed = Some(error);
            Err(std::io::ErrorKind::Other.into())
        }
    }
}

fn literal_row(connection: &Connection, bytes: Vec<u8>) -> Result<Piece, StoreError> {
    let id = artifact_id(&bytes);
    let length = to_u64(bytes.len());
    if let Some(known) = find(connection, id)?.filter(|known| !known.is_list) {
        return Ok(Piece { of: known.row, offset: 0, length });
    }
    let row: i64 = connection.during(MENDING).only(
        "SELECT max(ifnull((SELECT max(row) FROM content), 0), ifnull((SELECT max(row) FROM packed), 0)) + 1",
        [],
        one,
    )?;
    put_literal(connection, id, row, bytes)?;
    Ok(Piece { of: row, offset: 0, length })
}
