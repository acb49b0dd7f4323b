//! `cargo xtask http-fuzz`: holds a running `stemma serve` to its own OpenAPI document, with requests that schemathesis makes of it.
//! Not a test of what operations do: it looks for failures of the service, and for answers that the document does not name.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::Context as _;
use serde_json::{Value, json};

use crate::generate;
use crate::process::{available, execute, say, target};

const USAGE: &str = "\
usage: cargo xtask http-fuzz [--examples N] [--seed N]

  Makes N requests for each operation besides those that try each field's bounds (50 where nothing is said), the same ones for the same
  seed, to a service over made-up sessions. Needs `python3` with `venv` and `pip`, and the network the first time.";

/// What makes the requests. Named exactly: another version makes others.
const TOOL: &str = "schemathesis==4.32.5";

/// What is asked of an answer. Left out: whether valid requests succeed, because commits that do not exist are valid names.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,\
                      response_schema_conformance,negative_data_rejection,unsupported_method,allow_header_conformance";

/// Sessions of the made-up ones: each is a name of its last commit, too.
const SESSIONS: &[&str] = &["496ce8b5-5668-49e2-be17-0775d4602360", "961444ca-2288-40cf-9fbb-3ff7b4c317f8"];

/// Names that some requests have, by field, so that what one makes another one finds.
const KNOWN: &[(&str, &[&str])] = &[
    ("ctx", SESSIONS),
    ("session", SESSIONS),
    ("ref", SESSIONS),
    ("reference", SESSIONS),
    ("parent", SESSIONS),
    ("from", SESSIONS),
    ("other", SESSIONS),
    ("ledger", &["fuzz"]),
    ("agent", &["worker"]),
    ("template", &["fixer"]),
    ("stop", &["root", "compaction"]),
    ("format", &["claude-code-v1", "codex-v1"]),
    ("If-None-Match", &["*", "\"other\""]),
    ("Range", &["bytes=0-9", "bytes=-5", "bytes=999999999-", "bytes=0-1,4-5"]),
];

/// Seconds of one request at most.
const REQUEST_SECONDS: &str = "10";

/// Not asked: a subscription goes on until its reader has enough, and this one never has.
const ENDLESS: &str = "ledgers.follow";

/// Makes the requests.
pub(crate) fn run(root: &Path, arguments: &[String]) -> anyhow::Result<()> {
    let (mut examples, mut seed) = (50, 1);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let value = match word.as_str() {
            "--examples" => &mut examples,
            "--seed" => &mut seed,
            other => anyhow::bail!("`cargo xtask http-fuzz` takes no argument `{other}`\n\n{USAGE}"),
        };
        let given = words.next().with_context(|| format!("`{word}` without a number\n\n{USAGE}"))?;
        *value = given.parse::<u32>().with_context(|| format!("`{word} {given}`\n\n{USAGE}"))?;
    }
    let target = target(root)?;
    let tool = tool(&target)?;
    let program = generate::stemma(root)?;
    let home = tempfile::tempdir().context("creating a home")?;
    sessions(root, home.path())?;
    execute(stemma(&program, home.path()).arg("import").stderr(Stdio::null()))?;
    let mut service = Service::start(&program, home.path())?;
    let document = document(root, home.path())?;
    let mut requests = Command::new(tool);
    requests
        .args(["--no-color", "run"])
        .arg(document)
        .args(["--url", &service.address])
        .args(["--phases", "coverage,fuzzing", "--checks", CHECKS])
        .args(["--max-examples", &examples.to_string(), "--seed", &seed.to_string()])
        .args(["--continue-on-failure", "--request-timeout", REQUEST_SECONDS, "--warnings", "off"])
        .args(["--exclude-operation-id", ENDLESS])
        .current_dir(home.path());
    let made = execute(&mut requests);
    anyhow::ensure!(service.is_running(), "the service ended: {}", service.rest());
    made.context("an answer is not what the document says; the lines above have a `curl` for each")
}

/// Returns the program that makes requests, installed below the target folder where it is not yet.
fn tool(target: &Path) -> anyhow::Result<PathBuf> {
    let venv = target.join("http-fuzz").join(TOOL.replace("==", "-"));
    let tool = venv.join("bin").join("schemathesis");
    if available(Command::new(&tool).arg("--version")) {
        return Ok(tool);
    }
    anyhow::ensure!(
        available(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&venv)),
        "`python3 -m venv` does not work on this machine, so {TOOL} cannot be installed (Debian: `apt-get install python3-venv`)"
    );
    let mut pip = Command::new(venv.join("bin").join("python"));
    pip.args(["-m", "pip", "install", "--quiet", TOOL]).env("PIP_DISABLE_PIP_VERSION_CHECK", "1");
    execute(&mut pip).with_context(|| format!("`pip` cannot install {TOOL}: it needs the network once"))?;
    Ok(tool)
}

/// Puts the made-up sessions of `examples` where a client has its own.
fn sessions(root: &Path, home: &Path) -> anyhow::Result<()> {
    let mut folders = vec![(root.join("examples").join("claude-code"), home.join(".claude"))];
    while let Some((from, to)) = folders.pop() {
        fs::create_dir_all(&to).with_context(|| format!("creating `{}`", to.display()))?;
        for entry in fs::read_dir(&from).with_context(|| format!("listing `{}`", from.display()))? {
            let entry = entry?;
            let (path, copy) = (entry.path(), to.join(entry.file_name()));
            if path.is_dir() {
                folders.push((path, copy));
            } else {
                fs::copy(&path, &copy).with_context(|| format!("copying `{}`", path.display()))?;
            }
        }
    }
    Ok(())
}

/// Writes the document with names of what is there beside what it says of a name, and returns where: names that are only made up
/// would be found nowhere, and no operation would get further.
fn document(root: &Path, home: &Path) -> anyhow::Result<PathBuf> {
    let path = root.join("docs").join("reference").join("openapi.json");
    let text = fs::read_to_string(&path).with_context(|| format!("reading `{}`", path.display()))?;
    let mut document = serde_json::from_str(&text)?;
    name_known(&mut document);
    let path = home.join("openapi.json");
    let file = fs::File::create(&path).with_context(|| format!("creating `{}`", path.display()))?;
    serde_json::to_writer(file, &document)?;
    Ok(path)
}

/// Adds the known names to the schemas of fields and parameters.
fn name_known(value: &mut Value) {
    let known = |name: &str| KNOWN.iter().find(|(own, _)| *own == name).map(|(_, values)| *values);
    let add = |schema: &mut Value, values: &[&str]| {
        let is_text = schema["type"] == "string" || schema["type"] == json!(["string", "null"]);
        if is_text && schema.get("enum").is_none() {
            *schema = json!({ "anyOf": [{ "enum": values }, schema.take()] });
        }
    };
    match value {
        Value::Object(members) => {
            members.values_mut().for_each(name_known);
            let parameter = members.get("name").and_then(Value::as_str).and_then(known);
            if let (Some(values), Some(schema)) = (parameter, members.get_mut("schema")) {
                add(schema, values);
            }
            for (name, schema) in
                members.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten()
            {
                if let Some(values) = known(name) {
                    add(schema, values);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(name_known),
        _ => {}
    }
}

/// Returns a command of `stemma` that knows nothing of this machine but a home of its own.
fn stemma(program: &Path, home: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("HOME", home).current_dir(home).stdin(Stdio::null()).stdout(Stdio::null());
    command
}

/// A service that ends with the value.
struct Service {
    child: Child,
    said: BufReader<std::process::ChildStderr>,
    address: String,
}

impl Service {
    fn start(program: &Path, home: &Path) -> anyhow::Result<Self> {
        let mut command = stemma(program, home);
        command.args(["serve", "--listen", "127.0.0.1:0"]).stderr(Stdio::piped());
        let mut child = command.spawn().context("starting `stemma serve`")?;
        let said = BufReader::new(child.stderr.take().context("its output is read")?);
        let mut service = Self { child, said, address: String::new() };
        while service.address.is_empty() {
            let mut line = String::new();
            anyhow::ensure!(
                service.said.read_line(&mut line)? > 0,
                "`stemma serve` ended before it answered"
            );
            if let Some(address) = line.trim().strip_prefix("Answering on http") {
                service.address = format!("http{address}");
            }
        }
        say(&format!("{} answers", service.address));
        Ok(service)
    }

    fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Returns what it said before it ended.
    fn rest(&mut self) -> String {
        let mut rest = String::new();
        while self.said.read_line(&mut rest).is_ok_and(|length| length > 0) {}
        rest
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _ended = self.child.wait();
    }
}
