//! What people and models say about programs.
//! Not code: that is `code`.

use crate::rng::Rng;

use super::expand;

/// Returns what a person asks for.
pub fn prompt(rng: &mut Rng) -> String {
    let count = if rng.chance(65) { 1 } else { rng.range(2, 4) };
    joined(rng, PROMPTS, count, " ")
}

/// Returns a short name for a session.
pub fn title(rng: &mut Rng) -> String {
    let template = rng.pick(TITLES);
    expand(rng, template)
}

/// Returns the one or two sentences that stand before a tool call.
pub fn narration(rng: &mut Rng) -> String {
    let count = if rng.chance(80) { 1 } else { 2 };
    joined(rng, NARRATIONS, count, " ")
}

/// Returns a model's thinking.
pub fn thought(rng: &mut Rng) -> String {
    let paragraphs = rng.range(1, 4);
    (0..paragraphs)
        .map(|_| {
            let count = rng.range(1, 5);
            joined(rng, THOUGHTS, count, " ")
        })
        .collect::<Vec<_>>()
        .join("\n\n")
}

/// Returns a paragraph of so many sentences.
pub fn paragraph(rng: &mut Rng, sentences: u64) -> String {
    joined(rng, FACTS, sentences, " ")
}

/// Returns the final answer of a turn, with headings and lists as models write them.
pub fn answer(rng: &mut Rng) -> String {
    let template = rng.pick(ANSWERS);
    expand(rng, template)
}

/// Returns what a model says when something did not work.
pub fn bad_news(rng: &mut Rng) -> String {
    let template = rng.pick(BAD_NEWS);
    expand(rng, template)
}

/// Returns the summary that replaces a compacted prefix, with so many points a section.
pub fn compaction_summary(rng: &mut Rng, points: u64) -> String {
    let mut out = String::from("Summary of the work so far:\n");
    for (number, section) in SECTIONS.iter().enumerate() {
        out.push_str(&format_section(number + 1, section));
        for _ in 0..rng.range(1, points.max(1)) {
            let template = rng.pick(BULLETS);
            out.push_str(&expand(rng, template));
            out.push('\n');
        }
    }
    out
}

fn format_section(number: usize, section: &str) -> String {
    format!("\n{number}. {section}:\n")
}

fn joined(rng: &mut Rng, templates: &[&str], count: u64, separator: &str) -> String {
    (0..count)
        .map(|_| {
            let template = rng.pick(templates);
            expand(rng, template)
        })
        .collect::<Vec<_>>()
        .join(separator)
}

const SECTIONS: &[&str] = &[
    "What was asked",
    "Key concepts",
    "Files and code",
    "Errors and fixes",
    "Open questions",
    "Pending tasks",
    "Current work",
    "Next step",
];

const PROMPTS: &[&str] = &[
    "‹verb|cap› ‹thing›, please.",
    "The test `test_‹noun#1|snake›_‹noun#2|snake›` ‹symptom›. Can you find out why and fix it?",
    "I get ‹error› ‹when›. What is going on?",
    "Please ‹verb› ‹thing› and ‹check›.",
    "can you ‹verb› ‹thing› ‹how›?",
    "‹doing|cap› ‹thing› ‹symptom›. Fix it and add a test.",
    "Look at `‹path›` and tell me how ‹thing› works.",
    "Why is ‹thing› ‹done› ‹when›?",
    "Now ‹verb› ‹thing› too.",
    "let's ‹verb› ‹thing› ‹how›, then commit",
    "commit this",
    "Rename `‹noun#1|pascal›‹noun#2|pascal›` to `‹noun#2|pascal›‹noun#1|pascal›` everywhere.",
    "run the tests again",
    "Implement ‹thing› as described in `docs/‹noun|kebab›.md`.",
    "no, keep ‹thing› as it is, only ‹verb› ‹thing›",
    "Refactor `‹path›` so that ‹thing› is ‹trait›.",
    "That works. Next: ‹thing› should be ‹done› ‹when›.",
    "continue",
    "Add a `--‹noun|kebab›` option to the ‹verb› command.",
    "Write a short summary of what changed, for the pull request.",
    "Before you change anything, make a plan.",
    "I think ‹thing› is the ‹adj› one here, ‹check›.",
    "ok, do it",
    "CI is red on `‹branch›`: ‹error›. Please look into it.",
    "Could you explain ‹thing› in `‹path›`, line ‹int:10:900›?",
];

const TITLES: &[&str] = &[
    "Fix ‹adj› ‹noun› in ‹noun› ‹noun›",
    "‹verb|cap› ‹noun› ‹noun› for ‹project›",
    "Add ‹noun› support to the ‹noun› ‹noun›",
    "Refactor the ‹noun› into its own module",
    "Flaky ‹noun› test",
    "‹noun|cap› ‹noun›: ‹doing› and ‹doing›",
    "Investigate slow ‹noun› ‹noun›",
    "Plan the ‹noun› migration",
    "Review of the ‹noun› changes",
];

const NARRATIONS: &[&str] = &[
    "Let me look at ‹thing› first.",
    "I'll start by ‹doing› ‹thing›.",
    "Now let me ‹verb› ‹thing›.",
    "Let me ‹check›.",
    "Let me check the existing tests.",
    "Let me run the tests to make sure everything works.",
    "Now I'll update `‹path›`:",
    "I see the problem: ‹thing› is ‹done› ‹when›.",
    "Good, that works. Now ‹thing›.",
    "Let me read the rest of the file.",
    "Now let me update the callers.",
    "The build passes. Let me ‹check›.",
    "Found it. ‹thing|cap› is ‹adj›, ‹why›.",
    "That test fails for a different reason. Let me see the full output.",
    "Let me fix that.",
    "Now the tests:",
    "Let me search for other uses of ‹thing›.",
    "First I need to understand how ‹thing› is ‹done›.",
    "Let me verify the change.",
    "There are ‹int:2:14› places that use ‹thing›. I'll go through them one by one.",
    "All tests pass. Let me commit this.",
    "I need to see how `‹noun|pascal›‹noun|pascal›` is used.",
    "Now I understand the structure. Let me make the change.",
    "The linter complains about ‹thing›. Let me fix it.",
    "Let me do this step by step.",
    "Both reads in one go:",
];

const THOUGHTS: &[&str] = &[
    "The user wants me to ‹verb› ‹thing›.",
    "Let me think about what ‹thing› actually does.",
    "Wait, that is not quite right: ‹thing› is ‹done› ‹when›.",
    "So ‹thing› is ‹done› here, ‹why›.",
    "I should ‹check› before I change anything.",
    "There are two options: ‹verb› ‹thing›, or ‹verb› ‹thing› ‹how›.",
    "The first option is ‹trait›, but ‹thing› would then be ‹done› ‹when›.",
    "The error says ‹error›, which points at ‹thing›.",
    "Looking at the code in `‹path›`, the function `‹verb›_‹noun|snake›` takes ‹thing› and returns ‹thing›.",
    "Let me ‹check› and then ‹check›.",
    "Hmm, but what happens ‹when›? Then ‹thing› would be ‹adj›.",
    "I could also ‹verb› ‹thing›, but that seems like too much for this change.",
    "The test expects ‹thing›, and we return ‹thing›.",
    "Actually, the simplest fix is to ‹verb› ‹thing› ‹how›.",
    "So the plan is:\n1. ‹step›\n2. ‹step›\n3. ‹step›",
    "This was probably ‹done› ‹why›.",
    "I need to be careful here: ‹thing› must not be ‹done› ‹when›.",
    "OK, that makes sense now.",
];

pub(super) const FACTS: &[&str] = &[
    "‹thing|cap› is ‹done› ‹when›.",
    "‹thing|cap› and ‹thing› share the same ‹noun›.",
    "‹thing|cap› is now ‹trait›.",
    "This keeps ‹thing› ‹trait›.",
    "It is ‹done› ‹how›, ‹why›.",
    "Nothing else depends on ‹thing›.",
    "The ‹adj› ‹noun› is ‹done› once and then ‹done› for every ‹noun›.",
    "There was a race: ‹thing› could be ‹done› ‹when›.",
    "The ‹noun› no longer ‹symptom›.",
    "‹int:2:400› tests pass, none fail.",
    "If ‹thing› is ‹adj›, the function returns early with ‹error›.",
    "I left ‹thing› alone, ‹why›.",
    "That was the cause: ‹thing› was ‹done› ‹when›.",
];

pub(super) const STEPS: &[&str] = &[
    "‹verb|cap› ‹thing›",
    "‹verb|cap› ‹thing› ‹how›",
    "Update `‹path›`",
    "Add a test that ‹check›s",
    "Remove ‹thing›",
    "‹check|cap›",
    "Move ‹thing› to `‹path›`",
    "Wire ‹thing› into ‹thing›",
    "Document ‹thing› in the README",
];

pub(super) const BULLETS: &[&str] = &[
    "- `‹path›`: ‹fact›",
    "- ‹fact›",
    "- **‹noun|cap› ‹noun›**: ‹fact›",
    "- ‹step›",
    "- `‹verb›_‹noun|snake›()` – ‹fact›",
    "- [ ] ‹step›",
    "- ‹error›: ‹fact›",
    "- **`‹path›`** (line ‹int:5:800›): ‹fact› ‹fact›",
];

const ANSWERS: &[&str] = &[
    "Done. ‹fact› ‹fact›",
    "‹fact› ‹fact› ‹fact›",
    "Fixed. The problem was that ‹thing› was ‹done› ‹when›. I now ‹verb› ‹thing› ‹how›, ‹why›.",
    "All tests pass now.\n\n## Summary\n\n‹bullet›\n‹bullet›\n‹bullet›\n\nWould you like me to ‹verb› ‹thing› as well?",
    "Here is what I found:\n\n1. **‹noun|cap› ‹noun›** – ‹fact›\n2. **‹noun|cap› ‹noun›** – ‹fact›\n3. **‹noun|cap› ‹noun›** – ‹fact›\n\n‹fact›",
    "I've made the following changes:\n\n### `‹path›`\n‹bullet›\n‹bullet›\n\n### `‹path›`\n‹bullet›\n\nThe test suite passes (‹int:20:900› tests).",
    "The cause is in `‹path›`, line ‹int:10:700›:\n\n```rust\nlet ‹noun#1|snake› = ‹noun#2|snake›.‹verb›(&‹noun#3|snake›)?;\n```\n\n‹fact› ‹fact›",
    "| ‹noun|cap› | Before | After |\n|---|---|---|\n| ‹noun› ‹noun› | ‹int:100:900› ms | ‹int:10:90› ms |\n| ‹noun› ‹noun› | ‹int:100:900› MB | ‹int:10:90› MB |\n\n‹fact›",
    "Committed as `‹hex:7›`. ‹fact›",
    "## How it works\n\n‹fact› ‹fact›\n\n- ‹step›\n- ‹step›\n- ‹step›\n\n## What is missing\n\n‹fact›",
    "```go\nif err := ‹noun|camel›.‹verb|pascal›(ctx, ‹noun|camel›); err != nil {\n\treturn fmt.Errorf(\"failed to ‹verb› ‹noun›: %w\", err)\n}\n```\n\n‹fact› ‹fact›",
    "```typescript\nconst ‹noun#1|camel› = await this.‹noun#2|camel›.‹verb›(‹noun#3|camel›);\nif (!‹noun#1|camel›) {\n\treturn null;\n}\n```\n\n‹fact› ‹fact›",
];

const BAD_NEWS: &[&str] = &[
    "That did not work: ‹error›. ‹fact›",
    "The test still fails. ‹fact› Let me ‹check›.",
    "This needs a decision from you: ‹fact›",
];
