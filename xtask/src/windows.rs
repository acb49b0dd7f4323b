//! `cargo xtask check-windows`: compiles the product for Windows, where that target is installed.
//! It runs nothing there. What Windows lacks is a table in docs/guide/windows.md.

use std::path::Path;
use std::process::Command;

use anyhow::Context as _;

use crate::process::{available, cargo, execute, no_arguments, say};

/// The targets that will do, with the C compiler that SQLite, zstd and ring need for each.
const TARGETS: [(&str, &str); 2] =
    [("x86_64-pc-windows-gnu", "x86_64-w64-mingw32-gcc"), ("x86_64-pc-windows-msvc", "cl.exe")];

/// The crates that compile there. The page says what the others lack.
const CRATES: [&str; 12] = [
    "stemmata-model",
    "stemmata-api",
    "stemmata-redact",
    "stemmata-acts",
    "stemmata-runtimes",
    "stemmata-tokens",
    "stemmata-prompt",
    "stemmata-store",
    "stemmata-llm",
    "stemmata-engine",
    "stemmata-service",
    "stemmata-client",
];

/// Compiles the crates.
pub(crate) fn run(root: &Path, arguments: &[String]) -> anyhow::Result<()> {
    no_arguments("check-windows", arguments)?;
    let libraries =
        Command::new("rustc").args(["--print", "sysroot"]).output().context("starting `rustc`")?;
    let sysroot = String::from_utf8(libraries.stdout).context("the path of the toolchain is not UTF-8")?;
    let installed = |target: &str| {
        Path::new(sysroot.trim()).join("lib").join("rustlib").join(target).join("lib").is_dir()
    };
    let Some((target, _)) = TARGETS
        .iter()
        .find(|(target, compiler)| installed(target) && available(Command::new(compiler).arg("--version")))
    else {
        say(
            "skipped: no target for Windows is installed; `rustup target add x86_64-pc-windows-gnu` and the package \
             `gcc-mingw-w64-x86-64` install one",
        );
        return Ok(());
    };
    execute(
        cargo(root, &["check", "--target", target]).args(CRATES.iter().flat_map(|name| ["--package", name])),
    )
}
