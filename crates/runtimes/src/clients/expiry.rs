//! How long clients keep their own transcripts, as their settings say.
//!
//! Pure: the text of the settings comes in. What cannot be read means the client's default.

use serde_json::Value;

/// When a client deletes transcripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expiry {
    /// The file of settings in its configuration directory.
    pub settings: &'static str,
    /// Days without a change, unless its settings say otherwise.
    pub days_default: u64,
    /// Where the settings say how long: names of fields, the outermost first.
    pub age: &'static [&'static str],
    /// How they say it.
    pub age_as: AgeAs,
    /// Where the settings say whether anything is deleted at all; empty where they have no such field.
    pub enabled: &'static [&'static str],
}

/// How settings spell an age.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgeAs {
    /// A number of days.
    Days,
    /// A text such as `30d`, `24h`, `1w` or `2m` (months).
    Text,
}

impl Expiry {
    /// Returns after how many days without a change a transcript is deleted; `None` where that is switched off.
    pub fn days_kept(&self, settings: Option<&str>) -> Option<u64> {
        let settings: Value = settings.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        let field = |path: &[&str]| path.iter().try_fold(&settings, |value, name| value.get(name));
        if !self.enabled.is_empty() && field(self.enabled).and_then(Value::as_bool) == Some(false) {
            return None;
        }
        let age = field(self.age);
        let days = match self.age_as {
            AgeAs::Days => age.and_then(Value::as_u64),
            AgeAs::Text => age.and_then(Value::as_str).and_then(days_of),
        };
        Some(days.unwrap_or(self.days_default))
    }
}

/// Reads an age, in whole days.
fn days_of(text: &str) -> Option<u64> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let number: u64 = number.parse().ok()?;
    match unit {
        "h" => Some(number / 24),
        "d" => Some(number),
        "w" => number.checked_mul(7),
        "m" => number.checked_mul(30),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::clients::by_id;

    #[test]
    fn settings_say_how_long_transcripts_stay() {
        let gemini = |retention: &str| format!(r#"{{"general":{{"sessionRetention":{retention}}}}}"#);
        for (client, settings, days) in [
            ("claude-code", None, Some(30)),
            ("claude-code", Some(r#"{"cleanupPeriodDays": 99999}"#.to_owned()), Some(99_999)),
            ("claude-code", Some("{ // mine\n}".to_owned()), Some(30)),
            ("gemini", None, Some(30)),
            ("gemini", Some(gemini(r#"{"maxAge":"2w"}"#)), Some(14)),
            ("gemini", Some(gemini(r#"{"maxAge":"36h"}"#)), Some(1)),
            ("gemini", Some(gemini(r#"{"maxAge":"é"}"#)), Some(30)),
            ("gemini", Some(gemini(r#"{"enabled":false}"#)), None),
            ("codex", None, None),
        ] {
            let expiry = by_id(client).and_then(|client| client.expiry);
            let found = expiry.and_then(|expiry| expiry.days_kept(settings.as_deref()));
            assert_eq!(found, days, "{client} {settings:?}");
        }
    }
}
