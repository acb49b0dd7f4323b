//! What each projection looks like, and laws that hold for whatever is said.

use proptest::prelude::*;
use serde_json::Value;
use stemmata_model::{
    Body, Entry, EntryId, EntryKind, EntryMeta, ExportForm, ImageSource, NativeSpan, Part, Role, Timestamp,
    Usage, Visibility,
};

use super::{About, export};

fn entry(number: u64, role: Role, kind: EntryKind, parts: Vec<Part>) -> Entry {
    Entry {
        id: EntryId::new(format!("e-{number}")).expect("a name"),
        parent: None,
        timestamp: Some(Timestamp::from_micros(
            1_767_225_600_000_000 + i64::try_from(number).unwrap_or(0) * 1_000_000,
        )),
        role,
        kind,
        body: Body::Blocks,
        parts,
        meta: EntryMeta::default(),
        native: NativeSpan { offset: 0, length: 0 },
    }
}

fn text(text: &str) -> Part {
    Part::Text(text.to_owned())
}

fn call(id: &str, name: &str, arguments: &str) -> Part {
    Part::ToolCall { call_id: id.to_owned(), name: name.to_owned(), arguments: arguments.to_owned() }
}

fn result(id: &str, is_error: bool, parts: Vec<Part>) -> Part {
    Part::ToolResult { call_id: id.to_owned(), is_error, parts }
}

fn about() -> About {
    About {
        ctx: "ctx-3f9k2m7q".to_owned(),
        runtime: "claude-code".to_owned(),
        version: Some("2.1.330".to_owned()),
        session: Some("0f8b6c1d-0000-4000-8000-000000000001".to_owned()),
        title: Some("Mend <the> `parser`".to_owned()),
        cwd: Some("/srv/project".to_owned()),
        git_branch: Some("main".to_owned()),
    }
}

/// One of everything: text, thinking, calls in parallel, results, an image, a compaction, an orphan.
fn story() -> Vec<Entry> {
    let image = Part::Image {
        media_type: "image/png".to_owned(),
        source: ImageSource::Base64("iVBORw0=".to_owned()),
    };
    let usage = Usage { input_tokens: 10, output_tokens: 5, cache_read_tokens: 100, cache_write_tokens: 1 };
    let said = |number, parts| {
        let mut entry = entry(number, Role::Assistant, EntryKind::Message, parts);
        entry.meta.message_id = Some("msg_1".to_owned());
        entry.meta.model = Some("claude-opus-5".to_owned());
        entry.meta.usage = Some(usage);
        entry
    };
    let hidden = Visibility { agent: false, user: false };
    let mut unseen = entry(20, Role::System, EntryKind::Metadata, vec![text("bookkeeping")]);
    unseen.meta.visibility = hidden;
    let summary = Part::Summary { text: "So far: a parser.".to_owned(), covers: Vec::new() };
    let thinking =
        Part::Thinking { text: "look first".to_owned(), signature: Some("sig".to_owned()), encrypted: None };
    let long = (1..=20).map(|line| format!("line {line} `````")).collect::<Vec<_>>().join("\n");
    let mut last = said(12, vec![text("Done.\n```rust\nfn main() {}\n```\n<b>ok</b>")]);
    last.meta.message_id = Some("msg_2".to_owned());
    last.meta.stop_reason = Some("end_turn".to_owned());
    vec![
        entry(0, Role::User, EntryKind::CompactionSummary, vec![summary]),
        entry(1, Role::System, EntryKind::Instruction, vec![text("Be exact.")]),
        entry(2, Role::User, EntryKind::Message, vec![text("mend it, see </pre> & this"), image.clone()]),
        said(3, vec![thinking]),
        said(4, vec![text("I look.")]),
        said(5, vec![call("toolu_1", "Bash", r#"{"command":"ls","n":1.50}"#)]),
        said(6, vec![call("toolu_2", "Read", "no json")]),
        entry(7, Role::Tool, EntryKind::ToolResult, vec![result("toolu_1", false, vec![text(&long)])]),
        entry(8, Role::Tool, EntryKind::ToolResult, vec![result("toolu_2", true, vec![text("gone"), image])]),
        entry(9, Role::Tool, EntryKind::ToolResult, vec![result("toolu_9", false, vec![text("whose?")])]),
        unseen,
        last,
    ]
}

fn exported(projection: ExportForm, entries: &[Entry]) -> String {
    let mut out = String::new();
    export(projection, &about(), entries, &mut out).expect("a string takes everything");
    out
}

#[test]
fn each_projection_of_a_story() {
    for projection in ExportForm::ALL {
        insta::assert_snapshot!(projection.as_str(), exported(projection, &story()));
    }
}

#[test]
fn nothing_is_a_document_too() {
    for projection in ExportForm::ALL {
        let out = exported(projection, &[]);
        match projection {
            ExportForm::Html => well_formed(&out).expect("well-formed"),
            ExportForm::Atif | ExportForm::OtelGenai => drop(json(&out)),
            ExportForm::Acp => assert_eq!(out.lines().count(), 1, "the title"),
            ExportForm::Markdown => assert!(out.starts_with("# Mend")),
        }
    }
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// All strings of a JSON value.
fn strings(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(elements) => elements.iter().for_each(|element| strings(element, found)),
        Value::Object(members) => members.values().for_each(|member| strings(member, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Tags that a page of ours has; those that are never closed, and the others.
const VOID: [&str; 2] = ["meta", "img"];
const TAGS: [&str; 24] = [
    "html", "head", "title", "style", "body", "header", "main", "h1", "dl", "dt", "dd", "article", "a", "b",
    "span", "time", "div", "pre", "details", "summary", "code", "!doctype", "meta", "img",
];

/// Says whether the tags of a page are ours and balanced.
fn well_formed(page: &str) -> Result<(), String> {
    let mut open: Vec<String> = Vec::new();
    let mut rest = page;
    while let Some(start) = rest.find('<') {
        let (text, from) = rest.split_at(start);
        if text.contains('>') && open.last().is_none_or(|tag| tag != "style") {
            return Err(format!("a bare `>` in {text:?}"));
        }
        let end = from.find('>').ok_or("a tag without an end")?;
        let tag = &from[1..end];
        if tag.matches('"').count() % 2 == 1 {
            return Err(format!("an attribute that is not closed in {tag:?}"));
        }
        let name: String = tag
            .trim_start_matches('/')
            .chars()
            .take_while(|part| part.is_alphanumeric() || *part == '!')
            .collect();
        if !TAGS.contains(&name.as_str()) {
            return Err(format!("a tag that is not ours: {tag:?}"));
        }
        if tag.starts_with('/') {
            let last = open.pop();
            if last.as_deref() != Some(name.as_str()) {
                return Err(format!("{tag:?} closes {last:?}"));
            }
        } else if name != "!doctype" && !VOID.contains(&name.as_str()) {
            open.push(name);
        }
        rest = &from[end + 1..];
    }
    if open.is_empty() { Ok(()) } else { Err(format!("never closed: {open:?}")) }
}

/// What a reader of a page sees.
fn seen(page: &str) -> String {
    let mut text = String::new();
    let mut rest = page;
    while let Some((before, from)) = rest.split_once('<') {
        text.push_str(before);
        rest = from.split_once('>').map_or("", |(_, after)| after);
    }
    let named = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")];
    named.iter().fold(text, |text, (name, character)| text.replace(name, character))
}

/// Lines of a text as a page has them: without control characters.
fn shown_lines(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split('\n').map(|line| {
        let clean = |character: char| {
            if character.is_control() && character != '\t' { '\u{fffd}' } else { character }
        };
        line.replace('\r', "").chars().map(clean).collect::<String>().trim().to_owned()
    })
}

/// The rules of ATIF that its own validator has.
fn check_atif(document: &Value) -> Result<(), String> {
    let steps = document["steps"].as_array().ok_or("steps")?;
    for (index, step) in steps.iter().enumerate() {
        if step["step_id"].as_u64() != u64::try_from(index + 1).ok() {
            return Err(format!("step {index} has the number {}", step["step_id"]));
        }
        let is_agent = step["source"] == "agent";
        for key in ["model_name", "reasoning_content", "tool_calls", "metrics"] {
            if !is_agent && step.get(key).is_some() {
                return Err(format!("`{key}` in a step of {}", step["source"]));
            }
        }
        let calls: Vec<&Value> = step["tool_calls"].as_array().into_iter().flatten().collect();
        if !calls.iter().all(|call| call["arguments"].is_object()) {
            return Err("arguments that are not an object".to_owned());
        }
        for result in step["observation"]["results"].as_array().into_iter().flatten() {
            let source = &result["source_call_id"];
            if !source.is_null() && !calls.iter().any(|call| call["tool_call_id"] == *source) {
                return Err(format!("a result of {source}, which is not in step {}", index + 1));
            }
        }
        let message = &step["message"];
        if !(message.is_string() || message.is_array()) {
            return Err("no message".to_owned());
        }
    }
    Ok(())
}

/// Our own headings in a document, outside of every fence.
fn headings(document: &str) -> usize {
    let mut open: Option<String> = None;
    let mut found = 0;
    for line in document.lines() {
        let start = line.trim_start_matches(' ');
        let start = if line.len() - start.len() > 3 { "" } else { start };
        let mark = start.chars().next().unwrap_or(' ');
        let run: String = start.chars().take_while(|character| *character == mark).collect();
        let is_fence = matches!(mark, '`' | '~') && run.len() >= 3;
        match &open {
            None if is_fence && !(mark == '`' && start[run.len()..].contains('`')) => open = Some(run),
            Some(own) if is_fence && run.starts_with(own.as_str()) && start.trim_end() == run => open = None,
            None if line
                .strip_prefix("## ")
                .is_some_and(|rest| rest.starts_with(&format!("{}. ", found + 1))) =>
            {
                found += 1;
            }
            None | Some(_) => {}
        }
    }
    found
}

fn nasty() -> impl Strategy<Value = String> {
    let pieces = prop_oneof![
        Just("</pre></div><script>alert(1)</script>".to_owned()),
        Just("```\nopen".to_owned()),
        Just("~~~~\n".to_owned()),
        Just("```` x ```\n```".to_owned()),
        Just("<!-- never closed\n<details>".to_owned()),
        Just("\"' onload=\"x\" & &lt;".to_owned()),
        Just("\u{0}\u{1b}[31m\r\n\u{2028}\u{202e}".to_owned()),
        Just("## 1. User\n\n# heading".to_owned()),
        "[ -~\n`<>&\"]{0,60}",
        any::<String>(),
    ];
    proptest::collection::vec(pieces, 1..4).prop_map(|pieces| pieces.join("\n"))
}

fn parts() -> impl Strategy<Value = (Role, EntryKind, Vec<Part>)> {
    let image =
        |media_type: String, data: String| Part::Image { media_type, source: ImageSource::Base64(data) };
    prop_oneof![
        nasty().prop_map(|said| (Role::User, EntryKind::Message, vec![Part::Text(said)])),
        nasty().prop_map(|said| (Role::Assistant, EntryKind::Message, vec![Part::Text(said)])),
        nasty().prop_map(|said| {
            (Role::User, EntryKind::CompactionSummary, vec![Part::Summary { text: said, covers: Vec::new() }])
        }),
        nasty().prop_map(|said| (Role::System, EntryKind::Instruction, vec![Part::Text(said)])),
        nasty().prop_map(|said| {
            let thought = Part::Thinking { text: said, signature: None, encrypted: None };
            (Role::Assistant, EntryKind::Message, vec![thought])
        }),
        (nasty(), nasty()).prop_map(|(name, arguments)| {
            (Role::Assistant, EntryKind::Message, vec![call("c", &name, &arguments)])
        }),
        (nasty(), any::<bool>()).prop_map(|(said, is_error)| {
            (Role::Tool, EntryKind::ToolResult, vec![result("c", is_error, vec![Part::Text(said)])])
        }),
        (nasty(), nasty()).prop_map(move |(media_type, data)| {
            (Role::User, EntryKind::Message, vec![image(media_type, data)])
        }),
        (nasty(), nasty()).prop_map(|(kind, json)| {
            let part = Part::Opaque { runtime: "x".to_owned(), kind, json };
            (Role::Assistant, EntryKind::Message, vec![part])
        }),
    ]
}

fn conversation() -> impl Strategy<Value = Vec<Entry>> {
    proptest::collection::vec(parts(), 0..8).prop_map(|all| {
        let numbered = all.into_iter().zip(0..);
        numbered.map(|((role, kind, parts), number)| entry(number, role, kind, parts)).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases * 4))]

    #[test]
    fn whatever_is_said_stands_in_each_projection_and_breaks_none(entries in conversation()) {
        let said: Vec<&str> = entries
            .iter()
            .filter(|entry| matches!(entry.role, Role::User | Role::Assistant))
            .flat_map(|entry| &entry.parts)
            .filter_map(|part| match part {
                Part::Text(text) | Part::Summary { text, .. } => Some(text.as_str()),
                _ => None,
            })
            .collect();
        for projection in [ExportForm::Atif, ExportForm::OtelGenai, ExportForm::Acp] {
            let out = exported(projection, &entries);
            let mut found = Vec::new();
            if projection == ExportForm::Acp {
                out.lines().for_each(|line| strings(&json(line), &mut found));
            } else {
                strings(&json(&out), &mut found);
            }
            for text in &said {
                prop_assert!(found.iter().any(|found| found.contains(text)), "{projection:?}: {text:?}");
            }
            if projection == ExportForm::Atif {
                prop_assert_eq!(check_atif(&json(&out)), Ok(()));
            }
        }
        let page = exported(ExportForm::Html, &entries);
        prop_assert_eq!(well_formed(&page), Ok(()));
        let seen = seen(&page);
        for line in said.iter().flat_map(|text| shown_lines(text)) {
            prop_assert!(seen.contains(&line), "{line:?} in {page}");
        }
        let document = exported(ExportForm::Markdown, &entries);
        prop_assert_eq!(headings(&document), entries.len(), "{}", document);
        // A quote's mark gets its space, and the end of a fence stands where the fence does.
        let plain = |text: &str| text.replace("\\<", "<").replace([' ', '\t'], "").replace("\\`", "`").replace("\\~", "~");
        let shown = plain(&document);
        for line in said.iter().flat_map(|text| text.split(['\n', '\r'])) {
            prop_assert!(shown.contains(&plain(line.trim())), "{line:?} in {document}");
        }
    }
}

#[test]
fn html_in_markdown_is_text_and_code_stays_code() {
    for (said, wanted) in [
        ("a <details> b", "a \\<details> b"),
        ("`Vec<u8>` and Vec<u8>", "`Vec<u8>` and Vec\\<u8>"),
        ("``a ` <b>`` <c>", "``a ` <b>`` \\<c>"),
        ("` <b>", "` \\<b>"),
        ("\\<b> \\\\<c>", "\\<b> \\\\\\<c>"),
        ("```\n<b>\n```\n<c>", "```\n<b>\n```\n\\<c>"),
        ("    ```\n<b>", "    ```\n\\<b>"),
        ("~~~ x\n<b>", "~~~ x\n<b>\n~~~"),
        // Code may go on in the next line, and then what looks like code there is none.
        ("a ` b\n` <img src=x onerror=y> `", "a ` b\n` \\<img src=x onerror=y> `"),
        ("a ` b\n\n` <b> `", "a ` b\n\n` <b> `"),
        ("a ` b\r\r`<b>`", "a ` b\n\n`<b>`"),
        ("a\r```\r<b>\r```\r<c>", "a\n```\n<b>\n```\n\\<c>"),
        ("| ` | <b> | ` |", "| ` | \\<b> | ` |"),
        // A fence in a list ends with its item, one that a list's mark hides begins there.
        ("- a\n  ```\n  <b>\n<c>", "- a\n  ```\n  <b>\n  ```\n\\<c>"),
        ("- a\n  ```\n  <b>", "- a\n  ```\n  <b>\n  ```"),
        ("1. a\n\n    ```\n    <b>\n   <c>", "1. a\n\n    ```\n    \\<b>\n    ```\n   \\<c>"),
        ("- ```\n  <b>\n  ```\n\n<c> `<d>`", "- ```\n  \\<b>\n  ```\n\n\\<c> `<d>`"),
        ("1. a\n\n    ```\n    <b>\n    ```\n\n<c>", "1. a\n\n    ```\n    \\<b>\n    ```\n\n\\<c>"),
        ("> ```\n> <b>\n<c>", "> ```\n> <b>\n> ```\n\\<c>"),
        (">```\n> <b>\n>```\n> <c>", "> ```\n> <b>\n> ```\n> \\<c>"),
        ("- > ```\n  > <b>", "- > \\```\n> \\<b>"),
        ("a\n7. ```\n   <b>", "a\n7. \\```\n   \\<b>"),
        ("``` \u{a0}\n<b>\n``` \u{a0}\n<c>", "``` \u{a0}\n<b>\n``` \u{a0}\n<c>\n```"),
    ] {
        let answer = entry(1, Role::Assistant, EntryKind::Message, vec![text(said)]);
        let document = exported(ExportForm::Markdown, &[answer]);
        assert!(document.ends_with(&format!("UTC\n\n{wanted}\n\n")), "{said:?}: {document}");
    }
}

#[test]
fn numbers_of_any_size_are_added() {
    let mut answer = entry(1, Role::Assistant, EntryKind::Message, vec![text("hi")]);
    answer.meta.usage = Some(Usage {
        input_tokens: u64::MAX,
        output_tokens: u64::MAX,
        cache_read_tokens: 1,
        cache_write_tokens: 1,
    });
    let out = exported(
        ExportForm::Atif,
        &[answer.clone(), entry(2, Role::User, EntryKind::Message, vec![text("a")]), answer],
    );
    assert!(out.contains(&format!("\"total_prompt_tokens\":{}", u64::MAX)), "{out}");
}

#[test]
fn what_breaks_out_is_seen_by_the_checks() {
    let page = exported(ExportForm::Html, &story());
    well_formed(&page).expect("well-formed");
    for (what, with) in [("</article>", ""), ("<pre>", "<script>"), ("&lt;", "<"), ("&gt;", ">")] {
        assert!(well_formed(&page.replacen(what, with, 1)).is_err(), "{what} as {with}");
    }
    let document = exported(ExportForm::Markdown, &story());
    assert_eq!(headings(&document), 11);
    assert!(headings(&document.replacen("``````\n", "", 1)) < 11, "an open fence swallows the rest");
}
