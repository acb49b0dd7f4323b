//! A server on loopback that speaks HTTP as a model's provider does, and misbehaves on request. A test says what it answers;
//! afterwards it shows what it was asked.
//!
//! Every connection carries one request. Nothing here waits longer than `PATIENCE`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;

/// The longest wait for a client.
const PATIENCE: Duration = Duration::from_secs(30);
/// Bytes of a request's body.
const REQUEST_BYTES_MAX: u64 = 64 << 20;
/// Bytes of one line of a head, and lines of a head.
const HEAD_BYTES_MAX: u64 = 64 << 10;

/// What the server answers to one request.
#[derive(Debug, Clone)]
pub enum Answer {
    /// Status 200 and this JSON.
    Json(Value),
    /// A status, further header lines and a body.
    Status(u16, Vec<(String, String)>, String),
    /// Nothing, until the client goes away or the server stops.
    Silence,
    /// A head that promises more than follows.
    Cut,
    /// Status 200 and so many bytes of blanks.
    Blanks(u64),
    /// The connection is closed without a byte.
    Closed,
}

/// One request as it came.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The path.
    pub path: String,
    /// Header names in small letters, and values.
    pub headers: Vec<(String, String)>,
    /// The body; `Null` if it was no JSON.
    pub body: Value,
}

type Script = Box<dyn FnMut(&Asked) -> Answer + Send>;

/// The server. It stops when it is dropped.
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    script: Mutex<Script>,
    asked: Mutex<Vec<Asked>>,
    is_stopping: AtomicBool,
    /// Connections that wait in silence.
    silent: Mutex<Vec<TcpStream>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ModelServer {
    /// Starts a server that gives these answers, one a request; the last one again and again.
    ///
    /// # Panics
    /// Without an answer, and where loopback cannot be listened on.
    pub fn of(answers: Vec<Answer>) -> ModelServer {
        let mut answers = answers.into_iter();
        let mut last = answers.next().expect("a server has an answer");
        let mut is_first = true;
        ModelServer::start(move |_| {
            if !std::mem::take(&mut is_first)
                && let Some(next) = answers.next()
            {
                last = next;
            }
            last.clone()
        })
    }

    /// Starts a server that answers as a function says.
    ///
    /// # Panics
    /// Where loopback cannot be listened on.
    pub fn start(script: impl FnMut(&Asked) -> Answer + Send + 'static) -> ModelServer {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("loopback listens");
        let address = listener.local_addr().expect("a listener has an address");
        let shared = Arc::new(Shared {
            script: Mutex::new(Box::new(script)),
            asked: Mutex::default(),
            is_stopping: AtomicBool::new(false),
            silent: Mutex::default(),
        });
        let of_thread = Arc::clone(&shared);
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if of_thread.is_stopping.load(Ordering::SeqCst) {
                    break;
                }
                if let Ok(stream) = stream {
                    // A client that goes away in the middle is its own affair.
                    let _gone = of_thread.serve(stream);
                }
            }
        });
        ModelServer { address, shared, thread: Some(thread) }
    }

    /// Returns the address of the server, without a path.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns what was asked until now.
    pub fn asked(&self) -> Vec<Asked> {
        lock(&self.shared.asked).clone()
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.shared.is_stopping.store(true, Ordering::SeqCst);
        // Wakes the listener, which may already be gone.
        let _woken = TcpStream::connect_timeout(&self.address, PATIENCE);
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
    }
}

impl Shared {
    fn serve(&self, stream: TcpStream) -> std::io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let Some(asked) = read_request(&stream)? else { return Ok(()) };
        let answer = (lock(&self.script))(&asked);
        lock(&self.asked).push(asked);
        match answer {
            Answer::Json(value) => respond(&stream, 200, &[], value.to_string().as_bytes()),
            Answer::Status(status, headers, body) => respond(&stream, status, &headers, body.as_bytes()),
            Answer::Silence => {
                lock(&self.silent).push(stream);
                Ok(())
            }
            Answer::Cut => {
                (&stream).write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{\"choices\"")
            }
            Answer::Blanks(bytes) => {
                let head = format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {bytes}\r\n\r\n");
                (&stream).write_all(head.as_bytes())?;
                std::io::copy(&mut std::io::repeat(b' ').take(bytes), &mut &stream).map(|_| ())
            }
            Answer::Closed => Ok(()),
        }
    }
}

/// Reads a request; `None` if the connection brought none.
fn read_request(stream: &TcpStream) -> std::io::Result<Option<Asked>> {
    let mut reader = BufReader::new(stream);
    let line = |reader: &mut BufReader<&TcpStream>| {
        let mut line = String::new();
        reader.take(HEAD_BYTES_MAX).read_line(&mut line).map(|_| line.trim_end().to_owned())
    };
    let first = line(&mut reader)?;
    let Some(path) = first.split(' ').nth(1).map(str::to_owned) else { return Ok(None) };
    let mut headers = Vec::new();
    loop {
        let header = line(&mut reader)?;
        let Some((name, value)) = header.split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.and_then(|(_, value)| value.parse::<u64>().ok()).unwrap_or(0);
    let mut body = Vec::new();
    reader.take(length.min(REQUEST_BYTES_MAX)).read_to_end(&mut body)?;
    Ok(Some(Asked { path, headers, body: serde_json::from_slice(&body).unwrap_or_default() }))
}

fn respond(
    mut stream: &TcpStream,
    status: u16,
    headers: &[(String, String)],
    body: &[u8],
) -> std::io::Result<()> {
    let mut head = format!("HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        head.extend([name, ": ", value, "\r\n"]);
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)
}
