//! As much of HTTP as a client on loopback needs: requests are read whole, answers go out whole or as events.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;

use anyhow::Context as _;
use serde_json::Value;

/// Bytes of a request that are read: more than any context window holds.
const BODY_BYTES_MAX: u64 = 64 << 20;

/// One request of the wire.
pub(super) struct Request {
    pub(super) method: String,
    /// Without what follows a question mark.
    pub(super) path: String,
    pub(super) body: Vec<u8>,
}

impl Request {
    /// Reads the next request; none when the connection ends.
    pub(super) fn read(reader: &mut BufReader<&TcpStream>) -> anyhow::Result<Option<Self>> {
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
        let path = path.split('?').next().unwrap_or_default().to_owned();
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

/// What is sent back.
pub(super) enum Reply {
    /// One JSON value; the connection may go on.
    Whole(Value),
    /// Events, each with a name where the wire has names; the connection ends with them.
    Events(Vec<(Option<String>, String)>),
}

impl Reply {
    /// Makes events whose names stand in their own `type`.
    pub(super) fn typed_events(events: impl IntoIterator<Item = Value>) -> Self {
        let named = |event: Value| (event["type"].as_str().map(str::to_owned), event.to_string());
        Self::Events(events.into_iter().map(named).collect())
    }

    /// Sends it, and returns whether the connection ends.
    pub(super) fn send(self, mut stream: &TcpStream) -> anyhow::Result<bool> {
        match self {
            Self::Whole(value) => {
                let body = value.to_string();
                let kind = "content-type: application/json";
                let head = format!("HTTP/1.1 200 OK\r\n{kind}\r\ncontent-length: {}\r\n\r\n", body.len());
                stream.write_all(format!("{head}{body}").as_bytes())?;
                Ok(false)
            }
            Self::Events(events) => {
                let kind = "content-type: text/event-stream";
                stream.write_all(
                    format!("HTTP/1.1 200 OK\r\n{kind}\r\nconnection: close\r\n\r\n").as_bytes(),
                )?;
                for (name, data) in events {
                    let name = name.map_or_else(String::new, |name| format!("event: {name}\n"));
                    stream.write_all(format!("{name}data: {data}\n\n").as_bytes())?;
                }
                stream.flush()?;
                Ok(true)
            }
        }
    }
}
