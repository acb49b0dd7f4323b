//! Lists of hooks in a runtime's settings, which are JSON.
//!
//! What is the user's stays byte for byte: only what is ours is inserted or removed.

use std::ops::Range;

use serde_json::json;
use stemmata_runtimes::clients::{AskedFor, Client, HookEvents};
use stemmata_runtimes::json::{Field, Member, members};

use super::{HookWish, InstalledHooks, SettingsError, hook_command, read_command};
use crate::capture::leaf::Provisional;

/// Returns whether an entry of a list of hooks is ours and nobody else's.
fn is_ours(entry: Field<'_>, runtime: &str) -> bool {
    let marks = ["", " --inject"].map(|flag| format!(" hook {runtime}{flag} || true"));
    let hooks = members(entry)
        .and_then(|members| members.into_iter().find(|member| member.name == "hooks"))
        .and_then(|hooks| hooks.value.elements())
        .unwrap_or_default();
    hooks.len() == 1
        && hooks
            .into_iter()
            .filter_map(command_of)
            .any(|command| marks.iter().any(|mark| command.ends_with(mark)))
}

fn command_of(hook: Field<'_>) -> Option<String> {
    let command = members(hook)?.into_iter().find(|member| member.name == "command")?;
    Some(command.value.text()?.into_owned())
}

/// An event, and the entry of ours in its list.
pub(super) type Wanted = (&'static str, String);

/// Returns the entries that a wish means.
pub(super) fn wanted(events: &HookEvents, client: &Client, wish: &HookWish<'_>) -> Vec<Wanted> {
    let command = hook_command(wish, client.id);
    let entry = |matcher: Option<String>| {
        let hook = json!({ "type": "command", "command": command, "timeout": events.timeout });
        match matcher {
            Some(matcher) => json!({ "matcher": matcher, "hooks": [hook] }).to_string(),
            None => json!({ "hooks": [hook] }).to_string(),
        }
    };
    let mut wanted: Vec<Wanted> = events.turns.iter().map(|event| (*event, entry(None))).collect();
    if wish.inject {
        wanted.extend(events.briefed.iter().map(|event| (*event, entry(None))));
    }
    match wish.provisional {
        Provisional::End | Provisional::Turn => {}
        Provisional::Significant => {
            let pattern = |asked: AskedFor| match asked {
                AskedFor::AllTools => None,
                AskedFor::DecidingTools => client.tools.map(|tools| tools.deciding.join("|")),
            };
            wanted.extend(events.significant.iter().map(|(event, asked)| (*event, entry(pattern(*asked)))));
        }
        Provisional::Tool => wanted.extend(events.tools.iter().map(|event| (*event, entry(None)))),
    }
    wanted
}

/// Returns settings with our hooks; the same text where all of them are there already, and nothing else of ours.
///
/// # Errors
/// `NotJson` and `Shape`: nothing of it is touched then.
pub(super) fn with_hooks(text: &str, runtime: &str, wanted: &[Wanted]) -> Result<String, SettingsError> {
    let found = ours_in(text, runtime)?;
    // A client that writes its settings anew may set them with other spaces.
    let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
    let same = |(event, entry): &Wanted| {
        found.iter().any(|(own, text)| own == event && (text == entry || value(text) == value(entry)))
    };
    if found.len() == wanted.len() && wanted.iter().all(same) {
        return Ok(text.to_owned());
    }
    // What an earlier version of ours put in, or another wish, goes first.
    let (text, _) = without_hooks(text, runtime)?;
    let text = if text.trim().is_empty() { "{}\n" } else { &text };
    let root = object(Field::whole(text), "the file")?;
    let Some(hooks) = root.iter().find(|member| member.name == "hooks") else {
        let lists: Vec<String> =
            wanted.iter().map(|(event, entry)| format!("    \"{event}\": [{entry}]")).collect();
        let member = format!("\"hooks\": {{\n{}\n  }}", lists.join(",\n"));
        return Ok(insert_last(text, Field::whole(text), ends(&root).last(), &member, "  "));
    };
    let lists = object(hooks.value, "hooks")?;
    let mut edits: Vec<(usize, String)> = Vec::new();
    let mut missing: Vec<String> = Vec::new();
    for (event, entry) in wanted {
        let Some(list) = lists.iter().find(|member| member.name == *event) else {
            missing.push(format!("\"{event}\": [{entry}]"));
            continue;
        };
        let elements = elements(list)?;
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

/// Returns what the entries of ours call, the first that says so.
///
/// # Errors
/// As [`with_hooks`].
pub(super) fn installed(text: &str, runtime: &str) -> Result<Option<InstalledHooks>, SettingsError> {
    let found = ours_in(text, runtime)?;
    let commands = found.iter().filter_map(|(_, entry)| {
        let hooks = members(Field::whole(entry))?.into_iter().find(|member| member.name == "hooks")?;
        hooks.value.elements()?.into_iter().find_map(command_of)
    });
    // A command of another version is ours as well, whatever it calls.
    let unknown = || InstalledHooks { program: String::new(), inject: false };
    Ok(commands.map(|command| read_command(&command, runtime).unwrap_or_else(unknown)).next())
}

/// Returns the entries of ours: their events and their texts.
fn ours_in(text: &str, runtime: &str) -> Result<Vec<(String, String)>, SettingsError> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let root = object(Field::whole(text), "the file")?;
    let Some(hooks) = root.iter().find(|member| member.name == "hooks") else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for list in object(hooks.value, "hooks")? {
        for entry in elements(&list)?.into_iter().filter(|entry| is_ours(*entry, runtime)) {
            found.push((list.name.clone(), entry.raw().to_owned()));
        }
    }
    Ok(found)
}

fn elements<'a>(list: &Member<'a>) -> Result<Vec<Field<'a>>, SettingsError> {
    let found = list.value.elements();
    found.ok_or_else(|| SettingsError::Shape { what: format!("hooks.{}", list.name), wanted: "a list" })
}

/// Returns settings without our hooks, and whether there were any.
///
/// # Errors
/// As [`with_hooks`].
pub(super) fn without_hooks(text: &str, runtime: &str) -> Result<(String, bool), SettingsError> {
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
            .filter(|at| elements.get(*at).is_some_and(|element| is_ours(*element, runtime)))
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
        let own = cut(&ends(&root).collect::<Vec<_>>(), position);
        cuts = vec![if root.len() == 1 { with_its_lines(text, own) } else { own }];
    } else {
        let spans: Vec<Range<usize>> = ends(&lists).collect();
        cuts.extend(emptied.into_iter().rev().map(|at| cut(&spans, at)));
    }
    let found = !cuts.is_empty();
    Ok((without(text, cuts), found))
}

/// Returns whether settings are an earlier text with our hooks and nothing else, of whichever version and wish.
///
/// # Errors
/// As [`with_hooks`].
pub(super) fn differs_by_hooks_only(
    text: &str,
    earlier: &str,
    (events, client): (&HookEvents, &Client),
) -> Result<bool, SettingsError> {
    // With hooks of ours it is not what there was before us.
    let runtime = client.id;
    if without_hooks(earlier, runtime)?.1 {
        return Ok(false);
    }
    let (text, _) = without_hooks(text, runtime)?;
    for provisional in [Provisional::Turn, Provisional::Significant, Provisional::Tool] {
        for inject in [false, true] {
            let wish = HookWish { program: "stemma", provisional, inject, calls_exports: false };
            let hooked = with_hooks(earlier, runtime, &wanted(events, client, &wish))?;
            if without_hooks(&hooked, runtime)?.0 == text {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Returns a member's place with the line breaks that came with it into an empty object.
fn with_its_lines(text: &str, own: Range<usize>) -> Range<usize> {
    let (before, after) = (text.get(..own.start), text.get(own.end..));
    let came_with_it = before.is_some_and(|before| before.ends_with("{\n  "))
        && after.is_some_and(|after| after.starts_with('\n'));
    if came_with_it { own.start - "\n  ".len()..own.end + 1 } else { own }
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
            reason: reason_of(&error, field.raw()),
        }),
        Ok(_) => Err(SettingsError::Shape { what: what.to_owned(), wanted: "an object" }),
    }
}

/// Says what is wrong there. A comment is the usual reason: some clients read them, and editing could lose them.
fn reason_of(error: &serde_json::Error, text: &str) -> String {
    let line = text.lines().nth(error.line().saturating_sub(1)).unwrap_or_default();
    let at = line.get(error.column().saturating_sub(1)..).unwrap_or_default();
    if at.starts_with("//") || at.starts_with("/*") || at.starts_with('#') {
        return "there is a comment, and a file with comments is not edited".to_owned();
    }
    error.to_string().split(" at line").next().unwrap_or_default().to_owned()
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
    use proptest::prelude::*;

    use stemmata_runtimes::clients::{HookKind, by_id};

    use super::*;

    const RUNTIME: &str = "claude-code";

    fn client() -> &'static Client {
        by_id(RUNTIME).expect("a client")
    }

    fn events() -> &'static HookEvents {
        match client().hooks.expect("hooks").kind {
            HookKind::Settings(events) => events,
            HookKind::Extension(_) => panic!("settings"),
        }
    }

    const WISH: HookWish<'_> = HookWish {
        program: "/opt/it's/stemma",
        provisional: Provisional::Turn,
        inject: false,
        calls_exports: false,
    };

    fn asked(text: &str, wish: &HookWish<'_>) -> Result<String, SettingsError> {
        with_hooks(text, RUNTIME, &wanted(events(), client(), wish))
    }

    fn installed(text: &str) -> String {
        asked(text, &WISH).expect("settings")
    }

    #[test]
    fn hooks_go_in_once_and_come_out_without_a_trace() {
        let foreign = r#"{"hooks": [{"type": "command", "command": "make lint"}]}"#;
        for text in [
            "{}\n",
            "{\n  \"model\": \"opus\"\n}\n",
            "",
            "{ \"hooks\": {}, \"n\": 1.50 }",
            "{\"hooks\": {\"Stop\": []}}",
            &format!(
                "{{\n  \"hooks\": {{\n    \"Stop\": [{foreign}],\n    \"Other\": []\n  }},\n  \"z\": 1\n}}"
            ),
        ] {
            let with = installed(text);
            let parsed: serde_json::Value = serde_json::from_str(&with).expect("JSON");
            for event in events().turns {
                let list = parsed["hooks"][event].as_array().expect("a list");
                let ours = list.iter().filter(|entry| entry.to_string().contains("hook claude-code")).count();
                assert_eq!(ours, 1, "{event}: {with}");
            }
            assert_eq!(installed(&with), with, "once is enough");
            let (without, found) = without_hooks(&with, RUNTIME).expect("settings");
            assert!(found);
            // An empty list goes with ours, so the text from before is what comes back.
            let is_its = |text: &str, earlier: &str| {
                differs_by_hooks_only(text, earlier, (events(), client())).expect("settings")
            };
            assert!(is_its(&with, text) && is_its(&without, text), "{without}");
            let tools = HookWish { provisional: Provisional::Tool, inject: true, ..WISH };
            assert!(is_its(&asked(text, &tools).expect("settings"), text));
            let more = with.replacen('{', "{\"mine\": 1,", 1);
            assert!(!is_its(&more, text) && !is_its(&with, &with), "{more}");
            assert_eq!(without_hooks(text, RUNTIME).expect("settings"), (text.to_owned(), false));
        }
        assert!(installed("").starts_with("{\n  \"hooks\": {\n    \"SessionStart\""));
    }

    /// Found in review: `status` called working hooks changed after a client had written its settings anew.
    #[test]
    fn hooks_that_a_client_set_with_other_spaces_are_the_same() {
        let parsed: serde_json::Value = serde_json::from_str(&installed("{}")).expect("JSON");
        let anew = serde_json::to_string_pretty(&parsed).expect("JSON");
        assert_eq!(installed(&anew), anew);
    }

    #[test]
    fn what_is_the_users_stays_byte_for_byte() {
        for text in ["{}", "{}\n", "{ }", "{\n}\n", "{\n  \n}", "{\"a\":1}"] {
            assert_eq!(without_hooks(&installed(text), RUNTIME).expect("settings").0, text);
        }
        let text = "{\n\t\"a\" : 1.0e2,\n\n\t\"b\":{ \"c\":\"\\u00e9\" }\n}";
        let with = installed(text);
        assert!(
            with.starts_with("{\n\t\"a\" : 1.0e2,\n\n\t\"b\":{ \"c\":\"\\u00e9\" },\n  \"hooks\""),
            "{with}"
        );
        assert_eq!(without_hooks(&with, RUNTIME).expect("settings").0, text);
    }

    #[test]
    fn settings_that_cannot_be_read_are_left_alone() {
        let error = |text: &str| asked(text, &WISH).expect_err("refused").to_string();
        assert!(error("{\n  // mine\n  \"a\": 1\n}").starts_with("line 2"), "{}", error("{\n  // mine\n}"));
        for text in ["{\n  // mine\n  \"a\": 1\n}", "{ /* mine */ }", "{\n# mine\n}"] {
            assert!(error(text).contains("there is a comment"), "{}", error(text));
        }
        assert!(error("{\"a\": }").contains("line 1"));
        assert_eq!(error("[]"), "`the file` is not an object");
        assert_eq!(error(r#"{"hooks": []}"#), "`hooks` is not an object");
        assert_eq!(error(r#"{"hooks": {"Stop": {}}}"#), "`hooks.Stop` is not a list");
    }

    #[test]
    fn the_command_is_harmless_without_the_program() {
        assert_eq!(
            hook_command(&WISH, "codex"),
            "[ -x '/opt/it'\\''s/stemma' ] && '/opt/it'\\''s/stemma' hook codex || true"
        );
    }

    proptest! {
        #[test]
        fn law_what_was_put_in_is_read_again(program in r#"/[a-z/ '"&|$é\\-]{1,30}"#, inject: bool, tools: bool) {
            let provisional = if tools { Provisional::Tool } else { Provisional::Turn };
            let wish = HookWish { program: &program, provisional, inject, ..WISH };
            let wanted = InstalledHooks { program: program.clone(), inject };
            for client in stemmata_runtimes::clients::hooked() {
                let text = super::super::with_hooks(None, client, &wish).expect("hooks");
                let found = super::super::installed_hooks(&text, client).expect("readable");
                prop_assert_eq!(found.as_ref(), Some(&wanted), "{}", text);
                let without = super::super::without_hooks(&text, client).expect("readable").unwrap_or_default();
                prop_assert_eq!(super::super::installed_hooks(&without, client), Ok(None));
            }
        }
    }

    #[test]
    fn another_wish_replaces_the_one_before_and_leaves_what_is_foreign() {
        let foreign = r#"{"hooks": [{"type": "command", "command": "make lint"}]}"#;
        let text = format!("{{\"hooks\": {{\"PostToolUse\": [{foreign}]}}}}");
        let count = |text: &str, what: &str| text.matches(what).count();
        let mut before = text.clone();
        for (provisional, inject, hooks) in [
            (Provisional::Tool, false, 7),
            (Provisional::Significant, true, 7),
            (Provisional::Turn, true, 5),
            (Provisional::End, false, 5),
        ] {
            let wish = HookWish { provisional, inject, ..WISH };
            let after = asked(&before, &wish).expect("settings");
            assert_eq!(count(&after, "hook claude-code"), hooks, "{after}");
            assert_eq!(count(&after, "--inject"), if inject { hooks } else { 0 }, "{after}");
            assert_eq!(count(&after, "make lint"), 1, "{after}");
            assert_eq!(asked(&after, &wish).expect("settings"), after, "once is enough");
            before = after;
        }
        assert_eq!(without_hooks(&before, RUNTIME).expect("settings").0, text);
        let moved = HookWish { program: "/usr/bin/stemma", ..WISH };
        let after = asked(&before, &moved).expect("settings");
        assert_eq!((count(&after, "/opt/"), count(&after, "hook claude-code")), (0, 5));
    }

    /// The names are those that the clients call their tools by; a pattern of another name would never match.
    #[test]
    fn hooks_of_deciding_tools_match_the_clients_names() {
        for (runtime, pattern) in
            [("claude-code", "AskUserQuestion|ExitPlanMode"), ("codex", "update_plan|request_user_input")]
        {
            let client = by_id(runtime).expect("a client");
            let HookKind::Settings(events) = client.hooks.expect("hooks").kind else { panic!("settings") };
            let wish = HookWish { provisional: Provisional::Significant, ..WISH };
            let matcher = format!("\"matcher\":\"{pattern}\"");
            let wanted = wanted(events, client, &wish);
            assert!(wanted.iter().any(|(_, entry)| entry.contains(&matcher)), "{runtime}: {wanted:?}");
        }
    }
}
