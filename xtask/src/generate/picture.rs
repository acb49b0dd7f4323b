//! The picture of the README: what commands print on a terminal, drawn from their own output.
//! Not a screenshot: the same output gives the same bytes.

use std::fmt::Write as _;
use std::path::Path;

use super::pages;

/// Where it is.
pub(super) const PATH: &str = "docs/picture.svg";

/// What is run before what is shown.
const BEFORE: &str = "stemma import examples";

/// What is shown, as typed.
const SHOWN: &[&str] = &["stemma list", "stemma show d7d3"];

/// Columns of the terminal.
const COLUMNS: usize = 100;

/// Pixels of a column, of a line and around the text, times ten: most fixed fonts are six tenths as wide as they are high.
const COLUMN: usize = 78;
const LINE: usize = 180;
const EDGE: usize = 160;

/// Colours of the text as terminals number them from 30 and from 90, on a dark ground.
const COLORS: [&str; 8] =
    ["#6e7681", "#ff7b72", "#7ee787", "#e3b341", "#79c0ff", "#d2a8ff", "#76e3ea", "#e6edf3"];

/// How a piece of a line looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Look {
    color: Option<&'static str>,
    is_bold: bool,
    is_faint: bool,
}

/// Returns the picture as it should be.
pub(super) fn build(root: &Path, program: &Path) -> anyhow::Result<String> {
    let typed: Vec<String> = SHOWN
        .iter()
        .map(|command| command.replacen("stemma", &format!("COLUMNS={COLUMNS} stemma --color always"), 1))
        .collect();
    let all: Vec<&str> = std::iter::once(BEFORE).chain(typed.iter().map(String::as_str)).collect();
    let outputs = pages::run(root, program, &all)?;
    let mut lines = Vec::new();
    for (command, output) in SHOWN.iter().zip(outputs.iter().skip(1)) {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.push(format!("\u{1b}[32m$\u{1b}[0m \u{1b}[1m{command}\u{1b}[0m"));
        lines.extend(output.lines().map(str::to_owned));
    }
    Ok(draw(&lines))
}

fn draw(lines: &[String]) -> String {
    let (width, height) = (COLUMNS * COLUMN + 2 * EDGE, lines.len() * LINE + 2 * EDGE);
    let (width, height) = (width / 10, height / 10);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, monospace\" font-size=\"13\">\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"#0d1117\"/>\n"
    );
    for (at, line) in lines.iter().enumerate() {
        let y = pixels(EDGE + at * LINE + LINE * 3 / 4);
        let mut column = 0;
        for (look, text) in pieces(line) {
            let shown = text.trim_start();
            let x = pixels(EDGE + (column + text.chars().count() - shown.chars().count()) * COLUMN);
            column += text.chars().count();
            let shown = shown.trim_end();
            if shown.is_empty() {
                continue;
            }
            // The length is said, so that columns line up whatever font there is.
            let length = pixels(shown.chars().count() * COLUMN);
            let color = look.color.unwrap_or(if look.is_faint { "#8b949e" } else { "#e6edf3" });
            let bold = if look.is_bold { " font-weight=\"bold\"" } else { "" };
            let _infallible = writeln!(
                svg,
                "<text x=\"{x}\" y=\"{y}\" fill=\"{color}\"{bold} textLength=\"{length}\" xml:space=\"preserve\">{}</text>",
                escaped(shown)
            );
        }
    }
    svg + "</svg>\n"
}

fn pixels(tenths: usize) -> String {
    format!("{}.{}", tenths / 10, tenths % 10)
}

/// Cuts a line at its escape sequences.
fn pieces(line: &str) -> Vec<(Look, String)> {
    let (mut look, mut found) = (Look::default(), Vec::new());
    for (at, part) in line.split("\u{1b}[").enumerate() {
        let text = match part.split_once('m') {
            Some((codes, text)) if at > 0 => {
                codes.split(';').for_each(|code| look = look.with(code.parse().unwrap_or(0)));
                text
            }
            _ => part,
        };
        if !text.is_empty() {
            found.push((look, text.to_owned()));
        }
    }
    found
}

impl Look {
    fn with(self, code: usize) -> Self {
        let color = |first: usize| COLORS.get(code - first).copied();
        match code {
            0 => Self::default(),
            1 => Self { is_bold: true, ..self },
            2 => Self { is_faint: true, ..self },
            30..=37 => Self { color: color(30), ..self },
            90..=97 => Self { color: color(90), ..self },
            _ => self,
        }
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_drawn_in_its_columns_and_colours() {
        let svg = draw(&["a \u{1b}[1;33mid\u{1b}[0m  <x> & y".to_owned()]);
        let texts: Vec<&str> = svg.lines().filter(|line| line.starts_with("<text")).collect();
        assert_eq!(
            texts,
            [
                r##"<text x="16.0" y="29.5" fill="#e6edf3" textLength="7.8" xml:space="preserve">a</text>"##,
                r##"<text x="31.6" y="29.5" fill="#e3b341" font-weight="bold" textLength="15.6" xml:space="preserve">id</text>"##,
                r##"<text x="62.8" y="29.5" fill="#e6edf3" textLength="54.6" xml:space="preserve">&lt;x&gt; &amp; y</text>"##,
            ]
        );
    }
}
