//! Made-up English, code and command output about programming, drawn from a grammar.
//! Not lorem ipsum: compression ratios, titles and searches should look like those of real sessions.
//!
//! A template holds slots such as `‹noun›`, drawn anew at each place; `‹noun#1›`, drawn once for the whole
//! text; `‹noun#1|pascal›`, the same word in another case; and `‹int:1:90›`, `‹hex:8›`, `‹id:24›`,
//! `‹base64:200›`, `‹uuid›`.

mod cases;
mod code;
mod grammar;
mod output;
mod prose;

use std::collections::BTreeMap;

use crate::rng::Rng;

pub use code::{Language, SourceFile, edit, source_file};
pub use output::{command, command_output};
pub use prose::{answer, bad_news, compaction_summary, narration, paragraph, prompt, thought, title};

/// How deep slots may nest: the grammar's longest chain is five.
const DEPTH_MAX: u32 = 12;

/// Fills the slots of a template.
pub fn expand(rng: &mut Rng, template: &str) -> String {
    let mut expansion = Expansion { rng, remembered: BTreeMap::new() };
    expansion.fill(template, 0)
}

/// One text being made, with the words it has to repeat.
struct Expansion<'a> {
    rng: &'a mut Rng,
    remembered: BTreeMap<String, String>,
}

impl Expansion<'_> {
    fn fill(&mut self, template: &str, depth: u32) -> String {
        let mut out = String::with_capacity(template.len() * 2);
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('‹') {
            out.push_str(before);
            let (slot, tail) = after.split_once('›').expect("the grammar closes every slot");
            out.push_str(&self.slot(slot, depth));
            rest = tail;
        }
        out.push_str(rest);
        out
    }

    fn slot(&mut self, slot: &str, depth: u32) -> String {
        let (name, case) = slot.split_once('|').unwrap_or((slot, ""));
        let word = if name.contains('#') { self.remember(name, depth) } else { self.draw(name, depth) };
        cases::apply(case, &word)
    }

    fn remember(&mut self, name: &str, depth: u32) -> String {
        if let Some(word) = self.remembered.get(name) {
            return word.clone();
        }
        let symbol = name.split_once('#').map_or(name, |(symbol, _)| symbol);
        let word = self.draw(symbol, depth);
        self.remembered.insert(name.to_owned(), word.clone());
        word
    }

    fn draw(&mut self, symbol: &str, depth: u32) -> String {
        assert!(depth < DEPTH_MAX, "the grammar nests without end at `{symbol}`");
        let mut parts = symbol.split(':');
        let name = parts.next().unwrap_or_default();
        let first = parts.next().and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
        let second = parts.next().and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
        let count = usize::try_from(first).unwrap_or(0);
        match name {
            "int" => self.rng.range(first, second).to_string(),
            "hex" => self.rng.hex(count),
            "id" => self.rng.id(count),
            "base64" => self.rng.base64(count),
            "uuid" => self.rng.uuid(),
            _ => {
                let choice = self.rng.pick(grammar::choices(name));
                self.fill(choice, depth + 1)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remembered_word_is_the_same_in_every_case() {
        let mut rng = Rng::new(3);
        for _ in 0..50 {
            let text = expand(&mut rng, "‹noun#1|snake› ‹noun#1|pascal› ‹noun#1|upper›");
            let words: Vec<&str> = text.split(' ').collect();
            assert_eq!(words[0].replace('_', "").to_lowercase(), words[1].to_lowercase());
            assert_eq!(words[0].to_uppercase(), words[2]);
        }
    }

    #[test]
    fn everything_that_the_grammar_can_say_ends() {
        let mut rng = Rng::new(4);
        for _ in 0..300 {
            for text in [
                prompt(&mut rng),
                answer(&mut rng),
                thought(&mut rng),
                title(&mut rng),
                narration(&mut rng),
                compaction_summary(&mut rng, 4),
            ] {
                assert!(!text.is_empty());
                assert!(!text.contains('‹') && !text.contains('›'), "{text}");
            }
            for language in Language::ALL {
                let file = source_file(&mut rng, language, 60);
                assert!(!file.text.contains('‹'), "{}", file.text);
                assert!(file.text.contains(&edit(&mut rng, &file).0), "an edit changes what is there");
            }
            let line = command(&mut rng, Language::Rust);
            assert!(!command_output(&mut rng, &line, Language::Rust).contains('‹'));
        }
    }
}
