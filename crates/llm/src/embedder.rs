//! The retriever's seam to vectors, over a [`Client`].

use std::time::Duration;

use stemmata_prompt::retrieve::{Embedder, NoVectors};
use stemmata_redact::Scrubber;

use crate::client::{Client, Sleeps};
use crate::endpoint::{Api, Endpoint, Key, Limits};
use crate::error::LlmError;

/// Somebody waits for the answer, and it is good without vectors: a server that is down is not waited for twice.
const LIMITS: Limits = Limits {
    connect_timeout: Duration::from_secs(3),
    attempt_timeout: Duration::from_secs(20),
    attempts_max: 1,
    wait_max: Duration::ZERO,
    request_bytes_max: 4 << 20,
    reply_bytes_max: 32 << 20,
};

/// Turns texts into vectors by a server that speaks OpenAI's embeddings.
pub struct ModelEmbedder {
    client: Client,
}

impl ModelEmbedder {
    /// Makes one. Nothing is sent yet; what the built-in rules take for a secret never is.
    ///
    /// # Errors
    /// [`LlmError::BadEndpoint`] for an address or a key that cannot be used.
    pub fn new(base_url: &str, model: &str, key: Option<&str>) -> Result<Self, LlmError> {
        let endpoint = Endpoint {
            api: Api::OpenAi,
            base_url: base_url.to_owned(),
            model: model.to_owned(),
            key: key.map(Key::new).transpose()?,
            limits: LIMITS,
        };
        Ok(Self { client: Client::new(endpoint, Scrubber::builtin(), Box::new(Sleeps))? })
    }
}

impl Embedder for ModelEmbedder {
    fn model(&self) -> &str {
        self.client.model()
    }

    fn server(&self) -> &str {
        self.client.server()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, NoVectors> {
        self.client.embed(texts).map_err(|error| {
            let is_down = match &error {
                LlmError::Unreachable { .. } | LlmError::TimedOut { .. } => true,
                LlmError::Refused { status, .. } => status.status >= 500,
                LlmError::BadEndpoint { .. }
                | LlmError::RequestTooLarge { .. }
                | LlmError::NotScrubbed { .. }
                | LlmError::BadReply { .. } => false,
            };
            NoVectors { reason: error.to_string(), is_down }
        })
    }
}
