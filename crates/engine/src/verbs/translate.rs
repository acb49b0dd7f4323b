//! A context in another runtime's format, and the commit that it becomes when it goes on there.
//!
//! What is kept, changed or dropped is decided in `stemmata_runtimes::translate`.

use stemmata_model::{Bytes, CommitCore, CommitId, CommitType, Granularity, artifact_id};
use stemmata_runtimes::adapter::Adapter;
use stemmata_runtimes::translate::{runtime_of, translate};
use stemmata_store::StoreError;

use crate::engine::Engine;
use crate::error::{EngineError, Result};
use crate::verbs::count::count;
use crate::verbs::materialize::{Materialized, Stop, Tier};

/// Bytes of a context that is translated at most: it is held in memory, some times over.
const TRANSLATED_BYTES_MAX: usize = 1 << 30;

/// A context in another format.
pub(crate) struct TranslatedContext {
    pub bytes: Vec<u8>,
    pub made: Materialized,
}

impl Engine {
    /// Translates the context of a commit. Pure: the same commit and parameters give the same bytes.
    pub(crate) fn translate(
        &self,
        ctx: CommitId,
        target: &'static dyn Adapter,
        stop: Stop,
    ) -> Result<TranslatedContext> {
        let mut context = self.plan_context(ctx, stop)?;
        let source = context.adapter;
        let mut native = Vec::new();
        let (bytes, counts) = context.write(&mut |piece: &[u8]| {
            if native.len() + piece.len() > TRANSLATED_BYTES_MAX {
                return Err(std::io::Error::other(format!(
                    "a context of more than {TRANSLATED_BYTES_MAX} bytes cannot be translated"
                )));
            }
            native.extend_from_slice(piece);
            Ok(())
        })?;
        let mut made = context.finish(bytes, counts);
        let decoded = source.decode(&native);
        drop(native);
        let translated = translate(decoded.entries, &source.format(), &target.format());
        let bytes = target.encode(&translated.entries);
        let is_same_runtime = runtime_of(&source.format()) == runtime_of(&target.format());
        made.format = target.format();
        made.bytes = Bytes::of(&bytes);
        made.counts = count(target, &bytes, &mut made.notes).counts;
        made.tier = if is_same_runtime { Tier::Upgraded } else { Tier::Transcoded };
        // Of lines that are not there any more.
        made.reparented = Vec::new();
        made.losses = Some(translated.report);
        Ok(TranslatedContext { bytes, made })
    }

    /// Stores the context of a commit in another runtime's format, as a snapshot below it: what goes on there has it as
    /// its parent. The same commit and format give the same snapshot.
    ///
    /// # Errors
    /// As `materialize`, and store errors.
    pub fn translated_snapshot(
        &self,
        ctx: CommitId,
        target: &'static dyn Adapter,
        stop: Stop,
    ) -> Result<(CommitId, Materialized)> {
        let commit = self.store.commit(ctx)?.ok_or(StoreError::CommitMissing(ctx))?;
        let TranslatedContext { bytes, made } = self.translate(ctx, target, stop)?;
        if made.counts.messages == 0 {
            return Err(EngineError::Refused {
                what: "a translation",
                reasons: vec![format!("nothing of {ctx} can be said in `{}`", target.format())],
            });
        }
        let core = CommitCore {
            parent: Some(ctx),
            commit_type: CommitType::Snapshot { restated_entries: made.counts.entries },
            artifact: artifact_id(&bytes),
            native: None,
            format: target.format(),
            template: target.splitter(Granularity::Turn, None).template(),
            created_at: commit.core.created_at,
        };
        let id = self.put_snapshot(core, (commit.rules, made.counts), &bytes)?;
        Ok((id, made))
    }
}
