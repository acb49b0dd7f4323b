//! Giving back: contexts, conversations and bundles as bytes.

use std::io::{Read, Write};

use crate::v1::{
    ArtifactReadRequest, ArtifactText, BundleExportRequest, BundleExported, BundleHave, BundleHaveRequest,
    BundleImportRequest, BundleImported, BundleShowRequest, BundleShown, CheckpointContext,
    CheckpointFileMade, CheckpointFileRequest, ExportRequest, Exported, Handoff, HandoffRequest,
    MaterializeRequest, Materialized, Native, NativeRequest, NativeSize, NativeSizeRequest,
    PlacementRecorded, PreparePlacementRequest, PreparedPlacement, RecordPlacementRequest, Sidecars,
    SidecarsRequest, SummarizeRequest, Summarized,
};
use crate::{Answer, ByteSource, Control};

/// Contexts, conversations and bundles.
///
/// What is written to `out` is complete only once the method answers: after a problem the caller throws it away. A failing
/// `out` ends the method with `io_failed`. Cancel-safe but where a method says otherwise: a cancelled one fails with `cancelled`
/// and has changed nothing.
pub trait GiveBack: Send + Sync {
    /// Writes a transcript's own bytes up to a commit, or a range of them. The same for as long as the commit's content is there.
    ///
    /// # Errors
    /// `not_joinable`, `content_forgotten`, `content_corrupt`, `out_of_bounds` for a range that begins behind the end, and those
    /// of [`find`](super::Chains::find).
    fn native(&self, request: &NativeRequest, out: &mut dyn Write, control: &Control<'_>) -> Answer<Native>;

    /// Says how long a transcript is up to a commit, and so that all of its bytes are there. None of them is read.
    ///
    /// # Errors
    /// `commit_forgotten`, and those of [`find`](super::Chains::find).
    fn native_size(&self, request: &NativeSizeRequest) -> Answer<NativeSize>;

    /// Lists the files that were captured beside the transcripts of a context: those of its session, and of the sessions that it
    /// was placed from.
    ///
    /// # Errors
    /// Those of [`find`](super::Chains::find).
    fn sidecars(&self, request: &SidecarsRequest) -> Answer<Sidecars>;

    /// Writes a context.
    ///
    /// # Errors
    /// `not_an_ancestor`, `format_unwritable`, and those of [`native`](Self::native).
    fn materialize(
        &self,
        request: &MaterializeRequest,
        out: &mut dyn Write,
        control: &Control<'_>,
    ) -> Answer<Materialized>;

    /// Writes a conversation for people or for other programs.
    ///
    /// # Errors
    /// `format_unreadable`, `not_an_ancestor`, and those of [`native`](Self::native).
    fn export(&self, request: &ExportRequest, out: &mut dyn Write, control: &Control<'_>)
    -> Answer<Exported>;

    /// Summarizes a context within a budget. Where its format cannot be read, the text describes stored bytes.
    ///
    /// # Errors
    /// `budget_too_small`, `not_an_ancestor`, and those of [`native`](Self::native).
    fn handoff(
        &self,
        request: &HandoffRequest,
        out: &mut dyn Write,
        control: &Control<'_>,
    ) -> Answer<Handoff>;

    /// Summarizes the beginning of a context without a model, for the entries that stay in the window. Nothing is stored. Idempotent:
    /// the same entries give the same text, whatever follows them.
    ///
    /// # Errors
    /// `entry_not_found`, `ambiguous` for an id that stands twice, `bad_request`, `not_an_ancestor`, and those of [`native`](Self::native).
    fn summarize(&self, request: &SummarizeRequest) -> Answer<Summarized>;

    /// Reads a range of an artifact as text: the whole output of a tool, or any other stored content. Ranges of bytes that follow
    /// each other hold all of it.
    ///
    /// # Errors
    /// `bad_id`, `bad_request`, `out_of_bounds` for a range that begins behind the end, `not_text`, `content_missing`,
    /// `content_forgotten`, `content_corrupt`.
    fn read_artifact(&self, request: &ArtifactReadRequest) -> Answer<ArtifactText>;

    /// Writes the checkpoint of a commit as a file holds it: conversation, phase, tasks and metrics. What a working tree says of it is
    /// the host's to add.
    ///
    /// # Errors
    /// `window_bad`, `format_unreadable`, `out_of_bounds` for a conversation that is too large, and those of [`native`](Self::native).
    fn checkpoint_file(
        &self,
        request: &CheckpointFileRequest,
        out: &mut dyn Write,
        control: &Control<'_>,
    ) -> Answer<CheckpointFileMade>;

    /// Gives the context that a checkpoint file is of: the commit that it names where the store has it, else one made of its
    /// conversation and marked as foreign. `content` is read to its end. Idempotent.
    ///
    /// # Errors
    /// `checkpoint_file_bad`, `commit_forgotten`, and those of [`checkpoint`](super::Chains::checkpoint).
    fn load_checkpoint_file(&self, content: &mut dyn Read) -> Answer<CheckpointContext>;

    /// Prepares a context that a client will load, before the first byte of it is written: what is written depends on the commit
    /// that it continues. A translation is stored, so that what the client adds has something to continue. Idempotent.
    ///
    /// # Errors
    /// `not_an_ancestor`, `entry_not_found`, `fork_before_first`, `nothing_translates`, `unknown_client`, `no_client_loads`, and
    /// those of [`find`](super::Chains::find).
    fn prepare_placement(&self, request: &PreparePlacementRequest) -> Answer<PreparedPlacement>;

    /// Remembers that a session was placed where a client looks, so that what the client adds to it continues the chain.
    /// Called before the file has its name and again once it has: the second call completes the first, and a third changes nothing.
    ///
    /// # Errors
    /// `commit_not_found`, `bad_name`, `bad_id`.
    fn record_placement(&self, request: &RecordPlacementRequest) -> Answer<PlacementRecorded>;

    /// Writes commits and what stands beside them as a bundle.
    ///
    /// # Errors
    /// `have_list_bad`, `content_forgotten`, `content_corrupt`, and those of [`find`](super::Chains::find).
    fn export_bundle(
        &self,
        request: &BundleExportRequest,
        out: &mut dyn Write,
        control: &Control<'_>,
    ) -> Answer<BundleExported>;

    /// Imports a bundle. Everything is checked before anything is stored. Idempotent: what is there already is counted and left
    /// alone. What ends it once it stores, a cancel too, leaves chains without their last commits, and the same import goes on
    /// from there.
    ///
    /// # Errors
    /// `not_a_bundle`, `bundle_too_new`, `bundle_cut`, `bundle_damaged`, `bundle_needs_more`, `bundle_too_large`.
    fn import_bundle(
        &self,
        request: &BundleImportRequest,
        source: &dyn ByteSource,
        control: &Control<'_>,
    ) -> Answer<BundleImported>;

    /// Checks a bundle and says what is in it.
    ///
    /// # Errors
    /// Those of [`import_bundle`](Self::import_bundle).
    fn show_bundle(
        &self,
        request: &BundleShowRequest,
        source: &dyn ByteSource,
        control: &Control<'_>,
    ) -> Answer<BundleShown>;

    /// Says what this store has, for an export elsewhere.
    ///
    /// # Errors
    /// Those of [`find`](super::Chains::find).
    fn bundle_have(&self, request: &BundleHaveRequest) -> Answer<BundleHave>;
}

/// The operations of [`GiveBack`], each beside its method.
#[expect(missing_docs, reason = "a row is documented at the method of its name")]
pub mod rows {
    use crate::operation::Scope::{Publish, Read};
    use crate::operation::{EmptyRequest, Flow, Head, Op, Repeat, Row};
    use crate::v1;

    /// All of them.
    pub static ALL: &[&dyn Row] = &[
        &NATIVE,
        &NATIVE_SIZE,
        &SIDECARS,
        &MATERIALIZE,
        &EXPORT,
        &HANDOFF,
        &SUMMARIZE,
        &READ_ARTIFACT,
        &CHECKPOINT_FILE,
        &LOAD_CHECKPOINT_FILE,
        &PREPARE_PLACEMENT,
        &RECORD_PLACEMENT,
        &EXPORT_BUNDLE,
        &IMPORT_BUNDLE,
        &SHOW_BUNDLE,
        &BUNDLE_HAVE,
    ];

    pub static NATIVE: Op<v1::NativeRequest, v1::Native> =
        Op::by_hand(Flow::Out, Head::get("give_back.native", "/v1/commits/{ctx}/native", Read))
            .shown_by(&["native"]);
    pub static NATIVE_SIZE: Op<v1::NativeSizeRequest, v1::NativeSize> =
        Op::get("give_back.native_size", "/v1/commits/{ctx}/native/size", Read, |s, q, _| s.native_size(q));
    pub static SIDECARS: Op<v1::SidecarsRequest, v1::Sidecars> =
        Op::get("give_back.sidecars", "/v1/commits/{ctx}/sidecars", Read, |s, q, _| s.sidecars(q))
            .shown_by(&["sidecars"]);
    pub static MATERIALIZE: Op<v1::MaterializeRequest, v1::Materialized> =
        Op::by_hand(Flow::Out, Head::ask("give_back.materialize", "/v1/commits/{ctx}/materialize", Read))
            .shown_by(&["materialize"]);
    pub static EXPORT: Op<v1::ExportRequest, v1::Exported> =
        Op::by_hand(Flow::Out, Head::get("give_back.export", "/v1/commits/{ctx}/export", Read))
            .shown_by(&["export"]);
    pub static HANDOFF: Op<v1::HandoffRequest, v1::Handoff> =
        Op::by_hand(Flow::Out, Head::get("give_back.handoff", "/v1/commits/{ctx}/handoff", Read))
            .shown_by(&["handoff"]);
    pub static SUMMARIZE: Op<v1::SummarizeRequest, v1::Summarized> =
        Op::get("give_back.summarize", "/v1/commits/{ctx}/summarize", Read, |s, q, _| s.summarize(q))
            .shown_by(&["compact --print"]);
    pub static READ_ARTIFACT: Op<v1::ArtifactReadRequest, v1::ArtifactText> =
        Op::get("give_back.read_artifact", "/v1/artifacts/{artifact}", Read, |s, q, _| s.read_artifact(q))
            .shown_by(&["artifact read"]);
    pub static CHECKPOINT_FILE: Op<v1::CheckpointFileRequest, v1::CheckpointFileMade> = Op::by_hand(
        Flow::Out,
        Head::get("give_back.checkpoint_file", "/v1/commits/{ctx}/checkpoint-file", Read),
    );
    pub static LOAD_CHECKPOINT_FILE: Op<EmptyRequest, v1::CheckpointContext> = Op::by_hand(
        Flow::In,
        Head::post("give_back.load_checkpoint_file", "/v1/checkpoint-files", Publish, Repeat::Same),
    );
    pub static PREPARE_PLACEMENT: Op<v1::PreparePlacementRequest, v1::PreparedPlacement> = Op::post(
        "give_back.prepare_placement",
        "/v1/commits/{ctx}/placements/prepare",
        Publish,
        Repeat::Same,
        |s, q, _| s.prepare_placement(q),
    );
    pub static RECORD_PLACEMENT: Op<v1::RecordPlacementRequest, v1::PlacementRecorded> = Op::post(
        "give_back.record_placement",
        "/v1/commits/{ctx}/placements",
        Publish,
        Repeat::Same,
        |s, q, _| s.record_placement(q),
    );
    pub static EXPORT_BUNDLE: Op<v1::BundleExportRequest, v1::BundleExported> =
        Op::by_hand(Flow::Out, Head::ask("give_back.export_bundle", "/v1/bundles/export", Read))
            .shown_by(&["bundle export"]);
    pub static IMPORT_BUNDLE: Op<v1::BundleImportRequest, v1::BundleImported> =
        Op::by_hand(Flow::In, Head::post("give_back.import_bundle", "/v1/bundles", Publish, Repeat::Same))
            .shown_by(&["bundle import"]);
    pub static SHOW_BUNDLE: Op<v1::BundleShowRequest, v1::BundleShown> =
        Op::by_hand(Flow::In, Head::ask("give_back.show_bundle", "/v1/bundles/show", Read))
            .shown_by(&["bundle show"]);
    pub static BUNDLE_HAVE: Op<v1::BundleHaveRequest, v1::BundleHave> =
        Op::ask("give_back.bundle_have", "/v1/bundles/have", Read, |s, q, _| s.bundle_have(q))
            .shown_by(&["bundle have"]);
}
