//! Our lines in a repository's hooks for messages of commits: put in, found again, taken out.
//!
//! Pure: text in, text out. What is the user's stays byte for byte.

/// The hooks that we are called in: before an editor opens, and with the message that was written there.
pub const GIT_HOOKS: [GitHook; 2] = [
    GitHook { name: "prepare-commit-msg", call: "git trailer" },
    GitHook { name: "commit-msg", call: "git trailer --written" },
];

/// A hook of git that we are called in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GitHook {
    /// Its file's name.
    pub name: &'static str,
    /// What it calls of us, before what git gives it.
    pub call: &'static str,
}

/// Bytes of a hook at most.
pub const GIT_HOOK_BYTES_MAX: u64 = 1 << 20;

/// The trailer that names the context of a commit.
pub const CONTEXT_TRAILER: &str = "Context-Id";

/// How the line goes on behind a comment's mark that ends the message.
const SCISSORS: &str = " ------------------------ >8 ------------------------";

/// How the line begins that `git commit -s` adds.
const SIGN_OFF: &str = "Signed-off-by: ";

const BEGIN: &str =
    "# >>> stemma: names the agent's context in each commit; `stemma git uninstall` takes this out\n";
const END: &str = "# <<< stemma\n";

/// The first line of a hook that we made.
const SHEBANG: &str = "#!/bin/sh\n";

/// Programs that run a hook whose lines we can stand among.
const SHELLS: [&str; 5] = ["sh", "bash", "dash", "zsh", "ksh"];

/// Returns a hook with our lines behind its first one, where no `exit` of its own comes before them; none where it is no
/// shell script. Nothing in them can stop a commit, also when the program is gone.
pub fn with_git_hook(hook: &str, program: &str, call: &str) -> Option<String> {
    let hook = without_git_hook(hook);
    let hook = if hook.is_empty() { SHEBANG.to_owned() } else { hook };
    let first_end = hook.find('\n').map_or(hook.len(), |at| at + 1);
    let (first, rest) = hook.split_at(first_end);
    let interpreter = first.strip_prefix("#!")?.trim();
    let is_shell = interpreter.split(['/', ' ', '\t']).any(|word| SHELLS.contains(&word));
    if !is_shell {
        return None;
    }
    let quoted = format!("'{}'", program.replace('\'', "'\\''"));
    let newline = if first.ends_with('\n') { "" } else { "\n" };
    Some(format!(
        "{first}{newline}{BEGIN}if [ -x {quoted} ]; then {quoted} {call} \"$@\" </dev/null >/dev/null 2>&1 || :; fi\n{END}{rest}"
    ))
}

/// Returns a hook without our lines; nothing where it was ours alone.
pub fn without_git_hook(hook: &str) -> String {
    let Some(start) = hook.find(BEGIN) else { return hook.to_owned() };
    let Some(end) = hook.get(start..).and_then(|rest| rest.find(END)).map(|at| start + at + END.len()) else {
        return hook.to_owned();
    };
    let left = [hook.get(..start).unwrap_or_default(), hook.get(end..).unwrap_or_default()].concat();
    if left == SHEBANG { String::new() } else { left }
}

/// What a line of a message begins with that git takes out as a comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommentMarks(Vec<String>);

impl CommentMarks {
    /// Reads the value of `core.commentChar` or `core.commentString`. With `auto` git takes one of several characters, and any
    /// of them may be it.
    pub fn of(configured: Option<&str>) -> Self {
        match configured.map(str::trim).filter(|mark| !mark.is_empty()) {
            None => Self(vec!["#".to_owned()]),
            Some("auto") => Self("#;@!$%^&|:".chars().map(String::from).collect()),
            Some(mark) => Self(vec![mark.to_owned()]),
        }
    }

    fn begins(&self, line: &str) -> bool {
        self.0.iter().any(|mark| line.starts_with(mark.as_str()))
    }

    /// Returns where the part begins that is shown below the message, as `git commit -v` does.
    fn scissors(&self, message: &str) -> Option<usize> {
        self.0.iter().filter_map(|mark| message.find(&format!("{mark}{SCISSORS}"))).min()
    }
}

/// Returns a commit's message with a trailer that names a context; none where nothing is to be added: one is there
/// already, or nobody wrote a message yet. That is so where an editor will open, too: with the trailer in it, a message
/// that is left empty would not be one to git any more, and the commit would be made.
pub fn with_trailer(message: &str, ctx: &str, comments: &CommentMarks) -> Option<String> {
    let (said, shown) = message.split_at(comments.scissors(message).unwrap_or(message.len()));
    let trailer = format!("{CONTEXT_TRAILER}: ");
    let mut lines: Vec<&str> = said.split_inclusive('\n').collect();
    if lines.iter().any(|line| line.starts_with(&trailer)) {
        return None;
    }
    let is_said = |line: &&str| !comments.begins(line) && !line.trim().is_empty();
    // Of `git commit -s` the line is there before the message is, and git counts it as nothing said.
    if !lines.iter().any(|line| is_said(line) && !line.starts_with(SIGN_OFF)) {
        return None;
    }
    let last = lines.iter().rposition(is_said)?;
    let at = last + 1;
    let paragraph =
        lines.get(..at).unwrap_or_default().iter().rev().take_while(|line| !line.trim().is_empty());
    let paragraph: Vec<&&str> = paragraph.collect();
    let is_first = paragraph.len() == at;
    let is_trailers = !is_first && paragraph.iter().all(|line| is_trailer(line));
    let mut added = String::new();
    added.push_str(if lines.get(last).is_some_and(|line| line.ends_with('\n')) { "" } else { "\n" });
    added.push_str(if is_trailers { "" } else { "\n" });
    added.extend([&trailer, ctx, "\n"]);
    lines.insert(at, &added);
    Some(lines.concat() + shown)
}

/// Returns whether a line is `Key: value`, as trailers are.
fn is_trailer(line: &str) -> bool {
    let key = line.split_once(": ").map(|(key, _)| key);
    key.is_some_and(|key| {
        !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_hook_is_the_same_after_taking_our_lines_out(body in "[a-z #\n'$\"]{0,80}", program in "[a-z/ ']{1,20}") {
            let hook = format!("#!/usr/bin/env bash\n{body}");
            let with = with_git_hook(&hook, &program, "git trailer").expect("a shell script");
            prop_assert!(with.ends_with(&body));
            let twice = with_git_hook(&with, &program, "git trailer");
            prop_assert_eq!(twice.as_ref(), Some(&with), "twice is once");
            prop_assert_eq!(without_git_hook(&with), hook);
        }

        #[test]
        fn a_message_gets_one_trailer_and_keeps_every_line(message in "[a-zA-Z:# \n-]{0,120}") {
            let Some(with) = with_trailer(&message, "ctx-1", &CommentMarks::of(None)) else {
                let said = |line: &str| !line.starts_with('#') && !line.trim().is_empty();
                prop_assert!(message.contains("Context-Id: ") || !message.lines().any(said));
                return Ok(());
            };
            prop_assert_eq!(with.matches("Context-Id: ctx-1\n").count(), 1);
            prop_assert_eq!(with_trailer(&with, "ctx-2", &CommentMarks::of(None)), None);
            let left = with.replacen("Context-Id: ctx-1\n", "", 1);
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            prop_assert_eq!(words(&left), words(&message));
        }
    }

    #[test]
    fn a_trailer_stands_where_git_finds_it() {
        for (message, with) in [
            ("Fix it\n", "Fix it\n\nContext-Id: c\n"),
            ("Fix it", "Fix it\n\nContext-Id: c\n"),
            ("Fix: it\n", "Fix: it\n\nContext-Id: c\n"),
            ("Fix it\n\nBecause.\n", "Fix it\n\nBecause.\n\nContext-Id: c\n"),
            ("Fix it\n\nSigned-off-by: A <a@b>\n", "Fix it\n\nSigned-off-by: A <a@b>\nContext-Id: c\n"),
            ("Fix it\n# a comment\n", "Fix it\n\nContext-Id: c\n# a comment\n"),
        ] {
            assert_eq!(
                with_trailer(message, "c", &CommentMarks::of(None)).as_deref(),
                Some(with),
                "{message:?}"
            );
        }
    }

    /// Found in review: an editor that was left without a word made a commit all the same.
    #[test]
    fn a_message_that_git_takes_as_empty_stays_so() {
        for message in ["", "\n", "\n# a comment\n", "\n\nSigned-off-by: A <a@b>\n", "# one\n \n# two"] {
            assert_eq!(with_trailer(message, "c", &CommentMarks::of(None)), None, "{message:?}");
        }
    }

    #[test]
    fn comments_are_what_git_takes_for_them() {
        for (configured, message, with) in [
            (Some(";"), "\n; Please write\n", None),
            (Some("auto"), "\n! Please write\n", None),
            (Some(";"), "# 12 is fixed\n; Please\n", Some("# 12 is fixed\n\nContext-Id: c\n; Please\n")),
            (
                Some("//"),
                "Fix it\n// ------------------------ >8 ------------------------\nFix: x\n",
                Some(
                    "Fix it\n\nContext-Id: c\n// ------------------------ >8 ------------------------\nFix: x\n",
                ),
            ),
            (None, "; a\n", Some("; a\n\nContext-Id: c\n")),
        ] {
            let found = with_trailer(message, "c", &CommentMarks::of(configured));
            assert_eq!(found.as_deref(), with, "{configured:?} {message:?}");
        }
    }

    #[test]
    fn what_is_no_shell_script_is_left_alone() {
        assert_eq!(with_git_hook("#!/usr/bin/env python3\nprint()\n", "stemma", "git trailer"), None);
        assert_eq!(with_git_hook("\x7fELF", "stemma", "git trailer"), None);
        let ours = with_git_hook("", "/usr/bin/stemma", "git trailer").expect("a new one");
        assert!(ours.starts_with("#!/bin/sh\n# >>> stemma") && without_git_hook(&ours).is_empty());
    }
}
