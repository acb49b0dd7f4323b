//! Requests out, answers in: the one place where a connection is used.

use std::fmt::Write as _;
use std::io::{self, BufRead as _, Read, Write};
use std::ops::ControlFlow;
use std::time::Duration;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use stemmata_api::operation::{Head, Method, Op};
use stemmata_api::rows::ledgers::FOLLOW;
use stemmata_api::v1::{Event, FollowRequest, Followed};
use stemmata_api::{Answer, ByteSource, Code, Control, Parts, Problem, frames, hole_of};
use ureq::http::{Response, header};
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;
use ureq::{Agent, Body, SendBody};

use crate::address::Address;
use crate::unix::UnixConnector;

/// Bytes of an answer in JSON at most.
const ANSWER_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// Bytes of a request with content that goes into the query: less than any server's bound of a head.
const QUERY_BYTES_MAX: usize = 16 * 1024;

/// Bytes of a URL at most: what a server takes as the head of a request.
const URL_BYTES_MAX: usize = 60 * 1024;

/// How long a service may take to be reached.
const CONNECT_WAIT: Duration = Duration::from_secs(10);

/// How long it may take until it asks for content: as long as a request may wait there.
const CONTENT_WAIT: Duration = Duration::from_mins(1);

/// How long a connection is kept without use: less than a server keeps it.
const IDLE_MAX: Duration = Duration::from_secs(8);

/// A service behind an address. Its connections are kept open and used again.
#[derive(Debug, Clone)]
pub struct Remote {
    agent: Agent,
    /// What every URL begins with.
    base: String,
    address: Address,
}

impl Remote {
    /// Returns the service behind an address. Nothing is connected yet.
    pub fn new(address: Address) -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(None)
            .timeout_connect(Some(CONNECT_WAIT))
            .timeout_await_100(Some(CONTENT_WAIT))
            .max_idle_age(IDLE_MAX);
        let (agent, base) = match &address {
            Address::Socket(path) => {
                let connector = UnixConnector(path.clone());
                let agent = Agent::with_parts(config.build(), connector, NoNames);
                (agent, "http://stemmata".to_owned())
            }
            Address::Http(url) => (Agent::new_with_config(config.build()), url.clone()),
        };
        Self { agent, base, address }
    }

    /// Asks, and returns the answer.
    pub(crate) fn ask<Q, A>(&self, op: &Op<Q, A>, request: &Q) -> Answer<A>
    where
        Q: Serialize,
        A: DeserializeOwned,
    {
        let parts = op.head.parts(request);
        let answer = self.send(&op.head, &parts, None, "application/json")?;
        self.read(answer.into_body())
    }

    /// Asks, writes the content of the answer to `out`, and returns the rest of it.
    pub(crate) fn ask_out<Q, A>(
        &self,
        op: &Op<Q, A>,
        request: &Q,
        out: &mut dyn Write,
        control: &Control<'_>,
    ) -> Answer<A>
    where
        Q: Serialize,
        A: DeserializeOwned,
    {
        control.check()?;
        let parts = op.head.parts(request);
        let answer = self.send(&op.head, &parts, None, frames::MEDIA_TYPE)?;
        let mut body = answer.into_body().into_with_config().limit(u64::MAX).reader();
        let answer = frames::read_frames(&mut body, &mut Watched { out, control });
        // The writer's own error is less than the reason for it.
        answer.map_err(|problem| control.check().err().unwrap_or(problem))
    }

    /// Asks with content.
    pub(crate) fn ask_in<Q, A>(&self, op: &Op<Q, A>, request: &Q, content: &mut dyn Read) -> Answer<A>
    where
        Q: Serialize,
        A: DeserializeOwned,
    {
        // A service refuses most bad requests before it wants the content; of one in the body it knows only with that.
        let as_query = Head { method: Method::Get, ..op.head }.parts(request);
        let length: usize = as_query.query.iter().map(|(name, text)| name.len() + 3 * text.len() + 2).sum();
        let (parts, head) = if length <= QUERY_BYTES_MAX {
            (as_query, Vec::new())
        } else {
            let parts = op.head.parts(request);
            let head = frames::request_head(parts.body.as_deref().unwrap_or(b"{}"))?;
            (parts, head)
        };
        let mut content = Noted { content, error: None };
        let mut body = head.as_slice().chain(&mut content);
        let media_type = if head.is_empty() { "application/octet-stream" } else { frames::MEDIA_TYPE };
        let sent = self.send(&op.head, &parts, Some((&mut body, media_type)), "application/json");
        if let (Err(_), Some(error)) = (&sent, content.error) {
            let detail = format!("the content cannot be read: {error}");
            return Err(Box::new(Problem::new(Code::IoFailed, detail)));
        }
        self.read(sent?.into_body())
    }

    /// Sends a request, and returns the answer if it is none that says no.
    pub(crate) fn send(
        &self,
        head: &Head,
        parts: &Parts,
        content: Option<(&mut dyn Read, &str)>,
        accept: &str,
    ) -> Answer<Response<Body>> {
        let mut url = self.base.clone();
        for part in head.path.split('/').skip(1) {
            let hole = hole_of(part);
            let text = match hole {
                Some(hole) => parts.path.iter().find(|(name, _)| name == hole).map_or("", |(_, text)| text),
                None => part,
            };
            if let Some(hole) = hole.filter(|_| text.is_empty()) {
                let problem = Problem::new(Code::BadRequest, format!("`{hole}` is empty"));
                return Err(Box::new(problem.with("field", hole)));
            }
            let _infallible = write!(url, "/{}", utf8_percent_encode(text, KEPT));
        }
        if !parts.query.is_empty() {
            let mut query = form_urlencoded::Serializer::new(String::new());
            query.extend_pairs(&parts.query);
            let _infallible = write!(url, "?{}", query.finish());
        }
        if url.len() > URL_BYTES_MAX {
            let detail = format!("the request is {} bytes long as a URL, which is too long", url.len());
            return Err(Box::new(Problem::new(Code::TooLarge, detail)));
        }
        let request =
            ureq::http::Request::builder().uri(url).header(header::ACCEPT, accept).method(head.method.name());
        let bad = |error: ureq::http::Error| self.failed(&error.into());
        let sent = match (content, &parts.body) {
            (Some((mut content, media_type)), _) => {
                let request = request.header(header::CONTENT_TYPE, media_type);
                let request = request.header(header::EXPECT, "100-continue");
                self.agent.run(request.body(SendBody::from_reader(&mut content)).map_err(bad)?)
            }
            (None, Some(json)) => {
                let request = request.header(header::CONTENT_TYPE, "application/json");
                self.agent.run(request.body(json.as_slice()).map_err(bad)?)
            }
            (None, None) => self.agent.run(request.body(()).map_err(bad)?),
        };
        let answer = sent.map_err(|error| self.failed(&error))?;
        if answer.status().is_success() {
            return Ok(answer);
        }
        let status = answer.status();
        let problem: Result<Problem, _> = self.read(answer.into_body());
        Err(problem.map_or_else(
            |_| {
                let detail =
                    format!("{} answered with {status}, and not as a service of Stemmata does", self.address);
                Box::new(Problem::new(Code::ServiceUnreachable, detail))
            },
            Box::new,
        ))
    }

    pub(crate) fn read<A: DeserializeOwned>(&self, body: Body) -> Answer<A> {
        let mut json = Vec::new();
        let mut body = body.into_with_config().limit(ANSWER_BYTES_MAX).reader();
        let read =
            body.read_to_end(&mut json).and_then(|_| serde_json::from_slice(&json).map_err(io::Error::from));
        read.map_err(|error| {
            let detail = format!("the answer of {} cannot be read: {error}", self.address);
            Box::new(Problem::new(Code::ServiceUnreachable, detail))
        })
    }

    /// Follows a ledger, over one connection.
    pub(crate) fn follow_events(
        &self,
        request: &FollowRequest,
        each: &mut dyn FnMut(&Event) -> ControlFlow<()>,
        control: &Control<'_>,
    ) -> Answer<Followed> {
        let parts = FOLLOW.head.parts(request);
        let answer = self.send(&FOLLOW.head, &parts, None, "text/event-stream")?;
        let body = answer.into_body().into_with_config().limit(u64::MAX).reader();
        let cut = |error: &dyn std::fmt::Display| {
            let detail = format!("the events of {} cannot be read: {error}", self.address);
            Box::new(Problem::new(Code::ServiceUnreachable, detail))
        };
        let (mut kind, mut events) = (String::new(), 0);
        // One line of data holds one value, because JSON is written without line breaks.
        for line in io::BufReader::new(body).lines() {
            let line = line.map_err(|error| cut(&error))?;
            if control.is_cancelled() {
                return Ok(Followed { events });
            }
            match line.split_once(": ") {
                Some(("event", name)) => name.clone_into(&mut kind),
                Some(("data", json)) => match std::mem::take(&mut kind).as_str() {
                    "end" => return serde_json::from_str(json).map_err(|error| cut(&error)),
                    "problem" => return Err(serde_json::from_str(json).unwrap_or_else(|error| cut(&error))),
                    _ => {
                        let event = serde_json::from_str(json).map_err(|error| cut(&error))?;
                        events += 1;
                        if each(&event).is_break() {
                            return Ok(Followed { events });
                        }
                    }
                },
                // An `id` repeats the event's number; a line that begins with a colon only says that the server is alive.
                _ => {}
            }
        }
        Err(cut(&"the connection ended"))
    }

    fn failed(&self, error: &ureq::Error) -> Box<Problem> {
        Box::new(Problem::new(Code::ServiceUnreachable, format!("cannot ask {}: {error}", self.address)))
    }
}

/// Characters that a path has unescaped: those that no URL gives a meaning to.
const KEPT: &percent_encoding::AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Content whose own error is told apart from the connection's.
struct Noted<'a> {
    content: &'a mut dyn Read,
    error: Option<io::Error>,
}

impl Read for Noted<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.content.read(into).inspect_err(|error| {
            self.error = Some(io::Error::new(error.kind(), error.to_string()));
        })
    }
}

/// Fails once the caller has cancelled.
struct Watched<'a> {
    out: &'a mut dyn Write,
    control: &'a Control<'a>,
}

impl Write for Watched<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.control.is_cancelled() {
            return Err(io::Error::other("cancelled"));
        }
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Knows no names: a Unix socket has none.
#[derive(Debug)]
struct NoNames;

impl Resolver for NoNames {
    fn resolve(
        &self,
        _: &ureq::http::Uri,
        _: &ureq::config::Config,
        _: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        Ok(self.empty())
    }
}

/// The bytes of a source from its beginning to its end.
pub(crate) struct InOrder<'a> {
    source: &'a dyn ByteSource,
    at: u64,
}

impl<'a> InOrder<'a> {
    pub(crate) const fn of(source: &'a dyn ByteSource) -> Self {
        Self { source, at: 0 }
    }
}

impl Read for InOrder<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = self.source.read_at(self.at, into)?;
        self.at += length as u64;
        Ok(length)
    }
}
