//! Which lines of a runtime's settings call our hook: put in, found again, taken out.
//!
//! Pure: text in, text out. What is the user's stays byte for byte: only what is ours is inserted or removed.

use std::ops::Range;

use stemmata_runtimes::json::{Field, Member, members};

/// Bytes of a settings file at most.
pub const SETTINGS_BYTES_MAX: u64 = 8 << 20;

/// Seconds that a client waits for our hook at most; it takes milliseconds.
const TIMEOUT_SECONDS: u64 = 10;

/// What a runtime's hooks are called for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HookPlace {
    /// The runtime.
    pub runtime: &'static str,
    /// The settings file below its configuration directory.
    pub file: &'static str,
    /// The events that nudge us.
    pub events: &'static [&'static str],
    /// What the user has to do besides, if anything.
    pub trust: Option<&'static str>,
}

/// The runtimes that call hooks.
pub const HOOK_PLACES: &[HookPlace] = &[
    HookPlace {
        runtime: "claude-code",
        file: "settings.json",
        events: &["SessionStart", "Stop", "SubagentStop", "PreCompact", "SessionEnd"],
        trust: None,
    },
    HookPlace {
        runtime: "codex",
        file: "hooks.json",
        events: &["SessionStart", "Stop", "PreCompact", "SessionEnd"],
        trust: Some("Codex asks once whether it may run new hooks: start `codex` and say yes"),
    },
];

/// Why settings are left as they are.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// The file is no JSON; comments are the usual reason.
    #[error("line {line}, column {column}: {reason}")]
    NotJson {
        /// Line (1 = first).
        line: usize,
        /// Column.
        column: usize,
        /// What the parser says.
        reason: String,
    },
    /// A value has another shape than the client's own.
    #[error("`{what}` is no {wanted}")]
    Shape {
        /// Where it stands.
        what: String,
        /// What it should be.
        wanted: &'static str,
    },
}

/// Returns the command that a client runs: harmless where the program is gone, whatever it says.
pub fn hook_command(program: &str, runtime: &str) -> String {
    let program = format!("'{}'", program.replace('\'', "'\\''"));
    format!("[ -x {program} ] && {program} hook {runtime} || true")
}

/// Returns whether an entry of a list of hooks is ours and nobody else's.
fn is_ours(entry: Field<'_>, runtime: &str) -> bool {
    let mark = format!(" hook {runtime} || true");
    let hooks = members(entry)
        .and_then(|members| members.into_iter().find(|member| member.name == "hooks"))
        .and_then(|hooks| hooks.value.elements())
        .unwrap_or_default();
    hooks.len() == 1 && hooks.into_iter().filter_map(command_of).any(|command| command.ends_with(&mark))
}

fn command_of(hook: Field<'_>) -> Option<String> {
    let command = members(hook)?.into_iter().find(|member| member.name == "command")?;
    Some(command.value.text()?.into_owned())
}

fn entry_of(command: &str) -> String {
    let hook = serde_json::json!({ "type": "command", "command": command, "timeout": TIMEOUT_SECONDS });
    serde_json::json!({ "hooks": [hook] }).to_string()
}

/// Returns settings with our hooks; the same text where all of them are there already.
///
/// # Errors
/// `NotJson` and `Shape`: nothing of it is touched then.
pub fn with_hooks(text: &str, place: &HookPlace, command: &str) -> Result<String, SettingsError> {
    let entry = entry_of(command);
    let text = if text.trim().is_empty() { "{}\n" } else { text };
    let root = object(Field::whole(text), "the file")?;
    let Some(hooks) = root.iter().find(|member| member.name == "hooks") else {
        let lists: Vec<String> =
            place.events.iter().map(|event| format!("    \"{event}\": [{entry}]")).collect();
        let member = format!("\"hooks\": {{\n{}\n  }}", lists.join(",\n"));
        return Ok(insert_last(text, Field::whole(text), ends(&root).last(), &member, "  "));
    };
    let lists = object(hooks.value, "hooks")?;
    let mut edits: Vec<(usize, String)> = Vec::new();
    let mut missing: Vec<String> = Vec::new();
    for event in place.events {
        let Some(list) = lists.iter().find(|member| member.name == *event) else {
            missing.push(format!("\"{event}\": [{entry}]"));
            continue;
        };
        let elements = list
            .value
            .elements()
            .ok_or_else(|| SettingsError::Shape { what: format!("hooks.{event}"), wanted: "list" })?;
        if elements.iter().any(|element| is_ours(*element, place.runtime)) {
            continue;
        }
        match elements.last() {
            Some(final_one) => edits.push((final_one.span().end, format!(", {entry}"))),
            None => edits.push((list.value.span().start + 1, entry.clone())),
        }
    }
    let mut done = text.to_owned();
    if !missing.is_empty() {
        let member = missing.join(",\n    ");
        done = insert_last(text, hooks.value, ends(&lists).last(), &member, "    ");
    }
    // What is inserted behind the last member stands behind all these.
    edits.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    for (at, with) in edits {
        done.insert_str(at, &with);
    }
    Ok(done)
}

/// Returns settings without our hooks, and whether there were any.
///
/// # Errors
/// As [`with_hooks`].
pub fn without_hooks(text: &str, place: &HookPlace) -> Result<(String, bool), SettingsError> {
    if text.trim().is_empty() {
        return Ok((text.to_owned(), false));
    }
    let root = object(Field::whole(text), "the file")?;
    let Some(position) = root.iter().position(|member| member.name == "hooks") else {
        return Ok((text.to_owned(), false));
    };
    let hooks = root.get(position).map_or(Field::whole("{}"), |member| member.value);
    let lists = object(hooks, "hooks")?;
    let mut cuts: Vec<Range<usize>> = Vec::new();
    let mut emptied = Vec::new();
    for (index, list) in lists.iter().enumerate() {
        let elements = list.value.elements().unwrap_or_default();
        let ours: Vec<usize> = (0..elements.len())
            .filter(|at| elements.get(*at).is_some_and(|element| is_ours(*element, place.runtime)))
            .collect();
        if ours.is_empty() {
            continue;
        }
        if ours.len() == elements.len() {
            emptied.push(index);
            continue;
        }
        let spans: Vec<Range<usize>> = elements.iter().map(Field::span).collect();
        cuts.extend(ours.into_iter().map(|at| cut(&spans, at)));
    }
    if emptied.len() == lists.len() && !lists.is_empty() {
        cuts = vec![cut(&ends(&root).collect::<Vec<_>>(), position)];
    } else {
        let spans: Vec<Range<usize>> = ends(&lists).collect();
        cuts.extend(emptied.into_iter().rev().map(|at| cut(&spans, at)));
    }
    let found = !cuts.is_empty();
    Ok((without(text, cuts), found))
}

/// Leaves ranges out; they may overlap where neighbours go together.
fn without(text: &str, mut cuts: Vec<Range<usize>>) -> String {
    cuts.sort_by_key(|cut| cut.start);
    let mut kept = String::with_capacity(text.len());
    let mut at = 0;
    for cut in cuts {
        kept.push_str(text.get(at..cut.start.max(at)).unwrap_or_default());
        at = at.max(cut.end);
    }
    kept.push_str(text.get(at..).unwrap_or_default());
    kept
}

/// Returns what goes with an item of a list of several: the comma before it, or for the first one the one behind it.
fn cut(spans: &[Range<usize>], at: usize) -> Range<usize> {
    let own = spans.get(at).cloned().unwrap_or_default();
    match (at.checked_sub(1).and_then(|before| spans.get(before)), spans.get(at + 1)) {
        (Some(before), _) => before.end..own.end,
        (None, Some(next)) => own.start..next.start,
        (None, None) => own,
    }
}

fn object<'a>(field: Field<'a>, what: &str) -> Result<Vec<Member<'a>>, SettingsError> {
    if let Some(found) = members(field) {
        return Ok(found);
    }
    match serde_json::from_str::<serde::de::IgnoredAny>(field.raw()) {
        Err(error) => Err(SettingsError::NotJson {
            line: error.line(),
            column: error.column(),
            reason: error.to_string().split(" at line").next().unwrap_or_default().to_owned(),
        }),
        Ok(_) => Err(SettingsError::Shape { what: what.to_owned(), wanted: "object" }),
    }
}

/// Returns where members stand, keys included.
fn ends<'m>(members: &'m [Member<'_>]) -> impl DoubleEndedIterator<Item = Range<usize>> + 'm {
    members.iter().map(|member| member.key.start..member.value.span().end)
}

/// Inserts a member behind the last one of an object.
fn insert_last(
    text: &str,
    object: Field<'_>,
    last: Option<Range<usize>>,
    member: &str,
    indent: &str,
) -> String {
    let (at, with) = if let Some(last) = last {
        (last.end, format!(",\n{indent}{member}"))
    } else {
        let outer = indent.get(2..).unwrap_or_default();
        (object.span().start + 1, format!("\n{indent}{member}\n{outer}"))
    };
    let mut done = text.to_owned();
    done.insert_str(at, &with);
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: &HookPlace = &HOOK_PLACES[0];

    fn installed(text: &str) -> String {
        with_hooks(text, PLACE, &hook_command("/opt/it's/stemma", "claude-code")).expect("settings")
    }

    #[test]
    fn hooks_go_in_once_and_come_out_without_a_trace() {
        let foreign = r#"{"hooks": [{"type": "command", "command": "make lint"}]}"#;
        for text in [
            "{}\n",
            "{\n  \"model\": \"opus\"\n}\n",
            "{ \"hooks\": {}, \"n\": 1.50 }",
            &format!(
                "{{\n  \"hooks\": {{\n    \"Stop\": [{foreign}],\n    \"Other\": []\n  }},\n  \"z\": 1\n}}"
            ),
        ] {
            let with = installed(text);
            let parsed: serde_json::Value = serde_json::from_str(&with).expect("JSON");
            for event in PLACE.events {
                let list = parsed["hooks"][event].as_array().expect("a list");
                let ours = list.iter().filter(|entry| entry.to_string().contains("hook claude-code")).count();
                assert_eq!(ours, 1, "{event}: {with}");
            }
            assert_eq!(installed(&with), with, "once is enough");
            let (without, found) = without_hooks(&with, PLACE).expect("settings");
            assert!(found);
            let was: serde_json::Value = serde_json::from_str(text).expect("JSON");
            let mut is: serde_json::Value = serde_json::from_str(&without).expect("JSON");
            // An empty list of hooks is none.
            if was["hooks"].as_object().is_some_and(serde_json::Map::is_empty) {
                is["hooks"] = serde_json::json!({});
            }
            assert_eq!(is, was, "{without}");
            assert_eq!(without_hooks(text, PLACE).expect("settings"), (text.to_owned(), false));
        }
        assert!(installed("").starts_with("{\n  \"hooks\": {\n    \"SessionStart\""));
    }

    #[test]
    fn what_is_the_users_stays_byte_for_byte() {
        let text = "{\n\t\"a\" : 1.0e2,\n\n\t\"b\":{ \"c\":\"\\u00e9\" }\n}";
        let with = installed(text);
        assert!(
            with.starts_with("{\n\t\"a\" : 1.0e2,\n\n\t\"b\":{ \"c\":\"\\u00e9\" },\n  \"hooks\""),
            "{with}"
        );
        assert_eq!(without_hooks(&with, PLACE).expect("settings").0, text);
    }

    #[test]
    fn settings_that_cannot_be_read_are_left_alone() {
        let error = |text: &str| with_hooks(text, PLACE, "x").expect_err("refused").to_string();
        assert!(error("{\n  // mine\n  \"a\": 1\n}").starts_with("line 2"), "{}", error("{\n  // mine\n}"));
        assert!(error("{\"a\": }").contains("line 1"));
        assert_eq!(error("[]"), "`the file` is no object");
        assert_eq!(error(r#"{"hooks": []}"#), "`hooks` is no object");
        assert_eq!(error(r#"{"hooks": {"Stop": {}}}"#), "`hooks.Stop` is no list");
    }

    #[test]
    fn the_command_is_harmless_without_the_program() {
        assert_eq!(
            hook_command("/opt/it's/stemma", "codex"),
            "[ -x '/opt/it'\\''s/stemma' ] && '/opt/it'\\''s/stemma' hook codex || true"
        );
    }
}
