//! Big binary values inside a line: long runs of base64, which are stored as parts of their own, once wherever they
//! stand.
//!
//! Looks at bytes only, not at JSON: what stands around a run (quotes, a data URL's comma) ends it. Text is left in
//! place, for a part of its own loses what it shares with its neighbours.

use std::ops::Range;

/// Bytes of a run at least. Of real transcripts without images, runs from 8 KiB on made the store 0.3 % larger, from 16 KiB
/// on nothing; of images that are repeated, runs from 32 KiB on saved 6 % less. See docs/format/content.md.
pub(crate) const RUN_BYTES_MIN: usize = 16 * 1024;

/// Returns the runs of base64 that are long enough, in order. Linear in the bytes of runs, and a fraction of all
/// others: a run that is long enough cannot lie between two looks.
pub(crate) fn runs(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    // Nothing before it is looked at again.
    let mut floor = 0;
    let mut probe = RUN_BYTES_MIN - 1;
    while let Some(byte) = bytes.get(probe) {
        if !is_base64(*byte) {
            floor = probe + 1;
            probe += RUN_BYTES_MIN;
            continue;
        }
        let (before, after) = (bytes.get(floor..probe), bytes.get(probe..));
        let back = before.unwrap_or_default().iter().rev().take_while(|byte| is_base64(**byte)).count();
        let ahead = after.unwrap_or_default().iter().take_while(|byte| is_base64(**byte)).count();
        let run = probe - back..probe + ahead;
        floor = run.end;
        probe = run.end + RUN_BYTES_MIN;
        if run.len() >= RUN_BYTES_MIN {
            found.push(run);
        }
    }
    found
}

/// Both alphabets and the padding.
const fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What `runs` must find, by looking at every byte.
    fn slowly(bytes: &[u8]) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        let mut start = 0;
        for at in 0..=bytes.len() {
            if bytes.get(at).is_none_or(|byte| !is_base64(*byte)) {
                if at - start >= RUN_BYTES_MIN {
                    found.push(start..at);
                }
                start = at + 1;
            }
        }
        found
    }

    proptest! {
        #[test]
        fn every_long_run_is_found_and_nothing_else(
            pieces in proptest::collection::vec((0..3 * RUN_BYTES_MIN, any::<u8>(), any::<bool>()), 0..8),
        ) {
            let mut bytes = Vec::new();
            for (length, end, is_run) in pieces {
                let fill = if is_run { b'Q' } else { b' ' };
                bytes.extend(std::iter::repeat_n(fill, length));
                bytes.push(end);
            }
            prop_assert_eq!(runs(&bytes), slowly(&bytes));
        }

        #[test]
        fn a_run_is_found_whatever_stands_around_it(before in 0..40_000_usize, more in 0..3_usize) {
            let run = vec![b'A'; RUN_BYTES_MIN + more];
            let mut bytes = vec![b'"'; before];
            bytes.extend_from_slice(&run);
            bytes.extend_from_slice(b"\",\"x\":1}\n");
            let from = before;
            prop_assert_eq!(runs(&bytes), vec![from..from + run.len()]);
        }
    }

    #[test]
    fn short_runs_and_text_are_left() {
        assert!(runs(&[b'A'; RUN_BYTES_MIN - 1]).is_empty());
        assert!(runs(b"short").is_empty());
        let text = "words and words. ".repeat(10_000);
        assert!(runs(text.as_bytes()).is_empty());
    }
}
