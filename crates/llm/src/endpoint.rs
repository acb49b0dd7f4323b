//! Where requests go, as whom, and within which limits.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use crate::error::LlmError;

/// Which API a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Api {
    /// Anthropic's Messages API: `POST /v1/messages`.
    Anthropic,
    /// OpenAI's chat completions, which most other servers speak: `POST /chat/completions`.
    OpenAi,
}

/// Levels of escaping that are undone at most.
const ESCAPES_MAX: usize = 8;
/// Bytes of an HTML entity at most, its `;` included.
const ENTITY_BYTES_MAX: usize = 8;

/// A key of a provider. It is printed nowhere: `Debug` hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// Takes a key as the environment has it; blanks around it go.
    ///
    /// # Errors
    /// [`LlmError::BadEndpoint`] if it is empty or holds what no header may hold.
    pub fn new(key: &str) -> Result<Key, LlmError> {
        let key = key.trim();
        if key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
            let reason = "the API key is empty, or holds characters that no key has".to_owned();
            return Err(LlmError::BadEndpoint { reason });
        }
        Ok(Key(key.to_owned()))
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// Returns a text with `…` in the place of the key, also where the key is escaped as JSON, a link or HTML would have it.
    pub(crate) fn masked(&self, text: &str) -> String {
        let mut masked = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(char) = rest.chars().next() {
            if let Some(behind) = self.0.bytes().try_fold(rest, |rest, byte| {
                let rest = if rest.len() < text.len() { rest.trim_start_matches(is_hidden) } else { rest };
                without_byte(rest, byte)
            }) {
                masked.push('…');
                rest = behind;
            } else {
                masked.push(char);
                rest = rest.get(char.len_utf8()..).unwrap_or_default();
            }
        }
        masked
    }
}

/// Returns what stands behind a byte of ASCII at the beginning of a text, as it is or escaped, maybe several times. Letters count in
/// both cases: a server may print headers in its own.
fn without_byte(text: &str, byte: u8) -> Option<&str> {
    let is_byte = |code: u8| code.eq_ignore_ascii_case(&byte);
    let plain = |text: &'_ str| text.bytes().next().is_some_and(is_byte).then_some(1);
    if let Some(behind) = plain(text).and_then(|end| text.get(end..)).filter(|_| !b"%&".contains(&byte)) {
        return Some(behind);
    }
    let is_hex = |digits: &str| u8::from_str_radix(digits, 16).is_ok_and(is_byte);
    let hex = |text: &'_ str| text.get(..2).is_some_and(is_hex).then_some(2);
    // `\/`, `\u002f`, `\u{2f}`, `\x2f`.
    let slashes = text.bytes().take(ESCAPES_MAX).take_while(|byte| *byte == b'\\').count();
    if slashes > 0 {
        let escaped = text.get(slashes..)?;
        if let Some((digits, behind)) = escaped.strip_prefix("u{").and_then(|rest| rest.split_once('}'))
            && digits.len() <= ENTITY_BYTES_MAX
            && is_hex(digits)
        {
            return Some(behind);
        }
        let digits = escaped.strip_prefix("u00").or_else(|| escaped.strip_prefix('x'));
        let spelled = digits.and_then(|digits| digits.get(hex(digits)?..));
        return spelled.or_else(|| escaped.get(plain(escaped)?..));
    }
    // `%2f`, `%252f`.
    if let Some(mut digits) = text.strip_prefix('%') {
        for _ in 0..ESCAPES_MAX {
            let outer = digits.strip_prefix("25");
            // A percent sign of the key itself is the innermost one.
            let is_last = byte != b'%' || outer.is_none_or(|digits| !digits.starts_with("25"));
            if let Some(end) = hex(digits).filter(|_| is_last) {
                return digits.get(end..);
            }
            let Some(behind) = outer else { break };
            digits = behind;
        }
    }
    // `&#47;`, `&#47`, `&#x2f;`, `&amp;`.
    if let Some(entity) = text.strip_prefix('&') {
        // Browsers read a number without the `;`, too.
        let past = |of: fn(&u8) -> bool, from: usize| {
            from + entity.bytes().skip(from).take(ENTITY_BYTES_MAX).take_while(of).count()
        };
        let end = match entity.as_bytes() {
            [b'#', b'x' | b'X', ..] => past(u8::is_ascii_hexdigit, 2),
            [b'#', ..] => past(u8::is_ascii_digit, 1),
            _ => past(u8::is_ascii_alphabetic, 0),
        };
        let (entity, behind) = entity.split_at_checked(end).unwrap_or_default();
        let is_byte = match entity.strip_prefix('#') {
            Some(code) => match code.strip_prefix(['x', 'X']) {
                Some(digits) => is_hex(digits),
                None => code.parse().is_ok_and(is_byte),
            },
            None => [("amp", b'&'), ("lt", b'<'), ("gt", b'>'), ("quot", b'"'), ("apos", b'\'')]
                .contains(&(entity, byte)),
        };
        if is_byte {
            return Some(behind.strip_prefix(';').unwrap_or(behind));
        }
    }
    text.get(plain(text)?..)
}

/// Whether nobody sees a character that may stand within a key.
const fn is_hidden(char: char) -> bool {
    matches!(char, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}')
}

impl fmt::Debug for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Key(…)")
    }
}

/// A model behind a server.
#[derive(Debug, Clone, PartialEq)]
pub struct Endpoint {
    /// Which API it speaks.
    pub api: Api,
    /// The address before the API's own path: `https://api.anthropic.com`, `http://127.0.0.1:11434/v1`.
    pub base_url: String,
    /// The model's name, as the server knows it.
    pub model: String,
    /// The key; local servers want none.
    pub key: Option<Key>,
    /// How long and how much.
    pub limits: Limits,
}

/// Limits of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Until a connection stands.
    pub connect_timeout: Duration,
    /// One attempt, from the first byte sent to the last byte read.
    pub attempt_timeout: Duration,
    /// Attempts in all.
    pub attempts_max: u32,
    /// The longest wait between two attempts, whatever the server asks for.
    pub wait_max: Duration,
    /// Bytes of a request's body.
    pub request_bytes_max: usize,
    /// Bytes of a reply's body.
    pub reply_bytes_max: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connect_timeout: Duration::from_secs(10),
            attempt_timeout: Duration::from_mins(2),
            attempts_max: 3,
            wait_max: Duration::from_secs(30),
            request_bytes_max: 16 << 20,
            reply_bytes_max: 8 << 20,
        }
    }
}

impl Endpoint {
    /// Returns the address that requests go to.
    ///
    /// # Errors
    /// [`LlmError::BadEndpoint`] if the address is no HTTP address, or would send the key in the clear to another machine.
    pub(crate) fn url(&self) -> Result<String, LlmError> {
        let base = self.base()?;
        let path = match self.api {
            // Both forms are found in the wild: with the version and without.
            Api::Anthropic if base.ends_with("/v1") => "/messages",
            Api::Anthropic => "/v1/messages",
            Api::OpenAi => "/chat/completions",
        };
        Ok(format!("{base}{path}"))
    }

    /// Returns the address that requests for embeddings go to.
    ///
    /// # Errors
    /// As [`Endpoint::url`], and for an API without embeddings.
    pub(crate) fn embeddings_url(&self) -> Result<String, LlmError> {
        match self.api {
            Api::OpenAi => Ok(format!("{}/embeddings", self.base()?)),
            Api::Anthropic => Err(LlmError::BadEndpoint {
                reason: "Anthropic's API has no embeddings: use a server that speaks OpenAI's".to_owned(),
            }),
        }
    }

    /// Returns whether the server is on this machine. No proxy is asked for it: it would get key and conversation in the clear, and send them
    /// to a machine of its own.
    pub(crate) fn is_on_this_machine(&self) -> bool {
        self.parts().is_some_and(|parts| is_loopback(parts.authority))
    }

    /// Divides the address; `None` where it has no scheme.
    fn parts(&self) -> Option<Parts<'_>> {
        let base = self.base_url.trim().trim_end_matches('/');
        let (scheme, rest) = base.split_once("://")?;
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        Some(Parts { base, scheme, rest, authority })
    }

    fn base(&self) -> Result<&str, LlmError> {
        let bad = |reason: String| Err(LlmError::BadEndpoint { reason });
        let Some(Parts { base, scheme, rest, authority }) = self.parts() else {
            let base = self.base_url.trim();
            return bad(format!("`{base}` is not an address: begin it with https:// or http://"));
        };
        if authority.is_empty() || authority.contains('@') || rest.contains(['?', '#']) {
            let want = "https://HOST or https://HOST/v1";
            return bad(format!(
                "the address of the model must look like {want}: no user, query or fragment"
            ));
        }
        match scheme {
            "https" => {}
            "http" if self.key.is_none() || self.is_on_this_machine() => {}
            "http" => {
                return bad(format!(
                    "`{base}` would send the API key unencrypted to another machine: use https://, or set no key"
                ));
            }
            other => return bad(format!("`{other}://` is not spoken here: use https:// or http://")),
        }
        Ok(base)
    }
}

/// The parts of an address.
struct Parts<'a> {
    /// All of it, without slashes at its end.
    base: &'a str,
    scheme: &'a str,
    /// What stands behind `://`.
    rest: &'a str,
    authority: &'a str,
}

/// Whether a host of an address is this machine: `localhost` and names below it, loopback addresses, and the unspecified one, which
/// connects to this machine, too.
fn is_loopback(authority: &str) -> bool {
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    let name = host.trim_end_matches('.');
    let address = host.parse::<IpAddr>().ok().or_else(|| short_v4(host).map(IpAddr::V4));
    let is_here = |address: IpAddr| address.is_loopback() || address.is_unspecified();
    name.rsplit('.').next().is_some_and(|last| last.eq_ignore_ascii_case("localhost"))
        || address.is_some_and(|address| is_here(address.to_canonical()))
}

/// Reads an IPv4 address as resolvers do (`inet_aton(3)`): up to four numbers, decimal, octal or hexadecimal, of which the last one
/// fills what is left.
fn short_v4(host: &str) -> Option<Ipv4Addr> {
    let number = |part: &str| match part.strip_prefix("0x").or_else(|| part.strip_prefix("0X")) {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None if part.len() > 1 && part.starts_with('0') => u32::from_str_radix(part, 8).ok(),
        None => part.parse().ok(),
    };
    let numbers: Vec<u32> = host.split('.').map(number).collect::<Option<_>>()?;
    let (last, first) = numbers.split_last().filter(|(_, first)| first.len() < 4)?;
    let filled = first.iter().enumerate().try_fold(0_u32, |address, (at, byte)| {
        let byte = u8::try_from(*byte).ok()?;
        Some(address | (u32::from(byte) << (24 - 8 * at)))
    })?;
    let room = u32::MAX.checked_shr(8 * u32::try_from(first.len()).ok()?)?;
    (*last <= room).then(|| Ipv4Addr::from(filled | last))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(api: Api, base_url: &str, key: Option<&str>) -> Endpoint {
        let key = key.map(|key| Key::new(key).unwrap());
        Endpoint { api, base_url: base_url.to_owned(), model: "m".to_owned(), key, limits: Limits::default() }
    }

    #[test]
    fn an_address_gets_the_path_of_its_api() {
        for (api, base, want) in [
            (Api::Anthropic, "https://api.anthropic.com", "https://api.anthropic.com/v1/messages"),
            (Api::Anthropic, "https://api.anthropic.com/v1/", "https://api.anthropic.com/v1/messages"),
            (Api::OpenAi, "https://api.openai.com/v1", "https://api.openai.com/v1/chat/completions"),
            (Api::OpenAi, " http://[::1]:11434/v1/ ", "http://[::1]:11434/v1/chat/completions"),
        ] {
            assert_eq!(endpoint(api, base, Some("k")).url().unwrap(), want);
        }
    }

    #[test]
    fn a_key_never_leaves_in_the_clear() {
        for base in ["http://example.org/v1", "http://127.0.0.1.example.org", "http://localhost.example.org"]
        {
            let error = endpoint(Api::OpenAi, base, Some("k")).url().unwrap_err();
            assert!(error.to_string().contains("unencrypted"), "{error}");
            assert!(endpoint(Api::OpenAi, base, None).url().is_ok());
        }
    }

    #[test]
    fn every_spelling_of_this_machine_is_one() {
        for host in [
            "localhost",
            "LOCALHOST.",
            "app.localhost",
            "127.0.0.1",
            "127.1",
            "127.0.1",
            "2130706433",
            "0x7f000001",
            "0177.0.0.1",
            "0x7f.1",
            "0.0.0.0",
            "0",
            "[::1]",
            "[::]",
            "[::ffff:127.0.0.1]",
        ] {
            assert!(
                endpoint(Api::OpenAi, &format!("http://{host}:8080/v1"), None).is_on_this_machine(),
                "{host}"
            );
        }
        for host in [
            "example.org",
            "localhost.example.org",
            "notlocalhost",
            "128.1",
            "126.255.255.255",
            "2147483648",
            "127.1.2.3.4",
            "127.0.0.1.example.org",
            "1.127",
            "[::2]",
            "127..1",
            "0x",
            "09",
        ] {
            assert!(
                !endpoint(Api::OpenAi, &format!("http://{host}:8080/v1"), None).is_on_this_machine(),
                "{host}"
            );
        }
    }

    #[test]
    fn an_address_that_is_none_is_refused() {
        for base in ["", "api.openai.com", "ftp://x", "https://", "https://user@host", "https://h/v1?x=1"] {
            assert!(endpoint(Api::OpenAi, base, None).url().is_err(), "{base}");
        }
    }

    #[test]
    fn a_key_is_masked_in_every_form_in_which_a_reply_may_have_it() {
        let key = Key::new(r#"sk+a/b=c&d"e%f-g"#).unwrap();
        for escaped in [
            r#"sk+a/b=c&d"e%f-g"#,
            r#"sk+a\/b=c&d\"e%f-g"#,
            r#"sk+a\\\/b=c&d\\\"e%f-g"#,
            r"sk\u002ba\u002Fb\u003dc\u0026d\u0022e\u0025f-\u0067",
            r#"sk\\u002ba/b=c\\u0026d\\\"e%f-g"#,
            "sk%2Ba%2fb%3Dc%26d%22e%25f-g",
            "sk%252Ba%252fb%253Dc%2526d%2522e%2525f-g",
            "sk+a/b=c&amp;d&quot;e%f-g",
            "&#115;k&#43;a&#x2F;b=c&#38;d&#x22;e&#37;f&#45;g",
            r#"s\x6b+a/b=c&d"e%f-g"#,
            r#"SK+A/B=c&d"e%F-G"#,
            "s\u{200b}k+a\u{feff}/b=c&d\"e%f-g",
            r#"s\u{6b}+a/b=c&d"e%f-g"#,
            "&#115k&#43a/b=c&d\"e%f-g",
        ] {
            assert_eq!(key.masked(&format!("é {escaped}{escaped}, \\ % &")), "é ……, \\ % &", "{escaped}");
        }
        for other in ["sk+a/b", "sk%2Ba%2fb%3Dc%26d%22e%25f", r"\", "%", "&", "%25%25", r"s\", "&#", "&é"] {
            assert_eq!(key.masked(other), other);
        }
        for row in ["s\\", "\\", "%25", "&", "sk+a"].map(|unit| unit.repeat(20_000)) {
            assert_eq!(key.masked(&row), row);
        }
    }

    #[test]
    fn a_key_is_printed_nowhere() {
        let endpoint = endpoint(Api::OpenAi, "https://h", Some("sk-very-secret"));
        assert!(!format!("{endpoint:?}").contains("very-secret"));
        for key in ["", "  ", "a\nb", "a b", "ключ"] {
            assert!(Key::new(key).is_err(), "{key:?}");
        }
    }
}
