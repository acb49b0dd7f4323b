//! JSON objects in the shape of opencode's export, written from what its records say.
//!
//! What a record says stays as it is spelled; only ids that stand beside it are added.

use std::fmt::Write as _;

use serde_json::value::RawValue;

/// An object that is being written.
pub(crate) struct Info {
    json: String,
}

impl Info {
    pub(crate) fn new() -> Self {
        Self { json: "{".to_owned() }
    }

    pub(crate) fn put(&mut self, key: &str, json: Option<String>) {
        let Some(json) = json else { return };
        let comma = if self.json.len() > 1 { "," } else { "" };
        let _written = write!(self.json, "{comma}{}:{json}", quoted(key));
    }

    pub(crate) fn finish(self) -> String {
        self.json + "}"
    }
}

pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

pub(crate) fn is_json(text: &str) -> bool {
    serde_json::from_str::<&RawValue>(text).is_ok()
}

/// Returns a row's object with ids behind it; what is no object is carried as a text.
pub(crate) fn with(data: &str, ids: &[(&str, &str)]) -> String {
    let own = data.trim().strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).filter(|_| is_json(data));
    let carried = format!("\"type\":\"unreadable\",\"text\":{}", quoted(data));
    let mut object = Info { json: format!("{{{}", own.map_or(carried.as_str(), str::trim)) };
    for (key, id) in ids {
        object.put(key, Some(quoted(id)));
    }
    object.finish()
}
