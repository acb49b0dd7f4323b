//! The beginning of a JSON document that is cut somewhere: what is whole in it, as JSON.

/// Brackets that stand in brackets at most where a head is looked at.
const DEPTH_MAX: usize = 256;

/// Reads JSON byte by byte: which brackets are open, and whether a text is.
#[derive(Debug, Default)]
struct Scan {
    /// What closes the brackets that are open, outermost first.
    closers: Vec<u8>,
    in_text: bool,
    is_escaped: bool,
}

impl Scan {
    fn byte(&mut self, byte: u8) {
        if self.in_text {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'"' => self.in_text = false,
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => self.in_text = true,
            b'[' => self.closers.push(b']'),
            b'{' => self.closers.push(b'}'),
            b']' | b'}' => drop(self.closers.pop()),
            _ => {}
        }
    }
}

/// Returns what closes the brackets that the first `keep` bytes of a JSON document leave open.
pub(crate) fn closing(bytes: &[u8], keep: usize) -> Vec<u8> {
    let mut scan = Scan::default();
    bytes.iter().take(keep).for_each(|byte| scan.byte(*byte));
    let kept = bytes.get(..keep).unwrap_or(bytes).trim_ascii_end();
    // A key whose value is cut off.
    let value: &[u8] = if kept.ends_with(b":") && !scan.in_text { b"null" } else { b"" };
    value.iter().copied().chain(scan.closers.into_iter().rev()).collect()
}

/// Returns how many brackets stand inside each other in JSON.
pub(crate) fn nesting(json: &[u8]) -> usize {
    let mut scan = Scan::default();
    let depth = |byte: &u8| {
        scan.byte(*byte);
        scan.closers.len()
    };
    json.iter().map(depth).max().unwrap_or_default()
}

/// Returns where the last bracket closes that leaves so many open: the end of the last whole element of a list at that
/// depth, where the document is cut.
pub(crate) fn last_closed(bytes: &[u8], depth: usize) -> Option<usize> {
    let mut scan = Scan::default();
    let mut last = None;
    for (at, byte) in bytes.iter().enumerate() {
        let was_in_text = scan.in_text;
        scan.byte(*byte);
        if !was_in_text && matches!(byte, b']' | b'}') && scan.closers.len() == depth {
            last = Some(at + 1);
        }
    }
    last
}

/// Returns a head of a JSON document as JSON by itself: all of it, or what stands before its last comma, closed.
/// None where it begins as none, or where one value ends and another follows, as in JSON lines.
pub(crate) fn closed(head: &[u8]) -> Option<Vec<u8>> {
    if !matches!(head.trim_ascii_start().first(), Some(b'[' | b'{')) {
        return None;
    }
    let mut scan = Scan::default();
    let (mut last, mut closers) = (None, Vec::new());
    for (at, byte) in head.iter().enumerate() {
        if *byte == b',' && !scan.in_text && scan.closers.len() <= DEPTH_MAX {
            last = Some(at);
            closers.clone_from(&scan.closers);
        }
        scan.byte(*byte);
        if scan.closers.is_empty() && !scan.in_text && matches!(byte, b']' | b'}') {
            let rest = head.get(at + 1..).unwrap_or_default();
            return rest.trim_ascii().is_empty().then(|| head.to_vec());
        }
    }
    let mut json = head.get(..last?)?.to_vec();
    json.extend(closers.into_iter().rev());
    Some(json)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_head_is_json_wherever_it_is_cut() {
        let whole =
            br#" {"info": {"id":"s,\"[","n":[1,{"a":null}]}, "messages":[{"role":"user"},{"x":"}"}]} "#;
        for end in 0..=whole.len() {
            let Some(json) = closed(&whole[..end]) else {
                assert!(end < 26, "nothing of {end} bytes");
                continue;
            };
            assert!(
                serde_json::from_slice::<serde_json::Value>(&json).is_ok(),
                "{}",
                String::from_utf8_lossy(&json)
            );
        }
        assert_eq!(closed(whole).as_deref(), Some(whole.as_slice()));
    }

    #[test]
    fn lines_and_texts_are_no_document() {
        for head in [b"{\"a\":1}\n{\"a\":2}\n".as_slice(), b"dear diary, today", b"", b"\"a\",", b"{"] {
            assert_eq!(closed(head), None);
        }
    }

    #[test]
    fn what_is_open_is_closed() {
        let whole = br#"[{"a":["}"]},{"b":2}]"#;
        for (keep, closers) in [(0, ""), (1, "]"), (9, "]}]"), (12, "]"), (18, "null}]"), (whole.len(), "")] {
            assert_eq!(String::from_utf8(closing(whole, keep)).expect("text"), closers, "{keep}");
        }
    }
}
