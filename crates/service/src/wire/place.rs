//! Sessions that are placed for a client, as wire types and back.

use stemmata_api::v1;
use stemmata_engine::{ConversionOf, PlacementRecord, PreparedPlacement, WrittenFile};

use crate::fault::Fault;
use crate::local::bad_request;

/// Returns the wire form of a context that a client is about to load.
pub(crate) fn prepared(prepared: &PreparedPlacement) -> v1::PreparedPlacement {
    v1::PreparedPlacement {
        continues: prepared.continues,
        stop: prepared.stop.to_string(),
        format: prepared.format.clone(),
        origin_cwd: prepared.origin_cwd.clone(),
        prompt: prepared.prompt.clone(),
        conversion_of: prepared.conversion_of.as_ref().map(|of| v1::ConversionOf {
            ctx: of.ctx,
            stop: of.stop.to_string(),
            at: of.at.clone(),
        }),
        losses: prepared.losses.clone(),
        notes: prepared.notes.clone(),
    }
}

/// Reads what a translation is made from.
pub(crate) fn conversion_of(of: &v1::ConversionOf) -> Result<ConversionOf, Fault> {
    let stop = of.stop.parse().map_err(|error| bad_request("stop", error))?;
    Ok(ConversionOf { ctx: of.ctx, stop, at: of.at.clone() })
}

/// Returns the wire form of what is remembered of a session that was placed.
pub(crate) fn record(record: &PlacementRecord) -> v1::RecordPlacementRequest {
    let written = record.written.map(|written| v1::WrittenFile {
        device: written.device,
        inode: written.inode,
        modified_ns: written.modified_ns.to_string(),
    });
    v1::RecordPlacementRequest {
        ctx: record.ctx,
        session_id: record.session.clone(),
        machine: record.machine.clone(),
        path: record.path.clone(),
        format: record.format.clone(),
        taken_bytes: record.taken_bytes,
        taken_lines: record.taken_lines,
        placed_bytes: record.placed_bytes,
        messages: record.messages,
        hash: blake3::Hash::from_bytes(record.hash).to_hex().to_string(),
        written,
        taken_in_by_client: record.taken_in_by_client,
        cwd: record.cwd.clone(),
    }
}

/// Reads what is to be remembered of a session that was placed.
pub(crate) fn record_of(request: &v1::RecordPlacementRequest) -> Result<PlacementRecord, Fault> {
    let written = match &request.written {
        None => None,
        Some(written) => Some(WrittenFile {
            device: written.device,
            inode: written.inode,
            modified_ns: written.modified_ns.parse().map_err(|error| bad_request("modified_ns", error))?,
        }),
    };
    let hash = blake3::Hash::from_hex(&request.hash).map_err(|error| bad_request("hash", error))?;
    Ok(PlacementRecord {
        ctx: request.ctx,
        session: request.session_id.clone(),
        machine: request.machine.clone(),
        path: request.path.clone(),
        format: request.format.clone(),
        taken_bytes: request.taken_bytes,
        taken_lines: request.taken_lines,
        placed_bytes: request.placed_bytes,
        messages: request.messages,
        hash: *hash.as_bytes(),
        written,
        taken_in_by_client: request.taken_in_by_client,
        cwd: request.cwd.clone(),
        placed_at: None,
    })
}
