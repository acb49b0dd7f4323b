//! Numbers of a fixed width, packed bit by bit, the lowest bits first.
//!
//! Specified in `docs/format/index.md`.

/// Numbers that are packed together at most.
pub(super) const BLOCK: usize = 128;

/// Bytes behind a packed block that its reader may look at: it takes eight at a time.
const SLACK: usize = 8;

/// Returns the bits that the greatest of some numbers needs.
pub(super) const fn width_of(greatest: u32) -> u32 {
    u32::BITS - greatest.leading_zeros()
}

/// Returns the bytes that so many numbers take.
pub(super) const fn packed_bytes(count: usize, width: u32) -> usize {
    (count * width as usize).div_ceil(8)
}

/// Packs numbers that fit the width.
pub(super) fn pack(into: &mut Vec<u8>, values: &[u32], width: u32) {
    let mut waiting = 0_u64;
    let mut bits = 0;
    for value in values {
        waiting |= u64::from(*value) << bits;
        bits += width;
        while bits >= 8 {
            into.push(waiting.to_le_bytes()[0]);
            waiting >>= 8;
            bits -= 8;
        }
    }
    if bits > 0 {
        into.push(waiting.to_le_bytes()[0]);
    }
}

/// Unpacks at most [`BLOCK`] numbers; `None` where there are fewer bytes or a width above 32.
pub(super) fn unpack(bytes: &[u8], width: u32, into: &mut [u32]) -> Option<()> {
    let packed = bytes.get(..packed_bytes(into.len(), width))?;
    if width > u32::BITS || into.len() > BLOCK {
        return None;
    }
    let mut padded = [0_u8; BLOCK * 4 + SLACK];
    padded.get_mut(..packed.len())?.copy_from_slice(packed);
    let mask = (1_u64 << width) - 1;
    for (place, value) in into.iter_mut().enumerate() {
        let bit = place * width as usize;
        let eight = padded.get(bit / 8..bit / 8 + SLACK)?;
        let word = u64::from_le_bytes(eight.try_into().ok()?) >> (bit % 8);
        *value = u32::try_from(word & mask).ok()?;
    }
    Some(())
}
