//! `cargo xtask vocabulary FILE NAME`: packs a `.tiktoken` file into `crates/tokens/data/NAME.zst`.
//! Not run by a build: the packed file is committed, and a test pins the hash of what it holds.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Context as _;

use crate::process::{execute, say};

const USAGE: &str = "usage: cargo xtask vocabulary FILE NAME

  FILE is a `.tiktoken` file, as the crate `tiktoken-rs` ships them in `assets`; NAME is `o200k` or `cl100k`. Needs the program
  `zstd` (Debian: `apt-get install zstd`).";

/// The vocabularies are read once a process, so packing time does not matter and size does.
const LEVEL: [&str; 2] = ["--ultra", "-22"];

/// Packs the file that was named.
pub(crate) fn run(root: &Path, arguments: &[String]) -> anyhow::Result<()> {
    let [file, name] = arguments else { anyhow::bail!("{USAGE}") };
    anyhow::ensure!(matches!(name.as_str(), "o200k" | "cl100k"), "unknown vocabulary `{name}`\n\n{USAGE}");
    let text = fs::read_to_string(file).with_context(|| format!("reading `{file}`"))?;
    let plain = plain(&text).with_context(|| format!("`{file}` is not a vocabulary"))?;
    let folder = tempfile::tempdir().context("creating a folder")?;
    let unpacked = folder.path().join(name);
    write(&unpacked, &plain)?;
    let path = root.join("crates/tokens/data").join(format!("{name}.zst"));
    // The program and not the library, which is built from C and would be a part of every task's first build.
    execute(Command::new("zstd").args(LEVEL).args(["-q", "-f", "-o"]).arg(&path).arg(&unpacked))?;
    say(&format!("{}: of {} bytes", path.display(), plain.len()));
    Ok(())
}

/// Returns the number of tokens (32 bits, little-endian), their lengths (8 bits each) and their bytes, by rank.
fn plain(text: &str) -> anyhow::Result<Vec<u8>> {
    let mut lengths = Vec::new();
    let mut bytes = Vec::new();
    for (rank, line) in text.lines().enumerate() {
        let (token, given) = line.split_once(' ').with_context(|| format!("line {}: no rank", rank + 1))?;
        anyhow::ensure!(given.parse() == Ok(rank), "line {}: its rank is {given}", rank + 1);
        let token = base64(token).with_context(|| format!("line {}: not base64", rank + 1))?;
        lengths.push(u8::try_from(token.len()).with_context(|| format!("line {}: too long", rank + 1))?);
        bytes.extend(token);
    }
    let count = u32::try_from(lengths.len()).context("too many tokens")?;
    Ok([count.to_le_bytes().to_vec(), lengths, bytes].concat())
}

/// Decodes padded base64; `None` where a character is not of its alphabet.
fn base64(text: &str) -> Option<Vec<u8>> {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bytes, mut held, mut bits) = (Vec::new(), 0_u32, 0_u32);
    for byte in text.trim_end_matches('=').bytes() {
        let value = ALPHABET.iter().position(|letter| *letter == byte)?;
        held = (held << 6 | u32::try_from(value).ok()?) & 0xffff;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from(held >> bits & 0xff).ok()?);
        }
    }
    Some(bytes)
}

#[expect(clippy::disallowed_methods, reason = "a file of the repository, which git keeps")]
fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    fs::write(path, bytes).with_context(|| format!("writing `{}`", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vocabulary_is_its_lengths_and_its_bytes() {
        assert_eq!(plain("IQ== 0\nIGE= 1\nYWJj 2\n").unwrap(), b"\x03\0\0\0\x01\x02\x03! aabc");
        plain("IQ== 1\n").unwrap_err();
        plain("I*== 0\n").unwrap_err();
        plain("IQ==\n").unwrap_err();
    }
}
