//! A splitter's state in a cursor: its JSON in few bytes, with references to the session's row for what that says too.
//!
//! At rest nearly all of it is in the row: title, folder, branch, version, times. While a turn is open the row is ahead of the
//! state, and what differs stands in the cursor until the turn closes.

use serde_json::{Map, Number, Value};
use stemmata_store::Session;

use crate::bundle::bytes::{Malformed, Take, put_length, put_number, put_signed, put_text};

/// Names that states have. A place in this list is stored: names are added at its end only.
const NAMES: [&str; 16] = [
    "v", "lines", "message", "facts", "session", "parent", "agent", "subagent", "template", "cwd", "branch",
    "version", "title", "rank", "first", "last",
];

/// Levels of objects at most: states have two.
const DEPTH_MAX: u32 = 8;

/// Bytes of a text at most: a state has 4 KiB at most.
const TEXT_BYTES_MAX: usize = 64 * 1024;

/// The first byte: the state as it is, or packed.
const RAW: u8 = 0;
const PACKED: u8 = 1;

const NULL: u8 = 0;
const FALSE: u8 = 1;
const TRUE: u8 = 2;
const POSITIVE: u8 = 3;
const NEGATIVE: u8 = 4;
const TEXT: u8 = 5;
const OBJECT: u8 = 6;
/// This and the next ones: what the session's row says, in the order of [`said`].
const SAID: u8 = 16;

/// A splitter's state, as it is or as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SplitterState {
    /// The splitter's own bytes.
    Whole(Vec<u8>),
    /// Bytes that refer to a session's row.
    Packed(Vec<u8>),
}

impl SplitterState {
    /// Returns the splitter's own bytes; none where they refer to a session's row and there is none.
    pub(super) fn unpacked(self, session: Option<&Session>) -> Option<Vec<u8>> {
        match self {
            Self::Whole(state) => Some(state),
            Self::Packed(packed) => unpack(&packed, session).ok(),
        }
    }

    /// Returns the splitter's own bytes of a cursor that was unpacked; a packed state is none.
    pub(crate) fn whole(&self) -> &[u8] {
        match self {
            Self::Whole(state) => state,
            Self::Packed(_) => &[],
        }
    }
}

/// Packs a state. What does not come back as it was stays as it is.
pub(super) fn pack(state: &[u8], session: &Session) -> Vec<u8> {
    let mut packed = vec![PACKED];
    let said = said(Some(session));
    let is_put = serde_json::from_slice(state).is_ok_and(|value| put(&mut packed, &value, &said, 0));
    if is_put && unpack(&packed, Some(session)).is_ok_and(|back| back == state) {
        return packed;
    }
    [&[RAW], state].concat()
}

fn unpack(packed: &[u8], session: Option<&Session>) -> Result<Vec<u8>, Malformed> {
    let mut take = Take::new(packed);
    if take.byte()? == RAW {
        return Ok(take.rest().to_vec());
    }
    if session.is_none() {
        return Err(Malformed::new("there is no row of the session"));
    }
    let value = taken(&mut take, &said(session), 0)?;
    take.end()?;
    Ok(value.to_string().into_bytes())
}

/// What a session's row says that a state may say too. The order is stored.
fn said(session: Option<&Session>) -> [Value; 8] {
    let text = |text: Option<&str>| text.map_or(Value::Null, Value::from);
    let time = |time: Option<stemmata_model::Timestamp>| {
        time.map_or(Value::Null, |time| Value::from(time.as_micros()))
    };
    let Some(session) = session else { return [const { Value::Null }; 8] };
    [
        text(Some(session.session.as_str())),
        text(session.parent_session.as_ref().map(stemmata_model::SessionId::as_str)),
        text(session.title.as_deref()),
        text(session.cwd.as_deref()),
        text(session.git_branch.as_deref()),
        text(session.version.as_deref()),
        time(session.started_at),
        time(session.last_at),
    ]
}

/// Adds a value; says whether it could.
fn put(bytes: &mut Vec<u8>, value: &Value, said: &[Value], depth: u32) -> bool {
    if !value.is_null()
        && let Some(place) = said.iter().position(|own| own == value)
        && let Ok(place) = u8::try_from(place)
    {
        bytes.push(SAID + place);
        return true;
    }
    match value {
        Value::Null => bytes.push(NULL),
        Value::Bool(false) => bytes.push(FALSE),
        Value::Bool(true) => bytes.push(TRUE),
        Value::Number(number) => {
            if let Some(number) = number.as_u64() {
                bytes.push(POSITIVE);
                put_number(bytes, number);
            } else if let Some(number) = number.as_i64() {
                bytes.push(NEGATIVE);
                put_signed(bytes, number);
            } else {
                return false;
            }
        }
        Value::String(text) => {
            bytes.push(TEXT);
            put_text(bytes, text);
        }
        Value::Object(fields) if depth < DEPTH_MAX => {
            bytes.push(OBJECT);
            put_length(bytes, fields.len());
            return fields.iter().all(|(name, value)| {
                if let Some(Ok(place)) = NAMES.iter().position(|known| known == name).map(u8::try_from) {
                    bytes.push(place + 1);
                } else {
                    bytes.push(0);
                    put_text(bytes, name);
                }
                put(bytes, value, said, depth + 1)
            });
        }
        Value::Object(_) | Value::Array(_) => return false,
    }
    true
}

fn taken(take: &mut Take<'_>, said: &[Value], depth: u32) -> Result<Value, Malformed> {
    Ok(match take.byte()? {
        NULL => Value::Null,
        FALSE => Value::Bool(false),
        TRUE => Value::Bool(true),
        POSITIVE => Value::Number(Number::from(take.number()?)),
        NEGATIVE => Value::Number(Number::from(take.signed()?)),
        TEXT => Value::from(take.text("a text", TEXT_BYTES_MAX)?),
        OBJECT if depth < DEPTH_MAX => {
            let mut fields = Map::new();
            for _ in 0..take.rows("fields")? {
                let place = usize::from(take.byte()?);
                let name = match place.checked_sub(1) {
                    None => take.text("a name", TEXT_BYTES_MAX)?,
                    Some(place) => NAMES.get(place).ok_or_else(|| Malformed::new("an unknown name"))?,
                };
                fields.insert(name.to_owned(), taken(take, said, depth + 1)?);
            }
            Value::Object(fields)
        }
        place => {
            // What the row says no more, because it was forgotten, is known no more.
            let own = place.checked_sub(SAID).and_then(|place| said.get(usize::from(place)));
            own.cloned().ok_or_else(|| Malformed::new("an unknown value"))?
        }
    })
}
