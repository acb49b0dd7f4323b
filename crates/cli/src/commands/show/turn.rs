//! `show REF`: what was said and done in a turn, as a person reads it.

use stemmata_api::v1::{Commit, ShownCall, ShownTurn, TurnPiece};

use crate::args::browse::Show;
use crate::errors::CliError;
use crate::output::commit::{ShortIds, names};
use crate::output::outline::{self, painted};
use crate::output::put;
use crate::output::size::{self, many};
use crate::output::style::{Style, tame};
use crate::output::table::fit;
use crate::output::time;
use crate::wiring::App;

/// Columns before calls and thoughts.
const INDENT: &str = "  ";
/// Columns before what belongs to a call or a thought.
const INSIDE: &str = "  │ ";

/// Returns a turn as text.
pub(super) fn render(
    app: &App,
    args: &Show,
    commit: &Commit,
    number: Option<u64>,
) -> Result<String, CliError> {
    let Some(turn) = &commit.turn else { return Ok(String::new()) };
    let started = turn.pieces.iter().filter_map(|piece| piece.call.as_ref()?.subagent.as_deref());
    let ids = app.short_ids(started.chain([commit.id.as_str()]))?;
    let look = Look { ids, width: app.console.width, full: args.full };
    if args.prompts {
        return Ok(prompts(turn));
    }
    Ok(head(app, commit, turn, (ids, number)) + &look.pieces(turn))
}

/// Returns what people said, and nothing else.
fn prompts(turn: &ShownTurn) -> String {
    let texts =
        turn.pieces.iter().filter(|piece| piece.kind == "prompt").filter_map(|piece| piece.text.as_deref());
    texts.map(|text| format!("{}\n", text.trim_end())).collect::<Vec<_>>().join("\n")
}

/// Returns the lines above a turn: which one, when, by whom, and what it did.
fn head(app: &App, commit: &Commit, turn: &ShownTurn, (ids, number): (ShortIds, Option<u64>)) -> String {
    let faint = |text: String| (Style::Faint, text);
    let began = turn.outline.began_at.as_deref().unwrap_or(&commit.created_at);
    let mut first = vec![(Style::Id, ids.cut(&commit.id))];
    first.extend(number.map(|number| faint(format!("prompt {number}"))));
    first.push(faint(outline::moment(time::of_text(began), app.now())));
    first.extend(outline::took(&turn.outline).map(faint));
    first.extend(names(commit, usize::MAX));
    let mut second: Vec<String> = turn.models.iter().map(|model| Style::Faint.paint(&tame(model))).collect();
    second.extend(outline::calls(&turn.outline));
    second.extend(Some(painted(&outline::files(&turn.outline.files), " ")).filter(|files| !files.is_empty()));
    let (green, red) = (turn.outline.tests_passed, turn.outline.tests_failed);
    if green + red > 0 {
        second.push(format!("{}: {green} passed, {red} failed", many(green + red, "test run")));
    }
    let is_asked = turn.pieces.iter().any(|piece| piece.kind == "prompt");
    let mut outcome = outline::outcome(&turn.outline, is_asked);
    if commit.commit_type == "compaction" {
        // Its summary has the mark already.
        outcome.retain(|(style, _)| *style != Style::Compaction);
    }
    let outcome = painted(&outcome, " · ");
    second.extend(Some(outcome).filter(|outcome| !outcome.is_empty()));
    let mut text = format!("{}\n", painted(&first, " · "));
    if !second.is_empty() {
        put!(text, "{}\n", second.join(" · "));
    }
    text.push('\n');
    text
}

/// How pieces are shown.
#[derive(Debug, Clone, Copy)]
struct Look {
    ids: ShortIds,
    width: usize,
    full: bool,
}

impl Look {
    /// Returns the pieces: texts as paragraphs, calls and thoughts as lines. Without `--full`, thoughts in a row are one, and
    /// calls in a row that say the same.
    fn pieces(self, turn: &ShownTurn) -> String {
        let mut text = String::new();
        let mut lines = Lines::default();
        for piece in &turn.pieces {
            if !matches!(piece.kind.as_str(), "call" | "thought" | "result") {
                lines.end(&mut text);
                if !text.is_empty() {
                    text.push('\n');
                }
                self.piece(&mut text, piece);
                continue;
            }
            if !lines.is_begun && !text.is_empty() {
                text.push('\n');
            }
            lines.is_begun = true;
            let (mut line, tokens) = (String::new(), piece.tokens.filter(|_| !self.full));
            self.piece(&mut line, piece);
            lines.add(&mut text, line, tokens);
        }
        lines.end(&mut text);
        if turn.pieces.is_empty() {
            let nothing = "(no prompt and no answer; `--meta` and `--entries` show what is there)";
            put!(text, "{}\n", Style::Faint.paint(nothing));
        }
        text
    }

    fn piece(self, text: &mut String, piece: &TurnPiece) {
        let said = piece.text.as_deref().unwrap_or_default().trim_end();
        match piece.kind.as_str() {
            "prompt" => {
                for (at, line) in said.lines().enumerate() {
                    let mark = if at == 0 { "❯ " } else { "  " };
                    put!(text, "{}{}\n", Style::Branch.paint(mark), Style::Strong.paint(line));
                }
            }
            "call" => piece.call.iter().for_each(|call| self.call(text, call)),
            "thought" => {
                text.push_str(&thought(piece.tokens.unwrap_or(0)));
                inside(text, said);
            }
            "result" => {
                put!(text, "{INDENT}{}\n", Style::Faint.paint("result of an earlier call"));
                inside(text, said);
            }
            "summary" if !self.full => {
                let mark = Style::Compaction.paint("◆");
                put!(
                    text,
                    "{mark} compaction: a summary of {} lines (`--full` shows it)\n",
                    said.lines().count()
                );
            }
            "summary" => put!(text, "{} compaction\n{said}\n", Style::Compaction.paint("◆")),
            _ => put!(text, "{said}\n"),
        }
    }

    /// Shows a call in one line, and with `--full` what it was given and what it returned.
    fn call(self, text: &mut String, call: &ShownCall) {
        let tail = self.tail(call);
        let tool = tame(&call.tool);
        let tail_width: usize = tail.iter().map(|(_, piece)| piece.chars().count() + 1).sum();
        let room = self.width.saturating_sub(INDENT.len() + tool.chars().count() + 1 + tail_width);
        let about = fit(&tame(&call.about), room.max(12));
        let about = if call.subagent.is_some() { format!("\"{about}\"") } else { about };
        let mut line = format!("{INDENT}{}", Style::Branch.paint(&tool));
        for piece in [about].into_iter().filter(|about| !about.is_empty()).chain([painted(&tail, " ")]) {
            put!(line, " {piece}");
        }
        put!(text, "{}\n", line.trim_end());
        if let Some(arguments) = &call.arguments {
            inside(text, &fields(arguments));
        }
        if let Some(result) = call.result.as_deref().map(str::trim_end).filter(|result| !result.is_empty()) {
            put!(text, "{INDENT}{}\n", Style::Faint.paint("→"));
            inside(text, result);
        }
    }

    /// Returns what stands behind what a call is about: lines, tasks, its end.
    fn tail(self, call: &ShownCall) -> Vec<(Style, String)> {
        let mut tail = outline::lines(call.added, call.removed);
        if let (Some(done), Some(all)) = (call.tasks_done, call.tasks) {
            tail.push((Style::Plain, format!("{done}/{all}")));
        }
        if let Some(subagent) = &call.subagent {
            tail.push((Style::Subagent, format!("→ {}", self.ids.cut(subagent))));
        }
        let code = call.exit_code.map(|code| format!("✗ exit {code}"));
        match call.outcome.as_str() {
            "failed" => {
                tail.push((Style::Error, code.unwrap_or_else(|| "✗".to_owned())));
                // Half a line at most: what was run comes first.
                tail.extend(
                    call.error
                        .as_deref()
                        .map(|why| (Style::Faint, fit(&tame(why), (self.width / 2).max(20)))),
                );
            }
            "refused" => tail.push((Style::Warning, "refused".to_owned())),
            "stopped" => tail.push((Style::Warning, "stopped".to_owned())),
            "running" => tail.push((Style::Open, "still running".to_owned())),
            "open" => tail.push((Style::Open, "no answer".to_owned())),
            _ => {}
        }
        tail
    }
}

/// Lines of calls and thoughts in a row.
#[derive(Debug, Default)]
struct Lines {
    /// The last line, how often it was there, and the tokens of thoughts.
    last: Option<(String, u64, Option<u64>)>,
    is_begun: bool,
}

impl Lines {
    fn add(&mut self, text: &mut String, line: String, tokens: Option<u64>) {
        match (&mut self.last, tokens) {
            (Some((_, _, Some(known))), Some(tokens)) => *known += tokens,
            (Some((last, count, None)), None) if *last == line => *count += 1,
            _ => {
                self.flush(text);
                self.last = Some((line, 1, tokens));
            }
        }
    }

    fn flush(&mut self, text: &mut String) {
        match self.last.take() {
            Some((_, _, Some(tokens))) => text.push_str(&thought(tokens)),
            Some((line, 1, None)) => text.push_str(&line),
            Some((line, count, None)) => {
                put!(text, "{} {}\n", line.trim_end(), Style::Faint.paint(&format!("×{count}")));
            }
            None => {}
        }
    }

    fn end(&mut self, text: &mut String) {
        self.flush(text);
        self.is_begun = false;
    }
}

fn thought(tokens: u64) -> String {
    let about = match tokens {
        0 => "thought (not readable)".to_owned(),
        tokens => format!("thought {} tokens", size::count(tokens)),
    };
    format!("{INDENT}{}\n", Style::Faint.paint(&about))
}

/// Appends a text that belongs to the line above it.
fn inside(text: &mut String, said: &str) {
    for line in said.lines() {
        put!(text, "{}\n", Style::Faint.paint(format!("{INSIDE}{line}").trim_end()));
    }
}

/// Returns arguments as lines: of a JSON object a field each, texts as they are.
fn fields(arguments: &str) -> String {
    let Ok(serde_json::Value::Object(fields)) = serde_json::from_str(arguments) else {
        return arguments.to_owned();
    };
    let lines = fields.iter().map(|(name, value)| match value.as_str() {
        Some(said) if said.contains('\n') => format!("{name}:\n{said}"),
        Some(said) => format!("{name}: {said}"),
        None => format!("{name}: {value}"),
    });
    lines.collect::<Vec<_>>().join("\n")
}
