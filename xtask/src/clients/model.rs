//! A scripted model behind the Messages API on loopback: it answers by rule and remembers every request.
//! Not a model, and not the whole API: what a coding client needs to talk, call tools and summarise.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Context as _;
use serde_json::{Value, json};

use super::talk::{Item, items, message_items};

/// Bytes of a request that are read: more than any context window holds.
const BODY_BYTES_MAX: u64 = 64 << 20;

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
            let path = request.path.split('?').next().unwrap_or_default();
            let is_last = match (&*request.method, path) {
                ("POST", "/v1/messages/count_tokens") => respond(stream, &json!({ "input_tokens": 100 }))?,
                ("POST", "/v1/messages") => self.messages(stream, &request.body)?,
                _ => respond(stream, &json!({}))?,
            };
            if is_last {
                break;
            }
        }
        Ok(())
    }

    fn messages(&self, stream: &TcpStream, body: &[u8]) -> anyhow::Result<bool> {
        let request: Value = serde_json::from_slice(body).context("reading a request")?;
        let number = self.count();
        let content = answer(&request, number);
        let calls = content.iter().any(|block| block["type"] == "tool_use");
        let exchange = Exchange {
            said: items(&request["messages"]),
            answered: message_items("assistant", &Value::from(content.clone())),
            offers_tools: request["tools"].as_array().is_some_and(|tools| !tools.is_empty()),
        };
        self.lock().push(exchange);
        write_file(&self.folder.join(format!("{number:03}.json")), &serde_json::to_vec_pretty(&request)?)?;
        let message = json!({ "id": format!("msg_{number:024}"), "type": "message", "role": "assistant",
            "model": request["model"], "content": [], "stop_reason": null, "stop_sequence": null,
            "usage": { "input_tokens": 1000, "output_tokens": 1 } });
        let stop = if calls { "tool_use" } else { "end_turn" };
        if request["stream"] == true {
            return stream_message(stream, &message, &content, stop);
        }
        let mut whole = message;
        whole["content"] = Value::from(content);
        whole["stop_reason"] = Value::from(stop);
        respond(stream, &whole)
    }
}

/// Decides what to answer: the calls that the last prompt asks for, a summary, or a plain answer.
fn answer(request: &Value, number: usize) -> Vec<Value> {
    let last = request["messages"].as_array().and_then(|messages| messages.last());
    let said = last.map_or_else(Vec::new, |last| message_items("user", &last["content"]));
    let returned = said.iter().any(|item| matches!(item, Item::Result { .. }));
    let texts = said.iter().filter_map(|item| match item {
        Item::Text { text, .. } => Some(text.as_str()),
        Item::Call { .. } | Item::Result { .. } => None,
    });
    let text = texts.collect::<Vec<_>>().join("\n");
    let calls = asked_calls(&text);
    if !calls.is_empty() && !returned {
        let blocks = calls.into_iter().enumerate().map(|(index, (name, input))| {
            json!({ "type": "tool_use", "id": format!("toolu_{number:020}{index:04}"), "name": name, "input": input })
        });
        return [json!({ "type": "text", "text": format!("calling, number {number}") })]
            .into_iter()
            .chain(blocks)
            .collect();
    }
    let text = if text.contains("summary of the conversation") {
        format!("<summary>{SUMMARY}, number {number}</summary>")
    } else {
        format!("answer number {number}")
    };
    vec![json!({ "type": "text", "text": text })]
}

fn asked_calls(text: &str) -> Vec<(String, Value)> {
    let calls = text.split(CALL_MARK).skip(1).filter_map(|rest| {
        let (name, rest) = rest.split_once(' ')?;
        let (input, _) = rest.split_once("]]")?;
        Some((name.to_owned(), serde_json::from_str(input).ok()?))
    });
    calls.collect()
}

/// One request of the wire.
struct Request {
    method: String,
    path: String,
    body: Vec<u8>,
}

impl Request {
    /// Reads the next request; none when the connection ends.
    fn read(reader: &mut BufReader<&TcpStream>) -> anyhow::Result<Option<Self>> {
        let mut start = String::new();
        if reader.read_line(&mut start)? == 0 {
            return Ok(None);
        }
        let mut words = start.split_whitespace();
        let mut word = || words.next().unwrap_or_default().to_owned();
        let (method, path) = (word(), word());
        let (mut length, mut chunked) = (0, false);
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            let Some((name, value)) = line.trim().split_once(':') else {
                break;
            };
            match &*name.to_ascii_lowercase() {
                "content-length" => length = value.trim().parse().context("reading a content length")?,
                "transfer-encoding" => chunked = value.contains("chunked"),
                _ => {}
            }
        }
        let body = if chunked { read_chunks(reader)? } else { read_bytes(reader, length)? };
        Ok(Some(Self { method, path, body }))
    }
}

fn read_bytes(reader: &mut BufReader<&TcpStream>, length: u64) -> anyhow::Result<Vec<u8>> {
    anyhow::ensure!(length <= BODY_BYTES_MAX, "a request of {length} bytes");
    let mut body = Vec::new();
    reader.take(length).read_to_end(&mut body)?;
    Ok(body)
}

fn read_chunks(reader: &mut BufReader<&TcpStream>) -> anyhow::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut size = String::new();
        reader.read_line(&mut size)?;
        let size = u64::from_str_radix(size.trim(), 16).context("reading the size of a chunk")?;
        anyhow::ensure!(body.len() as u64 <= BODY_BYTES_MAX, "a request beyond {BODY_BYTES_MAX} bytes");
        body.extend(read_bytes(reader, size)?);
        let mut end = String::new();
        reader.read_line(&mut end)?;
        if size == 0 {
            return Ok(body);
        }
    }
}

/// Sends one JSON value; the connection may go on.
fn respond(mut stream: &TcpStream, value: &Value) -> anyhow::Result<bool> {
    let body = value.to_string();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes())?;
    Ok(false)
}

/// Sends a message as events, each block in one delta; the connection ends with it.
fn stream_message(
    mut stream: &TcpStream,
    message: &Value,
    content: &[Value],
    stop: &str,
) -> anyhow::Result<bool> {
    let mut events = vec![json!({ "type": "message_start", "message": message })];
    for (index, block) in content.iter().enumerate() {
        let (start, delta) = match block["type"].as_str() {
            Some("tool_use") => (
                json!({ "type": "tool_use", "id": block["id"], "name": block["name"], "input": {} }),
                json!({ "type": "input_json_delta", "partial_json": block["input"].to_string() }),
            ),
            _ => (
                json!({ "type": "text", "text": "" }),
                json!({ "type": "text_delta", "text": block["text"] }),
            ),
        };
        events.push(json!({ "type": "content_block_start", "index": index, "content_block": start }));
        events.push(json!({ "type": "content_block_delta", "index": index, "delta": delta }));
        events.push(json!({ "type": "content_block_stop", "index": index }));
    }
    events.push(json!({ "type": "message_delta", "delta": { "stop_reason": stop, "stop_sequence": null },
        "usage": { "output_tokens": 20 } }));
    events.push(json!({ "type": "message_stop" }));
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")?;
    for event in events {
        let name = event["type"].as_str().unwrap_or_default().to_owned();
        stream.write_all(format!("event: {name}\ndata: {event}\n\n").as_bytes())?;
    }
    stream.flush()?;
    Ok(true)
}

/// Writes a file that nobody reads before it is whole: the folder is this run's own.
fn write_file(path: &std::path::Path, bytes: &[u8]) -> anyhow::Result<()> {
    std::fs::File::create(path)
        .and_then(|mut file| file.write_all(bytes))
        .with_context(|| format!("writing {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(content: &Value) -> Value {
        json!({ "messages": [{ "role": "user", "content": content }] })
    }

    #[test]
    fn prompts_script_the_answers() {
        let calls =
            answer(&request(&json!("go [[call Bash {\"command\":\"ls\"}]] [[call Read {\"a\":[1]}]]")), 7);
        let names: Vec<&Value> = calls.iter().map(|block| &block["name"]).collect();
        assert_eq!(names, [&json!(null), &json!("Bash"), &json!("Read")]);
        assert_eq!(calls[2]["input"], json!({ "a": [1] }));
        let back = json!([{ "type": "tool_result", "tool_use_id": "t", "content": "x" },
            { "type": "text", "text": "[[call Bash {}]]" }]);
        assert_eq!(answer(&request(&back), 8)[0]["text"], "answer number 8");
        let summary = answer(&request(&json!("write a detailed summary of the conversation so far")), 9);
        assert!(summary[0]["text"].as_str().is_some_and(|text| text.contains(SUMMARY)));
    }
}
