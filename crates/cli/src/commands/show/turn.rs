//! `show REF`: what was said and done in a turn, as a person reads it.

use stemmata_api::v1::{Commit, CommitType, ShownCall, ShownTurn, TurnPiece};
use unicode_width::UnicodeWidthStr as _;

use crate::args::browse::Show;
use crate::errors::CliError;
use crate::output::commit::{ShortIds, names};
use crate::output::outline::{self, painted};
use crate::output::put;
use crate::output::screen;
use crate::output::size::{self, many};
use crate::output::style::{Style, tame};
use crate::output::table::fit;
use crate::wiring::App;

/// Columns before calls and thoughts.
const INDENT: &str = "  ";
/// Columns of a line of several calls at most.
const JOINED_COLUMNS_MAX: usize = 120;
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
    let started = turn.pieces.iter().filter_map(|piece| piece.call.as_ref()?.subagent);
    let ids = app.short_ids(started.chain([commit.id]))?;
    let folds = !args.full && !args.verbose;
    let look = Look { ids, width: app.console.width, full: args.full, folds };
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
    let began = turn.outline.began_at.unwrap_or(commit.created_at);
    let mut first = vec![(Style::Id, ids.cut(commit.id))];
    first.extend(number.map(|number| faint(format!("prompt {number}"))));
    first.push(faint(outline::moment(began, app.now())));
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
    if commit.commit_type == CommitType::Compaction {
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
    /// Whether thoughts and calls of one tool in a row share lines.
    folds: bool,
}

impl Look {
    /// Returns the pieces: texts as paragraphs, calls and thoughts as lines.
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
            if let (Some(tokens), true) = (piece.tokens, self.folds) {
                lines.think(&mut text, tokens);
                continue;
            }
            let mut line = String::new();
            self.piece(&mut line, piece);
            line.truncate(line.trim_end().len());
            lines.add(&mut text, line, self.joining(piece).as_ref());
        }
        lines.end(&mut text);
        if turn.pieces.is_empty() {
            let nothing = "(no prompt and no answer; `--meta` and `--entries` show what is there)";
            put!(text, "{}\n", Style::Faint.paint(nothing));
        }
        text
    }

    /// Returns what a call adds to a line of calls of its tool, where it may.
    fn joining(self, piece: &TurnPiece) -> Option<Joining> {
        let call = piece.call.as_ref().filter(|call| self.folds && call.subagent.is_none())?;
        let about = tame(&call.about);
        let is_plain = !about.is_empty() && self.tail(call).is_empty();
        is_plain.then(|| Joining { tool: tame(&call.tool), about, width: self.width })
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
        if let Some(subagent) = call.subagent {
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

/// Lines of calls and thoughts in a row. Without `-v` its thoughts are one line where the first of them is, and calls of one tool
/// share a line as long as all of them fit on it.
#[derive(Debug, Default)]
struct Lines {
    /// The last line, how often it was there, and the tool of calls that others may join.
    last: Option<(String, u64, Option<String>)>,
    /// Where the thoughts are, and their tokens.
    thoughts: Option<(usize, u64)>,
    is_begun: bool,
}

impl Lines {
    fn add(&mut self, text: &mut String, line: String, joining: Option<&Joining>) {
        match (&mut self.last, joining) {
            (Some((last, count, _)), _) if *last == line => *count += 1,
            (Some((last, 1, Some(tool))), Some(joined)) if *tool == joined.tool && joined.fits(last) => {
                put!(last, "{JOIN}{}", joined.about);
            }
            _ => {
                self.flush(text);
                self.last = Some((line, 1, joining.map(|joined| joined.tool.clone())));
            }
        }
    }

    fn think(&mut self, text: &mut String, tokens: u64) {
        if self.thoughts.is_none() {
            self.flush(text);
        }
        self.thoughts.get_or_insert((text.len(), 0)).1 += tokens;
    }

    fn flush(&mut self, text: &mut String) {
        match self.last.take() {
            Some((line, 1, _)) => put!(text, "{}\n", line.trim_end()),
            Some((line, count, _)) => {
                put!(text, "{} {}\n", line.trim_end(), Style::Faint.paint(&format!("×{count}")));
            }
            None => {}
        }
    }

    fn end(&mut self, text: &mut String) {
        self.flush(text);
        if let Some((at, tokens)) = self.thoughts.take() {
            text.insert_str(at, &thought(tokens));
        }
        self.is_begun = false;
    }
}

/// What stands between calls on one line.
const JOIN: &str = " · ";

/// A call that says no more than what it is about, so that it can share a line.
#[derive(Debug)]
struct Joining {
    tool: String,
    about: String,
    /// Columns of a line.
    width: usize,
}

impl Joining {
    fn fits(&self, line: &str) -> bool {
        let shown = screen::finish(line, false);
        shown.width() + JOIN.width() + self.about.width() <= self.width.min(JOINED_COLUMNS_MAX)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(calls: &[(&str, &str)], width: usize) -> String {
        let (mut text, mut lines) = (String::new(), Lines::default());
        for (tool, about) in calls {
            if *tool == "thought" {
                lines.think(&mut text, 13);
                continue;
            }
            let joining = Joining { tool: (*tool).to_owned(), about: (*about).to_owned(), width };
            lines.add(&mut text, format!("  {tool} {about}"), Some(&joining));
        }
        lines.end(&mut text);
        screen::finish(&text, false)
    }

    /// A newcomer's turn had 43 lines of «thought 13 tokens».
    #[test]
    fn a_row_of_thoughts_is_a_line_and_calls_share_one_while_they_fit() {
        let calls = [
            ("TaskUpdate", "#1 done"),
            ("thought", ""),
            ("TaskUpdate", "#2 begun"),
            ("thought", ""),
            ("TaskUpdate", "#3 begun"),
            ("Read", "a.rs"),
            ("Read", "a.rs"),
            ("Bash", "make"),
        ];
        assert_eq!(
            shown(&calls, 80),
            "  TaskUpdate #1 done\n  thought 26 tokens\n  TaskUpdate #2 begun · #3 begun\n  Read a.rs ×2\n  Bash make\n"
        );
        assert_eq!(shown(&calls[4..6], 80), "  TaskUpdate #3 begun\n  Read a.rs\n");
        assert_eq!(shown(&[calls[2], calls[4]], 30), "  TaskUpdate #2 begun\n  TaskUpdate #3 begun\n");
    }
}
