//! One event as one line of `events.ndjson`, and back. Pure: text in, text out.
//!
//! What lines mean to each other (numbers, batches, the chain) is `scan`'s.

use std::fmt::Write as _;

use serde_json::value::RawValue;
use stemmata_model::{
    ArtifactId, CanonicalEncoder, Event, EventSeq, Gone, Json, LedgerId, Party, Payload, SessionId,
    Timestamp, Topic, artifact_id, to_u64,
};

use super::seal;
use super::v2::{GoneV2, KeyV2, LineV2, OtherLine, PayloadV2, ReceiptV2};
use crate::ledger::{BATCH_EVENTS_MAX, EVENT_BYTES_MAX, EventKey, Keyed, NewKey, Receipt};
use crate::rules::events::gone;

/// Bytes of a line at most: every byte of an event may need six, and names, hashes and keys come on top.
pub(super) const LINE_BYTES_MAX: usize = 6 * EVENT_BYTES_MAX + 1024 * 1024;

/// What stands before the keys of a line: one without it has none.
pub(super) const KEYS: &str = ",\"keys\":";

/// How lines are protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, strum::EnumString, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum IntegrityMode {
    /// Not at all: what a disk changes is taken for what was written, where it still is a line.
    None,
    /// Each line has a checksum, which finds what a disk changed.
    #[default]
    Checksum,
    /// Each line also has a link that covers the line before it: nobody changes, moves or takes out an event without
    /// changing all links after it. The newest one, kept elsewhere, proves the whole ledger.
    Chain,
}

/// A link of the chain.
pub(super) type Link = [u8; 32];

/// Where an event stands in what was appended with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Batch {
    /// The number of the batch's first event.
    pub(super) first: u64,
    /// How many events it has.
    pub(super) size: usize,
    /// The last number that was durable for sure when it was written.
    pub(super) durable: u64,
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) event: Event,
    pub(super) batch: Batch,
    /// With a payload that the ledger let go of: what it had let go of then.
    pub(super) receipt: Option<Receipt>,
    /// With metadata that was forgotten, where links need it.
    pub(super) metadata_hash: Option<ArtifactId>,
    /// What the event is known by, until it says nothing any more. No link covers them.
    pub(super) keys: Vec<Keyed>,
    /// The link, where the ledger has a chain.
    pub(super) link: Option<Link>,
}

/// Returns what the first link of a ledger covers.
pub(super) fn root_link(id: &LedgerId) -> Link {
    *blake3::hash(format!("stemmata ledger chain 1\0{id}").as_bytes()).as_bytes()
}

impl Record {
    /// Returns the link of this line after another one. It covers hashes of the payload and the metadata, so that it
    /// stays what it is when they go.
    pub(super) fn link_after(&self, before: &Link) -> Link {
        let event = &self.event;
        let left = gone(&event.payload, false);
        let metadata = event.metadata.as_ref().map(|json| artifact_id(json.as_str().as_bytes()));
        let metadata = metadata.or(self.metadata_hash);
        let size = to_u64(self.batch.size);
        let bytes = CanonicalEncoder::new(1)
            .bytes(before)
            .number(event.seq.get())
            .bytes(event.session.as_str().as_bytes())
            .signed(event.at.as_micros())
            .bytes(event.topic.as_str().as_bytes())
            .bytes(event.sender.as_str().as_bytes())
            .bytes(event.receiver.as_str().as_bytes())
            .tag(u8::from(event.replayable))
            .bytes(left.hash.as_bytes())
            .number(left.bytes)
            .optional(metadata.as_ref().map(|hash| hash.as_bytes().as_slice()))
            .number(self.batch.first)
            .number(size)
            .finish();
        *blake3::hash(&bytes).as_bytes()
    }

    /// Returns the line with its newline.
    pub(super) fn encode(&self, mode: IntegrityMode) -> String {
        let mut out = String::new();
        self.encode_into(mode, &mut out);
        out
    }

    /// Adds the line with its newline to a text.
    pub(super) fn encode_into(&self, mode: IntegrityMode, out: &mut String) {
        let start = out.len();
        self.encode_fields(out).expect("a string takes all");
        match mode {
            IntegrityMode::None => out.push('}'),
            IntegrityMode::Checksum | IntegrityMode::Chain => seal::close(out, start),
        }
        out.push('\n');
    }

    /// Adds an object without its end.
    fn encode_fields(&self, out: &mut String) -> std::fmt::Result {
        let event = &self.event;
        write!(out, "{{\"event_seq\":\"{}\",\"session_id\":", event.seq)?;
        quote(event.session.as_str(), out);
        write!(out, ",\"timestamp\":\"{}\"", event.at)?;
        for (name, value) in [
            (",\"topic\":", event.topic.as_str()),
            (",\"sender\":", event.sender.as_str()),
            (",\"receiver\":", event.receiver.as_str()),
        ] {
            out.push_str(name);
            quote(value, out);
        }
        write!(out, ",\"replayable\":{},\"payload\":{{", event.replayable)?;
        self.encode_payload(out)?;
        out.push('}');
        if let Some(metadata) = &event.metadata {
            write!(out, ",\"metadata\":{metadata}")?;
        } else if let Some(hash) = self.metadata_hash {
            write!(out, ",\"metadata_hash\":\"{hash}\"")?;
        }
        if !self.keys.is_empty() {
            let keys: Vec<KeyV2> = self.keys.iter().map(key_v2).collect();
            write!(out, "{KEYS}{}", serde_json::to_string(&keys).expect("texts and numbers are JSON"))?;
        }
        let Batch { first, size, durable } = self.batch;
        write!(out, ",\"batch\":{{\"first\":\"{first}\",\"size\":{size},\"durable\":\"{durable}\"}}")?;
        match &self.link {
            Some(link) => write!(out, ",\"chain\":\"{}\"", hex(link)),
            None => Ok(()),
        }
    }

    /// Adds the fields of the payload.
    fn encode_payload(&self, out: &mut String) -> std::fmt::Result {
        match &self.event.payload {
            Payload::Plain { text, data } => {
                if let Some(text) = text {
                    out.push_str("\"text\":");
                    quote(text, out);
                }
                if let Some(data) = data {
                    let comma = if text.is_some() { "," } else { "" };
                    write!(out, "{comma}\"data\":{data}")?;
                }
                Ok(())
            }
            Payload::Line { line, .. } => write!(out, "\"line\":{line}"),
            Payload::Gone(gone) => {
                let gone = GoneV2 {
                    hash: gone.hash.to_string(),
                    bytes: gone.bytes,
                    forgotten: gone.forgotten,
                    receipt: self.receipt.as_ref().map(receipt_v2),
                };
                let gone = serde_json::to_string(&gone).expect("texts and numbers are JSON");
                write!(out, "\"gone\":{gone}")
            }
        }
    }
}

pub(super) fn receipt_v2(receipt: &Receipt) -> ReceiptV2 {
    ReceiptV2 { events: receipt.events, bytes: receipt.bytes, chain: hex(&receipt.chain) }
}

pub(super) fn receipt_of(written: &ReceiptV2, through: EventSeq) -> Result<Receipt, String> {
    let chain = unhex(&written.chain).ok_or("its receipt has no chain of 64 digits")?;
    Ok(Receipt { events: written.events, bytes: written.bytes, chain, through })
}

fn key_v2(keyed: &Keyed) -> KeyV2 {
    let events = keyed.last.get().saturating_sub(keyed.first.get()).saturating_add(1);
    KeyV2 {
        key: digits(keyed.key),
        digest: digits(keyed.digest),
        events: usize::try_from(events).unwrap_or(usize::MAX),
        until: keyed.until.map(|until| until.to_string()),
    }
}

fn keyed(written: &KeyV2, first: EventSeq) -> Result<Keyed, String> {
    let half = |text: &str| undigits(text).ok_or_else(|| format!("`{text}` is no key of 32 digits"));
    let until = written.until.as_deref().map(|text| time(text).ok_or(format!("`{text}` is not a time")));
    let (key, digest) = (half(&written.key)?, half(&written.digest)?);
    let new = NewKey { key, digest, at: 0, events: written.events, until: until.transpose()? };
    Keyed::placed(&new, first).ok_or_else(|| format!("a key of it stands for {} events", written.events))
}

fn digits(key: EventKey) -> String {
    key.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads 32 digits; none for capital ones, which nobody writes.
fn undigits(text: &str) -> Option<EventKey> {
    let read = u128::from_str_radix(text, 16).ok()?;
    let key = EventKey::from_bytes(read.to_be_bytes());
    (digits(key) == text).then_some(key)
}

/// Adds a text as JSON has it.
fn quote(text: &str, out: &mut String) {
    // Names and most texts need no escapes: nothing is looked at twice and nothing is copied in between.
    if text.bytes().any(|byte| byte < b' ' || byte == b'"' || byte == b'\\') {
        out.push_str(&serde_json::to_string(text).expect("a text is JSON"));
        return;
    }
    out.push('"');
    out.push_str(text);
    out.push('"');
}

pub(super) fn hex(link: &Link) -> String {
    blake3::Hash::from_bytes(*link).to_hex().to_string()
}

/// Reads 64 digits; none for capital ones, which nobody writes.
pub(super) fn unhex(text: &str) -> Option<Link> {
    let hash = blake3::Hash::from_hex(text).ok()?;
    (hash.to_hex().as_str() == text).then(|| *hash.as_bytes())
}

/// Reads a number that may be 0, in its one form.
pub(super) fn number(text: &str) -> Option<u64> {
    if text == "0" { Some(0) } else { text.parse::<EventSeq>().ok().map(EventSeq::get) }
}

/// Reads a time as [`Timestamp`] shows it, beyond the years that have a date too.
pub(super) fn time(text: &str) -> Option<Timestamp> {
    match text.strip_suffix(" µs after 1970") {
        Some(micros) => micros.parse().ok().map(Timestamp::from_micros),
        None => Timestamp::parse(text).ok(),
    }
}

/// Reads a line without its newline, or says why it is none.
pub(super) fn decode(line: &[u8], mode: IntegrityMode) -> Result<Record, String> {
    if line.len() > LINE_BYTES_MAX {
        return Err(format!("it has {} bytes, more than {LINE_BYTES_MAX}", line.len()));
    }
    if mode != IntegrityMode::None
        && let Err(reason) = seal::check(line)
    {
        return Err(foreign(line).unwrap_or(reason));
    }
    let read: LineV2<'_> = serde_json::from_slice(line)
        .map_err(|error| foreign(line).unwrap_or_else(|| format!("it is not an event: {error}")))?;
    if mode == IntegrityMode::None && read.checksum.is_some() {
        seal::check(line)?;
    }
    let chain = match (mode, &read.chain) {
        (IntegrityMode::Chain, None) => return Err("it has no link of the chain".to_owned()),
        (_, None) => None,
        (_, Some(text)) => Some(unhex(text).ok_or("its link is none of 64 digits")?),
    };
    let seq: EventSeq = read.event_seq.parse().map_err(|error| format!("{error}"))?;
    let batch = Batch {
        first: number(&read.batch.first).ok_or("its batch has no first number")?,
        size: read.batch.size,
        durable: number(&read.batch.durable).ok_or("its batch says not what was durable")?,
    };
    if batch.size == 0 || batch.size > BATCH_EVENTS_MAX {
        return Err(format!("its batch has {} events", batch.size));
    }
    // Lines after it would say so too, and a torn end that they prove durable would be damage.
    if batch.durable >= batch.first {
        return Err(format!(
            "its batch says that event {} was durable before {}",
            batch.durable, batch.first
        ));
    }
    let receipt = read.payload.gone.as_ref().and_then(|gone| gone.receipt.as_ref());
    let receipt = receipt.map(|receipt| receipt_of(receipt, seq)).transpose()?;
    let metadata_hash = read.metadata_hash.as_deref().map(hash).transpose()?;
    let keys = read.keys.iter().map(|key| keyed(key, seq)).collect::<Result<_, _>>()?;
    let name = |error: stemmata_model::NameError| error.to_string();
    let event = Event {
        seq,
        session: SessionId::new(read.session_id).map_err(name)?,
        at: time(&read.timestamp).ok_or_else(|| format!("`{}` is not a time", read.timestamp))?,
        topic: Topic::new(read.topic).map_err(name)?,
        sender: Party::new(read.sender).map_err(name)?,
        receiver: Party::new(read.receiver).map_err(name)?,
        payload: payload(read.payload)?,
        metadata: read.metadata.map(json).transpose()?,
        replayable: read.replayable,
    };
    Ok(Record { event, batch, receipt, metadata_hash, keys, link: chain })
}

fn payload(read: PayloadV2<'_>) -> Result<Payload, String> {
    match read {
        PayloadV2 { text, data, line: None, gone: None } => {
            Ok(Payload::Plain { text, data: data.map(json).transpose()? })
        }
        PayloadV2 { text: None, data: None, line: Some(line), gone: None } => {
            let line = json(line)?;
            Ok(Payload::Line { id: artifact_id(format!("{line}\n").as_bytes()), line })
        }
        PayloadV2 { text: None, data: None, line: None, gone: Some(gone) } => {
            let hash = hash(&gone.hash)?;
            Ok(Payload::Gone(Gone { hash, bytes: gone.bytes, forgotten: gone.forgotten }))
        }
        PayloadV2 { .. } => Err("its payload is more than one thing".to_owned()),
    }
}

fn json(raw: &RawValue) -> Result<Json, String> {
    Json::parse(raw.get()).map_err(|error| error.to_string())
}

fn hash(text: &str) -> Result<ArtifactId, String> {
    text.parse().map_err(|error| format!("{error}"))
}

/// Says so where a line is of another program's version 2, which has neither sessions nor times.
pub(super) fn foreign(line: &[u8]) -> Option<String> {
    let other: OtherLine = serde_json::from_slice(line).ok()?;
    let is_other = other.event_seq.is_some() && other.session_id.is_none() && other.timestamp.is_none();
    is_other.then(|| "another program wrote it: it has neither `session_id` nor `timestamp`".to_owned())
}
