//! The tools: a shell in the work folder, and three for files that stay below it.
//!
//! The folder confines the file tools. It confines the shell only as far as the machine does: run the agent in a container if
//! you do not trust its model, nor the files that it reads.

use std::fs;
use std::io::{PipeReader, Read as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use stemmata_llm::{Tool, ToolCall};

/// How long a command may take.
const TIME_MAX: Duration = Duration::from_secs(60);
/// Bytes of a command's output or of a file that are read.
const BYTES_MAX: usize = 1 << 20;

/// What a tool returned, or why it failed: the model reads both.
pub type Output = std::result::Result<String, String>;

pub struct Tools {
    root: PathBuf,
    hidden: Option<String>,
}

impl Tools {
    /// `root` is the work folder, without symbolic links. `hidden` is the environment variable that commands do not get: what a
    /// command prints is stored and sent to the provider, so the API key must not be in reach of `env`.
    pub const fn new(root: PathBuf, hidden: Option<String>) -> Self {
        Self { root, hidden }
    }

    /// What the model is told.
    pub fn described() -> Vec<Tool> {
        let tool = |name: &str, description: &str, fields: &[(&str, &str)]| {
            let properties: serde_json::Map<String, Value> = fields
                .iter()
                .map(|(field, says)| ((*field).to_owned(), json!({"type": "string", "description": says})))
                .collect();
            let required: Vec<&str> = fields.iter().map(|(field, _)| *field).collect();
            Tool {
                name: name.to_owned(),
                description: description.to_owned(),
                parameters: json!({"type": "object", "properties": properties, "required": required}),
            }
        };
        let path = ("path", "A path below the work folder.");
        vec![
            tool("shell", "Runs a command with `sh -c` in the work folder.", &[("command", "The command.")]),
            tool("read_file", "Returns a file.", &[path]),
            tool("write_file", "Writes a file, and makes its folders.", &[path, ("text", "All of it.")]),
            tool(
                "edit_file",
                "Replaces a text that stands in a file once.",
                &[path, ("old", "The text."), ("new", "What replaces it.")],
            ),
        ]
    }

    /// Runs a call. Whatever the model wrote into it, the answer is an output.
    pub fn run(&self, call: &ToolCall) -> Output {
        let arguments: Value = serde_json::from_str(&call.arguments)
            .map_err(|error| format!("the arguments are not JSON: {error}"))?;
        let text = |name: &str| {
            let text = arguments.get(name).and_then(Value::as_str);
            text.ok_or_else(|| format!("`{}` needs a text `{name}`", call.name))
        };
        match call.name.as_str() {
            "shell" => self.shell(text("command")?),
            "read_file" => read(&self.below(text("path")?)?),
            "write_file" => write(&self.below(text("path")?)?, text("text")?),
            "edit_file" => edit(&self.below(text("path")?)?, text("old")?, text("new")?),
            other => Err(format!("there is no tool `{other}`")),
        }
    }

    /// Finds a path below the work folder. The nearest folder that exists must be below it too, whatever links there are.
    fn below(&self, path: &str) -> std::result::Result<PathBuf, String> {
        let relative = Path::new(path).strip_prefix(&self.root).unwrap_or(Path::new(path));
        let outside = || format!("`{path}` is outside the work folder");
        if !relative.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
            return Err(outside());
        }
        let wanted = self.root.join(relative);
        // A link that leads nowhere does not exist, and writing would follow it.
        let there = wanted.ancestors().find(|folder| folder.symlink_metadata().is_ok());
        let there = there.and_then(|folder| folder.canonicalize().ok());
        if there.is_some_and(|folder| folder.starts_with(&self.root)) { Ok(wanted) } else { Err(outside()) }
    }

    fn shell(&self, command: &str) -> Output {
        let failed = |error: std::io::Error| format!("the shell could not be started: {error}");
        let (reader, writer) = std::io::pipe().map_err(failed)?;
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).current_dir(&self.root).stdin(Stdio::null());
        if let Some(name) = &self.hidden {
            shell.env_remove(name);
        }
        // A group of its own, so that what it started ends with it.
        shell.process_group(0).stdout(writer.try_clone().map_err(failed)?).stderr(writer);
        let mut child = shell.spawn().map_err(failed)?;
        // The command holds the pipe's other end now; this copy would keep the pipe from ending.
        drop(shell);
        let group = format!("-{}", child.id());
        let (send, receive) = mpsc::channel();
        thread::spawn(move || send.send((read_bounded(reader), child.wait())));
        let done = receive.recv_timeout(TIME_MAX);
        let is_late = done.is_err();
        if is_late {
            // If the group is gone already, there is nothing to end.
            drop(Command::new("kill").args(["-9", "--", &group]).stderr(Stdio::null()).status());
        }
        let done = done.or_else(|_| receive.recv_timeout(TIME_MAX));
        let (output, status) = done.map_err(|_| "the command does not end".to_owned())?;
        let output = String::from_utf8_lossy(&output).into_owned();
        match status.map_err(|error| error.to_string())?.code() {
            _ if is_late => Err(format!("{output}\n[ended after {} seconds]", TIME_MAX.as_secs())),
            Some(0) => Ok(output),
            Some(code) => Err(format!("{output}\n[exit code {code}]")),
            None => Err(format!("{output}\n[ended by a signal]")),
        }
    }
}

/// Reads to the end, and keeps the beginning: a command that nobody reads from would wait for ever.
fn read_bounded(mut pipe: PipeReader) -> Vec<u8> {
    let mut kept = Vec::new();
    let mut chunk = [0; 8 << 10];
    while let Ok(count @ 1..) = pipe.read(&mut chunk) {
        let free = BYTES_MAX.saturating_sub(kept.len());
        kept.extend_from_slice(&chunk[..count.min(free)]);
    }
    kept
}

fn read(path: &Path) -> Output {
    let failed = |error: std::io::Error| error.to_string();
    let mut bytes = Vec::new();
    let limit = u64::try_from(BYTES_MAX).unwrap_or(u64::MAX);
    fs::File::open(path).map_err(failed)?.take(limit).read_to_end(&mut bytes).map_err(failed)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn write(path: &Path, text: &str) -> Output {
    let failed = |error: std::io::Error| error.to_string();
    path.parent().map_or(Ok(()), fs::create_dir_all).map_err(failed)?;
    fs::write(path, text).map_err(failed)?;
    Ok(format!("wrote {} bytes", text.len()))
}

fn edit(path: &Path, old: &str, new: &str) -> Output {
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    match text.matches(old).count() {
        1 => write(path, &text.replacen(old, new, 1)),
        count => Err(format!("the old text stands in the file {count} times; it must be there once")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tools() -> (tempfile::TempDir, Tools) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("work");
        fs::create_dir(&root).unwrap();
        fs::write(folder.path().join("secret"), "s").unwrap();
        (folder, Tools::new(root, None))
    }

    fn run(tools: &Tools, name: &str, arguments: Value) -> Output {
        tools.run(&ToolCall { id: "1".to_owned(), name: name.to_owned(), arguments: arguments.to_string() })
    }

    #[test]
    fn files_are_written_edited_and_read_below_the_folder() {
        let (_folder, tools) = tools();
        run(&tools, "write_file", json!({"path": "a/b.txt", "text": "one two"})).unwrap();
        run(&tools, "edit_file", json!({"path": "a/b.txt", "old": "two", "new": "three"})).unwrap();
        assert_eq!(run(&tools, "read_file", json!({"path": "./a/b.txt"})).unwrap(), "one three");
        run(&tools, "edit_file", json!({"path": "a/b.txt", "old": "e", "new": ""})).unwrap_err();
        let whole = tools.root.join("a/b.txt");
        run(&tools, "read_file", json!({"path": whole})).unwrap();
    }

    #[test]
    fn no_path_and_no_link_leads_out_of_the_folder() {
        let (folder, tools) = tools();
        let link = |to: &str, name: &str| std::os::unix::fs::symlink(to, tools.root.join(name)).unwrap();
        link("..", "up");
        link("../secret", "file");
        link("../absent", "dangling");
        for path in ["../secret", "/etc/passwd", "a/../../secret", "up/secret", "file", "up/new", "dangling"]
        {
            for (name, arguments) in
                [("read_file", json!({"path": path})), ("write_file", json!({"path": path, "text": ""}))]
            {
                let refused = run(&tools, name, arguments).unwrap_err();
                assert!(refused.contains("outside the work folder"), "{name} {path}: {refused}");
            }
        }
        assert_eq!(fs::read_to_string(folder.path().join("secret")).unwrap(), "s");
    }

    #[test]
    fn a_command_returns_what_it_printed_or_why_it_failed() {
        let (_folder, tools) = tools();
        assert_eq!(run(&tools, "shell", json!({"command": "echo a; echo b >&2"})).unwrap(), "a\nb\n");
        assert!(
            run(&tools, "shell", json!({"command": "echo a; exit 3"})).unwrap_err().contains("[exit code 3]")
        );
        let long = run(&tools, "shell", json!({"command": "head -c 3000000 /dev/zero"})).unwrap();
        assert_eq!(long.len(), BYTES_MAX);
        for (name, arguments) in
            [("shell", json!({})), ("nothing", json!({})), ("read_file", json!({"path": "."}))]
        {
            run(&tools, name, arguments).unwrap_err();
        }
    }
}
