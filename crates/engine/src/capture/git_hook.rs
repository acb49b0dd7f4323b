//! Our lines in a repository's `prepare-commit-msg` hook: put in, found again, taken out.
//!
//! Pure: text in, text out. What is the user's stays byte for byte.

/// The hook that we are called in.
pub const GIT_HOOK: &str = "prepare-commit-msg";

/// Bytes of a hook at most.
pub const GIT_HOOK_BYTES_MAX: u64 = 1 << 20;

/// The trailer that names the context of a commit.
pub const CONTEXT_TRAILER: &str = "Context-Id";

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
pub fn with_git_hook(hook: &str, program: &str) -> Option<String> {
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
        "{first}{newline}{BEGIN}if [ -x {quoted} ]; then {quoted} git trailer \"$@\" </dev/null >/dev/null 2>&1 || :; fi\n{END}{rest}"
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

/// Returns a commit's message with a trailer that names a context; none where nothing is to be added: one is there
/// already, or nobody wrote a message yet. That is so where an editor will open, too: with the trailer in it, a message
/// that is left empty would not be one to git any more, and the commit would be made.
pub fn with_trailer(message: &str, ctx: &str) -> Option<String> {
    let is_comment = |line: &&str| line.starts_with('#');
    // What stands below this line, as `git commit -v` writes it, is no part of the message.
    let scissors =
        message.find("# ------------------------ >8 ------------------------").unwrap_or(message.len());
    let (said, shown) = message.split_at(scissors);
    let trailer = format!("{CONTEXT_TRAILER}: ");
    let mut lines: Vec<&str> = said.split_inclusive('\n').collect();
    if lines.iter().any(|line| line.starts_with(&trailer)) {
        return None;
    }
    let is_said = |line: &&str| !is_comment(line) && !line.trim().is_empty();
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
            let with = with_git_hook(&hook, &program).expect("a shell script");
            prop_assert!(with.ends_with(&body));
            let twice = with_git_hook(&with, &program);
            prop_assert_eq!(twice.as_ref(), Some(&with), "twice is once");
            prop_assert_eq!(without_git_hook(&with), hook);
        }

        #[test]
        fn a_message_gets_one_trailer_and_keeps_every_line(message in "[a-zA-Z:# \n-]{0,120}") {
            let Some(with) = with_trailer(&message, "ctx-1") else {
                let said = |line: &str| !line.starts_with('#') && !line.trim().is_empty();
                prop_assert!(message.contains("Context-Id: ") || !message.lines().any(said));
                return Ok(());
            };
            prop_assert_eq!(with.matches("Context-Id: ctx-1\n").count(), 1);
            prop_assert_eq!(with_trailer(&with, "ctx-2"), None);
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
            assert_eq!(with_trailer(message, "c").as_deref(), Some(with), "{message:?}");
        }
    }

    /// Found in review: an editor that was left without a word made a commit all the same.
    #[test]
    fn a_message_that_git_takes_as_empty_stays_so() {
        for message in ["", "\n", "\n# a comment\n", "\n\nSigned-off-by: A <a@b>\n", "# one\n \n# two"] {
            assert_eq!(with_trailer(message, "c"), None, "{message:?}");
        }
    }

    #[test]
    fn what_is_no_shell_script_is_left_alone() {
        assert_eq!(with_git_hook("#!/usr/bin/env python3\nprint()\n", "stemma"), None);
        assert_eq!(with_git_hook("\x7fELF", "stemma"), None);
        let ours = with_git_hook("", "/usr/bin/stemma").expect("a new one");
        assert!(ours.starts_with("#!/bin/sh\n# >>> stemma") && without_git_hook(&ours).is_empty());
    }
}
