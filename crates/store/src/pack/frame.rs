//! The bytes of a block: one zstd frame, with what its bases hold as what precedes it.
//!
//! Which blocks those are is chosen elsewhere. Specified in `docs/format/pack.md`.

use std::io;

use zstd::zstd_safe::{CCtx, CParameter, DCtx, DParameter, get_error_name};

use super::bounds::{BASES_BYTES_MAX, BLOCK_BYTES_MAX};
use super::format::BlockCoding;

/// The level that packing uses unless told otherwise: see `docs/decisions/0008-packs.md`.
pub(crate) const LEVEL: i32 = 9;

/// Levels that may be asked for.
pub(crate) const LEVELS: std::ops::RangeInclusive<i32> = 1..=19;

/// Returns the bytes of a block in the form in which they are kept. `before` is what its bases hold, in order.
///
/// # Errors
/// Where no memory is left.
pub(crate) fn encode(raw: &[u8], before: &[u8], level: i32) -> io::Result<(BlockCoding, Vec<u8>)> {
    let mut context = CCtx::create();
    let level = level.clamp(*LEVELS.start(), *LEVELS.end());
    let mut parameters = vec![CParameter::CompressionLevel(level), CParameter::ContentSizeFlag(false)];
    if !before.is_empty() {
        // The window must reach back to where the bases begin.
        parameters.push(CParameter::WindowLog(window_log(before.len() + raw.len())));
        parameters.push(CParameter::EnableLongDistanceMatching(true));
    }
    for parameter in parameters {
        context.set_parameter(parameter).map_err(failed)?;
    }
    if !before.is_empty() {
        context.ref_prefix(before).map_err(failed)?;
    }
    // What is not shorter than the bytes themselves is of no use, so there is no room for more.
    let mut stored = Vec::with_capacity(raw.len().saturating_sub(1));
    match context.compress2(&mut stored, raw) {
        Ok(_) if stored.len() < raw.len() => Ok((BlockCoding::Zstd, stored)),
        Ok(_) | Err(_) => Ok((BlockCoding::Raw, raw.to_vec())),
    }
}

/// Returns the contents of a block of `length` bytes. `before` is what its bases hold, in order.
///
/// # Errors
/// What is wrong, as the end of a sentence about the block.
pub(crate) fn decode(
    coding: BlockCoding,
    stored: &[u8],
    before: &[u8],
    length: usize,
) -> Result<Vec<u8>, String> {
    if length > BLOCK_BYTES_MAX || before.len() > BASES_BYTES_MAX {
        return Err(format!("it is too large ({length} bytes after {})", before.len()));
    }
    let raw = match coding {
        BlockCoding::Raw => stored.to_vec(),
        BlockCoding::Zstd => {
            let unreadable = |code| format!("it cannot be decompressed ({})", get_error_name(code));
            let mut context = DCtx::create();
            let window = window_log(BASES_BYTES_MAX + BLOCK_BYTES_MAX);
            context.set_parameter(DParameter::WindowLogMax(window)).map_err(unreadable)?;
            if !before.is_empty() {
                context.ref_prefix(before).map_err(unreadable)?;
            }
            let mut raw = Vec::with_capacity(length);
            context.decompress(&mut raw, stored).map_err(unreadable)?;
            raw
        }
    };
    if raw.len() == length { Ok(raw) } else { Err(format!("it has {} bytes instead of {length}", raw.len())) }
}

fn window_log(bytes: usize) -> u32 {
    bytes.next_power_of_two().trailing_zeros().clamp(17, 27)
}

fn failed(code: usize) -> io::Error {
    io::Error::other(get_error_name(code))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_block_comes_back(raw in proptest::collection::vec(any::<u8>(), 0..2000), times in 1..30_usize, before in proptest::collection::vec(any::<u8>(), 0..2000)) {
            let raw = raw.repeat(times);
            for before in [&[][..], &before, &raw] {
                let (coding, stored) = encode(&raw, before, 3).expect("memory");
                prop_assert!(stored.len() <= raw.len());
                prop_assert_eq!(decode(coding, &stored, before, raw.len()), Ok(raw.clone()));
                prop_assert!(decode(coding, &stored, before, raw.len() + 1).is_err());
            }
        }

        #[test]
        fn any_bytes_have_the_length_or_are_an_error(stored in proptest::collection::vec(any::<u8>(), 0..300), length in 0..400_usize) {
            for coding in [BlockCoding::Raw, BlockCoding::Zstd] {
                if let Ok(raw) = decode(coding, &stored, b"before", length) {
                    prop_assert_eq!(raw.len(), length);
                }
            }
        }
    }

    #[test]
    fn what_stands_in_a_base_costs_next_to_nothing() {
        let mut state = 7_u64;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state.to_le_bytes()[7]
        })
        .take(600_000)
        .collect();
        let alone = encode(&noise, &[], 9).expect("memory").1.len();
        let based = encode(&noise, &[vec![0; 900_000], noise.clone()].concat(), 9).expect("memory").1.len();
        assert!(alone >= 600_000 && based < 600, "{alone} alone, {based} with its base");
    }
}
