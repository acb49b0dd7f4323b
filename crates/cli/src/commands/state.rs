//! `state`, `replay` and what `restore` says of a ledger: what is known of a project, and how it came to be known.
//!
//! What is remembered, and from what, is the engine's.

use stemmata_api::v1;
use stemmata_engine::{Folded, Remembered};
use stemmata_model::{Json, LedgerId, Note};
use stemmata_prompt::reduce::Reducer;
use stemmata_prompt::reduce::memory::MemoryReducer;
use stemmata_prompt::reduce::memory::v1::TaskStatus;
use stemmata_prompt::reduce::snapshot::StateSnapshotter;

use crate::args::ledger::{Replay, State, Which};
use crate::commands::events::{known_ledger, ledger_to_read};
use crate::errors::{CliError, Exit};
use crate::output::put;
use crate::output::size::many;
use crate::output::style::{Style, tame};
use crate::wiring::App;
use stemmata_service::wire;

/// Characters of a state for people at most: some screens.
const TEXT_CHARS_MAX: usize = 24_000;

/// Runs `state`.
pub(crate) fn run(app: &App, args: &State) -> Result<Exit, CliError> {
    let engine = app.engine()?;
    let ledger = ledger_to_read(app, &args.which)?;
    let remembered = match args.at {
        Some(at) => engine.remember_at(&ledger, at)?,
        None => engine.remember(&ledger)?,
    };
    let snapshot = engine.fold::<StateSnapshotter>(&ledger, args.at)?;
    if args.at.is_none() {
        engine.save_folded(&ledger, &snapshot, false)?;
    }
    let said = snapshot.reducer.text();
    let root = engine.log().ledger(&ledger)?.and_then(|known| known.root);
    if app.console.json {
        app.console.json(&v1::State {
            ledger: ledger.to_string(),
            root,
            through: remembered.through.to_string(),
            transcripts: remembered.transcripts,
            memory: wire::raw(&Json::of(&remembered.memory.to_json())),
            snapshot: (!said.is_empty()).then(|| wire::raw(&Json::of(&snapshot.reducer.data()))),
            notes: wire::notes(&remembered.notes),
        })?;
        return Ok(Exit::Done);
    }
    app.console.notes(&remembered.notes);
    app.console.long_text(&told(app, (&ledger, root.as_deref()), &remembered, &said))?;
    Ok(Exit::Done)
}

fn told(app: &App, (ledger, root): (&LedgerId, Option<&str>), remembered: &Remembered, said: &str) -> String {
    let name =
        root.map_or_else(|| ledger.to_string(), |root| app.environment.shown(std::path::Path::new(root)));
    let sources = match remembered.transcripts {
        0 => many(remembered.through, "event"),
        transcripts => {
            format!("{} and {}", many(remembered.through, "event"), many(transcripts, "captured session"))
        }
    };
    let mut text = format!("{}  {}\n", Style::Strong.paint(&tame(&name)), Style::Faint.paint(&sources));
    if !said.is_empty() {
        put!(text, "\n{}\n", tamed(said));
    }
    let memory = remembered.memory.text(TEXT_CHARS_MAX);
    if memory.trim().is_empty() {
        text.push_str("\nNothing is known yet: no decision, task, file or error.\n");
    } else {
        put!(text, "\n{}\n", tamed(memory.trim_end()));
    }
    text
}

/// Keeps the lines of a text and nothing else that a terminal would obey.
fn tamed(text: &str) -> String {
    text.lines().map(tame).collect::<Vec<_>>().join("\n")
}

/// Shows the open tasks of a project.
pub(crate) fn open_tasks(app: &App, which: &Which) -> Result<Exit, CliError> {
    let ledger = ledger_to_read(app, which)?;
    let remembered = app.engine()?.remember(&ledger)?;
    let open = remembered.memory.items.tasks.iter().filter(|task| task.status != TaskStatus::Done);
    let tasks: Vec<v1::OpenTask> = open
        .map(|task| v1::OpenTask {
            name: task.name(),
            id: task.id.clone(),
            text: task.text.clone(),
            session_id: task.proof.session.clone(),
            source: task.proof.source.clone(),
        })
        .collect();
    if app.console.json {
        app.console.json(&v1::OpenTasks { tasks, notes: wire::notes(&remembered.notes) })?;
        return Ok(Exit::Done);
    }
    app.console.notes(&remembered.notes);
    let mut text = String::new();
    for task in &tasks {
        put!(text, "- {}  {}\n", tame(&task.text), Style::Faint.paint(&tame(&task.name)));
    }
    app.console.text(&text)?;
    if tasks.is_empty() {
        app.console.say("No task is open");
    } else {
        app.console.say(&format!(
            "{}: `stemma task --done` with what stands behind a task, or with words of it, ends it",
            Style::Hint.paint("hint")
        ));
    }
    Ok(Exit::Done)
}

/// What a replay found of one reducer.
struct Compared {
    name: &'static str,
    saved_through: u64,
    through: u64,
    same: bool,
    notes: Vec<Note>,
}

/// Runs `replay`.
pub(crate) fn replay(app: &App, args: &Replay) -> Result<Exit, CliError> {
    let ledger = known_ledger(app, &args.which)?;
    let found = [
        compare::<MemoryReducer>(app, &ledger, args.check)?,
        compare::<StateSnapshotter>(app, &ledger, args.check)?,
    ];
    let transcripts = app.engine()?.replay_transcripts(&ledger, !args.check)?;
    let same = found.iter().all(|one| one.same) && transcripts.different.is_empty();
    if app.console.json {
        app.console.json(&v1::Replayed {
            ledger: ledger.to_string(),
            through: found.iter().map(|one| one.through).max().unwrap_or(0).to_string(),
            reducers: found.iter().map(wire).collect(),
            transcripts: v1::ReplayedTranscripts {
                sessions: transcripts.sessions,
                different: transcripts.different,
                notes: wire::notes(&transcripts.notes),
            },
            same,
        })?;
    } else {
        let mut text = String::new();
        for one in &found {
            let verdict = verdict(one.same, args.check);
            put!(
                text,
                "{:<17} {} folded again, {}\n",
                one.name,
                many(one.through, "event"),
                match one.saved_through {
                    0 => "and no saved state to compare with".to_owned(),
                    through => format!("the saved state was at {through}: {verdict}"),
                }
            );
            app.console.notes(&one.notes);
        }
        if transcripts.sessions > 0 {
            let verdict = verdict(transcripts.different.is_empty(), args.check);
            let sessions = many(transcripts.sessions, "captured session");
            put!(text, "{:<17} {sessions} folded again: {verdict}\n", "transcripts");
            for session in &transcripts.different {
                put!(text, "  {}\n", tame(session));
            }
        }
        app.console.notes(&transcripts.notes);
        app.console.text(&text)?;
    }
    Ok(if same || !args.check { Exit::Done } else { Exit::Corrupt })
}

fn verdict(same: bool, check: bool) -> String {
    match (same, check) {
        (true, _) => Style::Good.paint("the same"),
        (false, true) => Style::Error.paint("differs"),
        (false, false) => Style::Warning.paint("differed, and is saved anew"),
    }
}

fn compare<R: Reducer>(app: &App, ledger: &LedgerId, check: bool) -> Result<Compared, CliError> {
    let engine = app.engine()?;
    let saved: Folded<R> = engine.fold(ledger, None)?;
    let whole: Folded<R> = engine.replay(ledger)?;
    // Events may have come between the two.
    let saved =
        if saved.through == whole.through { saved } else { engine.fold(ledger, Some(whole.through))? };
    let same = saved.reducer.save() == whole.reducer.save();
    if !check {
        engine.save_folded(ledger, &whole, true)?;
    }
    let mut notes = saved.notes;
    notes.extend(whole.notes);
    notes.dedup();
    Ok(Compared { name: R::NAME, saved_through: saved.saved_through, through: whole.through, same, notes })
}

fn wire(found: &Compared) -> v1::ReplayedReducer {
    v1::ReplayedReducer {
        name: found.name.to_owned(),
        saved_through: found.saved_through.to_string(),
        same: found.same,
        notes: wire::notes(&found.notes),
    }
}
