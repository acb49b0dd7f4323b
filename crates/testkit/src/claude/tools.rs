//! Made-up tool calls with their answers, in the shapes of the client's own tools.
//! Not run anywhere.

use crate::json::Object;
use crate::rng::Rng;
use crate::text::{self, Language, SourceFile};

/// A call and its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// The tool's name.
    pub name: &'static str,
    /// JSON of the input.
    pub input: String,
    /// What the model sees of the answer.
    pub content: String,
    /// JSON of the structured answer.
    pub structured: String,
    /// Whether the tool failed.
    pub is_error: bool,
}

/// A made-up project that tools work on.
#[derive(Debug, Clone)]
pub struct Toolbox {
    rng: Rng,
    root: String,
    language: Language,
    /// The files that were read or written last, which edits and second reads come back to.
    files: Vec<SourceFile>,
}

/// How many files a made-up project remembers: its memory must not grow with the session.
const FILES_MAX: usize = 12;

impl Toolbox {
    /// Starts a project in a directory.
    pub fn new(mut rng: Rng, root: &str) -> Self {
        let language = Language::draw(&mut rng);
        Self { rng, root: root.to_owned(), language, files: Vec::new() }
    }

    /// Draws a call; calls of one round do not depend on each other.
    pub fn call(&mut self) -> ToolCall {
        match self.rng.range(0, 99) {
            0..=33 => self.bash(),
            34..=57 => self.read(),
            58..=77 => self.edit(),
            78..=86 => self.grep(),
            87..=91 => self.glob(),
            92..=94 => self.write(),
            95 => self.todo(),
            96..=97 => self.task(),
            98 => self.task_output(),
            _ => self.fetch(),
        }
    }

    /// Draws a shell command and its output.
    pub fn bash(&mut self) -> ToolCall {
        let command = text::command(&mut self.rng, self.language);
        let output = text::command_output(&mut self.rng, &command, self.language);
        let purpose = text::expand(&mut self.rng, "‹check|cap›");
        let input = Object::new().text("command", &command);
        let input = if self.rng.chance(85) { input.text("description", &purpose) } else { input };
        let input = if self.rng.chance(30) {
            input.number("timeout", 1000 * self.rng.range(1, 10) * 30)
        } else {
            input
        };
        let failed = self.rng.chance(12);
        if failed {
            let content = format!("Exit code 1\n{output}");
            let structured = crate::json::string(&format!("Error: {content}"));
            return ToolCall { name: "Bash", input: input.finish(), content, structured, is_error: true };
        }
        let structured = Object::new().text("stdout", &output).text("stderr", "");
        let structured = structured.flag("interrupted", false).flag("isImage", false);
        ToolCall {
            name: "Bash",
            input: input.finish(),
            content: output,
            structured: structured.flag("noOutputExpected", false).finish(),
            is_error: false,
        }
    }

    fn read(&mut self) -> ToolCall {
        let file = self.file();
        let path = format!("{}/{}", self.root, file.path);
        let total = file.text.lines().count();
        let start = if self.rng.chance(35) { self.rng.index(total) } else { 0 };
        let input = Object::new().text("file_path", &path);
        let input = if start > 0 {
            input.number("offset", count(start + 1)).number("limit", count(total))
        } else {
            input
        };
        let part: Vec<&str> = file.text.lines().skip(start).collect();
        let body = Object::new()
            .text("filePath", &path)
            .text("content", &part.join("\n"))
            .number("numLines", count(part.len()))
            .number("startLine", count(start + 1))
            .number("totalLines", count(total));
        ToolCall {
            name: "Read",
            input: input.finish(),
            content: numbered(&part, start + 1),
            structured: Object::new().text("type", "text").object("file", body).finish(),
            is_error: false,
        }
    }

    fn edit(&mut self) -> ToolCall {
        let file = self.file();
        let path = format!("{}/{}", self.root, file.path);
        let (old, new) = text::edit(&mut self.rng, &file);
        let input = Object::new()
            .flag("replace_all", false)
            .text("file_path", &path)
            .text("old_string", &old)
            .text("new_string", &new);
        let start = file.text.find(&old).map_or(1, |offset| file.text[..offset].lines().count() + 1);
        let new_lines: Vec<&str> = new.lines().collect();
        let content = format!("Edited {path}. The passage is now:\n{}", numbered(&new_lines, start));
        let structured = Object::new()
            .text("filePath", &path)
            .text("oldString", &old)
            .text("newString", &new)
            .text("originalFile", &file.text)
            .list("structuredPatch", &[hunk(&old, &new, start)])
            .flag("userModified", false)
            .flag("replaceAll", false);
        self.remember(SourceFile { text: file.text.replacen(&old, &new, 1), ..file });
        ToolCall {
            name: "Edit",
            input: input.finish(),
            content,
            structured: structured.finish(),
            is_error: false,
        }
    }

    fn write(&mut self) -> ToolCall {
        let lines = 12 + self.rng.index(50);
        let file = text::source_file(&mut self.rng, self.language, lines);
        let path = format!("{}/{}", self.root, file.path);
        let input = Object::new().text("file_path", &path).text("content", &file.text);
        let structured = Object::new().text("type", "create").text("filePath", &path);
        let structured =
            structured.text("content", &file.text).raw("structuredPatch", "[]").null("originalFile");
        self.remember(file);
        ToolCall {
            name: "Write",
            input: input.finish(),
            content: format!("Created {path}."),
            structured: structured.finish(),
            is_error: false,
        }
    }

    fn grep(&mut self) -> ToolCall {
        let pattern = text::expand(&mut self.rng, "‹verb›‹noun|pascal›");
        let content = text::command_output(&mut self.rng, "grep", self.language);
        let path = text::expand(&mut self.rng, "‹path›");
        let path = format!("{}/{path}", self.root);
        let input = Object::new().text("pattern", &pattern).text("path", &path);
        let input = input.text("output_mode", "content");
        let input = match self.rng.range(0, 3) {
            0 => input,
            1 => input.number("-A", self.rng.range(2, 30)),
            2 => input.flag("-n", true).number("-C", self.rng.range(2, 9)),
            _ => input.flag("-n", true),
        };
        let structured = Object::new().text("mode", "content").number("numFiles", 0);
        let structured = structured.raw("filenames", "[]").text("content", &content);
        let lines = count(content.lines().count());
        ToolCall {
            name: "Grep",
            input: input.finish(),
            content,
            structured: structured.number("numLines", lines).finish(),
            is_error: false,
        }
    }

    fn glob(&mut self) -> ToolCall {
        let pattern = text::expand(&mut self.rng, "‹dir›/**/*.‹ext›");
        let names: Vec<String> = (0..self.rng.range(1, 12))
            .map(|_| format!("{}/{}", self.root, text::expand(&mut self.rng, "‹path›")))
            .collect();
        let structured = Object::new()
            .texts("filenames", &names)
            .number("durationMs", self.rng.range(3, 400))
            .number("numFiles", count(names.len()))
            .flag("truncated", false);
        ToolCall {
            name: "Glob",
            input: Object::new().text("pattern", &pattern).finish(),
            content: names.join("\n"),
            structured: structured.finish(),
            is_error: false,
        }
    }

    fn todo(&mut self) -> ToolCall {
        let todos: Vec<String> = ["completed", "in_progress", "pending", "pending"]
            .iter()
            .map(|status| {
                let step = text::expand(&mut self.rng, "‹step›");
                let doing = text::expand(&mut self.rng, "‹doing|cap› ‹thing›");
                let todo = Object::new().text("content", &step).text("status", status);
                todo.text("activeForm", &doing).finish()
            })
            .collect();
        let structured = Object::new().raw("oldTodos", "[]").list("newTodos", &todos);
        ToolCall {
            name: "TodoWrite",
            input: Object::new().list("todos", &todos).finish(),
            content: "The list of tasks was updated.".to_owned(),
            structured: structured.finish(),
            is_error: false,
        }
    }

    fn task(&mut self) -> ToolCall {
        let id = self.rng.range(1, 12).to_string();
        if self.rng.chance(50) {
            let subject = text::expand(&mut self.rng, "‹step›");
            let input = Object::new()
                .text("subject", &subject)
                .text("description", &text::paragraph(&mut self.rng, 2))
                .text("activeForm", &text::expand(&mut self.rng, "‹doing|cap› ‹thing›"));
            let task = Object::new().text("id", &id).text("subject", &subject);
            return ToolCall {
                name: "TaskCreate",
                input: input.finish(),
                content: format!("Task {id} was created: {subject}"),
                structured: Object::new().object("task", task).finish(),
                is_error: false,
            };
        }
        let (from, to) =
            if self.rng.chance(50) { ("pending", "in_progress") } else { ("in_progress", "completed") };
        let change = Object::new().text("from", from).text("to", to);
        let structured = Object::new()
            .flag("success", true)
            .text("taskId", &id)
            .texts("updatedFields", &["status"])
            .object("statusChange", change);
        ToolCall {
            name: "TaskUpdate",
            input: Object::new().text("taskId", &id).text("status", to).finish(),
            content: format!("Task {id} is {to}"),
            structured: structured.finish(),
            is_error: false,
        }
    }

    fn task_output(&mut self) -> ToolCall {
        let id = format!("b{}", self.rng.hex(6));
        let input = Object::new().text("task_id", &id).flag("block", true);
        let output = text::command_output(&mut self.rng, "test", self.language);
        let task = Object::new()
            .text("task_id", &id)
            .text("task_type", "local_bash")
            .text("status", "completed")
            .text("description", &text::expand(&mut self.rng, "‹check|cap›"))
            .text("output", &output)
            .number("exitCode", 0);
        let structured = Object::new().text("retrieval_status", "success");
        ToolCall {
            name: "TaskOutput",
            input: input.number("timeout", 120_000).finish(),
            content: output,
            structured: structured.object("task", task).finish(),
            is_error: false,
        }
    }

    fn fetch(&mut self) -> ToolCall {
        let url = text::expand(&mut self.rng, "https://docs.example.com/‹noun|kebab›/‹noun|kebab›.html");
        let question = text::expand(&mut self.rng, "How is ‹thing› ‹done›?");
        let answer = text::answer(&mut self.rng);
        let input = Object::new().text("url", &url).text("prompt", &question);
        let structured = Object::new()
            .number("bytes", self.rng.range(2000, 300_000))
            .number("code", 200)
            .text("codeText", "OK")
            .text("result", &answer)
            .number("durationMs", self.rng.range(400, 9000))
            .text("url", &url);
        ToolCall {
            name: "WebFetch",
            input: input.finish(),
            content: answer,
            structured: structured.finish(),
            is_error: false,
        }
    }

    fn file(&mut self) -> SourceFile {
        if !self.files.is_empty() && self.rng.chance(60) {
            let index = self.rng.index(self.files.len());
            return self.files[index].clone();
        }
        let language = if self.rng.chance(75) { self.language } else { Language::draw(&mut self.rng) };
        let lines = match self.rng.range(0, 9) {
            0..=5 => 8 + self.rng.index(40),
            6..=8 => 40 + self.rng.index(120),
            _ => 150 + self.rng.index(300),
        };
        let file = text::source_file(&mut self.rng, language, lines);
        self.remember(file.clone());
        file
    }

    fn remember(&mut self, file: SourceFile) {
        self.files.retain(|known| known.path != file.path);
        if self.files.len() == FILES_MAX {
            self.files.remove(0);
        }
        self.files.push(file);
    }
}

/// Numbers lines as the client's Read tool prints them.
fn numbered(lines: &[&str], first: usize) -> String {
    lines
        .iter()
        .enumerate()
        .map(|(index, line)| format!("{:>6}→{line}", first + index))
        .collect::<Vec<_>>()
        .join("\n")
}

fn hunk(old: &str, new: &str, start: usize) -> String {
    let removed = old.lines().map(|line| format!("-{line}"));
    let added = new.lines().map(|line| format!("+{line}"));
    let lines: Vec<String> = removed.chain(added).collect();
    Object::new()
        .number("oldStart", count(start))
        .number("oldLines", count(old.lines().count()))
        .number("newStart", count(start))
        .number("newLines", count(new.lines().count()))
        .texts("lines", &lines)
        .finish()
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
