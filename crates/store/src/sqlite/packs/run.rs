//! Packing a store: plan, encode, move, and give the room back.
//!
//! The parts of it are the modules beside this one.

use rusqlite::Connection;

use super::apply::Applied;
use super::encode::Encoder;
use super::leftovers::{remove_leftovers, remove_strays};
use super::plan::{self, Plan};
use crate::error::StoreError;
use crate::maintain::pack::{PackOptions, Packed};
use crate::pack::frame;
use crate::rules::packing::cut;
use crate::sqlite::failure::During;
use crate::sqlite::statements::columns;
use crate::sqlite::{Maintained, shrink};

/// Moves what is in the inbox into packs.
pub(in crate::sqlite) fn pack(store: &Maintained<'_>, options: &PackOptions) -> Result<Packed, StoreError> {
    let mut packed = Packed::default();
    // Looked at before the lock, so that a store with nothing to pack stays without a folder of packs.
    let waiting = store.pool.reader()?.within_read(plan::inbox)?;
    if waiting.contents == 0 || waiting.bytes < options.inbox_bytes_min {
        remove_strays(store)?;
        return Ok(packed);
    }
    let Some(lock) = store.packs.lock()? else {
        packed.busy = true;
        return Ok(packed);
    };
    remove_leftovers(store)?;
    let plan = store.pool.reader()?.within_read(plan::plan)?;
    let mut encoder = Encoder::new(store.packs, options.level.unwrap_or(frame::LEVEL));
    let mut applied = Applied::default();
    let mut reader = store.pool.reader()?;
    for round in &plan.rounds {
        let mut blocks = cut(round).into_iter();
        while let Some(pack) = encoder.next_pack(&mut reader, round, &mut blocks)? {
            if applied.apply(store.group, &pack, options.now)? {
                packed.packs += 1;
                packed.pack_bytes += pack.bytes;
            } else {
                store.packs.remove(pack.name)?;
            }
        }
    }
    drop(reader);
    let left = store.group.maintain(|connection| mark(connection, &plan))?;
    drop(lock);
    packed.damaged = encoder.damaged;
    packed.contents = applied.contents;
    packed.content_bytes = applied.content_bytes;
    packed.inbox_bytes = plan.inbox_bytes.saturating_sub(left);
    packed.blocks = applied.blocks;
    packed.based_blocks = applied.based_blocks;
    if applied.contents > 0 {
        shrink::shrink(store)?;
    }
    Ok(packed)
}

/// Remembers how far was looked, so that the next run looks at what is new. Returns the stored bytes of what
/// was looked at and stays in the inbox.
fn mark(connection: &Connection, plan: &Plan) -> Result<u64, StoreError> {
    let operation = "remembering what is packed";
    let sql = "SELECT ifnull(sum(length(bytes)), 0), min(row) FROM content \
               WHERE row > (SELECT packed_content FROM store) AND row <= ?1 AND coding IN (0, 1, 2)";
    let (left, first): (i64, Option<i64>) =
        connection.during(operation).only(sql, [plan.content_mark], columns)?;
    // What stays, because it is damaged or was stale, is looked at again.
    let content_mark = first.map_or(plan.content_mark, |first| first - 1);
    connection.during(operation).run(
        "UPDATE store SET packed_content = max(packed_content, ?1), packed_commit = max(packed_commit, ?2)",
        [content_mark, plan.commit_mark],
    )?;
    Ok(left.cast_unsigned())
}
