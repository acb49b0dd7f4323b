//! Ledgers that `scan` and `scrub` could not read whole: who they are, why, and what to do.
//!
//! Which they are is the engine's to find out.

use stemmata_api::v1::UnreadLedger;

use crate::output::style::{Style, tame};
use crate::wiring::App;

/// Ledgers that a person is told of one by one; `--json` has all.
const NAMED_MAX: usize = 10;

/// Warns of ledgers that were not looked at to their end.
pub(crate) fn warn(app: &App, done: &str, unread: &[UnreadLedger]) {
    // The log tells of the same damage in passing: once is enough.
    for finding in app.ledger_findings() {
        if unread.iter().all(|known| known.reason != finding) {
            app.console.warn(&finding);
        }
    }
    for one in unread.iter().take(NAMED_MAX) {
        let (ledger, reason) = (tame(&one.ledger), tame(&one.reason));
        app.console.warn(&format!("ledger {ledger} was not {done} to its end: {reason}"));
        app.console.say(&format!("{}: {}", Style::Hint.paint("hint"), next_step(app, one.ledger.as_str())));
    }
    if unread.len() > NAMED_MAX {
        app.console.warn(&format!("… and {} more ledgers", unread.len() - NAMED_MAX));
    }
}

fn next_step(app: &App, ledger: &str) -> String {
    let ledger = tame(ledger).replace('\'', "'\\''");
    if app.has_ledger_files() {
        format!(
            "`stemma restore --ledger '{ledger}'` says what is wrong, and with `--repair` sets it aside; then run this again"
        )
    } else {
        "`stemma verify` lists everything that is damaged; then run this again".to_owned()
    }
}
