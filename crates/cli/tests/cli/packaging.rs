//! The files that start the service at login, judged by the programs that read them.

use std::path::Path;
use std::process::Command;

const UNIT: &str = include_str!("../../../../packaging/stemma.service");
const PLIST: &str = include_str!("../../../../packaging/stemmata.serve.plist");
const GUIDE: &str = include_str!("../../../../docs/guide/service.md");

fn is_here(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|done| done.status.success())
}

/// Returns a file with the command that this test has, in place of the installed one.
fn with_own_command(text: &str, installed: &str) -> String {
    assert!(text.contains(installed), "{text}");
    text.replace(installed, env!("CARGO_BIN_EXE_stemma"))
}

fn written(folder: &Path, name: &str, text: &str) -> std::path::PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn systemd_takes_the_unit() {
    // The lines that say something, as they stand in the guide.
    let said: Vec<&str> = UNIT.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).collect();
    for line in said {
        assert!(GUIDE.contains(line), "`{line}` is not in docs/guide/service.md");
    }
    if !is_here("systemd-analyze") {
        println!("skipped systemd_takes_the_unit: `systemd-analyze` is not here");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let unit = with_own_command(UNIT, "/usr/bin/stemma");
    let verified = |unit: &str| {
        let path = written(folder.path(), "stemma.service", unit);
        let mut command = Command::new("systemd-analyze");
        command.args(["--user", "verify"]).arg(&path).env("XDG_RUNTIME_DIR", folder.path());
        let done = command.output().unwrap();
        (done.status.success(), String::from_utf8_lossy(&done.stderr).into_owned())
    };
    assert_eq!(verified(&unit), (true, String::new()));
    let broken = verified(&unit.replace("Restart=on-failure", "Restart=whenever"));
    assert!(broken.1.contains("whenever"), "it would say what is wrong: {broken:?}");
}

#[test]
fn launchd_takes_the_agent() {
    assert!(GUIDE.contains("packaging/stemmata.serve.plist"));
    let folder = tempfile::tempdir().unwrap();
    let path =
        written(folder.path(), "stemmata.serve.plist", &with_own_command(PLIST, "/usr/local/bin/stemma"));
    if Path::new("/usr/bin/plutil").exists() {
        let done = Command::new("/usr/bin/plutil").arg("-lint").arg(&path).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
    }
    if !is_here("python3") {
        println!("skipped launchd_takes_the_agent: neither `plutil` nor `python3` reads property lists here");
        return;
    }
    let read = "import json, plistlib, sys; print(json.dumps(plistlib.load(open(sys.argv[1], 'rb'))))";
    let done = Command::new("python3").args(["-c", read]).arg(&path).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let agent: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(agent["ProgramArguments"], serde_json::json!([env!("CARGO_BIN_EXE_stemma"), "serve"]));
    assert_eq!((&agent["Label"], &agent["Umask"]), (&"stemmata.serve".into(), &0o077.into()));
}
