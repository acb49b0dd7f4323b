//! A session of many turns in a small window, with a scripted model: it stays inside the window, keeps its task and its pins,
//! and loses nothing. `cargo xtask simulate-window` runs it over 2,000 turns and shows what that cost.

mod script;
mod tally;

use std::collections::BTreeMap;
use std::slice::from_ref;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use stemmata_engine::{
    AroundQuery, BeginTurn, Clock, Engine, EntryMark, Identity, RandomIds, Stop, TurnGuard, TurnMade, TurnOf,
    WindowReport,
};
use stemmata_model::{
    Entry, EntryId, Estimate, FormatId, LedgerId, MachineId, Note, Part, Party, SessionId, Template,
    Timestamp, Tokens, Usage, group_tools,
};
use stemmata_prompt::guard::WindowSettings;
use stemmata_prompt::tool_output::{OutputLimits, normalize};
use stemmata_prompt::window::{CompactSettings, WindowConfig, WindowConfigSettings, entry_tokens};
use stemmata_runtimes::registry;
use stemmata_store::Store;
use stemmata_testkit::memory::MemoryStore;

use self::script::{Script, TASK};
use self::tally::Tally;

/// What system prompt and tools take.
const OVERHEAD: Tokens = Tokens(1_400);
/// Turns after which the process ends, and another one goes on.
const RESUME_EVERY: usize = 25;
/// Entries that are read back one by one.
const READ_BACK: usize = 40;

/// What is simulated. `STEMMATA_SIMULATE` may say otherwise: `turns=2000 seed=7 window=32768 cutoff=0`.
struct Wanted {
    turns: usize,
    seed: u64,
    window: u64,
    /// Visible results of tools; 0 archives none.
    cutoff: i64,
}

impl Wanted {
    fn of_environment() -> Self {
        let mut wanted = Self { turns: 100, seed: 7, window: 32_768, cutoff: 0 };
        #[expect(
            clippy::disallowed_methods,
            reason = "how long the simulation runs is named by the environment"
        )]
        let text = std::env::var("STEMMATA_SIMULATE").unwrap_or_default();
        for word in text.split_whitespace() {
            let (name, value) = word.split_once('=').expect("name=value");
            let number: u64 = value.parse().expect("a number");
            match name {
                "turns" => wanted.turns = usize::try_from(number).expect("few turns"),
                "seed" => wanted.seed = number,
                "window" => wanted.window = number,
                "cutoff" => wanted.cutoff = i64::try_from(number).expect("few results"),
                other => panic!("`{other}` is neither turns, seed, window nor cutoff"),
            }
        }
        wanted
    }

    fn config(&self) -> WindowConfig {
        let compact = CompactSettings {
            reserve_tokens: Tokens(self.window / 8),
            keep_recent_tokens: Tokens(self.window / 4),
            tool_call_cutoff: self.cutoff,
            ..CompactSettings::default()
        };
        let output = OutputLimits { spill_chars: 0, ..OutputLimits::default() };
        let window = WindowSettings::of(Tokens(self.window));
        WindowConfig::new(WindowConfigSettings { window, compact, output }).expect("limits")
    }
}

/// A clock that the simulation moves.
#[derive(Default)]
struct Moved(AtomicI64);

impl Clock for Moved {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(1_800_000_000_000_000 + self.0.load(Ordering::Relaxed))
    }
}

impl Moved {
    fn pass(&self, seconds: i64) {
        self.0.fetch_add(seconds * 1_000_000, Ordering::Relaxed);
    }
}

/// The harness and the model.
struct Simulation {
    store: Arc<dyn Store>,
    clock: Arc<Moved>,
    engine: Engine,
    config: WindowConfig,
    tally: Tally,
    /// Everything that was ever said and done.
    said: Vec<Entry>,
    pins: Vec<String>,
    window: Vec<Entry>,
}

impl Simulation {
    fn new(config: WindowConfig) -> Self {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        let clock = Arc::new(Moved::default());
        let engine = engine(&store, &clock);
        let (tally, said, pins, window) = Default::default();
        Self { store, clock, engine, config, tally, said, pins, window }
    }

    fn guard(&self) -> TurnGuard<'_> {
        TurnGuard { overhead: OVERHEAD, returns_entries: true, ..TurnGuard::new(&self.config, &Estimate) }
    }

    /// Ends the process, and goes on in another one.
    fn resume(&mut self) {
        self.engine = engine(&self.store, &self.clock);
        let report = self.engine.turn_window(&turn(), &self.guard()).expect("a window");
        let entries = report.entries.expect("entries were asked for");
        assert_eq!(entries, self.window, "the window is the same for another process");
        self.tally.resumptions += 1;
        self.tally.resumed_tokens += (OVERHEAD + entries.iter().map(size).sum()).0;
        self.tally.anew_tokens += OVERHEAD.0 + self.tally.said_tokens;
    }

    fn take(&mut self, drawn: script::Turn) {
        self.clock.pass(40);
        let said = drawn.said;
        let begin = BeginTurn { guard: Some(self.guard()), ..BeginTurn::new(turn(), said.clone()) };
        let report = self.engine.begin_turn(&begin).expect("begun").window;
        self.remember(&said);
        self.see(report);
        if drawn.is_pinned {
            let marked =
                self.engine.mark_entries(&turn(), (from_ref(&said.id), EntryMark::Pin), Some(&self.guard()));
            self.see(marked.expect("pinned").window);
            self.pins.push(text_of(&said));
        }
        for [call, result] in drawn.groups {
            self.ask(&said.id);
            let (call, result) = (self.answered(call), self.cut(result));
            self.step(&call);
            self.step(&result);
        }
        self.ask(&said.id);
        let answer = self.answered(drawn.answer);
        let made = TurnMade { entries: vec![answer.clone()], ..TurnMade::default() };
        let ended = self.engine.end_guarded_turn(&turn(), made, Some(&self.guard())).expect("ended");
        self.remember(&answer);
        self.see(ended.window);
        self.tally.turns += 1;
    }

    fn step(&mut self, entry: &Entry) {
        self.clock.pass(3);
        let made = TurnMade { entries: vec![entry.clone()], ..TurnMade::default() };
        let step = self.engine.guarded_step(&turn(), made, Some(&self.guard())).expect("a step");
        self.remember(entry);
        self.see(step.window);
    }

    /// The model is called: what it is given has all that it needs, and fits.
    fn ask(&mut self, prompt: &EntryId) {
        let tokens = self.tally.request(OVERHEAD.0, &self.window, &size);
        let at = format!("in turn {} of {} tokens", self.tally.turns, tokens);
        assert!(tokens <= self.config.window().limit().0, "the request is larger than the window {at}");
        assert!(self.window.iter().any(|entry| entry.id == *prompt), "the prompt is lost {at}");
        let text = self.window.iter().map(text_of).collect::<Vec<_>>().join("\n");
        for kept in std::iter::once(TASK).chain(self.pins.iter().map(String::as_str)) {
            assert!(text.contains(kept), "`{kept}` is lost {at}:\n{text}");
        }
        let calls = self.window.iter().flat_map(Entry::calls).count();
        let answers = self.window.iter().flat_map(Entry::answers).count();
        let groups = group_tools(&self.window);
        assert!(groups.iter().all(|group| group.open.is_empty()), "a call without its result {at}");
        assert_eq!(calls, answers, "a result without its call {at}");
    }

    /// Says what the provider counted.
    fn answered(&self, mut entry: Entry) -> Entry {
        let input = OVERHEAD + self.window.iter().map(size).sum();
        entry.meta.usage =
            Some(Usage { input_tokens: input.0, output_tokens: size(&entry).0, ..Usage::default() });
        entry
    }

    /// Cuts an output as a harness does before it is stored.
    fn cut(&self, mut entry: Entry) -> Entry {
        for part in &mut entry.parts {
            let Part::ToolResult { parts, .. } = part else { continue };
            for part in parts {
                let Part::Text(text) = part else { continue };
                *text = normalize(text.as_bytes(), self.config.output()).text.into_owned();
            }
        }
        entry
    }

    fn remember(&mut self, entry: &Entry) {
        self.tally.said_tokens += size(entry).0;
        self.tally.entries += 1;
        self.said.push(entry.clone());
    }

    fn see(&mut self, report: Option<WindowReport>) {
        let report = report.expect("a guard was given");
        assert_eq!(report.stop, None, "turn {}", self.tally.turns);
        // What was pruned and archived is hidden, and a compaction says how much.
        let is_known = |note: &Note| note.message.ends_with("hidden from the model");
        assert!(report.notes.iter().all(is_known), "turn {}: {:?}", self.tally.turns, report.notes);
        self.tally.compactions += u64::from(report.compaction.is_some());
        self.tally.prunes += u64::from(!report.pruned.is_empty());
        self.tally.pruned_entries += u64::try_from(report.pruned.len()).expect("few entries");
        self.tally.archived += u64::try_from(report.archived.len()).expect("few entries");
        self.tally.checkpoints += u64::from(report.reasons.iter().next().is_some());
        self.window = report.entries.expect("entries were asked for");
    }

    /// Everything that was said and done is there, whatever became of the window.
    fn check_history(&self) {
        let tip =
            self.engine.step(&turn(), TurnMade::default()).expect("a look").checkpoint.map(|made| made.id);
        let session = self.engine.find_session(turn().session.as_str()).expect("found").expect("a session");
        let tip = tip.or(session.tip).expect("a commit");
        let mut bytes = Vec::new();
        self.engine.materialize(Some(tip), None, Stop::Root, &mut bytes).expect("materialized");
        let format = FormatId::new("stemmata-v1").expect("a name");
        let decoded = registry::by_format(&format).expect("an adapter").decode(&bytes).entries;
        let there: BTreeMap<&EntryId, &Entry> = decoded.iter().map(|entry| (&entry.id, entry)).collect();
        for entry in &self.said {
            let found = there.get(&entry.id).unwrap_or_else(|| panic!("{} is lost", entry.id));
            assert_eq!(found.parts, entry.parts, "{}", entry.id);
        }
        let every = (self.said.len() / READ_BACK).max(1);
        for entry in self.said.iter().step_by(every) {
            let query =
                AroundQuery { ctx: tip, entry: Some(entry.id.to_string()), around: 0, tokens_max: 100_000 };
            let around = self.engine.around(&query).expect("entries");
            let found = around.entries.iter().find(|found| found.is_match).expect("the entry");
            assert_eq!((&found.entry.id, &found.entry.parts), (&entry.id, &entry.parts));
        }
    }
}

fn engine(store: &Arc<dyn Store>, clock: &Arc<Moved>) -> Engine {
    let identity = Identity {
        machine: MachineId::new("m1").expect("a name"),
        machine_label: "m1".to_owned(),
        user: "ada".to_owned(),
        former: Vec::new(),
    };
    let clock: Arc<dyn Clock> = Arc::<Moved>::clone(clock);
    Engine::over(Arc::clone(store), clock, Arc::new(RandomIds), identity)
}

fn turn() -> TurnOf {
    TurnOf::new(
        LedgerId::new("long").expect("a name"),
        SessionId::new("long-session").expect("a name"),
        Party::new("worker").expect("a name"),
        Template::new("worker/main").expect("a name"),
    )
}

fn size(entry: &Entry) -> Tokens {
    entry_tokens(entry, &Estimate)
}

fn text_of(entry: &Entry) -> String {
    let texts = entry.parts.iter().filter_map(|part| match part {
        Part::Text(text) | Part::Summary { text, .. } => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_long_session_stays_in_its_window_and_loses_neither_task_nor_pins_nor_any_entry() {
    let wanted = Wanted::of_environment();
    let mut simulation = Simulation::new(wanted.config());
    let mut script = Script::new(wanted.seed);
    for turn in 0..wanted.turns {
        if turn % RESUME_EVERY == RESUME_EVERY - 1 {
            simulation.resume();
        }
        simulation.take(script.turn());
    }
    simulation.check_history();
    let mut tally = simulation.tally;
    tally.pins = u64::try_from(simulation.pins.len()).expect("few pins");
    println!("{}", tally.table(wanted.window));
    assert!(tally.compactions > 0, "the window was never full");
    let shortened = tally.compactions + tally.prunes;
    assert!(
        shortened * 5 <= u64::try_from(tally.turns).expect("few turns"),
        "{shortened} times in {} turns",
        tally.turns
    );
    if wanted.cutoff == 0 {
        assert!(
            tally.cached_tokens * 10 >= tally.request_tokens * 8,
            "the provider's cache is broken too often"
        );
    }
}
