//! `Idempotency-Key`: the name of a request, with which it is the same request when it is sent again.
//!
//! It is only another way to write a field of the request, so that what is remembered of it is the operation's own.

use hyper::header::{HeaderMap, HeaderName};
use stemmata_api::operation::{Effect, Head, Repeat};
use stemmata_api::{Answer, Code, Problem};

/// The header, as draft-ietf-httpapi-idempotency-key-header names it.
const HEADER: &str = "Idempotency-Key";

/// Returns the field that the header fills, and its value. An operation that does nothing more when it is repeated keeps the
/// header's promise without it.
///
/// # Errors
/// `bad_request` for a header that cannot be read or is sent twice, and where the operation would do everything once more.
pub(crate) fn read(headers: &HeaderMap, head: &Head) -> Answer<Option<(&'static str, String)>> {
    let mut values = headers.get_all(HeaderName::from_static("idempotency-key")).into_iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return refused("is sent more than once");
    }
    let field = match (head.effect, head.repeat) {
        (Effect::Reads, _) | (_, Repeat::Same | Repeat::Planned) => return Ok(None),
        (_, Repeat::Again) => {
            return refused(&format!(
                "promises what `{}` does not keep: repeated, it is done once more",
                head.name
            ));
        }
        (_, Repeat::Keyed(field)) => field,
    };
    match value.to_str().ok().and_then(text) {
        Some(key) => Ok(Some((field, key))),
        None => refused("is neither a string in quotes nor printable characters without them"),
    }
}

fn refused<T>(what: &str) -> Answer<T> {
    Err(Box::new(Problem::new(Code::BadRequest, format!("`{HEADER}` {what}")).with("field", HEADER)))
}

/// Reads a key: a string as RFC 9651 has them, or what most clients send, which is one without quotes.
fn text(value: &str) -> Option<String> {
    let value = value.trim();
    let Some(quoted) = value.strip_prefix('"') else {
        return (!value.is_empty() && !value.contains('"')).then(|| value.to_owned());
    };
    let (mut key, mut characters) = (String::new(), quoted.chars());
    loop {
        match characters.next()? {
            '"' => return (characters.next().is_none() && !key.is_empty()).then_some(key),
            '\\' => key.push(characters.next().filter(|next| matches!(next, '"' | '\\'))?),
            other => key.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;
    use stemmata_api::rows;

    use super::*;

    #[test]
    fn a_key_is_read_with_and_without_quotes() {
        for (value, key) in [
            ("8e03978e-40d5", Some("8e03978e-40d5")),
            ("\"8e03978e-40d5\"", Some("8e03978e-40d5")),
            (" \"a \\\"b\\\" \\\\\" ", Some("a \"b\" \\")),
            ("", None),
            ("\"\"", None),
            ("\"open", None),
            ("\"a\"b", None),
            ("a\"b", None),
            ("\"a\\n\"", None),
        ] {
            assert_eq!(text(value).as_deref(), key, "{value}");
        }
    }

    #[test]
    fn the_header_is_taken_where_its_promise_is_kept() {
        let headers = HeaderMap::from_iter([(
            HeaderName::from_static("idempotency-key"),
            HeaderValue::from_static("k-1"),
        )]);
        let read = |head: &Head| super::read(&headers, head).map_err(|problem| problem.code);
        assert_eq!(read(&rows::prompts::STEP.head), Ok(Some(("request", "k-1".to_owned()))));
        assert_eq!(read(&rows::chains::CHECKPOINT.head), Ok(Some(("idempotency_key", "k-1".to_owned()))));
        assert_eq!(read(&rows::chains::SHOW.head), Ok(None));
        assert_eq!(read(&rows::prompts::MARK_TURN_ENTRIES.head), Ok(None));
        assert_eq!(read(&rows::maintain::APPLY_FORGET.head), Ok(None));
        assert_eq!(read(&rows::prompts::RECOVER_TURN.head), Err("bad_request".to_owned()));
        let mut twice = headers.clone();
        twice.append("idempotency-key", HeaderValue::from_static("k-1"));
        assert!(super::read(&twice, &rows::prompts::STEP.head).is_err());
        assert_eq!(super::read(&HeaderMap::new(), &rows::prompts::STEP.head), Ok(None));
    }
}
