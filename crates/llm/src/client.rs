//! Sends a request and reads the reply: timeouts, limits, attempts. What is written is `anthropic` and `openai`.

use std::io::Read;
use std::time::Duration;

use serde_json::Value;
use stemmata_redact::Scrubber;
use ureq::Agent;
use ureq::http::Response;

use crate::chat::{ChatReply, ChatRequest, ToolCall};
use crate::endpoint::{Api, Endpoint};
use crate::error::{LlmError, Status};
use crate::{anthropic, embeddings, openai, retry, scrub};

/// Bytes of an error's body that are read.
const ERROR_BYTES_MAX: u64 = 64 << 10;
/// Characters that an error keeps of a text in a reply, and of the word that names the kind of an error.
const QUOTE_CHARS_MAX: usize = 500;
const CODE_CHARS_MAX: usize = 100;
/// Bytes of a key that is masked in answers.
const MASKED_BYTES_MIN: usize = 8;

/// Reads the body of a reply; `Err` says what is wrong with it.
type Reader<'a, T> = dyn Fn(&[u8]) -> Result<T, String> + 'a;

/// Waits between two attempts. A program sleeps; a test notes how long it would have.
pub trait Waits: Send + Sync {
    /// Waits for as long.
    fn wait(&self, duration: Duration);
}

/// Waits by sleeping.
pub struct Sleeps;

impl Waits for Sleeps {
    fn wait(&self, duration: Duration) {
        std::thread::sleep(duration);
    }
}

/// A client of one model. Cheap to keep; connections are reused.
pub struct Client {
    agent: Agent,
    endpoint: Endpoint,
    url: String,
    scrubber: Scrubber,
    waits: Box<dyn Waits>,
}

impl Client {
    /// Makes a client. Nothing is sent yet.
    ///
    /// # Errors
    /// [`LlmError::BadEndpoint`] if the address is unusable or would send the key in the clear.
    pub fn new(endpoint: Endpoint, scrubber: Scrubber, waits: Box<dyn Waits>) -> Result<Client, LlmError> {
        let url = endpoint.url()?;
        let limits = &endpoint.limits;
        let mut agent = Agent::config_builder()
            .timeout_connect(Some(limits.connect_timeout))
            .timeout_global(Some(limits.attempt_timeout))
            .http_status_as_error(false)
            // A redirect would take the key along.
            .max_redirects(0)
            .user_agent(concat!("stemmata/", env!("CARGO_PKG_VERSION")));
        if endpoint.is_on_this_machine() {
            // Otherwise the proxy that the environment names is asked, for every address.
            agent = agent.proxy(None);
        }
        Ok(Client { agent: agent.build().new_agent(), endpoint, url, scrubber, waits })
    }

    /// The model that is asked.
    pub fn model(&self) -> &str {
        &self.endpoint.model
    }

    /// The address of the server, as it was given.
    pub fn server(&self) -> &str {
        &self.endpoint.base_url
    }

    /// Asks the model, several times if that can help.
    ///
    /// # Errors
    /// What the last attempt ended with: see [`LlmError`].
    pub fn chat(&self, request: &ChatRequest) -> Result<ChatReply, LlmError> {
        let request = scrub::scrubbed(request, &self.scrubber)?;
        let body = match self.endpoint.api {
            Api::Anthropic => anthropic::body(&request, &self.endpoint.model),
            Api::OpenAi => openai::body(&request, &self.endpoint.model),
        }
        .to_string();
        let reply = self.asked(&self.url, &body, &|bytes| match self.endpoint.api {
            Api::Anthropic => anthropic::reply(bytes),
            Api::OpenAi => openai::reply(bytes),
        })?;
        Ok(self.without_key(reply))
    }

    /// Returns a reply without our key: a gateway may put into an answer what it was sent, and answers are stored and shown.
    fn without_key(&self, reply: ChatReply) -> ChatReply {
        // A shorter one is a placeholder for a server that wants none, such as `ollama`: it may be any word of an answer.
        let Some(key) = self.endpoint.key.as_ref().filter(|key| key.expose().len() >= MASKED_BYTES_MIN)
        else {
            return reply;
        };
        let masked = |text: String| key.masked(&text);
        let call = |call: ToolCall| ToolCall {
            id: masked(call.id),
            name: masked(call.name),
            arguments: masked(call.arguments),
        };
        let calls = reply.calls.into_iter().map(call).collect();
        ChatReply { text: masked(reply.text), calls, ..reply }
    }

    /// Turns texts into vectors, one for each and all of one length, several times if that can help. Only of OpenAI's API, which most
    /// servers of embeddings speak: `POST /embeddings`.
    ///
    /// # Errors
    /// As [`Client::chat`]; [`LlmError::BadEndpoint`] for another API.
    pub fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, LlmError> {
        let url = self.endpoint.embeddings_url()?;
        let clean = |text: &&str| scrub::text(text, &self.scrubber);
        let texts = texts.iter().map(clean).collect::<Result<Vec<_>, _>>()?;
        let body = embeddings::body(&texts, &self.endpoint.model).to_string();
        self.asked(&url, &body, &|bytes| embeddings::reply(bytes, texts.len()))
    }

    /// Sends a body until it is answered or trying again cannot help.
    fn asked<T>(&self, url: &str, body: &str, read: &Reader<'_, T>) -> Result<T, LlmError> {
        let limits = &self.endpoint.limits;
        let (bytes, bytes_max) = (body.len(), limits.request_bytes_max);
        if bytes > bytes_max {
            return Err(LlmError::RequestTooLarge { bytes, bytes_max });
        }
        let mut attempt = 1;
        loop {
            let error = match self.attempt(url, body, read) {
                Ok(reply) => return Ok(reply),
                Err(error) => error,
            };
            let Some(wait) = retry::wait_before_next(&error, attempt, limits) else { return Err(error) };
            self.waits.wait(wait);
            attempt += 1;
        }
    }

    fn attempt<T>(&self, url: &str, body: &str, read: &Reader<'_, T>) -> Result<T, LlmError> {
        let mut request = self.agent.post(url).content_type("application/json");
        let key = self.endpoint.key.as_ref();
        request = match (self.endpoint.api, key) {
            (Api::Anthropic, Some(key)) => request.header("x-api-key", key.expose()),
            (Api::OpenAi, Some(key)) => request.header("authorization", format!("Bearer {}", key.expose())),
            (_, None) => request,
        };
        if self.endpoint.api == Api::Anthropic {
            request = request.header("anthropic-version", anthropic::VERSION);
        }
        let response = request.send(body).map_err(|error| self.failed(url, &error))?;
        let status = response.status().as_u16();
        if !(200..300).contains(&status) {
            return Err(self.refused(url, status, response));
        }
        let bytes = self.read(url, response, self.endpoint.limits.reply_bytes_max)?;
        read(&bytes).map_err(|reason| self.bad_reply(url, &reason))
    }

    fn read(&self, url: &str, response: Response<ureq::Body>, bytes_max: u64) -> Result<Vec<u8>, LlmError> {
        let mut bytes = Vec::new();
        let mut reader = response.into_body().into_reader().take(bytes_max + 1);
        reader.read_to_end(&mut bytes).map_err(|error| self.failed(url, &ureq::Error::from(error)))?;
        if bytes.len() as u64 > bytes_max {
            return Err(self.bad_reply(url, &format!("it is larger than {bytes_max} bytes")));
        }
        Ok(bytes)
    }

    fn refused(&self, url: &str, status: u16, response: Response<ureq::Body>) -> LlmError {
        let retry_after = response
            .headers()
            .get("retry-after")
            .and_then(|value| value.to_str().ok()?.trim().parse::<u64>().ok())
            .map(Duration::from_secs);
        let mut bytes = Vec::new();
        // What the body says is a help; the status is enough.
        let read = response.into_body().into_reader().take(ERROR_BYTES_MAX).read_to_end(&mut bytes);
        let text = if read.is_ok() { String::from_utf8_lossy(&bytes).into_owned() } else { String::new() };
        let (code, message) = code_and_message(&text);
        let (code, message) = (self.quote(&code, CODE_CHARS_MAX), self.quote(&message, QUOTE_CHARS_MAX));
        LlmError::Refused { url: url.to_owned(), status: Status { status, code, message, retry_after } }
    }

    /// Returns what an error quotes of a reply, wherever in it that stood. A server may repeat the headers that it was sent, and a gateway
    /// those that it sends on: neither our key nor anything else that looks like a secret is in a message.
    fn quote(&self, said: &str, chars_max: usize) -> String {
        let said = self.endpoint.key.as_ref().map_or_else(|| said.to_owned(), |key| key.masked(said));
        // Cut last: half a key is not recognized.
        let said = scrub::text(&said, &self.scrubber).unwrap_or_default();
        said.chars().take(chars_max).collect()
    }

    fn bad_reply(&self, url: &str, reason: &str) -> LlmError {
        LlmError::BadReply { url: url.to_owned(), reason: self.quote(reason, QUOTE_CHARS_MAX) }
    }

    fn failed(&self, url: &str, error: &ureq::Error) -> LlmError {
        let url = url.to_owned();
        let is_timeout = match error {
            ureq::Error::Timeout(_) => true,
            ureq::Error::Io(error) => error.kind() == std::io::ErrorKind::TimedOut,
            _ => false,
        };
        if is_timeout {
            let seconds = self.endpoint.limits.attempt_timeout.as_secs();
            return LlmError::TimedOut { url, seconds };
        }
        LlmError::Unreachable { url, reason: self.quote(&error.to_string(), QUOTE_CHARS_MAX) }
    }
}

/// Returns the code and the message of an error's body. Servers write `{"error": {"code", "type", "message"}}`,
/// `{"error": "text"}`, `{"message": "text"}`, or anything.
fn code_and_message(body: &str) -> (String, String) {
    let Ok(value) = serde_json::from_str::<Value>(body) else {
        return (String::new(), body.trim().to_owned());
    };
    let error = value.get("error").unwrap_or(&value);
    let string = |key: &str| error.get(key).and_then(Value::as_str);
    let code = string("code").or_else(|| string("type")).unwrap_or_default().to_owned();
    let message = string("message").or_else(|| error.as_str()).unwrap_or(body.trim()).to_owned();
    (code, message)
}

#[cfg(test)]
mod tests {
    use super::code_and_message;

    #[test]
    fn errors_of_all_servers_are_read() {
        for (body, code, message) in [
            (
                r#"{"type":"error","error":{"type":"overloaded_error","message":"busy"}}"#,
                "overloaded_error",
                "busy",
            ),
            (
                r#"{"error":{"message":"too long","type":"invalid_request_error","code":"context_length_exceeded"}}"#,
                "context_length_exceeded",
                "too long",
            ),
            (r#"{"error":"model not found"}"#, "", "model not found"),
            (
                r#"{"object":"error","message":"max is 4096","type":"BadRequestError","code":400}"#,
                "BadRequestError",
                "max is 4096",
            ),
            ("<html>Bad Gateway</html>\n", "", "<html>Bad Gateway</html>"),
            ("", "", ""),
        ] {
            assert_eq!(code_and_message(body), (code.to_owned(), message.to_owned()), "{body}");
        }
    }
}
