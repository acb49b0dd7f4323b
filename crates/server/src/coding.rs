//! Answers that are packed for their way: which coding a client wants, and the bytes of it.
//!
//! Encoding is done where the operation runs, on a thread that may block, and not where connections are served.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::header::{ACCEPT_ENCODING, HeaderMap, HeaderValue};

/// Bytes of an answer at least: less fits one packet anyway.
pub(crate) const BYTES_MIN: usize = 1024;

/// Levels that cost less than the operations: most clients are on this machine.
const GZIP_LEVEL: u32 = 4;
const ZSTD_LEVEL: i32 = 3;

/// How an answer is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coding {
    Gzip,
    Zstd,
}

impl Coding {
    /// Returns its name in a header.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }

    /// Returns its name as a header.
    pub(crate) const fn header(self) -> HeaderValue {
        HeaderValue::from_static(self.name())
    }

    /// Packs bytes that are all there.
    pub(crate) fn pack(self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut encoder = Encoder::new(self)?;
        encoder.write(bytes)?;
        encoder.end()
    }
}

/// Returns the coding that a request prefers (RFC 9110, 12.5.3); nothing where it wants the bytes as they are.
pub(crate) fn wanted(headers: &HeaderMap) -> Option<Coding> {
    let (mut gzip, mut zstd, mut identity, mut others) = (None, None, None, None);
    let values = headers.get_all(ACCEPT_ENCODING).into_iter().filter_map(|value| value.to_str().ok());
    for item in values.flat_map(|value| value.split(',')) {
        let (name, parameters) = item.split_once(';').unwrap_or((item, ""));
        let name = name.trim().to_ascii_lowercase();
        let Some(quality) = quality(parameters) else { continue };
        match name.as_str() {
            "gzip" | "x-gzip" => gzip = Some(quality),
            "zstd" => zstd = Some(quality),
            "identity" => identity = Some(quality),
            "*" => others = Some(quality),
            _ => {}
        }
    }
    let of = |named: Option<u32>| named.or(others).unwrap_or(0);
    let (coding, quality) =
        if of(zstd) >= of(gzip) { (Coding::Zstd, of(zstd)) } else { (Coding::Gzip, of(gzip)) };
    // A client that does not name it takes bytes as they are, and is not said to prefer them.
    (quality > 0 && quality >= identity.unwrap_or(0)).then_some(coding)
}

/// Returns a weight in thousandths; nothing for one that is none.
fn quality(parameters: &str) -> Option<u32> {
    let parameters = parameters.trim();
    if parameters.is_empty() {
        return Some(1000);
    }
    let (name, text) = parameters.split_once('=')?;
    let text = text.trim();
    let is_short = text.len() <= 5 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let value: f64 = text.parse().ok().filter(|_| is_short && name.trim().eq_ignore_ascii_case("q"))?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is 0 to 1000")]
    (value <= 1.0).then_some((value * 1000.0).round() as u32)
}

/// Packs bytes as they come.
pub(crate) enum Encoder {
    Gzip(GzEncoder<Vec<u8>>),
    Zstd(zstd::stream::write::Encoder<'static, Vec<u8>>),
}

impl Encoder {
    pub(crate) fn new(coding: Coding) -> io::Result<Self> {
        Ok(match coding {
            Coding::Gzip => Self::Gzip(GzEncoder::new(Vec::new(), Compression::new(GZIP_LEVEL))),
            Coding::Zstd => Self::Zstd(zstd::stream::write::Encoder::new(Vec::new(), ZSTD_LEVEL)?),
        })
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Gzip(encoder) => encoder.write_all(bytes),
            Self::Zstd(encoder) => encoder.write_all(bytes),
        }
    }

    /// Packs a piece, and returns all that the client needs to read it now.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        self.write(bytes)?;
        match self {
            Self::Gzip(encoder) => {
                encoder.flush()?;
                Ok(std::mem::take(encoder.get_mut()))
            }
            Self::Zstd(encoder) => {
                encoder.flush()?;
                Ok(std::mem::take(encoder.get_mut()))
            }
        }
    }

    /// Returns the end, without which a client knows that bytes are missing.
    pub(crate) fn end(self) -> io::Result<Vec<u8>> {
        match self {
            Self::Gzip(encoder) => encoder.finish(),
            Self::Zstd(encoder) => encoder.finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn the_coding_is_the_one_that_is_preferred() {
        for (header, expected) in [
            ("", None),
            ("gzip", Some(Coding::Gzip)),
            ("gzip, deflate, br", Some(Coding::Gzip)),
            ("gzip, deflate, br, zstd", Some(Coding::Zstd)),
            ("zstd;q=0.5, gzip;q=0.9", Some(Coding::Gzip)),
            ("GZIP ; Q=0.001", Some(Coding::Gzip)),
            ("*", Some(Coding::Zstd)),
            ("*;q=0.1, zstd;q=0", Some(Coding::Gzip)),
            ("gzip;q=0, identity", None),
            ("identity, gzip;q=0.5", None),
            ("identity;q=0.5, gzip;q=0.5", Some(Coding::Gzip)),
            ("gzip;q=2", None),
            ("gzip;q=NaN, zstd;q=inf, gzip;q=1e0", None),
            ("gzip;level=9", None),
            ("br", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(header));
            assert_eq!(wanted(&headers), expected, "{header}");
        }
        let mut several = HeaderMap::new();
        several.append(ACCEPT_ENCODING, HeaderValue::from_static("br"));
        several.append(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
        assert_eq!((wanted(&several), wanted(&HeaderMap::new())), (Some(Coding::Gzip), None));
    }

    #[test]
    fn each_piece_can_be_read_when_it_comes() {
        for coding in [Coding::Gzip, Coding::Zstd] {
            let mut encoder = Encoder::new(coding).expect("an encoder");
            let mut sent = encoder.push(b"first line\n").expect("packed");
            let mut read = [0; 11];
            let unpacked = match coding {
                Coding::Gzip => flate2::read::GzDecoder::new(sent.as_slice()).read_exact(&mut read),
                Coding::Zstd => zstd::stream::read::Decoder::new(sent.as_slice())
                    .and_then(|mut all| all.read_exact(&mut read)),
            };
            assert_eq!(
                (unpacked.map_err(|error| error.kind()), &read),
                (Ok(()), b"first line\n"),
                "{coding:?}"
            );
            sent.extend(encoder.push(b"second").expect("packed"));
            let unpack = |bytes: &[u8]| {
                let mut text = String::new();
                let read = match coding {
                    Coding::Gzip => flate2::read::GzDecoder::new(bytes).read_to_string(&mut text),
                    Coding::Zstd => zstd::stream::read::Decoder::new(bytes)
                        .and_then(|mut all| all.read_to_string(&mut text)),
                };
                read.map(|_| text).map_err(|error| error.kind())
            };
            assert_eq!(unpack(&sent), Err(io::ErrorKind::UnexpectedEof), "{coding:?} without its end");
            sent.extend(encoder.end().expect("packed"));
            assert_eq!(unpack(&sent).as_deref(), Ok("first line\nsecond"), "{coding:?}");
            assert_eq!(unpack(&coding.pack(b"all").expect("packed")).as_deref(), Ok("all"));
        }
    }
}
