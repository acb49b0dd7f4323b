//! What stands beside commits: sightings, changes of metadata, links, sessions, placements.
//!
//! Specified in `docs/format/bundle.md`. Paths are data here: nothing ever opens one.

use stemmata_model::{
    EntryId, FormatId, Granularity, MachineId, NAME_BYTES_MAX, Principal, Reasons, SessionId, Sighting,
    Source, SummarySource, Template, ThreadId, TicketId, Timestamp, Trigger,
};
use stemmata_store::{Annotation, AuditRecord, LinkKind, Placement, Session, SessionKey, SessionOrigin};

use super::bytes::{Malformed, Take, put_length, put_number, put_optional, put_signed, put_text};
use super::rows::CommitRef;

/// Bytes of a path or another text of a session at most, as in every store.
const PATH_BYTES_MAX: usize = 4096;

/// Bytes of a title at most: 200 characters of at most four.
const TITLE_BYTES_MAX: usize = 800;

/// Characters of a title at most, as in every store.
const TITLE_CHARS_MAX: usize = 200;

/// Bytes of a summary or a note at most, as in every store.
const TEXT_BYTES_MAX: usize = 64 * 1024;

/// Bytes of a tag at most, as in every store.
const TAG_BYTES_MAX: usize = 128;

/// What a path of a session without a file begins with; what follows is a name, not a path.
const API_PREFIX: &str = "api:";

fn name<T>(take: &mut Take<'_>, what: &str) -> Result<T, Malformed>
where
    T: std::str::FromStr<Err = stemmata_model::NameError>,
{
    Ok(take.text(what, NAME_BYTES_MAX)?.parse()?)
}

fn optional_name<T>(take: &mut Take<'_>, what: &str) -> Result<Option<T>, Malformed>
where
    T: std::str::FromStr<Err = stemmata_model::NameError>,
{
    Ok(take.optional(what, NAME_BYTES_MAX)?.map(str::parse).transpose()?)
}

/// Holds a path to what paths of transcripts look like. It is only shown and compared, but what climbs out of a
/// folder was made to be misused: paths of transcripts are told as they are, without detours.
fn checked_path(path: &str) -> Result<String, Malformed> {
    if path.is_empty() || path.contains('\0') {
        return Err(Malformed(format!("the path {path:?} is none")));
    }
    if !path.starts_with(API_PREFIX) && path.split(['/', '\\']).any(|part| part == "..") {
        return Err(Malformed(format!("the path {path:?} climbs out with `..`")));
    }
    Ok(path.to_owned())
}

/// Says whether a path may stand in a bundle.
pub(super) fn is_portable(path: &str) -> bool {
    path.len() <= PATH_BYTES_MAX && checked_path(path).is_ok()
}

/// The bits of a sighting's reasons stand above the number of its trigger, as in `docs/format/store.md`.
const REASONS_SHIFT: u32 = 8;

/// Encodes sightings, of many commits that were seen in few places.
pub(super) fn put_sightings(rows: &[(CommitRef, Sighting)]) -> Vec<u8> {
    let mut origins: Vec<Vec<u8>> = Vec::new();
    let mut body = Vec::new();
    let mut observed_at = 0_i64;
    for (commit, sighting) in rows {
        let own = origin_of(sighting);
        // The latest origin is the likeliest, and few differ within one record.
        let place = origins.iter().rposition(|known| *known == own).unwrap_or_else(|| {
            origins.push(own);
            origins.len() - 1
        });
        commit.put(&mut body);
        put_length(&mut body, place);
        let trigger = Trigger::ALL.iter().position(|known| *known == sighting.trigger).unwrap_or_default();
        put_length(&mut body, trigger | (usize::from(sighting.reasons.bits()) << REASONS_SHIFT));
        put_signed(&mut body, sighting.observed_at.as_micros().wrapping_sub(observed_at));
        observed_at = sighting.observed_at.as_micros();
        if let Some(source) = &sighting.source {
            put_number(&mut body, source.offset);
            put_number(&mut body, source.length);
        }
    }
    let mut whole = Vec::with_capacity(body.len() + 512);
    put_length(&mut whole, origins.len());
    for origin in &origins {
        whole.extend_from_slice(origin);
    }
    put_length(&mut whole, rows.len());
    whole.extend_from_slice(&body);
    whole
}

fn origin_of(sighting: &Sighting) -> Vec<u8> {
    let mut bytes = Vec::new();
    put_text(&mut bytes, sighting.principal.as_str());
    put_text(&mut bytes, sighting.machine.as_str());
    put_text(&mut bytes, sighting.session.as_str());
    put_optional(&mut bytes, sighting.source.as_ref().map(|source| source.path.as_str()));
    put_optional(&mut bytes, sighting.ticket.as_ref().map(AsRef::as_ref));
    put_optional(&mut bytes, sighting.thread.as_ref().map(AsRef::as_ref));
    put_optional(&mut bytes, sighting.template_alias.as_ref().map(AsRef::as_ref));
    bytes
}

fn take_origin(take: &mut Take<'_>) -> Result<Sighting, Malformed> {
    let principal: Principal = name(take, "a principal")?;
    let machine: MachineId = name(take, "a machine")?;
    let session: SessionId = name(take, "a session")?;
    let path = take.optional("a path", PATH_BYTES_MAX)?.map(checked_path).transpose()?;
    let ticket: Option<TicketId> = optional_name(take, "a ticket")?;
    let thread: Option<ThreadId> = optional_name(take, "a thread")?;
    let template_alias: Option<Template> = optional_name(take, "a template")?;
    Ok(Sighting {
        principal,
        machine,
        session,
        trigger: Trigger::Explicit,
        reasons: Reasons::NONE,
        ticket,
        thread,
        template_alias,
        observed_at: Timestamp::EPOCH,
        source: path.map(|path| Source { path, offset: 0, length: 0 }),
    })
}

/// Decodes sightings, one after the other.
pub(super) fn take_sightings(
    body: &[u8],
    each: &mut dyn FnMut(CommitRef, Sighting) -> Result<(), Malformed>,
) -> Result<(), Malformed> {
    let mut take = Take::new(body);
    let origins: Vec<Sighting> =
        (0..take.rows("origins")?).map(|_| take_origin(&mut take)).collect::<Result<_, _>>()?;
    let mut observed_at = 0_i64;
    for _ in 0..take.rows("sightings")? {
        let commit = CommitRef::take(&mut take)?;
        let place = usize::try_from(take.number()?).ok().and_then(|place| origins.get(place));
        let mut sighting = place.ok_or_else(|| Malformed::new("a sighting has no origin"))?.clone();
        let cause = take.number()?;
        let reasons = u8::try_from(cause >> REASONS_SHIFT).ok().and_then(Reasons::from_bits);
        sighting.reasons = reasons.ok_or_else(|| Malformed::new("a sighting has an unknown reason"))?;
        let number = cause & ((1 << REASONS_SHIFT) - 1);
        let trigger = usize::try_from(number).ok().and_then(|number| Trigger::ALL.get(number));
        sighting.trigger = *trigger.ok_or_else(|| Malformed::new("a sighting has no trigger"))?;
        observed_at = observed_at.wrapping_add(take.signed()?);
        sighting.observed_at = Timestamp::from_micros(observed_at);
        if let Some(source) = &mut sighting.source {
            source.offset = take.number()?;
            source.length = take.number()?;
        }
        each(commit, sighting)?;
    }
    take.end()
}

/// Encodes one change of a commit's metadata.
pub(super) fn put_change(body: &mut Vec<u8>, commit: CommitRef, record: &AuditRecord) {
    commit.put(body);
    put_signed(body, record.at.as_micros());
    put_text(body, record.by.as_str());
    let (number, text, source) = match &record.change {
        Annotation::Summary { text, source } => (0, text.as_deref(), Some(*source)),
        Annotation::AddTag(tag) => (1, Some(tag.as_str()), None),
        Annotation::RemoveTag(tag) => (2, Some(tag.as_str()), None),
        Annotation::AddNote(text) => (3, Some(text.as_str()), None),
        Annotation::Pin => (4, None, None),
        Annotation::Unpin => (5, None, None),
    };
    body.push(number);
    put_optional(body, text);
    if let Some(source) = source {
        body.push(match source {
            SummarySource::Given => 0,
            SummarySource::Model => 1,
            SummarySource::Heuristic => 2,
        });
    }
}

/// Decodes one change of a commit's metadata.
pub(super) fn take_change(take: &mut Take<'_>) -> Result<(CommitRef, AuditRecord), Malformed> {
    let commit = CommitRef::take(take)?;
    let at = take.time()?;
    let by: Principal = name(take, "an author")?;
    let number = take.byte()?;
    let bytes_max = if matches!(number, 1 | 2) { TAG_BYTES_MAX } else { TEXT_BYTES_MAX };
    let text = take.optional("a text", bytes_max)?.map(str::to_owned);
    let change = match (number, text) {
        (0, text) => Annotation::Summary {
            text,
            source: match take.byte()? {
                0 => SummarySource::Given,
                1 => SummarySource::Model,
                2 => SummarySource::Heuristic,
                _ => return Err(Malformed::new("a summary is of a source that there is not")),
            },
        },
        (1 | 2, Some(tag)) if tag.is_empty() => return Err(Malformed::new("a tag is empty")),
        (1, Some(tag)) => Annotation::AddTag(tag),
        (2, Some(tag)) => Annotation::RemoveTag(tag),
        (3, Some(text)) => Annotation::AddNote(text),
        (4, None) => Annotation::Pin,
        (5, None) => Annotation::Unpin,
        _ => return Err(Malformed::new("a change is of a kind that there is not")),
    };
    Ok((commit, AuditRecord { at, by, change }))
}

/// A link between commits that a bundle may have or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LinkRow {
    pub(super) from: CommitRef,
    pub(super) kind: LinkKind,
    pub(super) to: CommitRef,
    pub(super) entry: Option<EntryId>,
}

pub(super) fn put_link(body: &mut Vec<u8>, link: &LinkRow) {
    link.from.put(body);
    body.push(match link.kind {
        LinkKind::DerivedFrom => 0,
        LinkKind::Subagent => 1,
    });
    link.to.put(body);
    put_optional(body, link.entry.as_ref().map(AsRef::as_ref));
}

pub(super) fn take_link(take: &mut Take<'_>) -> Result<LinkRow, Malformed> {
    let from = CommitRef::take(take)?;
    let kind = match take.byte()? {
        0 => LinkKind::DerivedFrom,
        1 => LinkKind::Subagent,
        _ => return Err(Malformed::new("a link is of a kind that there is not")),
    };
    let to = CommitRef::take(take)?;
    let entry = optional_name(take, "an entry")?;
    Ok(LinkRow { from, kind, to, entry })
}

/// A session, with the commits it names as the bundle knows them. Those within `session` mean nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SessionRow {
    pub(super) session: Session,
    pub(super) tip: Option<CommitRef>,
    pub(super) placed_from: Option<CommitRef>,
}

pub(super) fn put_session(body: &mut Vec<u8>, row: &SessionRow) {
    let session = &row.session;
    put_text(body, session.key.machine.as_str());
    put_text(body, &session.key.path);
    put_text(body, session.session.as_str());
    put_optional(body, session.parent_session.as_ref().map(AsRef::as_ref));
    put_text(body, session.format.as_str());
    put_text(body, session.template.as_str());
    put_text(body, session.principal.as_str());
    put_number(
        body,
        match session.granularity {
            Granularity::Turn => 0,
            Granularity::Message => 1,
            Granularity::Every(turns) => u64::from(turns) + 2,
        },
    );
    match (session.origin, row.placed_from) {
        (SessionOrigin::Placed(_), Some(ctx)) => {
            body.push(1);
            ctx.put(body);
        }
        (SessionOrigin::Api, _) => body.push(2),
        (SessionOrigin::Imported | SessionOrigin::Placed(_), _) => body.push(0),
    }
    for text in [&session.title, &session.cwd, &session.git_branch, &session.version] {
        put_optional(body, text.as_deref());
    }
    for time in [session.started_at, session.last_at] {
        body.push(u8::from(time.is_some()));
        if let Some(time) = time {
            put_signed(body, time.as_micros());
        }
    }
    body.push(u8::from(row.tip.is_some()));
    if let Some(tip) = row.tip {
        tip.put(body);
    }
    for number in [session.commits, session.messages, session.bytes] {
        put_number(body, number);
    }
}

pub(super) fn take_session(take: &mut Take<'_>) -> Result<SessionRow, Malformed> {
    let machine: MachineId = name(take, "a machine")?;
    let path = checked_path(take.text("a path", PATH_BYTES_MAX)?)?;
    let session: SessionId = name(take, "a session")?;
    let parent_session: Option<SessionId> = optional_name(take, "a session")?;
    let format: FormatId = name(take, "a format")?;
    let template: Template = name(take, "a template")?;
    let principal: Principal = name(take, "a principal")?;
    let granularity = match take.number()? {
        0 => Granularity::Turn,
        1 => Granularity::Message,
        turns => format!("every:{}", turns - 2)
            .parse()
            .map_err(|_| Malformed::new("a session has a granularity that there is not"))?,
    };
    let mut placed_from = None;
    let origin = match take.byte()? {
        0 => SessionOrigin::Imported,
        1 => {
            placed_from = Some(CommitRef::take(take)?);
            SessionOrigin::Placed(stemmata_model::CommitId::from_bytes([0; 16]))
        }
        2 => SessionOrigin::Api,
        _ => return Err(Malformed::new("a session is of an origin that there is not")),
    };
    let title = take.optional("a title", TITLE_BYTES_MAX)?.map(str::to_owned);
    if title.as_ref().is_some_and(|title| title.chars().count() > TITLE_CHARS_MAX) {
        return Err(Malformed(format!("a title has more than {TITLE_CHARS_MAX} characters")));
    }
    let cwd = take.optional("a directory", PATH_BYTES_MAX)?.map(str::to_owned);
    let git_branch = take.optional("a branch", PATH_BYTES_MAX)?.map(str::to_owned);
    let version = take.optional("a version", PATH_BYTES_MAX)?.map(str::to_owned);
    let [started_at, last_at] = [optional_time(take)?, optional_time(take)?];
    let tip = match take.byte()? {
        0 => None,
        1 => Some(CommitRef::take(take)?),
        _ => return Err(Malformed::new("a session has flags that there are not")),
    };
    let counts = [(); 3].map(|()| take.count("a session's count", u64::MAX >> 1));
    let [commits, messages, bytes] = counts;
    let session = Session {
        key: SessionKey { machine, path },
        session,
        parent_session,
        format,
        template,
        principal,
        granularity,
        origin,
        title,
        cwd,
        git_branch,
        version,
        started_at,
        last_at,
        tip: None,
        commits: commits?,
        messages: messages?,
        bytes: bytes?,
    };
    Ok(SessionRow { session, tip, placed_from })
}

fn optional_time(take: &mut Take<'_>) -> Result<Option<Timestamp>, Malformed> {
    match take.byte()? {
        0 => Ok(None),
        1 => take.time().map(Some),
        _ => Err(Malformed::new("a session has flags that there are not")),
    }
}

/// Encodes a placement; `ctx` stands for its own. The hash stays behind: it is keyed with the store's secret.
pub(super) fn put_placement(body: &mut Vec<u8>, placement: &Placement, ctx: CommitRef) {
    put_text(body, placement.machine.as_str());
    put_text(body, &placement.path);
    put_text(body, placement.session.as_str());
    ctx.put(body);
    put_number(body, placement.taken_bytes);
    put_number(body, placement.placed_bytes);
    put_signed(body, placement.placed_at.as_micros());
}

pub(super) fn take_placement(take: &mut Take<'_>) -> Result<(Placement, CommitRef), Malformed> {
    let machine: MachineId = name(take, "a machine")?;
    let path = checked_path(take.text("a path", PATH_BYTES_MAX)?)?;
    let session: SessionId = name(take, "a session")?;
    let ctx = CommitRef::take(take)?;
    let placement = Placement {
        machine,
        path,
        session,
        ctx: stemmata_model::CommitId::from_bytes([0; 16]),
        taken_bytes: take.count("bytes of a placed file", u64::MAX >> 1)?,
        placed_bytes: take.count("bytes of a placed file", u64::MAX >> 1)?,
        keyed_hash: [0; 32],
        placed_at: take.time()?,
    };
    Ok((placement, ctx))
}
