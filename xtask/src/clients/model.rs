//! A scripted model on loopback, behind the interfaces that coding clients speak: it answers by rule and remembers
//! every request. Not a model: what a coding client needs to talk, call tools and summarise.

mod http;
mod wires;

use std::io::{BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Context as _;
use serde_json::{Value, json};

use super::talk::Item;
use http::{Reply, Request};
use wires::{Answer, Wire};

/// What stands in a prompt to have the model call a tool: `[[call NAME {json}]]`, several for parallel calls.
const CALL_MARK: &str = "[[call ";

/// What the scripted summary says; nothing else here says it.
pub(crate) const SUMMARY: &str = "MADE-UP SUMMARY of what was said";

/// A request and what was answered.
#[derive(Debug, Clone)]
pub(crate) struct Exchange {
    /// What the request's messages say.
    pub(crate) said: Vec<Item>,
    /// What was answered.
    pub(crate) answered: Vec<Item>,
    /// Whether it offered tools: the conversation itself does, chores like titles do not.
    pub(crate) offers_tools: bool,
}

impl Exchange {
    /// Returns the conversation with the answer.
    pub(crate) fn all(&self) -> Vec<Item> {
        self.said.iter().chain(&self.answered).cloned().collect()
    }
}

/// The running model.
#[derive(Debug, Clone)]
pub(crate) struct Model {
    exchanges: Arc<Mutex<Vec<Exchange>>>,
    folder: PathBuf,
    port: u16,
}

impl Model {
    /// Starts listening on a free port; it ends with the process. Requests are written to a folder.
    ///
    /// # Errors
    /// When no port can be opened.
    pub(crate) fn start(folder: PathBuf) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").context("opening a port on loopback")?;
        let port = listener.local_addr().context("asking for the port")?.port();
        let model = Self { exchanges: Arc::default(), folder, port };
        let serving = model.clone();
        std::thread::Builder::new().name("model".to_owned()).spawn(move || serving.accept(&listener))?;
        Ok(model)
    }

    /// Returns the address for clients.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Returns how many requests there were.
    pub(crate) fn count(&self) -> usize {
        self.lock().len()
    }

    /// Returns the requests of the conversation since a count, oldest first.
    pub(crate) fn since(&self, count: usize) -> Vec<Exchange> {
        let exchanges = self.lock();
        exchanges.iter().skip(count).filter(|exchange| exchange.offers_tools).cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Exchange>> {
        // What a thread that failed left behind is still a list of whole exchanges.
        self.exchanges.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn accept(&self, listener: &TcpListener) {
        for stream in listener.incoming().flatten() {
            let model = self.clone();
            let serve = move || drop(model.serve(&stream));
            if std::thread::Builder::new().name("model request".to_owned()).spawn(serve).is_err() {
                return;
            }
        }
    }

    /// Answers the requests of one connection. A client that breaks it off is no failure of the model.
    fn serve(&self, stream: &TcpStream) -> anyhow::Result<()> {
        let mut reader = BufReader::new(stream);
        while let Some(request) = Request::read(&mut reader)? {
            let reply = match Wire::of(&request.path).filter(|_| request.method == "POST") {
                Some(wire) => self.exchange(wire, &request.body)?,
                None if request.path.ends_with("count_tokens") => {
                    Reply::Whole(json!({ "input_tokens": 100 }))
                }
                None if request.path.ends_with(":countTokens") => Reply::Whole(json!({ "totalTokens": 100 })),
                None => Reply::Whole(json!({})),
            };
            if reply.send(stream)? {
                break;
            }
        }
        Ok(())
    }

    fn exchange(&self, wire: Wire, body: &[u8]) -> anyhow::Result<Reply> {
        let request: Value = serde_json::from_slice(body).context("reading a request")?;
        let said = wire.said(&request);
        let answer = {
            let mut exchanges = self.lock();
            let answer = answer(&said, exchanges.len());
            let answered = Wire::answered(&answer);
            let offers_tools = request["tools"].as_array().is_some_and(|tools| !tools.is_empty());
            exchanges.push(Exchange { said, answered, offers_tools });
            answer
        };
        let path = self.folder.join(format!("{:03}.json", answer.number));
        write_file(&path, &serde_json::to_vec_pretty(&request)?)?;
        Ok(wire.reply(&request, &answer))
    }
}

/// Decides what to answer: the calls that the last prompt asks for, a summary, or a plain answer.
fn answer(said: &[Item], number: usize) -> Answer {
    let is_models = |item: &Item| match item {
        Item::Text { role, .. } => role == "assistant",
        Item::Call { .. } => true,
        Item::Result { .. } => false,
    };
    let last = said.rsplit(is_models).next().unwrap_or_default();
    let has_result = last.iter().any(|item| matches!(item, Item::Result { .. }));
    let texts = last.iter().filter_map(|item| match item {
        Item::Text { text, .. } => Some(text.as_str()),
        Item::Call { .. } | Item::Result { .. } => None,
    });
    let text = texts.collect::<Vec<_>>().join("\n");
    let calls = if has_result { Vec::new() } else { asked_calls(&text) };
    let text = match () {
        () if !calls.is_empty() => format!("calling, number {number}"),
        () if text.contains("summary of the conversation") => {
            format!("<summary>{SUMMARY}, number {number}</summary>")
        }
        () => format!("answer number {number}"),
    };
    Answer { number, text, calls }
}

fn asked_calls(text: &str) -> Vec<(String, Value)> {
    let calls = text.split(CALL_MARK).skip(1).filter_map(|rest| {
        let (name, rest) = rest.split_once(' ')?;
        let (input, _) = rest.split_once("]]")?;
        // One of the clients sends a prompt of several words as a quoted string.
        let plain = || serde_json::from_str(&input.replace("\\\"", "\"")).ok();
        Some((name.to_owned(), serde_json::from_str(input).ok().or_else(plain)?))
    });
    calls.collect()
}

/// Writes a file that nobody reads before it is whole: the folder is this run's own.
fn write_file(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    std::fs::File::create(path)
        .and_then(|mut file| file.write_all(bytes))
        .with_context(|| format!("writing {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(content: &Value) -> Vec<Item> {
        Wire::Messages.said(&json!({ "messages": [{ "role": "user", "content": "before" },
            { "role": "assistant", "content": "[[call Bash {}]]" }, { "role": "user", "content": content }] }))
    }

    #[test]
    fn prompts_script_the_answers() {
        let asked =
            answer(&said(&json!("go [[call Bash {\"command\":\"ls\"}]] [[call Read {\"a\":[1]}]]")), 7);
        let names: Vec<&str> = asked.calls.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["Bash", "Read"]);
        assert_eq!(asked.calls[1].1, json!({ "a": [1] }));
        let back = json!([{ "type": "tool_result", "tool_use_id": "t", "content": "x" },
            { "type": "text", "text": "[[call Bash {}]]" }]);
        let answered = answer(&said(&back), 8);
        assert_eq!((answered.text.as_str(), answered.calls.len()), ("answer number 8", 0));
        let summary = answer(&said(&json!("write a detailed summary of the conversation so far")), 9);
        assert!(summary.text.contains(SUMMARY));
    }
}
