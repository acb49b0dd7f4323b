//! A network of its own: loopback and nothing else, so that a client cannot reach anybody.
//! Not a sandbox for files: what runs here sees the whole disk.

use std::path::Path;
use std::process::Command;

use crate::process::available;

/// Ways into a new network: root may just make one, others become root in a user namespace first.
const WAYS: [&[&str]; 2] = [&["--net"], &["--net", "--map-root-user"]];

/// Returns a command that runs a program with only loopback.
///
/// # Errors
/// When no way into a new network works: then nothing is run at all.
pub(crate) fn command(program: &Path, arguments: &[&str]) -> anyhow::Result<Command> {
    let way = WAYS.iter().find(|way| available(Command::new("unshare").args(**way).arg("true")));
    let Some(way) = way else {
        anyhow::bail!(
            "a real client is only run in a network of its own, and `unshare --net` does not work here\n\
             hint: run it on Linux, as root or where user namespaces are allowed"
        );
    };
    let mut command = Command::new("unshare");
    command.args(*way).args([
        "--fork",
        "--kill-child",
        "sh",
        "-c",
        "ip link set lo up && exec \"$@\"",
        "jail",
    ]);
    command.arg(program).args(arguments);
    Ok(command)
}
