//! Where a service is.

use std::fmt;
#[cfg(unix)]
use std::path::PathBuf;
use std::str::FromStr;

/// Where a service is: a Unix socket, or a host over HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A Unix socket, by its absolute path.
    #[cfg(unix)]
    Socket(PathBuf),
    /// A host: `http://127.0.0.1:7777`, without a slash at the end.
    Http(String),
}

/// A text that is no address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not the address of a service: {0:?}; use `unix:/path/of/the/socket` or `http://host:port`")]
pub struct AddressError(String);

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let refused = || AddressError(text.to_owned());
        #[cfg(unix)]
        if let Some(path) = text.strip_prefix("unix:") {
            let path = PathBuf::from(path.strip_prefix("//").unwrap_or(path));
            return if path.is_absolute() { Ok(Self::Socket(path)) } else { Err(refused()) };
        }
        let url = text.strip_suffix('/').unwrap_or(text);
        let host =
            url.strip_prefix("http://").or_else(|| url.strip_prefix("https://")).ok_or_else(refused)?;
        // A path or a query would be lost, a name and a password would be sent in the clear.
        if host.is_empty() || host.contains(['/', '?', '#', '@']) || url.parse::<ureq::http::Uri>().is_err() {
            return Err(refused());
        }
        Ok(Self::Http(url.to_owned()))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            #[cfg(unix)]
            Self::Socket(path) => write!(f, "unix:{}", path.display()),
            Self::Http(url) => f.write_str(url),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_socket_or_a_host() {
        for (text, shown) in [
            ("unix:/run/s", "unix:/run/s"),
            ("unix:///run/s", "unix:/run/s"),
            ("http://127.0.0.1:7777/", "http://127.0.0.1:7777"),
            ("https://example.org", "https://example.org"),
        ] {
            assert_eq!(text.parse::<Address>().expect(text).to_string(), shown);
        }
        for text in [
            "",
            "unix:run/s",
            "/run/s",
            "127.0.0.1:7777",
            "http://",
            "http://h/path",
            "http://me:pw@h",
            "ftp://h",
        ] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }
}
