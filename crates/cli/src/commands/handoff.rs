//! `handoff`: a session as one text: for another agent to go on from, for a pull request, for a commit.

use stemmata_api::Control;
use stemmata_api::v1::{self, HandoffReader, HandoffRequest};

use crate::args::give::{Handoff, Reader};
use crate::commands::place;
use crate::errors::{CliError, Exit};
use crate::output::file::Target;
use crate::output::size;
use crate::wiring::App;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Handoff) -> Result<Exit, CliError> {
    let ctx = match &args.reference {
        Some(reference) => {
            let found = place::found_newest(app, reference)?;
            app.say_before(reference, &found);
            app.told(&found).to_string()
        }
        None => place::latest(app, args.last, false)?.ctx.to_string(),
    };
    let reader = match args.reader {
        Reader::Agent => HandoffReader::Agent,
        Reader::Pr => HandoffReader::Pr,
        Reader::Commit => HandoffReader::Commit,
    };
    let request = HandoffRequest { ctx, stop: app.stop(&args.stop)?, budget_tokens: args.budget, reader };
    let (service, target) = (app.service()?, Target::of(&args.out));
    let path = target.path();
    let (mut text, control) = (Vec::new(), Control::none());
    let made = if app.console.json && path.is_none() {
        service.handoff(&request, &mut text, &control)?
    } else {
        target.write(&app.temp_files(), |out| Ok(service.handoff(&request, out, &control)?))?
    };
    app.console.notes(&made.notes);
    let place = path.as_ref().map(|path| format!(", in {path}")).unwrap_or_default();
    let tokens = size::count(made.token_count);
    let turns = size::many(made.turns, "turn");
    let turns = match (made.turns_told == made.turns, made.since_compaction) {
        (true, true) => {
            format!("a summary and the {turns} since the last compaction (`--from start` tells all)")
        }
        (true, false) => turns,
        (false, true) => format!(
            "a summary and {} of the {turns} since the last compaction (`--budget N` makes room)",
            made.turns_told
        ),
        (false, false) => format!("{} of {turns} (`--budget N` makes room)", made.turns_told),
    };
    let told = format!("~{tokens} tokens: {turns}{place}");
    if !app.console.json && made.tier == "raw" {
        return Ok(Exit::Done);
    }
    let text = path.is_none().then(|| String::from_utf8_lossy(&text).into_owned());
    app.said(&v1::Handoff { text, path, ..made }, &told)
}
