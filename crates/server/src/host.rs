//! Who may be asked for over TCP: this machine, by its own names. A page in a browser that reaches a loopback address under a name of
//! its own ("DNS rebinding") is refused, and so is one of another origin.

use std::net::IpAddr;

use hyper::Request;
use hyper::header::{HOST, HeaderName, ORIGIN};
use stemmata_api::{Answer, Code, Problem};

/// Refuses a request whose headers name another machine.
///
/// # Errors
/// `foreign_host`.
pub(crate) fn check<B>(request: &Request<B>) -> Answer<()> {
    let named = |name: HeaderName| {
        let all = request.headers().get_all(name);
        all.into_iter().map(|value| value.to_str().unwrap_or_default())
    };
    let is_host = named(HOST).count() == 1 && named(HOST).all(is_loopback);
    let is_origin = |origin: &str| {
        let host = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        host.is_some_and(is_loopback)
    };
    let is_target = request.uri().authority().is_none_or(|target| is_loopback(target.as_str()));
    if is_host && is_target && named(ORIGIN).all(is_origin) {
        return Ok(());
    }
    let detail = "the request's `Host` or `Origin` names another machine than this one";
    Err(Box::new(Problem::new(Code::ForeignHost, detail)))
}

/// Says whether a host, with or without a port, is the loopback interface.
fn is_loopback(host: &str) -> bool {
    let (name, port) = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((name, port)) => (name, port.strip_prefix(':').unwrap_or(port)),
        None => host.split_once(':').unwrap_or((host, "")),
    };
    port.bytes().all(|byte| byte.is_ascii_digit())
        && (name.eq_ignore_ascii_case("localhost")
            || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_taken(headers: &[(&str, &str)]) -> bool {
        let mut request = Request::builder().uri("/v1/sessions");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        check(&request.body(()).expect("a request")).is_ok()
    }

    #[test]
    fn only_names_of_this_machine_are_taken() {
        for host in ["127.0.0.1", "127.0.0.1:7777", "localhost:1", "LOCALHOST", "[::1]:7777", "127.8.8.8"] {
            assert!(is_taken(&[("host", host)]), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "127.0.0.1.evil.example",
            "localhost.evil:80",
            "10.0.0.1",
            "[::2]:1",
            "::1:x",
        ] {
            assert!(!is_taken(&[("host", host)]), "{host}");
        }
        assert!(!is_taken(&[]) && !is_taken(&[("host", "localhost"), ("host", "evil.example")]));
        let with = |origin| is_taken(&[("host", "localhost:7777"), ("origin", origin)]);
        assert!(with("http://localhost:3000") && with("http://127.0.0.1"));
        assert!(!with("https://evil.example") && !with("null") && !with("file://"));
    }
}
