//! `cargo xtask dist`: what people install on Linux without a compiler. A tarball, a Debian package and a wheel, each unpacked or
//! installed in a folder of its own and tried there.
//! Needs no network. `tar`, `gzip`, `dpkg-deb` and `python3` are the machine's; what cannot be made without them is said.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;

use crate::process::{available, cargo, execute, say, target};

/// Writes a wheel: files with the times and rights that are given, and a list of their hashes. Python knows the format.
const WHEEL: &str = r#"
import base64, hashlib, sys, time, zipfile
out, version, tag, binary, readme, epoch, *licenses = sys.argv[1:]
stamp = time.gmtime(max(int(epoch), 315532800))[:6]
info = f"stemmata-{version}.dist-info"
def of(path):
    with open(path, "rb") as file:
        return file.read()
license_names = [path.rsplit("/", 1)[-1] for path in licenses]
metadata = "\n".join(
    ["Metadata-Version: 2.4", "Name: stemmata", f"Version: {version}", "Summary: Search, resume and recover the sessions of coding agents",
     "License-Expression: Apache-2.0 OR MIT", *[f"License-File: {name}" for name in license_names],
     "Requires-Python: >=3.8", "Description-Content-Type: text/markdown", "", ""]
).encode() + of(readme)
wheel = f"Wheel-Version: 1.0\nGenerator: cargo xtask dist\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
files = [(f"stemmata-{version}.data/scripts/stemma", of(binary), 0o755)]
files += [(f"{info}/licenses/{name}", of(path), 0o644) for name, path in zip(license_names, licenses)]
files += [(f"{info}/METADATA", metadata, 0o644), (f"{info}/WHEEL", wheel, 0o644)]
record = ""
for name, data, _ in files:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    record += f"{name},sha256={digest},{len(data)}\n"
files.append((f"{info}/RECORD", (record + f"{info}/RECORD,,\n").encode(), 0o644))
with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
    for name, data, mode in files:
        entry = zipfile.ZipInfo(name, stamp)
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.create_system = 3
        entry.external_attr = (0o100000 | mode) << 16
        archive.writestr(entry, data)
"#;

/// Files that go along with the program.
const BESIDE: &[&str] = &["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"];

/// What starts the service at login, where systemd is.
const UNIT: &str = "packaging/stemma.service";

/// Makes a file, tries it, and returns where it is.
type Make = fn(&Dist) -> anyhow::Result<PathBuf>;

/// What is made, and the programs that it takes.
const MADE: [(&str, &[&str], Make); 3] = [
    ("tarball", &["tar", "gzip"], Dist::tarball),
    ("Debian package", &["dpkg-deb"], Dist::package),
    ("wheel", &["python3"], Dist::wheel),
];

/// What is packed, and how it is named.
struct Dist {
    root: PathBuf,
    binary: PathBuf,
    out: PathBuf,
    version: String,
    /// When the last commit was made: the time of every file that is packed.
    epoch: String,
    /// The least version of the C library that the program asks for.
    glibc: (u32, u32),
}

/// Builds the program, unless `--binary FILE` names one, packs it and tries what was packed.
pub(crate) fn run(root: &Path, arguments: &[String]) -> anyhow::Result<()> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let binary = match words.as_slice() {
        [] => {
            execute(&mut cargo(root, &["build", "--release", "--locked", "--bin", "stemma"]))?;
            target(root)?.join("release").join("stemma")
        }
        ["--binary", file] => {
            PathBuf::from(file).canonicalize().with_context(|| format!("finding `{file}`"))?
        }
        _ => anyhow::bail!("`cargo xtask dist` takes nothing but `--binary FILE`"),
    };
    anyhow::ensure!(
        std::env::consts::OS == "linux",
        "the packages are for Linux, and can be made there only"
    );
    let out = target(root)?.join("dist");
    if out.exists() {
        fs::remove_dir_all(&out).with_context(|| format!("removing `{}`", out.display()))?;
    }
    fs::create_dir_all(&out).with_context(|| format!("creating `{}`", out.display()))?;
    let shown = text(Command::new(&binary).arg("--version"))?;
    let version = shown.split_whitespace().nth(1).context("`stemma --version` says no version")?.to_owned();
    let epoch =
        text(Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(root))?.trim().to_owned();
    let bytes = fs::read(&binary).with_context(|| format!("reading `{}`", binary.display()))?;
    let glibc = glibc(&bytes).context("the program asks for no version of the GNU C library")?;
    let dist = Dist { root: root.to_path_buf(), binary, out, version, epoch, glibc };
    for (name, needs, make) in MADE {
        if let Some(tool) = needs.iter().find(|tool| !available(Command::new(tool).arg("--version"))) {
            say(&format!("note: no {name}: `{tool}` is not on this machine"));
            continue;
        }
        let path = make(&dist).with_context(|| format!("making the {name}"))?;
        let size = fs::metadata(&path)?.len() / 1_000_000;
        say(&format!("{name}: {} ({size} MB), tried", path.display()));
    }
    Ok(())
}

impl Dist {
    /// A folder with the program and what goes along with it.
    fn tarball(&self) -> anyhow::Result<PathBuf> {
        let name = format!("stemma-{}-linux-{}", self.version, std::env::consts::ARCH);
        let stage = tempfile::tempdir()?;
        let folder = stage.path().join(&name);
        fs::create_dir(&folder)?;
        copy(&self.binary, &folder.join("stemma"), 0o755)?;
        for file in BESIDE {
            copy(&self.root.join(file), &folder.join(file), 0o644)?;
        }
        copy(&self.root.join(UNIT), &folder.join("stemma.service"), 0o644)?;
        let (tar, out) = (stage.path().join("all.tar"), self.out.join(format!("{name}.tar.gz")));
        let mut command = Command::new("tar");
        command.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mode=go=rX,u+rw"]);
        command
            .arg(format!("--mtime=@{}", self.epoch))
            .arg("-cf")
            .arg(&tar)
            .arg("-C")
            .arg(stage.path())
            .arg(&name);
        execute(&mut command)?;
        // `-n`: no time and no name of the file within.
        execute(Command::new("gzip").args(["-9", "-n"]).arg(&tar))?;
        fs::copy(stage.path().join("all.tar.gz"), &out)?;
        let there = tempfile::tempdir()?;
        execute(Command::new("tar").arg("-xzf").arg(&out).arg("-C").arg(there.path()))?;
        self.tried(&there.path().join(name).join("stemma"))?;
        Ok(out)
    }

    /// A package for `apt install ./FILE` or `dpkg -i FILE`.
    fn package(&self) -> anyhow::Result<PathBuf> {
        let arch = match std::env::consts::ARCH {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            other => other,
        };
        let stage = tempfile::tempdir()?;
        let doc = stage.path().join("usr/share/doc/stemmata");
        let units = stage.path().join("usr/lib/systemd/user");
        for folder in [&stage.path().join("DEBIAN"), &stage.path().join("usr/bin"), &doc, &units] {
            fs::create_dir_all(folder)?;
        }
        copy(&self.binary, &stage.path().join("usr/bin/stemma"), 0o755)?;
        // Installed, not enabled: that is for each user to decide.
        copy(&self.root.join(UNIT), &units.join("stemma.service"), 0o644)?;
        for file in BESIDE {
            copy(&self.root.join(file), &doc.join(file), 0o644)?;
        }
        let (major, minor) = self.glibc;
        let size = fs::metadata(&self.binary)?.len() / 1024;
        let control = format!(
            "Package: stemmata\nVersion: {}\nArchitecture: {arch}\nMaintainer: The Stemmata authors <noreply@invalid>\n\
             Installed-Size: {size}\nDepends: libc6 (>= {major}.{minor}), libgcc-s1\nSection: devel\nPriority: optional\n\
             Description: Search, resume and recover the sessions of coding agents\n \
             Every session of Claude Code, Codex and others: searchable, resumable in any client,\n \
             recoverable, and each line traceable to its prompt.\n",
            self.version
        );
        put(&stage.path().join("DEBIAN/control"), control.as_bytes())?;
        let out = self.out.join(format!("stemmata_{}_{arch}.deb", self.version));
        let mut command = Command::new("dpkg-deb");
        command.env("SOURCE_DATE_EPOCH", &self.epoch).args(["--root-owner-group", "-Zgzip", "--build"]);
        execute(command.arg(stage.path()).arg(&out))?;
        let there = tempfile::tempdir()?;
        execute(Command::new("dpkg-deb").arg("-x").arg(&out).arg(there.path()))?;
        self.tried(&there.path().join("usr/bin/stemma"))?;
        Ok(out)
    }

    /// A package for `pip install FILE`, which puts the command beside Python.
    fn wheel(&self) -> anyhow::Result<PathBuf> {
        let (major, minor) = self.glibc;
        let tag = format!("py3-none-manylinux_{major}_{minor}_{}", std::env::consts::ARCH);
        let out = self.out.join(format!("stemmata-{}-{tag}.whl", self.version));
        let mut command = Command::new("python3");
        command.args(["-c", WHEEL]).arg(&out).args([&self.version, &tag]).arg(&self.binary);
        command.arg(self.root.join("README.md")).arg(&self.epoch);
        for license in BESIDE.iter().filter(|file| file.starts_with("LICENSE")) {
            command.arg(self.root.join(license));
        }
        let status = command.status().context("starting `python3`")?;
        anyhow::ensure!(status.success(), "`python3` wrote no wheel ({status})");
        let there = tempfile::tempdir()?;
        let venv = there.path().join("venv");
        if !available(Command::new("python3").args(["-m", "venv"]).arg(&venv)) {
            say("note: the wheel is not tried: `python3 -m venv` does not work on this machine");
            return Ok(out);
        }
        let mut pip = Command::new(venv.join("bin/python"));
        pip.args(["-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-cache-dir"]).arg(&out);
        execute(pip.env("PIP_DISABLE_PIP_VERSION_CHECK", "1"))?;
        self.tried(&venv.join("bin/stemma"))?;
        Ok(out)
    }

    /// Runs an installed program in a home of its own, with nothing of this one's environment: it says its version, imports the
    /// examples and finds something in them.
    fn tried(&self, program: &Path) -> anyhow::Result<()> {
        let home = tempfile::tempdir()?;
        let run = |arguments: &[&str]| {
            let mut command = Command::new(program);
            command.env_clear().env("HOME", home.path()).env("PATH", "/usr/bin:/bin").args(arguments);
            text(command.current_dir(&self.root))
        };
        let version = run(&["--version"])?;
        anyhow::ensure!(version.contains(&self.version), "`{}` says `{}`", program.display(), version.trim());
        run(&["import", "examples"])?;
        let found = run(&["search", "torn", "line", "-n", "1"])?;
        anyhow::ensure!(found.contains("torn"), "`{}` found nothing in the examples", program.display());
        Ok(())
    }
}

/// Returns the greatest version of the GNU C library that a program names.
fn glibc(bytes: &[u8]) -> Option<(u32, u32)> {
    let finder = memchr::memmem::Finder::new(b"GLIBC_");
    let version = |at: usize| {
        let rest = bytes.get(at + b"GLIBC_".len()..)?;
        let is_part = |byte: &&u8| byte.is_ascii_digit() || **byte == b'.';
        let text: String = rest.iter().take_while(is_part).map(|byte| char::from(*byte)).collect();
        let mut parts = text.split('.').map(str::parse);
        Some((parts.next()?.ok()?, parts.next()?.ok()?))
    };
    finder.find_iter(bytes).filter_map(version).max()
}

/// Returns what a program prints.
fn text(command: &mut Command) -> anyhow::Result<String> {
    let shown = format!("{command:?}");
    let output = command.output().with_context(|| format!("starting {shown}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(output.status.success(), "{shown} failed ({}): {said}", output.status);
    String::from_utf8(output.stdout).with_context(|| format!("{shown} prints no text"))
}

fn copy(from: &Path, to: &Path, mode: u32) -> anyhow::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::copy(from, to).with_context(|| format!("copying `{}`", from.display()))?;
    Ok(fs::set_permissions(to, fs::Permissions::from_mode(mode))?)
}

#[expect(clippy::disallowed_methods, reason = "a file of a folder that is made anew needs no atomicity")]
fn put(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    fs::write(path, bytes).with_context(|| format!("writing `{}`", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_version_of_the_c_library_counts() {
        assert_eq!(glibc(b"..GLIBC_2.2.5\0GLIBC_2.34\0GLIBC_2.9\0GLIBC_PRIVATE"), Some((2, 34)));
        assert_eq!(glibc(b"GLIBC_"), None);
    }
}
