//! Giving back: what was recorded comes back as it was, as another client's, as a summary and as a bundle.

use std::io;

use stemmata_api::v1::{
    BundleExportRequest, BundleHaveRequest, BundleImportRequest, BundleShowRequest, CompactRequest,
    ExportForm, ExportRequest, FindRequest, HandoffReader, HandoffRequest, MaterializeRequest, Materialized,
    PreparePlacementRequest, RecordPlacementRequest, ShowRequest,
};
use stemmata_api::v1::{HANDOFF_TOKENS_DEFAULT, LastCompactionRequest, NativeRequest, NativeSizeRequest};
use stemmata_api::{ByteSource, CancelToken, Control, Service};
use stemmata_model::{MachineId, Role, SessionId};
use stemmata_testkit::claude::Transcript;

use crate::{MISSING, code};

/// Formats that a session of this story can be written in, besides its own.
const OTHERS: [&str; 2] = ["codex-v1", "gemini-v1"];

/// Tells the story. `import` brings the session in; `other` is a service over an empty store.
pub(crate) fn back(
    service: &dyn Service,
    other: &dyn Service,
    session: &Transcript,
    import: &dyn Fn(&Transcript),
) {
    import(session);
    let tip = find(service, &session.session_id);
    let whole = own_bytes(service, session, &tip);
    written_for_others(service, &tip);
    before_a_compaction(service, &tip, &whole);
    exported(service, &tip);
    handed_off(service, &tip);
    forked(service, &tip);
    carried(service, other, &tip, &whole);
    cancelled(service, &tip);
}

fn find(service: &dyn Service, text: &str) -> String {
    service.find(&FindRequest::of(text)).expect("found").ctx.to_string()
}

fn of(ctx: &str) -> NativeRequest {
    NativeRequest::of(ctx)
}

fn wish(ctx: &str, stop: &str, format: Option<&str>) -> MaterializeRequest {
    let format = format.map(str::to_owned);
    MaterializeRequest {
        ctx: Some(ctx.to_owned()),
        at: None,
        stop: stop.to_owned(),
        format,
        budget_tokens: None,
    }
}

fn materialize(service: &dyn Service, request: &MaterializeRequest) -> (Materialized, Vec<u8>) {
    let mut out = Vec::new();
    let made = service.materialize(request, &mut out, &Control::none()).expect("a context");
    assert_eq!(made.bytes, out.len() as u64);
    (made, out)
}

/// The whole chain is the transcript. Returns the context from its root on.
fn own_bytes(service: &dyn Service, session: &Transcript, tip: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let native = service.native(&of(tip), &mut out, &Control::none()).expect("bytes");
    assert_eq!((native.ctx.to_string().as_str(), native.bytes), (tip, out.len() as u64));
    assert_eq!(out, (session.lines.join("\n") + "\n").into_bytes());
    ranges(service, tip, &out);
    let (made, whole) = materialize(service, &wish(tip, "root", None));
    assert_eq!(
        (made.ctx.map(|ctx| ctx.to_string()).as_deref(), made.stop.as_str(), made.losses),
        (Some(tip), "root", None)
    );
    let (again, same) = materialize(service, &wish(&tip[..20], "root", Some(made.format.as_str())));
    assert_eq!((again.tier, &same), (made.tier, &whole), "its own format is what there is without one");
    let (recent, bytes) = materialize(service, &wish(tip, "compaction", None));
    assert!(recent.entry_count < made.entry_count && bytes.len() < whole.len());
    let mut out = Vec::new();
    let mut refused =
        |request: &MaterializeRequest| code(service.materialize(request, &mut out, &Control::none()));
    assert_eq!(refused(&wish(MISSING, "root", None)), "commit_not_found");
    assert_eq!(refused(&wish(tip, MISSING, None)), "commit_not_found");
    assert_eq!(refused(&wish(tip, "root", Some(""))), "bad_name");
    assert_eq!(refused(&wish(tip, "root", Some("clay-tablet-v1"))), "format_unwritable");
    whole
}

/// Ranges that follow each other are the whole, wherever contents begin and end.
fn ranges(service: &dyn Service, tip: &str, whole: &[u8]) {
    let length = whole.len() as u64;
    let size = service.native_size(&NativeSizeRequest { ctx: tip.to_owned() }).expect("a size");
    assert_eq!((size.ctx.to_string().as_str(), size.bytes), (tip, Some(length)));
    let read = |from, to| {
        let mut out = Vec::new();
        let request = NativeRequest { from, to, ..of(tip) };
        service.native(&request, &mut out, &Control::none()).map(|native| (native.bytes, out))
    };
    let step = length / 7 + 1;
    let mut joined = Vec::new();
    for from in (0..length).step_by(usize::try_from(step).expect("a short text")) {
        let (bytes, part) = read(Some(from), Some(from + step)).expect("a range");
        assert_eq!(bytes, part.len() as u64);
        joined.extend(part);
    }
    assert_eq!(joined, whole);
    assert_eq!(read(Some(length - 1), None).expect("the last byte"), (1, b"\n".to_vec()));
    assert_eq!(read(None, Some(3)).expect("the first bytes").1, whole[..3]);
    assert_eq!(read(Some(5), Some(5)).expect("nothing"), (0, Vec::new()));
    assert_eq!(read(Some(length), None).expect("nothing is left"), (0, Vec::new()));
    assert_eq!(code(read(Some(length + 1), None)), "out_of_bounds");
    assert_eq!(code(read(Some(7), Some(3))), "bad_request");
    assert_eq!(code(service.native_size(&NativeSizeRequest { ctx: MISSING.to_owned() })), "commit_not_found");
}

fn written_for_others(service: &dyn Service, tip: &str) {
    for format in OTHERS {
        let (made, bytes) = materialize(service, &wish(tip, "root", Some(format)));
        let losses = made.losses.expect("what a translation kept");
        assert_eq!((made.format.as_str(), losses.to.as_str()), (format, format));
        assert!(losses.kept > 0 && !bytes.is_empty());
        assert_eq!(materialize(service, &wish(tip, "root", Some(format))).1, bytes, "{format} again");
    }
}

/// What a compaction by hand left out is still there before it.
fn before_a_compaction(service: &dyn Service, tip: &str, whole: &[u8]) {
    let summary = "the retries wait".to_owned();
    let made = service
        .compact(&CompactRequest { summary: Some(summary), ..CompactRequest::of(tip) })
        .expect("a compaction");
    let id = made.id.expect("it is stored").to_string();
    let of_nobody = CompactRequest { session: Some("nobody".to_owned()), ..CompactRequest::of(&id) };
    assert_eq!(code(service.compact(&of_nobody)), "session_not_found");
    let (recent, bytes) = materialize(service, &wish(&id, "compaction", None));
    assert!(bytes.len() < whole.len() && recent.format == made.format);
    let before = service
        .before_compaction(&LastCompactionRequest { ctx: id.clone(), session: None })
        .expect("a commit")
        .id
        .to_string();
    assert_eq!(materialize(service, &wish(&before, "root", None)).1, whole);
}

fn exported(service: &dyn Service, tip: &str) {
    for form in ExportForm::ALL {
        let request = ExportRequest { ctx: tip.to_owned(), stop: "root".to_owned(), form, prompts: None };
        let mut out = Vec::new();
        let made = service.export(&request, &mut out, &Control::none()).expect("a conversation");
        assert_eq!(made.bytes, out.len() as u64);
        assert!(made.entry_count > 0, "{}", form.as_str());
    }
}

fn handed_off(service: &dyn Service, tip: &str) {
    let ask = |budget_tokens| {
        let request = HandoffRequest {
            ctx: tip.to_owned(),
            stop: "root".to_owned(),
            budget_tokens,
            reader: HandoffReader::Agent,
        };
        let mut out = Vec::new();
        let made = service.handoff(&request, &mut out, &Control::none())?;
        Ok((made, out))
    };
    let (made, text) = ask(HANDOFF_TOKENS_DEFAULT).expect("a summary");
    assert!(made.token_count <= HANDOFF_TOKENS_DEFAULT && made.turns > 0);
    std::str::from_utf8(&text).expect("text");
    assert_eq!(code(ask(1)), "budget_too_small");
}

/// A fork ends where it was asked to; what is placed for it is remembered, however often that is told.
fn forked(service: &dyn Service, tip: &str) {
    let shown = service.show(&ShowRequest { ctx: tip.to_owned(), entries: true }).expect("a commit");
    let said = shown.entries.expect("entries").into_iter().find(|entry| entry.role == Role::Assistant);
    let prepare = |at: Option<&str>, runtime: Option<&str>| {
        service.prepare_placement(&PreparePlacementRequest {
            ctx: tip.to_owned(),
            runtime: runtime.map(str::to_owned),
            stop: "root".to_owned(),
            at: at.map(str::to_owned),
            dry_run: false,
        })
    };
    let whole = prepare(None, None).expect("prepared");
    assert_eq!((whole.continues.to_string().as_str(), &whole.prompt, &whole.losses), (tip, &None, &None));
    let entry = said.expect("an answer").id;
    let fork = prepare(Some(entry.as_str()), None).expect("prepared");
    assert_eq!(prepare(Some(entry.as_str()), None).expect("again").continues, fork.continues);
    materialize(service, &wish(&fork.continues.to_string(), &fork.stop, None));
    let translated = prepare(None, Some("codex")).expect("prepared");
    assert!(translated.format.as_str().starts_with("codex-") && translated.losses.is_some());
    assert_ne!(translated.continues, whole.continues, "a translation is a commit of its own");
    assert_eq!(code(prepare(Some("nothing"), None)), "entry_not_found");
    assert_eq!(code(prepare(None, Some("abacus"))), "unknown_client");
    let (made, bytes) = materialize(service, &wish(tip, "root", None));
    let placed = RecordPlacementRequest {
        ctx: whole.continues,
        session_id: SessionId::new("0d2f6a52-aaaa-4bbb-8ccc-000000000001").expect("a name"),
        machine: MachineId::new("m-elsewhere").expect("a name"),
        path: "/home/ada/.claude/projects/-kiln/placed.jsonl".to_owned(),
        format: made.format,
        taken_bytes: made.bytes,
        taken_lines: bytes.iter().filter(|byte| **byte == b'\n').count() as u64,
        placed_bytes: made.bytes,
        messages: made.message_count,
        hash: "0".repeat(64),
        written: None,
        taken_in_by_client: false,
        cwd: "/kiln".to_owned(),
    };
    for _ in 0..2 {
        assert_eq!(service.record_placement(&placed).expect("remembered").ctx, whole.continues);
    }
    let refused = |placed: RecordPlacementRequest| code(service.record_placement(&placed));
    assert_eq!(refused(RecordPlacementRequest { hash: "0".to_owned(), ..placed }), "bad_request");
}

/// A bundle in memory.
struct Bytes(Vec<u8>);

impl ByteSource for Bytes {
    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<usize> {
        let rest = usize::try_from(at).ok().and_then(|at| self.0.get(at..)).unwrap_or_default();
        let length = rest.len().min(into.len());
        into[..length].copy_from_slice(&rest[..length]);
        Ok(length)
    }
}

/// A chain that went through a bundle is the same chain elsewhere.
fn carried(service: &dyn Service, other: &dyn Service, tip: &str, whole: &[u8]) {
    let control = Control::none();
    let request =
        BundleExportRequest { commits: vec![tip.to_owned()], project: None, all: false, have: Vec::new() };
    let mut out = Vec::new();
    let written = service.export_bundle(&request, &mut out, &control).expect("a bundle");
    assert_eq!(
        (written.bytes, written.tips.as_slice()),
        (out.len() as u64, &[tip.parse().expect("an id")][..])
    );
    let bundle = Bytes(out);
    let limits = BundleShowRequest { commits_max: None, content_bytes_max: None };
    let shown = other.show_bundle(&limits, &bundle, &control).expect("a sound bundle");
    assert_eq!((shown.commits, &shown.tips), (written.commits, &written.tips));
    let take = |dry_run| BundleImportRequest { commits_max: None, content_bytes_max: None, dry_run };
    for (dry_run, new) in [(true, written.commits), (false, written.commits), (false, 0)] {
        let taken = other.import_bundle(&take(dry_run), &bundle, &control).expect("taken in");
        assert_eq!((taken.dry_run, taken.new_commits, taken.commits), (dry_run, new, written.commits));
    }
    assert_eq!(materialize(other, &wish(tip, "root", None)).1, whole);
    let have = other.bundle_have(&BundleHaveRequest { commits: Vec::new(), project: None, all: true });
    let rest = BundleExportRequest { have: have.expect("a list").commits, ..request };
    let rest = service.export_bundle(&rest, &mut io::sink(), &control).expect("a bundle");
    assert_eq!((rest.commits, rest.known_commits > 0), (0, true), "the receiver has it all");
    let few = BundleImportRequest { commits_max: Some(1), ..take(true) };
    assert_eq!(code(other.import_bundle(&few, &bundle, &control)), "bundle_above_limit");
    let Bytes(mut cut) = bundle;
    cut.truncate(cut.len() / 2);
    assert_eq!(code(other.import_bundle(&take(false), &Bytes(cut), &control)), "bundle_cut");
    let prose = Bytes(b"Dear reader,".to_vec());
    assert_eq!(code(other.show_bundle(&limits, &prose, &control)), "not_a_bundle");
}

fn cancelled(service: &dyn Service, tip: &str) {
    let cancel = CancelToken::default();
    cancel.cancel();
    let control = Control { cancel: Some(&cancel), ..Control::none() };
    assert_eq!(code(service.native(&of(tip), &mut io::sink(), &control)), "cancelled");
    let made = service.materialize(&wish(tip, "root", None), &mut io::sink(), &control);
    assert_eq!(code(made), "cancelled");
}
