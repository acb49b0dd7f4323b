//! A program that counts nothing holds no vocabulary. A test of its own process: others count.

use stemmata_model::{CounterSpec, TokenCounter as _};
use stemmata_tokens::{Counter, Encoding, counter_of};

#[test]
fn loading_waits_until_asked() {
    let loaded = || Encoding::ALL.map(Encoding::is_loaded);
    let exact = Counter { spec: counter_of("gpt-5", None).unwrap() };
    let estimate = Counter { spec: CounterSpec::ESTIMATE };
    assert!(estimate.count("a text").0 > 0);
    assert_eq!(loaded(), [false, false], "naming a counter loads nothing, nor does the estimate");
    assert!(exact.count("a text").0 > 0);
    assert_eq!(loaded(), [true, false]);
}
