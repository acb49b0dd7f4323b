//! Visibility lines of `stemmata-v1`: which entries no model sees any more, and which ones are pinned. Normative:
//! `docs/format/stemmata-v1.md`.
//!
//! Reading and writing them; what they do to a context is decided where contexts of lines are planned.

use std::collections::BTreeSet;

use stemmata_model::{Entry, EntryId, EntryKind, Part, Timestamp};

use super::entries::{RUNTIME, VERSION_2};
use crate::json::{Field, Object, borrowed_object, list, owned, parse_line, text};
use crate::lines::entry_id;

/// The kind of a line, and of the part that carries it.
pub(crate) const KIND: &str = "visibility";

/// Ids that one line names at most; a reader passes over the others.
pub const SHOWN_IDS_MAX: usize = 4_096;

/// Characters of a reason at most.
pub const REASON_CHARS_MAX: usize = 256;

/// What becomes of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum ShowAs {
    /// A model sees them no more.
    Pruned,
    /// A model sees them no more, and a summary of them stands behind them. People see them as archived results.
    Archived,
    /// A model sees them again.
    Shown,
    /// They are never pruned, and a summary holds them word for word.
    Pinned,
    /// They are pinned no more.
    Unpinned,
}

impl ShowAs {
    const ALL: [Self; 5] = [Self::Pruned, Self::Archived, Self::Shown, Self::Pinned, Self::Unpinned];

    /// Returns the name in a line.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Returns whether it hides entries, or `None` if it is about pins.
    pub const fn hides(self) -> Option<bool> {
        match self {
            Self::Pruned | Self::Archived => Some(true),
            Self::Shown => Some(false),
            Self::Pinned | Self::Unpinned => None,
        }
    }
}

/// Entries that become something, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// The entries: whole tool groups.
    pub entries: Vec<EntryId>,
    /// What they become.
    pub show_as: ShowAs,
    /// Why, for people.
    pub reason: String,
}

borrowed_object! {
    /// What a visibility line says.
    struct Visibility {
        kind, show,
    }
}

borrowed_object! {
    /// One item of it.
    struct Item {
        id, show_as = "as", reason,
    }
}

/// Reads what a line shows. A line is either about hiding or about pins, as its first item is; items of the other sort are
/// passed over, so that a context can drop the one sort and keep the other.
pub(super) fn read(show: Option<Field<'_>>) -> Vec<Shown> {
    let items = show.and_then(|show| show.elements()).unwrap_or_default();
    let mut shown: Vec<Shown> = Vec::new();
    for item in items.into_iter().take(SHOWN_IDS_MAX).filter_map(|item| Item::read(item).ok()) {
        let name = text(item.show_as).unwrap_or_default();
        let known = ShowAs::ALL.into_iter().find(|known| known.as_str() == name);
        let (Some(show_as), Some(id)) = (known, entry_id(text(item.id))) else { continue };
        let first = shown.first().map_or(show_as, |first| first.show_as);
        if first.hides().is_some() != show_as.hides().is_some() {
            continue;
        }
        let reason: String = owned(item.reason).unwrap_or_default().chars().take(REASON_CHARS_MAX).collect();
        match shown.last_mut() {
            Some(last) if last.show_as == show_as && last.reason == reason => last.entries.push(id),
            _ => shown.push(Shown { entries: vec![id], show_as, reason }),
        }
    }
    shown
}

/// Encodes a visibility line. Its id follows from the time and from what it says.
pub fn line(shown: &[Shown], at: Timestamp) -> Vec<u8> {
    let items = shown.iter().flat_map(|item| {
        let reason: String = item.reason.chars().take(REASON_CHARS_MAX).collect();
        let of = move |id: &EntryId| {
            let object = Object::new().text("id", id.as_str()).text("as", item.show_as.as_str());
            object.given("reason", Some(reason.as_str()).filter(|reason| !reason.is_empty())).finish()
        };
        item.entries.iter().map(of)
    });
    let show = list(items);
    let hash = blake3::Hash::from_bytes(blake3::derive_key("stemmata.visibility.v1", show.as_bytes()));
    let id = format!("vis-{}-{}", at.as_micros(), hash.to_hex().split_at(16).0);
    let object = Object::new().text("v", VERSION_2).text("id", &id).text("timestamp", &at.to_string());
    let object = object.text("role", "system").text("kind", KIND).raw("parts", "[]").raw("show", &show);
    let mut line = object.finish().into_bytes();
    line.push(b'\n');
    line
}

/// Encodes a summary of archived results, to stand behind them: the model sees it, and people see the results.
pub fn tool_summary_line(text: &str, at: Timestamp) -> Vec<u8> {
    super::entries::tool_summary(text, at)
}

/// Returns what an entry shows, or `None` if it is no visibility line.
pub fn of_entry(entry: &Entry) -> Option<Vec<Shown>> {
    let json = raw(&entry.kind, &entry.parts)?;
    let (_, line) = parse_line(json.as_bytes(), Visibility::read).ok()?;
    Some(read(line.show))
}

/// Returns the bytes of a visibility line that entries carry whole.
pub(super) fn raw<'e>(kind: &EntryKind, parts: &'e [Part]) -> Option<&'e str> {
    match (kind, parts) {
        (EntryKind::Metadata, [Part::Opaque { runtime, kind, json }])
            if runtime == RUNTIME && kind == KIND && !json.contains('\n') =>
        {
            let (_, line) = parse_line(json.as_bytes(), Visibility::read).ok()?;
            (text(line.kind)? == KIND).then_some(json)
        }
        _ => None,
    }
}

/// Returns the entries that are pinned after these lines: the last line about an entry counts.
pub fn pins<'e>(entries: impl IntoIterator<Item = &'e Entry>) -> BTreeSet<EntryId> {
    let mut pins = BTreeSet::new();
    for shown in entries.into_iter().filter_map(of_entry).flatten() {
        match shown.show_as {
            ShowAs::Pinned => pins.extend(shown.entries),
            ShowAs::Unpinned => pins.retain(|pin| !shown.entries.contains(pin)),
            ShowAs::Pruned | ShowAs::Archived | ShowAs::Shown => {}
        }
    }
    pins
}
