//! Made-up and real documents, and the laws that they keep.

use stemmata_model::{EntryKind, FormatId, Part, Role};

use crate::adapter::{Adapter as _, Confidence};
use crate::conformance::{check_any, passes};
use crate::registry::detect;
use crate::{aider, openhands, swe_agent};

const OLD_TRAJECTORY: &str = r#"{
  "environment": "swe_main",
  "trajectory": [{"action": "open a.py\n", "observation": "[File: a.py]", "thought": "I look.", "response": "…"}],
  "history": [
    {"role": "system", "content": "SETTING: be exact.", "agent": "primary"},
    {"role": "user", "content": "a demonstration", "agent": "primary", "is_demo": true},
    {"role": "user", "content": "mend it", "agent": "primary"},
    {"role": "assistant", "content": "I look.\n```\nopen a.py\n```", "thought": "I look.\n", "action": "open a.py\n", "agent": "primary"},
    {"role": "user", "content": "[File: a.py]", "agent": "primary"},
    {"role": "assistant", "content": "done", "thought": "done", "action": "", "agent": "primary"},
    {"role": "user", "content": "thanks", "agent": "primary"}
  ],
  "info": {"exit_status": "submitted", "n": 1.50}
}
"#;

const TRAJECTORY: &str = r#"{"environment":"swe_main","trajectory":[{"action":"ls","observation":"a.py"}],"history":[
{"role":"system","content":"be exact","message_type":"system_prompt"},
{"role":"user","content":[{"type":"text","text":"mend it","cache_control":{"type":"ephemeral"}}],"message_type":"observation"},
{"role":"assistant","content":"I look.","thought":"I look.","action":"ls","tool_calls":[{"type":"function","id":"call_1","function":{"name":"bash","arguments":"{\"command\": \"ls\"}"}}],"message_type":"action"},
{"role":"tool","content":[{"type":"text","text":"OBSERVATION:\na.py"}],"tool_call_ids":["call_1"],"message_type":"observation"},
{"role":"hologram","content":"?"}],"info":{},"replay_config":"{}"}"#;

const OLD_EVENTS: &str = r#"[
  {"id": 1, "timestamp": "2025-01-01T00:00:01", "source": "user", "message": "mend it", "action": "message", "args": {"content": "mend it"}},
  {"id": 2, "timestamp": "2025-01-01T00:00:01", "source": "user", "message": "", "action": "recall", "args": {"query": "mend it"}},
  {"id": 3, "timestamp": "2025-01-01T00:00:02", "source": "agent", "message": "", "action": "run", "args": {"command": "ls", "thought": "I look."}},
  {"id": 4, "timestamp": "2025-01-01T00:00:03", "source": "agent", "message": "", "cause": 3, "observation": "run", "content": "note.txt"},
  {"id": 5, "timestamp": "2025-01-01T00:00:04", "source": "agent", "message": "All done!", "action": "finish", "args": {"final_thought": "It is mended."}}
]
"#;

const CHAT: &str = "
# aider chat started at 2025-06-02 11:47:49

> Aider v0.84.0  
> Model: x  

#### mend it  
#### please  

I do.

```md
#### no prompt
> no output
```
That was it.

> Applied edit to a.py  

#### more  
#### 

Done.

# aider chat started at 2025-06-03 00:00:00

```
never closed
# aider chat started at 2025-06-04 00:00:00
#### last
";

#[test]
fn made_up_documents_keep_the_laws() {
    for (adapter, name, document, wanted) in [
        (swe_agent::TRAJECTORY, "an old trajectory", OLD_TRAJECTORY, (10, 6)),
        (swe_agent::TRAJECTORY, "a trajectory", TRAJECTORY, (9, 3)),
        (openhands::LEGACY, "older events", OLD_EVENTS, (5, 4)),
        (aider::HISTORY, "a chat", CHAT, (11, 6)),
    ] {
        let report = passes(&adapter, name, document.as_bytes());
        assert_eq!((report.entries, report.counts.messages), wanted, "{name}");
        let (found, detection) = detect(document.as_bytes()).expect("a format");
        assert_eq!((found.format(), detection.confidence), (adapter.format(), Confidence::Certain), "{name}");
    }
}

#[test]
fn an_action_of_old_is_a_call_and_what_it_gave_its_result() {
    let entries = swe_agent::TRAJECTORY.decode(OLD_TRAJECTORY.as_bytes()).entries;
    let said: Vec<&stemmata_model::Entry> =
        entries.iter().filter(|entry| entry.kind != EntryKind::Metadata).collect();
    let Part::ToolCall { name, arguments, .. } = &said[3].parts[1] else { panic!("a call: {:?}", said[3]) };
    assert_eq!((name.as_str(), arguments.as_str()), ("bash", r#"{"command":"open a.py\n"}"#));
    assert_eq!(said[3].calls().collect::<Vec<_>>(), said[4].answers().collect::<Vec<_>>());
    assert_eq!(
        (said[1].role, said[6].role),
        (Role::User, Role::User),
        "demonstrations and replies stay prompts"
    );
    let format = |name: &str| FormatId::new(name).expect("a name");
    let claude = crate::translate::translate(entries, &format("swe-agent-v1"), &format("claude-code-v1"));
    assert!(
        claude
            .entries
            .iter()
            .flat_map(|entry| &entry.parts)
            .any(|part| { matches!(part, Part::ToolCall { name, .. } if name == "Bash") })
    );
}

#[test]
fn a_chat_tells_prompts_answers_and_output_apart() {
    let entries = aider::HISTORY.decode(CHAT.as_bytes()).entries;
    let texts = |role| -> Vec<String> {
        let own = entries.iter().filter(|entry| entry.role == role && entry.kind == EntryKind::Message);
        own.flat_map(|entry| &entry.parts)
            .filter_map(|part| match part {
                Part::Text(text) => Some(text.clone()),
                _ => None,
            })
            .collect()
    };
    assert_eq!(texts(Role::User), ["mend it\nplease", "more\n", "last"]);
    let answers = texts(Role::Assistant);
    assert_eq!(answers.len(), 3, "{answers:?}");
    assert!(answers[0].starts_with("I do.") && answers[0].ends_with("That was it."), "{answers:?}");
    assert_eq!(
        entries[2].timestamp.map(|time| time.to_string()).as_deref(),
        Some("2025-06-02T11:47:49.000000Z")
    );
}

#[test]
fn white_space_that_is_not_ascii_is_somebodys() {
    let text = "# aider chat started at 2026-01-01 00:00:00\n\nan answer\u{b}\u{a0}\n\n\u{b}\n#### a prompt\u{2028}\n";
    check_any(&aider::HISTORY, text.as_bytes()).unwrap_or_else(|violation| panic!("{violation}"));
}

#[test]
fn a_part_of_a_chat_and_one_that_is_no_utf8_are_read() {
    let said = |bytes: &[u8]| -> Vec<(Role, String)> {
        let entries = aider::HISTORY.decode(bytes).entries;
        let spoken = entries.iter().filter(|entry| entry.meta.visibility.agent);
        spoken
            .map(|entry| match entry.parts.as_slice() {
                [Part::Text(text)] => (entry.role, text.clone()),
                other => panic!("{other:?}"),
            })
            .collect()
    };
    let wanted = [(Role::User, "a prompt".to_owned()), (Role::Assistant, "an answer".to_owned())];
    for (name, head) in [
        ("a prompt first", ""),
        ("what the program says", "> Aider v0.86.1\n> Model: x\n\n"),
        ("a mark of the byte order", "\u{feff}# aider chat started at 2026-01-01 00:00:00\n\n"),
    ] {
        let text = format!("{head}#### a prompt\n\nan answer\n");
        assert!(aider::HISTORY.detect(text.as_bytes()).is_some(), "{name}");
        let found = crate::registry::detect(text.as_bytes()).map(|(adapter, _)| adapter.format());
        assert_eq!(found, Some(aider::HISTORY.format()), "{name}");
        assert_eq!(said(text.as_bytes()), wanted, "{name}");
    }
    for text in ["> a quote\n\n#### a heading\n", "# a heading\n\n#### another\n", "dear diary\n"] {
        assert!(aider::HISTORY.detect(text.as_bytes()).is_none(), "{text}");
    }
    let latin = b"# aider chat started at 2026-01-01 00:00:00\n\n#### caf\xe9\n\ncr\xe8me\n";
    assert_eq!(
        said(latin),
        [(Role::User, "caf\u{fffd}".to_owned()), (Role::Assistant, "cr\u{fffd}me".to_owned())]
    );
    let found = crate::chain_tests::checks(&aider::HISTORY, latin);
    assert_eq!(found, ["not_utf8"]);
    check_any(&aider::HISTORY, latin).unwrap_or_else(|violation| panic!("{violation}"));
}
