//! What an image counts, by its size.
//! Not a decoder: only headers are read.

use stemmata_model::{IMAGE_TOKENS, Maker, Tokens};

/// Bytes of an image that are looked at for its size. A JPEG may have a picture of itself ahead of it.
pub const IMAGE_HEAD_BYTES: usize = 64 << 10;

/// Width and height in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pixels {
    /// From left to right.
    pub width: u32,
    /// From top to bottom.
    pub height: u32,
}

/// Returns what a maker's models count for an image, by the makers' public pages. `IMAGE_TOKENS` where the maker or
/// the size is not known.
pub fn image_tokens(maker: Option<Maker>, size: Option<Pixels>) -> Tokens {
    let (Some(maker), Some(size)) = (maker, size) else { return IMAGE_TOKENS };
    let (width, height) = (u64::from(size.width.max(1)), u64::from(size.height.max(1)));
    let (long, short) = (width.max(height), width.min(height));
    Tokens(match maker {
        Maker::Anthropic => {
            let (long, short) = fit((long, short), long, 1_568);
            (long * short).div_ceil(750).min(1_600)
        }
        Maker::OpenAi => {
            let (long, short) = fit((long, short), long, 2_048);
            let (long, short) = fit((long, short), short, 768);
            85 + 170 * (long.div_ceil(512) * short.div_ceil(512))
        }
        Maker::Google if long <= 384 => 258,
        Maker::Google => 258 * (long.div_ceil(768) * short.div_ceil(768)).min(TILES_MAX),
    })
}

/// The most tiles that are counted: a header may claim any size.
const TILES_MAX: u64 = 1 << 20;

/// Shrinks both sides, so that one of them is no longer than `max`.
fn fit((long, short): (u64, u64), side: u64, max: u64) -> (u64, u64) {
    if side <= max { (long, short) } else { ((long * max / side).max(1), (short * max / side).max(1)) }
}

/// Reads the size of a PNG, GIF, WebP or JPEG from its first bytes; `None` where they say none.
pub fn image_size(head: &[u8]) -> Option<Pixels> {
    let head = head.get(..IMAGE_HEAD_BYTES).unwrap_or(head);
    match head {
        [0x89, b'P', b'N', b'G', ..] => {
            let side = |at| Some(u32::from_be_bytes(*head.get(at..)?.first_chunk()?));
            Some(Pixels { width: side(16)?, height: side(20)? })
        }
        [b'G', b'I', b'F', b'8', ..] => {
            Some(Pixels { width: little(head, 6, 2)?, height: little(head, 8, 2)? })
        }
        [b'R', b'I', b'F', b'F', ..] if head.get(8..12) == Some(b"WEBP") => webp(head),
        [0xff, 0xd8, ..] => jpeg(head),
        _ => None,
    }
}

/// Reads a number of up to four bytes, the low one first.
fn little(head: &[u8], at: usize, bytes: usize) -> Option<u32> {
    let bytes = head.get(at..at + bytes)?;
    Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte)))
}

fn webp(head: &[u8]) -> Option<Pixels> {
    match head.get(12..16)? {
        b"VP8X" => Some(Pixels { width: little(head, 24, 3)? + 1, height: little(head, 27, 3)? + 1 }),
        b"VP8L" => {
            let bits = little(head, 21, 4)?;
            Some(Pixels { width: (bits & 0x3fff) + 1, height: (bits >> 14 & 0x3fff) + 1 })
        }
        b"VP8 " => {
            Some(Pixels { width: little(head, 26, 2)? & 0x3fff, height: little(head, 28, 2)? & 0x3fff })
        }
        _ => None,
    }
}

/// Walks the segments to the one that begins the frame.
fn jpeg(head: &[u8]) -> Option<Pixels> {
    let big = |at: usize| Some(u32::from(u16::from_be_bytes(*head.get(at..)?.first_chunk()?)));
    let mut at = 2;
    loop {
        let [0xff, marker] = *head.get(at..)?.first_chunk::<2>()? else { return None };
        match marker {
            0xc4 | 0xc8 | 0xcc => {}
            0xc0..=0xcf => return Some(Pixels { width: big(at + 7)?, height: big(at + 5)? }),
            // Padding, and marks that have no length.
            0xff => {
                at += 1;
                continue;
            }
            0x01 | 0xd0..=0xd8 => {
                at += 2;
                continue;
            }
            _ => {}
        }
        // A segment's length counts itself, so each step moves on.
        at += 2 + usize::try_from(big(at + 2)?.max(2)).ok()?;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const fn pixels(width: u32, height: u32) -> Pixels {
        Pixels { width, height }
    }

    #[test]
    fn sizes_are_read_from_headers() {
        let png =
            [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".as_slice(), &640_u32.to_be_bytes(), &480_u32.to_be_bytes()]
                .concat();
        assert_eq!(image_size(&png), Some(pixels(640, 480)));
        assert_eq!(image_size(b"GIF89a\x80\x02\xe0\x01"), Some(pixels(640, 480)));
        assert_eq!(
            image_size(b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x7f\x02\0\xdf\x01\0"),
            Some(pixels(640, 480))
        );
        assert_eq!(image_size(b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f\x7f\xc2\x77\0"), Some(pixels(640, 480)));
        assert_eq!(
            image_size(b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a\x80\x02\xe0\x01"),
            Some(pixels(640, 480))
        );
        let jpeg = b"\xff\xd8\xff\xe0\0\x04ab\xff\xff\xc4\0\x02\xff\xc2\0\x11\x08\x01\xe0\x02\x80";
        assert_eq!(image_size(jpeg), Some(pixels(640, 480)));
        for cut in 0..png.len().min(jpeg.len()) {
            assert_eq!((image_size(&png[..cut]), image_size(&jpeg[..cut])), (None, None), "{cut} bytes");
        }
    }

    #[test]
    fn an_image_counts_by_its_size_and_by_who_reads_it() {
        for (maker, size, tokens) in [
            (None, Some(pixels(10, 10)), 1_200),
            (Some(Maker::Anthropic), None, 1_200),
            (Some(Maker::Anthropic), Some(pixels(200, 200)), 54),
            (Some(Maker::Anthropic), Some(pixels(1_000, 1_000)), 1_334),
            (Some(Maker::Anthropic), Some(pixels(8_000, 8_000)), 1_600),
            (Some(Maker::OpenAi), Some(pixels(1_024, 1_024)), 765),
            (Some(Maker::OpenAi), Some(pixels(2_048, 4_096)), 1_105),
            (Some(Maker::Google), Some(pixels(384, 384)), 258),
            (Some(Maker::Google), Some(pixels(1_000, 700)), 516),
        ] {
            assert_eq!(image_tokens(maker, size), Tokens(tokens), "{maker:?} {size:?}");
        }
    }

    proptest! {
        #[test]
        fn no_header_and_no_size_is_too_much(
            mut bytes in proptest::collection::vec(any::<u8>(), 0..200), kind in 0..4_usize,
            width: u32, height: u32,
        ) {
            let start: &[u8] = [b"\x89PNG".as_slice(), b"GIF8", b"RIFF\0\0\0\0WEBPVP8L", b"\xff\xd8\xff"][kind];
            bytes.splice(..0, start.iter().copied());
            let _size = image_size(&bytes);
            for maker in [Maker::Anthropic, Maker::OpenAi, Maker::Google] {
                let tokens = image_tokens(Some(maker), Some(Pixels { width, height }));
                prop_assert!(tokens > Tokens(0));
            }
        }
    }
}
