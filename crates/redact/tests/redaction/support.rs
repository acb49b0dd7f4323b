//! Made-up secrets from the fixtures, drawn so that the repository holds none.
//! Not a generator of likely secrets: only of strings with the right shape.

use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    pub(crate) kind: String,
    pub(crate) yes: Vec<String>,
    pub(crate) no: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Document {
    case: Vec<Case>,
}

pub(crate) fn cases() -> Vec<Case> {
    toml::from_str::<Document>(include_str!("fixtures.toml")).unwrap().case
}

/// A text around one secret, drawn from a template.
#[derive(Debug, Clone)]
pub(crate) struct Planted {
    pub(crate) before: String,
    pub(crate) secret: String,
    pub(crate) after: String,
}

impl Planted {
    pub(crate) fn text(&self) -> String {
        [self.before.as_str(), &self.secret, &self.after].concat()
    }

    pub(crate) fn scrubbed(&self, kind: &str) -> String {
        format!("{}[REDACTED:{kind}]{}", self.before, self.after)
    }
}

pub(crate) fn plant(template: &str, seed: u64) -> Planted {
    let drawn = draw(template, seed);
    match drawn.split_once('«') {
        None => Planted { before: String::new(), secret: drawn, after: String::new() },
        Some((before, rest)) => {
            let (secret, after) = rest.split_once('»').unwrap();
            Planted { before: before.to_owned(), secret: secret.to_owned(), after: after.to_owned() }
        }
    }
}

pub(crate) fn draw(template: &str, seed: u64) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut out = String::new();
    let mut rest = template;
    while let Some((plain, tail)) = rest.split_once('{') {
        out.push_str(plain);
        let Some((spec, tail)) = tail.split_once('}') else { break };
        rest = tail;
        if spec == "uuid" {
            let mut hex = |len: usize| (0..len).map(|_| pick("0123456789abcdef", next())).collect::<String>();
            out.push_str(&[hex(8), hex(4), hex(4), hex(4), hex(12)].join("-"));
            continue;
        }
        let Some((alphabet, len)) = spec.split_once(':').and_then(|(name, len)| Some((alphabet(name)?, len)))
        else {
            out.push('{');
            out.push_str(spec);
            out.push('}');
            continue;
        };
        out.extend((0..len.parse::<usize>().unwrap()).map(|_| pick(alphabet, next())));
    }
    out.push_str(rest);
    out
}

fn pick(alphabet: &str, random: u64) -> char {
    let index = usize::try_from(random % alphabet.len() as u64).unwrap();
    char::from(alphabet.as_bytes()[index])
}

fn alphabet(name: &str) -> Option<&'static str> {
    Some(match name {
        "alnum" => "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
        "word" => "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-",
        "b64" => "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
        "upper" => "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
        "lower" => "abcdefghijklmnopqrstuvwxyz0123456789",
        "hex" => "0123456789abcdef",
        "bech" => "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
        "digits" => "123456789",
        "as" => "A",
        _ => return None,
    })
}

/// Writes a text as the content of a JSON string.
pub(crate) fn escaped(text: &str) -> String {
    let json = serde_json::to_string(text).unwrap();
    json[1..json.len() - 1].to_owned()
}

/// The same, with every slash as `\/`.
pub(crate) fn escaped_slashes(text: &str) -> String {
    escaped(text).replace('/', r"\/")
}

/// The same, with every character spelled as `\u00xx`.
pub(crate) fn spelled_out(text: &str) -> String {
    text.encode_utf16().fold(String::new(), |out, unit| out + &format!("\\u{unit:04x}"))
}
