//! Hidden thoughts in a model's answer: what some models write between tags before they answer. Not whether it is true.

use std::sync::LazyLock;

use regex::Regex;

/// Where a thought begins or ends, in the ways that models and their servers write it. A tag in code is a name.
static MARK: LazyLock<Regex> = LazyLock::new(|| {
    let tag = r"think|thinking|thoughts?|reasoning|reasoning_scratchpad|reflection|scratchpad|analysis|inner_monologue";
    let pattern = format!(
        r"(?i)(?P<code>`)?(?:[<◁]\s*(?P<tag_end>/?)\s*(?:\w+:)?(?:{tag})\b[^<>◁▷\n]{{0,80}}[>▷]|\[(?P<bracket_end>/?)THINK\]|(?P<begin><\|begin_of_thought\|>|<\|channel\|>\s*(?:analysis|commentary)[^<]{{0,80}}<\|message\|>)|(?P<end><\|end_of_thought\|>|<\|end\|>(?:<\|start\|>\w*)?|<\|channel\|>\s*final[^<]{{0,80}}<\|message\|>|<\|return\|>))"
    );
    Regex::new(&pattern).expect("a pattern of this file, which a test compiles")
});

/// A line that names itself a thought: `**Thought:** x`, `(thinking) x`, `Reasoning:`.
static LABEL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?i)^[\s\-*_>(\[#]*(?:my\s+|inner\s+)?(?:thoughts?|thinking|reasoning|reflections?|scratchpad|monologue)(?:\s+process)?[*_]*\s*(?:[)\]:：][\s*_:]*)(?P<rest>.*)$",
    )
    .expect("a pattern of this file, which a test compiles")
});

/// Whether a line names itself a thought, and whether it says nothing else.
pub(super) fn begins(line: &str) -> Option<bool> {
    let found = LABEL.captures(line)?;
    Some(found.name("rest").is_none_or(|rest| rest.as_str().trim().is_empty()))
}

/// Splits an answer into what it says and what its model thought. A thought that nothing ends goes to the end of the answer; one
/// whose beginning the server swallowed begins with the answer.
pub(super) fn split(answer: &str) -> (String, Vec<String>) {
    let (mut said, mut thoughts, mut thought) = (String::new(), Vec::new(), String::new());
    let (mut depth, mut from) = (0_usize, 0);
    for found in MARK.captures_iter(answer).filter(|found| found.name("code").is_none()) {
        let Some(mark) = found.get(0) else { continue };
        let before = answer.get(from..mark.start()).unwrap_or_default();
        from = mark.end();
        if depth > 0 { &mut thought } else { &mut said }.push_str(before);
        let ends_tag =
            ["tag_end", "bracket_end"].iter().filter_map(|name| found.name(name)).any(|end| !end.is_empty());
        let ends = ends_tag || found.name("end").is_some();
        if !ends {
            depth += 1;
            continue;
        }
        if depth == 0 && ends_tag {
            thought = std::mem::take(&mut said);
        }
        // The marks of a channel nest in nothing.
        depth = if ends_tag { depth.saturating_sub(1) } else { 0 };
        if depth == 0 {
            thoughts.push(std::mem::take(&mut thought));
        }
    }
    let rest = answer.get(from..).unwrap_or_default();
    if depth > 0 {
        thoughts.push(thought + rest);
    } else {
        said.push_str(rest);
    }
    thoughts.retain(|thought| !thought.trim().is_empty());
    (said, thoughts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_may_name_itself_a_thought() {
        for line in [
            "**Thought:** x",
            "Reasoning: x",
            "(thinking) x",
            "- *Thinking*: x",
            "[Thought] x",
            "Inner monologue: x",
        ] {
            assert_eq!(begins(line), Some(false), "{line}");
        }
        assert_eq!(begins("## Thoughts:"), Some(true));
        for line in ["Thinking budgets are read", "The reasoning: x", "Reason: x", "thought(x)"] {
            assert_eq!(begins(line), None, "{line}");
        }
    }

    #[test]
    fn what_a_model_thought_is_no_answer() {
        for (answer, said, thoughts) in [
            ("<think>Tired.</think>It turns.", "It turns.", vec!["Tired."]),
            ("- <THINKING kind=\"a\">a\nb</thinking> It turns.", "-  It turns.", vec!["a\nb"]),
            ("It turns.\n<reasoning>They seem", "It turns.\n", vec!["They seem"]),
            ("They seem tired.\n</think>\nIt turns.", "\nIt turns.", vec!["They seem tired.\n"]),
            ("<think>a<think>b</think>c</think>d", "d", vec!["abc"]),
            ("[THINK]a[/THINK]b", "b", vec!["a"]),
            ("◁think▷a◁/think▷b", "b", vec!["a"]),
            ("<seed:think>a</seed:think>b", "b", vec!["a"]),
            (
                "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b<|return|>",
                "b",
                vec!["a"],
            ),
            ("The tag `<think>` is read, a <thin> one and x < think too.", "", vec![]),
        ] {
            let said = if thoughts.is_empty() { answer } else { said };
            let thoughts = thoughts.into_iter().map(str::to_owned).collect();
            assert_eq!(split(answer), (said.to_owned(), thoughts), "{answer}");
        }
    }
}
