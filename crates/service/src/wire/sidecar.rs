//! Sidecars as wire types.

use stemmata_api::v1;
use stemmata_engine::Sidecar;
use stemmata_engine::clients::SidecarKind;

/// Returns the wire form of the files beside a context's transcripts.
pub(crate) fn sidecars(found: &[Sidecar]) -> v1::Sidecars {
    v1::Sidecars {
        bytes: found.iter().map(|sidecar| sidecar.bytes).sum(),
        sidecars: found.iter().map(sidecar).collect(),
    }
}

fn sidecar(found: &Sidecar) -> v1::Sidecar {
    let kind = match found.folder.kind {
        SidecarKind::Result => "result",
        SidecarKind::Backup => "backup",
    };
    v1::Sidecar {
        folder: found.folder.name.to_owned(),
        name: found.name.join("/"),
        kind: kind.to_owned(),
        session_id: found.session.parent_session.as_ref().map(ToString::to_string).unwrap_or_default(),
        path: found.session.key.path.clone(),
        machine: found.session.key.machine.clone(),
        ctx: found.ctx,
        bytes: found.bytes,
        altered: found.is_altered,
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_format_of_files_has_one_name() {
        assert_eq!(stemmata_api::v1::SIDECAR_FORMAT, stemmata_store::SIDECAR_FORMAT);
    }
}
