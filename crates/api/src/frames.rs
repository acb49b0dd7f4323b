//! Content and an answer in one body: what a service sends to a client that wants both.
//!
//! A frame is its length in four bytes, the most significant first, and that many bytes of content. After the last one stands a
//! length of 0, then `a` and the answer, or `p` and the problem, both JSON up to the end of the body. So a problem that comes up
//! in the middle arrives as one, and a body without an end is known to be cut.

use std::io::{self, Read, Write};

use serde::de::DeserializeOwned;

use crate::{Answer, Code, Problem};

/// The media type of such a body.
pub const MEDIA_TYPE: &str = "application/vnd.stemmata.frames";

/// Bytes of content in a frame at most.
pub const FRAME_BYTES_MAX: usize = 64 * 1024;

/// Bytes of an answer or a problem at most.
const ANSWER_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Returns what stands before a frame's bytes.
///
/// # Panics
/// For more than [`FRAME_BYTES_MAX`].
pub fn frame_head(length: usize) -> [u8; 4] {
    assert!(length <= FRAME_BYTES_MAX, "a frame of {length} bytes");
    u32::try_from(length).expect("checked above").to_be_bytes()
}

/// Returns what stands after the last frame: the answer in JSON, or the problem.
pub fn frame_end(answer: &Result<Vec<u8>, Box<Problem>>) -> Vec<u8> {
    let mut end = vec![0; 4];
    match answer {
        Ok(json) => {
            end.push(b'a');
            end.extend_from_slice(json);
        }
        Err(problem) => {
            end.push(b'p');
            serde_json::to_writer(&mut end, problem).expect("a problem has only text keys");
        }
    }
    end
}

/// Returns what stands before content that comes with a request: the request's length in four bytes, and the request in JSON.
///
/// # Errors
/// `too_large` for a request of 4 GiB or more.
pub fn request_head(json: &[u8]) -> Answer<Vec<u8>> {
    let length = u32::try_from(json.len())
        .map_err(|_| Box::new(Problem::new(Code::TooLarge, "the request is too long")))?;
    Ok([&length.to_be_bytes(), json].concat())
}

/// Reads the request that stands before content.
///
/// # Errors
/// `too_large` where it is longer than `bytes_max`, `bad_request` where it is cut.
pub fn read_head(body: &mut dyn Read, bytes_max: usize) -> Answer<Vec<u8>> {
    let cut = |error: io::Error| {
        Box::new(Problem::new(Code::BadRequest, format!("the request cannot be read: {error}")))
    };
    let mut head = [0; 4];
    body.read_exact(&mut head).map_err(cut)?;
    let length = u32::from_be_bytes(head);
    if usize::try_from(length).map_or(true, |length| length > bytes_max) {
        let detail = format!("the request is longer than {bytes_max} bytes");
        return Err(Box::new(Problem::new(Code::TooLarge, detail)));
    }
    let mut json = Vec::new();
    body.take(length.into()).read_to_end(&mut json).map_err(cut)?;
    if json.len() < usize::try_from(length).unwrap_or(usize::MAX) {
        return Err(cut(io::ErrorKind::UnexpectedEof.into()));
    }
    Ok(json)
}

/// Copies the content of a body to `out`, and returns the answer.
///
/// # Errors
/// The problem that the body ends with; `io_failed` where it is cut or no such body, or `out` fails.
pub fn read_frames<T: DeserializeOwned>(body: &mut dyn Read, out: &mut dyn Write) -> Answer<T> {
    let failed = |error: io::Error| {
        let what = match error.kind() {
            io::ErrorKind::UnexpectedEof => "the service's answer is cut".to_owned(),
            _ => format!("the service's answer cannot be read: {error}"),
        };
        Box::new(Problem::new(Code::IoFailed, what))
    };
    let mut frame = vec![0; FRAME_BYTES_MAX];
    loop {
        let mut head = [0; 4];
        body.read_exact(&mut head).map_err(failed)?;
        let length = usize::try_from(u32::from_be_bytes(head)).unwrap_or(usize::MAX);
        if length == 0 {
            break;
        }
        let Some(content) = frame.get_mut(..length) else {
            return Err(failed(io::Error::new(io::ErrorKind::InvalidData, "a frame is too long")));
        };
        body.read_exact(content).map_err(failed)?;
        out.write_all(content).map_err(|error| {
            Box::new(Problem::new(Code::IoFailed, format!("the content cannot be written: {error}")))
        })?;
    }
    let mut end = Vec::new();
    body.take(ANSWER_BYTES_MAX).read_to_end(&mut end).map_err(failed)?;
    let read = match end.split_first() {
        Some((b'a', json)) => serde_json::from_slice(json),
        Some((b'p', json)) => {
            return Err(serde_json::from_slice(json).unwrap_or_else(|error| failed(error.into())));
        }
        _ => return Err(failed(io::ErrorKind::UnexpectedEof.into())),
    };
    read.map_err(|error| failed(error.into()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::v1::Followed;

    fn body(parts: &[Vec<u8>], answer: &Result<Vec<u8>, Box<Problem>>) -> Vec<u8> {
        let mut body = Vec::new();
        for part in parts.iter().filter(|part| !part.is_empty()) {
            body.extend(frame_head(part.len()));
            body.extend(part);
        }
        body.extend(frame_end(answer));
        body
    }

    proptest! {
        #[test]
        fn content_and_answer_come_back_and_a_cut_body_is_a_problem(
            parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..5),
            is_good in any::<bool>(),
            cut in any::<prop::sample::Index>(),
        ) {
            let problem = Problem::new(Code::ContentCorrupt, "no");
            let answer = if is_good { Ok(br#"{"events":3}"#.to_vec()) } else { Err(Box::new(problem.clone())) };
            let body = body(&parts, &answer);
            let mut out = Vec::new();
            let got = read_frames::<Followed>(&mut body.as_slice(), &mut out);
            prop_assert_eq!(&out, &parts.concat());
            prop_assert_eq!(got, if is_good { Ok(Followed { events: 3 }) } else { Err(Box::new(problem)) });

            let part = &body[..cut.index(body.len())];
            let mut out = Vec::new();
            let got = read_frames::<Followed>(&mut &*part, &mut out).expect_err("cut");
            prop_assert!(got.is(Code::IoFailed), "{:?}", got);
            prop_assert!(parts.concat().starts_with(&out));
        }

        #[test]
        fn foreign_bytes_are_a_problem(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _answered = read_frames::<Followed>(&mut bytes.as_slice(), &mut io::sink());
        }
    }
}
