//! One program for all fuzz targets, run by `cargo xtask fuzz`; see there for how it is built.
//!
//! A target is a reader of foreign bytes: `adapter:FORMAT` for each transcript format, `scrub`, `ledger`, `acts`, and `tokens`. Which one runs is
//! said by `STEMMATA_FUZZ_TARGET` (`list` prints them all and ends); where its first inputs go, by `STEMMATA_FUZZ_SEEDS`.

#![no_main]

mod seeds;

use std::sync::OnceLock;

use stemmata_acts::tool_uses;
use stemmata_model::{Entry, EntryId, FormatId, Part, Role};
use stemmata_redact::Scrubber;
use stemmata_runtimes::adapter::Adapter;
use stemmata_runtimes::conformance::check_any;
use stemmata_runtimes::registry::{adapters, by_format};
use stemmata_store::conformance::ledger::check_ledger_bytes;
use stemmata_tokens::{Encoding, image_size};

enum Target {
    Adapter(&'static dyn Adapter),
    Scrub(Scrubber),
    Ledger,
    Acts,
    Tokens,
}

static TARGET: OnceLock<Target> = OnceLock::new();

fn begin() {
    let name = std::env::var("STEMMATA_FUZZ_TARGET").expect("STEMMATA_FUZZ_TARGET names a target");
    if name == "list" {
        println!("scrub\nledger\nacts\ntokens");
        adapters().iter().for_each(|adapter| println!("adapter:{}", adapter.format()));
        std::process::exit(0);
    }
    let target = match name.strip_prefix("adapter:") {
        Some(format) => {
            let format = FormatId::new(format).expect("a format's name");
            Target::Adapter(by_format(&format).expect("a format that this build knows"))
        }
        None if name == "scrub" => Target::Scrub(Scrubber::builtin()),
        None if name == "ledger" => Target::Ledger,
        None if name == "acts" => Target::Acts,
        None if name == "tokens" => Target::Tokens,
        None => panic!("no target `{name}`"),
    };
    if let Some(folder) = std::env::var_os("STEMMATA_FUZZ_SEEDS") {
        seeds::write(&target, folder.as_ref());
    }
    drop(TARGET.set(target));
}

libfuzzer_sys::fuzz_target!(init: begin(), |bytes: &[u8]| {
    match TARGET.get().expect("begun") {
        Target::Adapter(adapter) => {
            if let Err(violation) = check_any(*adapter, bytes) {
                panic!("{violation}");
            }
        }
        Target::Ledger => check_ledger_bytes(bytes).unwrap_or_else(|wrong| panic!("{wrong}")),
        // The first line is the tool, the next one its arguments, the rest its answer.
        Target::Acts => {
            let text = String::from_utf8_lossy(bytes);
            let mut parts = text.splitn(3, '\n');
            let (name, arguments) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
            let call = Part::ToolCall { call_id: "c".into(), name: name.into(), arguments: arguments.into() };
            let said = vec![Part::Text(parts.next().unwrap_or_default().into())];
            let result = Part::ToolResult { call_id: "c".into(), is_error: false, parts: said };
            let id = EntryId::new("e").expect("an id");
            let entries = [Entry::said(id, Role::Assistant, vec![call, result])];
            for used in tool_uses(&entries) {
                assert!(!used.acts.is_empty(), "a call does something");
                drop((used.files(), used.commands().count(), used.tasks().count()));
            }
        }
        // The first byte says how often the rest is repeated: what is slow or cut in two is long.
        Target::Tokens => {
            let (times, rest) = bytes.split_first().map_or((1, bytes), |(times, rest)| (usize::from(*times), rest));
            let text = String::from_utf8_lossy(rest).repeat(times.max(1));
            for encoding in Encoding::ALL {
                let count = encoding.count(&text);
                assert!(count <= text.len() as u64, "a token has a byte at least");
                assert_eq!(count == 0, text.is_empty(), "only nothing counts nothing");
            }
            std::hint::black_box(image_size(bytes));
        }
        Target::Scrub(scrubber) => {
            let once = scrubber.scrub_line(bytes).expect("the shipped rules work").bytes;
            let twice = scrubber.scrub_line(&once).expect("the shipped rules work").bytes;
            assert!(matches!(twice, std::borrow::Cow::Borrowed(_)), "what was scrubbed is scrubbed again");
        }
    }
});
