//! Any bytes as files of a ledger: what must hold for all of them. For fuzzing and for laws.
//!
//! Nothing here is used by a log.

use std::io;
use std::path::Path;

use stemmata_model::{LedgerId, to_u64};

use super::catalog::Catalog;
use super::line::{IntegrityMode, Record, decode, root_link};
use super::meta::Meta;
use super::scan::{Place, Rest, scan};
use super::{index, snapshot};
use crate::files::OpenFile;

/// Reads any bytes as each file of a ledger, and says what does not hold: reading ends without a panic, what was read
/// is written as a line that is read as the same event, and what is whole stands before what is not.
///
/// # Errors
/// What does not hold.
pub fn check_ledger_bytes(bytes: &[u8]) -> Result<(), String> {
    let id = LedgerId::new("p").expect("a constant name is a name");
    for mode in [IntegrityMode::None, IntegrityMode::Checksum, IntegrityMode::Chain] {
        let mut catalog = Catalog::new(0, root_link(&id));
        let start = catalog.start();
        let mut wrong = None;
        let mut take = |batch: &[(Place, Record)]| {
            let mut again = batch.iter().map(|(_, record)| comes_back(record, mode));
            wrong = wrong.take().or_else(|| again.find_map(Result::err));
            catalog.absorb(batch);
        };
        let rest = scan(&Bytes(bytes), &start, mode, &mut take).map_err(|error| error.to_string())?;
        if let Some(wrong) = wrong {
            return Err(wrong);
        }
        let length = to_u64(bytes.len());
        let end = catalog.end();
        let fits = match &rest {
            None => end == length,
            Some(Rest::Torn(torn)) => torn.byte == end && torn.byte + torn.bytes == length,
            Some(Rest::Damaged(at)) => at.byte >= end && at.byte < length,
        };
        if !fits {
            return Err(format!("{mode:?}: {end} of {length} bytes are whole, and then there is {rest:?}"));
        }
        let text = index::encode(&catalog, 1);
        let read = index::decode(text.as_bytes(), Catalog::new(0, root_link(&id)), 1, end)?;
        if read.is_none_or(|read| read != catalog) {
            return Err(format!("{mode:?}: the index says something else"));
        }
    }
    let _found = index::decode(bytes, Catalog::new(0, root_link(&id)), 1, u64::MAX);
    if let Ok(states) = snapshot::decode(bytes)
        && snapshot::decode(snapshot::encode(&states).as_bytes()) != Ok(states)
    {
        return Err("saved states do not come back".to_owned());
    }
    if let Ok(meta) = Meta::decode(bytes)
        && Meta::decode(meta.encode().as_bytes()) != Ok(meta)
    {
        return Err("what is known of a ledger does not come back".to_owned());
    }
    Ok(())
}

fn comes_back(record: &Record, mode: IntegrityMode) -> Result<(), String> {
    let text = record.encode(mode);
    let line = text.strip_suffix('\n').unwrap_or(&text);
    if line.contains('\n') {
        return Err(format!("{text} is more than one line"));
    }
    match decode(line.as_bytes(), mode) {
        Ok(read) if read == *record => Ok(()),
        other => Err(format!("{text} is read as {other:?}")),
    }
}

#[derive(Debug)]
struct Bytes<'a>(&'a [u8]);

impl OpenFile for Bytes<'_> {
    fn length(&self) -> io::Result<u64> {
        Ok(to_u64(self.0.len()))
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let rest = usize::try_from(offset).ok().and_then(|at| self.0.get(at..));
        let read = rest.and_then(|rest| rest.get(..into.len())).ok_or(io::ErrorKind::UnexpectedEof)?;
        into.copy_from_slice(read);
        Ok(())
    }

    fn is_at(&self, _path: &Path) -> io::Result<Option<bool>> {
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Bytes that look like lines of a ledger more often than not.
    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        let seq = prop_oneof![4 => (1..4_u64).prop_map(|seq| seq.to_string()), 1 => "[0-9]{0,20}"];
        let payload = prop_oneof![
            Just("{}".to_owned()),
            "[a-z\u{e4}]{0,3}".prop_map(|text| format!("{{\"text\":\"{text}\",\"data\":null}}")),
            Just("{\"line\": [1.50, {}] }".to_owned()),
            Just(format!(
                "{{\"gone\":{{\"hash\":\"art-{}\",\"bytes\":3,\"forgotten\":true}}}}",
                "0".repeat(64)
            )),
        ];
        let line = (seq, payload, 0..2_u64, 1..3_usize).prop_map(|(seq, payload, durable, size)| {
            let object = format!(
                "{{\"event_seq\":\"{seq}\",\"session_id\":\"s\",\"timestamp\":\"2026-01-01T00:00:00Z\",\"topic\":\"t\",\
                 \"sender\":\"a\",\"receiver\":\"b\",\"replayable\":true,\"payload\":{payload},\"metadata\":null,\
                 \"batch\":{{\"first\":\"1\",\"size\":{size},\"durable\":\"{durable}\"}}}}"
            );
            super::super::seal::seal(&object).into_bytes()
        });
        let piece = prop_oneof![4 => line, 1 => proptest::collection::vec(any::<u8>(), 0..6)];
        proptest::collection::vec(piece, 0..5)
            .prop_map(|pieces| pieces.iter().flat_map(|piece| [piece.as_slice(), b"\n"].concat()).collect())
    }

    proptest! {
        #[test]
        fn law_any_bytes_are_read_as_files_of_a_ledger(bytes in bytes(), cut in 0..9_usize) {
            let bytes = &bytes[..bytes.len().saturating_sub(cut)];
            prop_assert_eq!(check_ledger_bytes(bytes), Ok(()));
        }
    }
}
