//! How long runtimes keep their own transcripts, as their settings say.
//!
//! Pure: the text of the settings comes in. What cannot be read means the runtime's default.

use serde_json::Value;

/// Days that Claude Code and Gemini CLI keep a transcript unless told otherwise.
const DAYS_DEFAULT: u64 = 30;

/// Returns after how many days without a change a runtime deletes a transcript; none where it keeps them.
pub fn days_kept(runtime: &str, settings: Option<&str>) -> Option<u64> {
    let settings: Value = settings.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    match runtime {
        "claude-code" => {
            let days = settings.get("cleanupPeriodDays").and_then(Value::as_u64);
            Some(days.unwrap_or(DAYS_DEFAULT))
        }
        "gemini" => {
            let retention = settings.get("general").and_then(|general| general.get("sessionRetention"));
            let field = |name: &str| retention.and_then(|retention| retention.get(name));
            if field("enabled").and_then(Value::as_bool) == Some(false) {
                return None;
            }
            let age = field("maxAge").and_then(Value::as_str).and_then(days_of);
            Some(age.unwrap_or(DAYS_DEFAULT))
        }
        _ => None,
    }
}

/// Reads an age such as `30d`, `24h`, `1w` or `2m` (months), in whole days.
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
    use super::*;

    #[test]
    fn settings_say_how_long_transcripts_stay() {
        let gemini = |retention: &str| format!(r#"{{"general":{{"sessionRetention":{retention}}}}}"#);
        for (runtime, settings, days) in [
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
            assert_eq!(days_kept(runtime, settings.as_deref()), days, "{runtime} {settings:?}");
        }
    }
}
