//! Made-up lines in the shapes of other runtimes' formats, for compression and for format detection.
//! Not whole sessions: links and pairs hold within a few lines, and no runtime would resume them.

mod codex;
mod gemini;
mod messages;
mod opencode;
mod pi;

pub use codex::codex;
pub use gemini::gemini;
pub use messages::{anthropic_messages, openai_messages};
pub use opencode::opencode;
pub use pi::{pi, pi_v1};

use crate::clock::Clock;
use crate::rng::Rng;
use crate::text;

/// What all shapes draw from.
struct Source {
    rng: Rng,
    clock: Clock,
    cwd: String,
    tools: crate::claude::Toolbox,
}

impl Source {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed ^ 0x5354_454d_4d41);
        let cwd = text::expand(&mut rng, "‹home›");
        let tools = crate::claude::Toolbox::new(rng.fork(1), &cwd);
        let mut clock = Clock::start();
        clock.advance_ms(rng.range(0, 30_000_000_000));
        Self { rng, clock, cwd, tools }
    }

    fn time(&mut self) -> String {
        let step = self.rng.range(30, 9000);
        self.clock.advance_ms(step);
        self.clock.iso()
    }

    fn millis(&self) -> u64 {
        u64::try_from(self.clock.millis()).unwrap_or(0)
    }

    fn expand(&mut self, template: &str) -> String {
        text::expand(&mut self.rng, template)
    }
}

/// Returns a whole number with decimals as JavaScript prints sums of money.
fn money(rng: &mut Rng) -> String {
    match rng.range(0, 3) {
        0 => "0".to_owned(),
        1 => format!("0.00{}", rng.range(10, 9999)),
        2 => format!("0.0{}", rng.range(1000, 99_999)),
        _ => format!("0.0{}{}", rng.range(10_000_000, 99_999_999), rng.range(10_000_000, 99_999_999)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_is_lines_of_json_and_the_same_for_ever() {
        for seed in 0..8 {
            for make in [pi, pi_v1, codex, gemini, opencode, openai_messages, anthropic_messages] {
                let lines = make(seed, 40);
                assert!(lines.len() >= 40, "{}", lines.len());
                assert_eq!(lines, make(seed, 40));
                for line in lines {
                    let value: serde_json::Value =
                        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
                    assert!(value.is_object());
                }
            }
        }
    }
}
