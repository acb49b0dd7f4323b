//! Measures how long collecting and forgetting keep other writers waiting in a large store.
//!
//! `cargo run --release -p stemmata-store --example measure_collection [-- COMMITS [DIRECTORY]]`; prints figures and
//! asserts nothing. While each step runs a thread writes one commit after the other, and its longest wait is printed.

use std::error::Error;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use stemmata_model::{
    Closure, CommitCore, CommitId, CommitType, Counts, FormatId, Principal, RulesHash, Template, Timestamp,
};
use stemmata_store::maintain::collect::Collect;
use stemmata_store::maintain::forget::Forget;

use stemmata_store::{
    NewCommit, NewContent, PackOptions, SqliteOptions, SqliteStore, Store, StoreError, Write,
};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Commits of one chain.
const CHAIN: u64 = 100;

/// Chains of one transaction.
const CHAINS_AT_ONCE: u64 = 80;

/// Chains that are let go.
const RETIRED: u64 = 100;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let commits: u64 = arguments.first().map_or(Ok(1_000_000), |text| text.parse())?;
    let temporary = tempfile::TempDir::new()?;
    let home = arguments.get(1).map_or_else(|| temporary.path().to_owned(), PathBuf::from);
    // The longest wait is what is measured: nobody gives up before.
    let options = SqliteOptions { busy_timeout_ms: 600_000, ..SqliteOptions::default() };
    let store = SqliteStore::open(&home, options)?;
    let mut out = std::io::stdout().lock();
    let chains = commits.div_ceil(CHAIN);
    let started = Instant::now();
    let mut tips = Vec::new();
    for first in (0..chains).step_by(usize::try_from(CHAINS_AT_ONCE)?) {
        let mut batch = Vec::new();
        for name in first..chains.min(first + CHAINS_AT_ONCE) {
            tips.push(chain(name, &mut batch)?);
        }
        store.commit_batch(batch)?;
    }
    writeln!(out, "{commits} commits written in {:.1} s", started.elapsed().as_secs_f64())?;
    for packed in [false, true] {
        if packed {
            step(&mut out, &store, "pack", &|| store.pack(&PackOptions::new(time(0))).map(drop))?;
        }
        let bytes = store.usage()?.physical_bytes;
        writeln!(out, "{} MB, {}", bytes / 1_000_000, if packed { "packed" } else { "in the inbox" })?;
        let place = usize::from(packed) * usize::try_from(2 * RETIRED)?;
        let retired = below(&store, tips.get(place..).unwrap_or_default(), RETIRED)?;
        let wish = |retired: &[CommitId], dry_run| Collect {
            retired: retired.to_vec(),
            now: time(0),
            grace_us: 0,
            dry_run,
        };
        let collect = |retired: &[CommitId], dry_run| store.collect(&wish(retired, dry_run)).map(drop);
        step(&mut out, &store, "collect, a plan", &|| collect(&[], true))?;
        step(&mut out, &store, "collect, nothing to do", &|| collect(&[], false))?;
        step(&mut out, &store, "collect, condemning", &|| collect(&retired, false))?;
        step(&mut out, &store, "collect, deleting", &|| collect(&retired, false))?;
        let gone = below(&store, tips.get(place + usize::try_from(RETIRED)?..).unwrap_or_default(), 1)?;
        step(&mut out, &store, "forget, a plan", &|| store.forget(&forgetting(&gone, true)).map(drop))?;
        step(&mut out, &store, "forget", &|| store.forget(&forgetting(&gone, false)).map(drop))?;
    }
    Ok(())
}

fn time(step: u64) -> Timestamp {
    Timestamp::from_micros(1_790_000_000_000_000 + i64::try_from(step).unwrap_or(0))
}

/// Adds a chain to a batch and returns its tip.
fn chain(name: u64, batch: &mut Vec<Write>) -> Outcome<CommitId> {
    let mut parent = None;
    for step in 0..CHAIN {
        let text = format!(
            "{{\"type\":\"user\",\"uuid\":\"{name:08x}-{step:04x}\",\"message\":{{\"role\":\"user\",\
             \"content\":\"chain {name} says {} in step {step}\"}}}}\n",
            (name * 7_919 + step * 104_729) % 1_000_003
        );
        let content = NewContent::literal(text.into_bytes());
        let core = CommitCore {
            parent,
            commit_type: CommitType::Delta,
            artifact: content.id(),
            native: None,
            format: FormatId::new("claude-code-v1")?,
            template: Template::new("claude-code/main")?,
            created_at: time(step),
        };
        parent = Some(core.id());
        batch.push(Write::Content(content));
        batch.push(Write::Commit(NewCommit {
            core,
            rules: RulesHash::NONE,
            closure: Closure::Closed,
            counts: Counts::default(),
        }));
    }
    parent.ok_or_else(|| "a chain has commits".into())
}

fn below(store: &dyn Store, tips: &[CommitId], chains: u64) -> Outcome<Vec<CommitId>> {
    let mut found = Vec::new();
    for tip in tips.iter().take(usize::try_from(chains)?) {
        found.extend(store.ancestors(*tip, usize::try_from(CHAIN)?)?.into_iter().map(|commit| commit.id));
    }
    Ok(found)
}

fn forgetting(gone: &[CommitId], dry_run: bool) -> Forget {
    Forget {
        unroot: gone.to_vec(),
        cut: Vec::new(),
        sessions: Vec::new(),
        ledgers: Vec::new(),
        lines: None,
        unread: Vec::new(),
        untitled: Vec::new(),
        reworded: Vec::new(),
        even_sighted: true,
        even_pinned: true,
        at: time(0),
        by: Principal::new("ann").expect("a name"),
        dry_run,
    }
}

/// Does something while a thread writes, and prints how long both took.
fn step(
    out: &mut dyn std::io::Write,
    store: &SqliteStore,
    what: &str,
    act: &(dyn Fn() -> Result<(), StoreError> + Sync),
) -> Outcome<()> {
    let is_over = AtomicBool::new(false);
    let (took, longest) = std::thread::scope(|scope| -> Outcome<(Duration, Duration)> {
        let writer = scope.spawn(|| -> Outcome<Duration> {
            let mut longest = Duration::ZERO;
            let mut number = 0_u64;
            while !is_over.load(Ordering::Relaxed) {
                let mut batch = Vec::new();
                number += 1;
                chain(10_000_000 + number, &mut batch)?;
                batch.truncate(2);
                let started = Instant::now();
                store.commit_batch(batch)?;
                longest = longest.max(started.elapsed());
            }
            Ok(longest)
        });
        let started = Instant::now();
        let done = act();
        let took = started.elapsed();
        is_over.store(true, Ordering::Relaxed);
        let longest = writer.join().map_err(|_| "the writer panicked")??;
        done?;
        Ok((took, longest))
    })?;
    writeln!(
        out,
        "{what}: {:.2} s, a writer waited {:.2} s at most",
        took.as_secs_f64(),
        longest.as_secs_f64()
    )?;
    Ok(())
}
