//! Which version of a client is installed here, without starting it.
//!
//! Packages say it in a file, installers in the name of a folder. Where neither does, nobody knows: then the newest version
//! whose loader is known counts.

use std::path::Path;

use stemmata_engine::{SETTINGS_BYTES_MAX, clients};
use stemmata_store::read_bounded;

use super::Machine;
use super::hooks::is_program;

/// Folders above a program that may say its version.
const FOLDERS_MAX: usize = 6;

impl Machine {
    /// Returns the version of a client that is on the `PATH`; none where none is, or it does not say.
    pub(super) fn installed_version(&self, runtime: &str) -> Option<String> {
        let client = clients::local(runtime)?;
        let mut programs = self.folders.iter().map(|folder| folder.join(client.program));
        let program = programs.find(|path| is_program(path))?.canonicalize().ok()?;
        let named = program.ancestors().take(FOLDERS_MAX);
        let mut named = named.filter_map(|folder| folder.file_name()?.to_str());
        if let Some(version) = named.find(|name| is_version(name)) {
            return Some(version.to_owned());
        }
        let folders = program.ancestors().skip(1).take(FOLDERS_MAX);
        folders.into_iter().find_map(|folder| packaged(folder, client.program))
    }
}

/// Returns whether a name is a version: numbers and dots, such as `2.1.330`.
fn is_version(name: &str) -> bool {
    let parts: Vec<&str> = name.split('.').collect();
    let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    parts.len() == 3 && parts.iter().all(is_number)
}

/// Returns the version of the package in a folder that has a program.
fn packaged(folder: &Path, program: &str) -> Option<String> {
    let bytes = read_bounded(&folder.join("package.json"), SETTINGS_BYTES_MAX).ok()??;
    let package: serde_json::Value = serde_json::from_slice(&bytes).ok()?;
    // One program has the name of the package, several are named.
    let bin = package.get("bin")?;
    let has_it = bin.is_string() || bin.get(program).is_some();
    package.get("version").filter(|_| has_it)?.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::fs::{OpenOptionsExt as _, symlink};

    use super::*;

    fn put(path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut options = std::fs::OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(0o755).open(path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    #[test]
    fn a_version_is_read_from_a_package_or_from_a_folder_s_name() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        put(&at("lib/claude-code/cli.js"), "");
        put(&at("lib/claude-code/package.json"), r#"{"version":"2.1.17","bin":{"claude":"cli.js"}}"#);
        put(&at("cellar/codex/0.169.0/bin/codex"), "");
        put(&at("share/pi/versions/1.2"), "");
        put(&at("lib/other/gemini.js"), "");
        put(&at("lib/other/package.json"), r#"{"version":"9.9.9","bin":{"other":"x"}}"#);
        std::fs::create_dir(at("bin")).unwrap();
        for (name, target) in [
            ("claude", "lib/claude-code/cli.js"),
            ("codex", "cellar/codex/0.169.0/bin/codex"),
            ("pi", "share/pi/versions/1.2"),
            ("gemini", "lib/other/gemini.js"),
        ] {
            symlink(at(target), at("bin").join(name)).unwrap();
        }
        let machine = Machine { folders: vec![at("none"), at("bin")], ..Machine::alone() };
        for (runtime, version) in [
            ("claude-code", Some("2.1.17")),
            ("codex", Some("0.169.0")),
            ("pi", None),
            ("gemini", None),
            ("opencode", None),
            ("abacus", None),
        ] {
            assert_eq!(machine.installed_version(runtime).as_deref(), version, "{runtime}");
        }
    }
}
