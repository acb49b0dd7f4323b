//! Lines with a made-up secret in them, for the redactor's tests.
//! Not real credentials: drawn from a seed, and put together at run time so that no scanner of this
//! repository takes the source for a leak.

use crate::json::Object;
use crate::rng::Rng;

use super::lines::{Api, At, Lines, ToolResult};

/// A kind of secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Secret {
    /// An API key with its provider's prefix.
    ApiKey,
    /// A GitHub token.
    GitHubToken,
    /// An AWS access key id.
    AwsKeyId,
    /// A private key in PEM armour, over several lines.
    Pem,
    /// A JSON Web Token.
    Jwt,
    /// A URL with user and password.
    Url,
    /// A `KEY=value` assignment.
    Assignment,
}

impl Secret {
    /// All kinds.
    pub const ALL: [Self; 7] =
        [Self::ApiKey, Self::GitHubToken, Self::AwsKeyId, Self::Pem, Self::Jwt, Self::Url, Self::Assignment];

    /// Returns a made-up secret and the part of it that must not be stored.
    pub fn draw(self, rng: &mut Rng) -> (String, String) {
        let whole = |secret: String| (secret.clone(), secret);
        match self {
            Self::ApiKey => whole(["sk-ant-", "api03-", &rng.id(93), "AA"].concat()),
            Self::GitHubToken => whole(["gh", "p_", &rng.id(36)].concat()),
            Self::AwsKeyId => whole(["AK", "IA", &rng.id(16).to_uppercase()].concat()),
            Self::Pem => {
                let body: Vec<String> = (0..12).map(|_| rng.base64(64)).collect();
                let body = body.join("\n");
                let armour = |word: &str| ["-----", word, " RSA PRIVATE", " KEY-----"].concat();
                let text = format!("{}\n{body}\n{}", armour("BEGIN"), armour("END"));
                (text, body)
            }
            Self::Jwt => {
                let header = ["eyJ", "hbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9"].concat();
                let payload = ["eyJ", &rng.id(70)].concat();
                whole([header, payload, rng.id(43)].join("."))
            }
            Self::Url => {
                let password = rng.id(20);
                (format!("postgres://app:{password}@db.example.com:5432/app"), password)
            }
            Self::Assignment => {
                let value = rng.id(40);
                (["DATABASE_PASS", "WORD=", &value].concat(), value)
            }
        }
    }
}

/// Where in a transcript a secret is put.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// In a prompt.
    Prompt,
    /// In a model's answer.
    Answer,
    /// In a tool's input.
    ToolInput,
    /// In a tool's output, which stands twice in the line.
    ToolOutput,
}

impl Place {
    /// All places.
    pub const ALL: [Self; 4] = [Self::Prompt, Self::Answer, Self::ToolInput, Self::ToolOutput];
}

/// A line with a secret in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planted {
    /// The line.
    pub line: String,
    /// The text that must not be stored, before JSON escapes.
    pub secret: String,
}

impl Lines {
    /// Makes a line that holds a secret.
    pub fn planted_secret(&self, at: &At, secret: Secret, place: Place, rng: &mut Rng) -> Planted {
        let (text, hidden) = secret.draw(rng);
        let api = Api::new(&format!("msg_01{}", rng.id(22)));
        let call = format!("toolu_01{}", rng.id(22));
        let line = match place {
            Place::Prompt => self.user(at, &format!("Please use this one:\n{text}\nand try again.")),
            Place::Answer => self.assistant_text(at, &api, &format!("The file contains `{text}`.")),
            Place::ToolInput => {
                let input = Object::new().text("command", &format!("echo '{text}' >> .env"));
                let input = input.text("description", "Add the setting").finish();
                self.tool_use(at, &api, (&call, "Bash"), &input)
            }
            Place::ToolOutput => {
                let output = format!("# settings\n{text}\nDEBUG=1");
                let structured = Object::new().text("stdout", &output).text("stderr", "");
                self.tool_result(
                    at,
                    &ToolResult {
                        tool_use_id: call,
                        structured: structured.finish(),
                        content: output,
                        is_error: false,
                        assistant_uuid: rng.uuid(),
                    },
                )
            }
        };
        Planted { line, secret: hidden }
    }
}
