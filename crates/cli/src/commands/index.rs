//! `index`: how the search index is, and making it anew.

use stemmata_api::Control;
use stemmata_api::v1::{IndexState, IndexStatus};

use crate::args::maintain::{Index, IndexCommand};
use crate::errors::{CliError, Exit};
use crate::output::size::{self, many};
use crate::wiring::App;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Index) -> Result<Exit, CliError> {
    match args.command {
        None | Some(IndexCommand::Status) => {
            let status = app.service()?.index_status()?;
            app.answer(&status, || Ok(told(&status)))
        }
        Some(IndexCommand::Rebuild) => {
            let built = app.service()?.rebuild_index(&Control::none())?;
            let told = format!(
                "Indexed {} in {} ms: {}",
                many(built.entries, "entry"),
                built.elapsed_ms,
                size::bytes(built.bytes)
            );
            app.said(&built, &told)
        }
    }
}

fn told(status: &IndexStatus) -> String {
    let behind = many(status.behind_commits, "commit");
    let state = match status.state {
        IndexState::Whole => "has all that is stored".to_owned(),
        IndexState::Behind => format!("lacks {behind}; the next search takes them in"),
        IndexState::Missing => format!("is not there; the next search makes it of {behind}"),
        IndexState::Damaged => "is damaged; the next search sets it aside and rebuilds it".to_owned(),
        IndexState::Older => "was made by another version; the next search rebuilds it".to_owned(),
        IndexState::Newer => {
            "was made by a newer version of this program, which this one leaves alone".to_owned()
        }
    };
    let skipped = match status.skipped_commits {
        0 => String::new(),
        skipped => {
            format!(
                "  {} not in it: larger than 64 MiB, or damaged, which `stemma verify` tells\n",
                many(skipped, "commit")
            )
        }
    };
    format!(
        "The search index {state}\n  {}, {} in {}\n{skipped}",
        many(status.entries, "entry"),
        size::bytes(status.bytes),
        many(status.segments, "segment"),
    )
}
