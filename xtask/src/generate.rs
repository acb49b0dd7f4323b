//! `cargo xtask generate`: the pages of `docs/reference` that the built `stemma` writes about itself, and the one about
//! the wire types; the output below the commands of README and first steps; and the README's picture.
//! Not a place for prose: a page written by hand is in `HAND_WRITTEN`, every other one must be generated.

mod pages;
mod picture;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context as _;

use crate::process::{cargo, execute, flag, say};

/// Pages in `docs/reference` that people write.
const HAND_WRITTEN: &[&str] =
    &["README.md", "claude-code-loader.md", "models.md", "runtimes.md", "seeds.md", "strategy.md"];

/// File name to bytes, of one flat folder.
type Pages = BTreeMap<String, Vec<u8>>;

/// Writes the pages, or with `--check` fails when one is stale.
pub(crate) fn run(root: &Path, arguments: &[String]) -> anyhow::Result<()> {
    if flag("generate", "--check", arguments)? {
        return verify(root);
    }
    let programs = programs(root)?;
    let Some(fresh) = build(root, &programs)? else { return Ok(()) };
    let folder = reference(root);
    for line in differences(&fresh, &load(&folder)?) {
        say(&line);
    }
    for name in load(&folder)?.keys().filter(|name| !fresh.contains_key(*name)) {
        fs::remove_file(folder.join(name)).with_context(|| format!("removing `{name}`"))?;
    }
    for (name, bytes) in &fresh {
        write(&folder.join(name), bytes)?;
    }
    for (path, text) in shown(root, &programs.stemma)? {
        write(&root.join(path), text.as_bytes())?;
    }
    Ok(())
}

/// Fails when a page differs from what the built `stemma` says now.
pub(crate) fn verify(root: &Path) -> anyhow::Result<()> {
    let programs = programs(root)?;
    let Some(fresh) = build(root, &programs)? else { return Ok(()) };
    let mut stale = differences(&fresh, &load(&reference(root))?);
    for (path, text) in shown(root, &programs.stemma)? {
        let old = fs::read_to_string(root.join(path)).with_context(|| format!("reading `{path}`"))?;
        stale.extend((old != text).then(|| format!("{path}: a command prints something else now")));
    }
    anyhow::ensure!(
        stale.is_empty(),
        "generated pages are stale:\n  {}\nhint: `cargo xtask generate` writes them again",
        stale.join("\n  ")
    );
    Ok(())
}

/// Returns what shows the output of commands, by path.
fn shown(root: &Path, program: &Path) -> anyhow::Result<BTreeMap<&'static str, String>> {
    let mut shown = pages::build(root, program)?;
    shown.insert(picture::PATH, picture::build(root, program)?);
    Ok(shown)
}

/// The programs that write pages.
struct Programs {
    stemma: PathBuf,
    json_page: PathBuf,
    http_pages: PathBuf,
}

/// Builds the programs and returns their paths, as cargo reports them. They are chosen from the whole workspace and together
/// with an example, because then cargo resolves features as it does for the tests: whoever has run the tests builds nothing here.
fn programs(root: &Path) -> anyhow::Result<Programs> {
    let mut command = cargo(root, &["build", "--quiet", "--workspace", "--message-format", "json"]);
    command.args([
        "--bin",
        "stemma",
        "--example",
        "json_page",
        "--example",
        "http_pages",
        "--features",
        "stemmata-api/schema",
    ]);
    let output = command.stderr(Stdio::inherit()).output().context("starting cargo")?;
    anyhow::ensure!(output.status.success(), "building `stemma` and its pages failed");
    let lines = output.stdout.split(|byte| *byte == b'\n');
    let messages: Vec<serde_json::Value> =
        lines.filter_map(|line| serde_json::from_slice(line).ok()).collect();
    let path = |name: &str| {
        let named = messages.iter().filter(|message| message["target"]["name"] == name);
        let found = named.filter_map(|message| message["executable"].as_str()).next_back();
        found.map(PathBuf::from).with_context(|| format!("cargo reported no program `{name}`"))
    };
    Ok(Programs { stemma: path("stemma")?, json_page: path("json_page")?, http_pages: path("http_pages")? })
}

/// Builds `stemma` as the tests do, and returns where it is.
///
/// # Errors
/// When it cannot be built.
pub(crate) fn stemma(root: &Path) -> anyhow::Result<PathBuf> {
    Ok(programs(root)?.stemma)
}

fn reference(root: &Path) -> PathBuf {
    root.join("docs").join("reference")
}

/// Has `stemma` write its pages into an empty folder and reads them; none, with a message, where it has no
/// such command.
fn build(root: &Path, programs: &Programs) -> anyhow::Result<Option<Pages>> {
    let folder = tempfile::tempdir().context("creating a folder for the generated pages")?;
    let mut command = Command::new(&programs.stemma);
    execute(command.arg("generate-reference").arg(folder.path()).current_dir(root))?;
    let mut pages = load(folder.path())?;
    if pages.is_empty() {
        say(
            "note: `stemma generate-reference` wrote no page; whether docs/reference is stale was not checked",
        );
        return Ok(None);
    }
    let pages_of: [(&str, &PathBuf, &[&str]); 3] = [
        ("json.md", &programs.json_page, &[]),
        ("http.md", &programs.http_pages, &[]),
        ("openapi.json", &programs.http_pages, &["openapi"]),
    ];
    for (name, program, arguments) in pages_of {
        let page = Command::new(program).args(arguments).stderr(Stdio::inherit()).output();
        let page = page.with_context(|| format!("starting `{}`", program.display()))?;
        anyhow::ensure!(page.status.success(), "`{}` failed ({})", program.display(), page.status);
        pages.insert(name.to_owned(), page.stdout);
    }
    Ok(Some(pages))
}

/// Reads the generated pages of a folder: all files but those that people write.
fn load(folder: &Path) -> anyhow::Result<Pages> {
    let mut pages = Pages::new();
    let entries = fs::read_dir(folder).with_context(|| format!("listing `{}`", folder.display()))?;
    for entry in entries {
        let path = entry.with_context(|| format!("listing `{}`", folder.display()))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_file() && !HAND_WRITTEN.contains(&name.as_str()) {
            let bytes = fs::read(&path).with_context(|| format!("reading `{}`", path.display()))?;
            pages.insert(name, bytes);
        }
    }
    Ok(pages)
}

/// Says per page how the committed folder differs from the fresh one.
fn differences(fresh: &Pages, committed: &Pages) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, bytes) in fresh {
        match committed.get(name) {
            None => lines.push(format!("{name}: missing")),
            Some(old) if old != bytes => lines.push(format!("{name}: out of date")),
            Some(_) => {}
        }
    }
    let gone = committed.keys().filter(|name| !fresh.contains_key(*name));
    lines.extend(gone.map(|name| format!("{name}: nothing generates it")));
    lines
}

#[expect(
    clippy::disallowed_methods,
    reason = "a page in a git checkout needs neither atomicity nor a private mode"
)]
fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    fs::write(path, bytes).with_context(|| format!("writing `{}`", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(list: &[(&str, &str)]) -> Pages {
        list.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())).collect()
    }

    #[test]
    fn a_page_is_stale_when_it_is_missing_changed_or_no_longer_generated() {
        let fresh = pages(&[("cli.md", "new"), ("exit-codes.md", "same"), ("json.md", "added")]);
        let committed = pages(&[("cli.md", "old"), ("exit-codes.md", "same"), ("gone.md", "left over")]);
        assert_eq!(
            differences(&fresh, &committed),
            ["cli.md: out of date", "json.md: missing", "gone.md: nothing generates it"]
        );
        assert_eq!(differences(&fresh, &fresh), Vec::<String>::new());
    }

    #[test]
    fn pages_that_people_write_are_not_generated_ones() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["seeds.md", "README.md", "cli.md"] {
            write(&folder.path().join(name), b"text").unwrap();
        }
        assert_eq!(load(folder.path()).unwrap(), pages(&[("cli.md", "text")]));
    }
}
