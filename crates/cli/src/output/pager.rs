//! Shows long output through the user's pager.
//!
//! Whether there is one, and when it is used, is the console's.

use std::io::{self, Write};
use std::process::{Command, Stdio};

/// Where no locale is set, `less` shows codes for the letters of UTF-8.
const LOCALE: &str = "[ -n \"$LESSCHARSET$LC_ALL$LC_CTYPE$LANG\" ] || export LESSCHARSET=utf-8\n";

/// Shows text through a command of the user's shell, and waits until it is closed.
///
/// # Errors
/// When the shell cannot be started; leaving the pager early is none.
pub(crate) fn show(command: &str, text: &str) -> io::Result<()> {
    let command = format!("{LOCALE}{command}");
    let mut child = Command::new("sh").arg("-c").arg(command).stdin(Stdio::piped()).spawn()?;
    if let Some(mut input) = child.stdin.take() {
        // The user may leave before everything is read.
        let _left = input.write_all(text.as_bytes());
    }
    let status = child.wait()?;
    // The shell's answer to a command that it does not find.
    if status.code() == Some(127) { Err(io::Error::from(io::ErrorKind::NotFound)) } else { Ok(()) }
}
