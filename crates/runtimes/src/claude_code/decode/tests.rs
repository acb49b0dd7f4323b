use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::claude_code::count::{UNSEEN, counts};
use crate::claude_code::samples::{corpus_files, transcript};

fn one(line: &str) -> Entry {
    let mut decoded = decode(line.as_bytes());
    assert_eq!(decoded.entries.len(), 1);
    decoded.entries.remove(0)
}
