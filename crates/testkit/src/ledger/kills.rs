//! Children that append to one ledger until they are killed, and a list of what they acknowledged.

use std::io;
use std::path::Path;

use stemmata_model::{Event, Payload, to_u64};
use stemmata_store::conformance::ledger::builders::said;
use stemmata_store::{Durability, EventLog, FileLog, FileLogOptions, Finding, StoreError};
use tempfile::TempDir;

use super::script::{all, append, id};
use super::{Tried, is_harmless};
use crate::children::{Working, kill_after};
use crate::rng::Rng;

/// Children of one ledger: a longer one takes longer to look through.
const ROUND_KILLS: u64 = 50;

/// Acknowledgements before a child is killed, at most.
const LIFE_MAX: u64 = 13;

/// How often the whole ledger is looked through.
const LOOK_EVERY: u64 = 10;

/// Threads of a child, so that groups die too.
const THREADS: usize = 2;

/// An append is tried so often while somebody repairs the ledger.
const TRIES_MAX: usize = 100_000;

/// An append that a child was told of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acknowledged {
    /// Its first event.
    pub first: u64,
    /// How many events it has.
    pub size: u64,
    /// The first word of each.
    pub name: String,
}

/// What a child does: each thread appends so often, and says what it was told.
///
/// # Panics
/// Where an append fails for anything but damage.
pub fn work(log: &FileLog, name: &str, appends: usize, say: &(dyn Fn(&str) + Sync)) {
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let name = format!("{name}-{thread}");
            scope.spawn(move || {
                for number in 0..appends {
                    let durability = [Durability::Full, Durability::Batch, Durability::None][number % 3];
                    let text = format!("{name}/{number} {}", "x".repeat(number % 5 * 700));
                    let wanted = append(vec![said("s", "t", &text); size_of(number)], durability);
                    let mut tries = (0..TRIES_MAX).map(|_| log.append(wanted.clone()));
                    let done = tries.find(|done| !matches!(done, Err(StoreError::LedgerDamaged { .. })));
                    let done = done.expect("somebody repairs it").expect("an append");
                    // What is not durable outlives a kill too: only a power cut takes it.
                    say(&format!("ack {} {} {name}/{number}", done.first, size_of(number)));
                }
            });
        }
    });
}

const fn size_of(number: usize) -> usize {
    1 + number % 4
}

/// Reads what a child said.
pub fn acknowledged(line: &str) -> Option<Acknowledged> {
    let mut words = line.strip_prefix("ack ")?.split_whitespace();
    let (first, size) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    Some(Acknowledged { first, size, name: words.next()?.to_owned() })
}

/// Returns the first word of an event; none where its payload is gone.
pub fn first_word(event: &Event) -> Option<&str> {
    match &event.payload {
        Payload::Plain { text: Some(text), .. } => text.split(' ').next(),
        Payload::Plain { .. } | Payload::Line { .. } | Payload::Gone(_) => None,
    }
}

/// Returns what is wrong with a ledger: numbers and times that do not rise, what was acknowledged and does not stand
/// where it was said to, and appends that are cut or mixed with others.
pub fn wrong(events: &[Event], told: &[Acknowledged]) -> Vec<String> {
    let mut wrong = Vec::new();
    if !events.iter().zip(1..).all(|(event, number)| event.seq.get() == number) {
        wrong.push("numbers have gaps".to_owned());
    }
    if !events.windows(2).all(|pair| matches!(pair, [one, other] if one.at < other.at)) {
        wrong.push("times do not rise".to_owned());
    }
    for Acknowledged { first, size, name } in told {
        let place = |seq: u64| usize::try_from(seq - 1).expect("a small number");
        let own = events.get(place(*first)..place(first + size));
        if !own.is_some_and(|own| own.iter().all(|event| first_word(event) == Some(name))) {
            wrong.push(format!("{name} was acknowledged and does not stand at {first}"));
        }
    }
    for batch in events.chunk_by(|one, other| first_word(one) == first_word(other)) {
        let name = batch.first().and_then(first_word).unwrap_or_default();
        let number = name.rsplit('/').next().and_then(|number| number.parse().ok());
        if number.map(size_of) != Some(batch.len()) {
            wrong.push(format!("`{name}` has {} events", batch.len()));
        }
    }
    wrong
}

/// Kills so many children, each started for a home and with a name; what they acknowledged must be there.
///
/// # Errors
/// Where children cannot be started or heard.
pub fn kill(
    scratch: &Path,
    kills: u64,
    seed: u64,
    start: &dyn Fn(&Path, &str) -> io::Result<Working>,
) -> io::Result<Tried> {
    let mut tried = Tried::default();
    while tried.faults < kills {
        let now = ROUND_KILLS.min(kills - tried.faults);
        let home = TempDir::new_in(scratch)?;
        let mut rng = Rng::new(seed ^ 0x2545_f491 ^ tried.faults);
        let mut told = Vec::new();
        for number in 0..now {
            let child = start(home.path(), &format!("r{number}"))?;
            told.extend(kill_after(child, rng.range(0, LIFE_MAX), acknowledged, || ())?);
            tried.faults += 1;
            let is_whole = number % LOOK_EVERY == 0 || number + 1 == now;
            let place = format!("kill {}", tried.faults);
            look_at(home.path(), &told, is_whole, &place, &mut tried);
        }
        tried.operations += to_u64(told.len());
    }
    Ok(tried)
}

fn look_at(home: &Path, told: &[Acknowledged], is_whole: bool, place: &str, tried: &mut Tried) {
    let look = || {
        let log = FileLog::open(home, FileLogOptions::default())?;
        let findings: Vec<Finding> = log.restore(&id(), stemmata_model::Timestamp::EPOCH)?.findings;
        let wrong = if is_whole { wrong(&all(&log)?, told) } else { Vec::new() };
        Ok::<_, StoreError>((findings, wrong))
    };
    tried.states += 1;
    match look() {
        Ok((findings, wrong)) => {
            tried.lost.extend(wrong.into_iter().map(|wrong| format!("{place}: {wrong}")));
            let harmful = findings.iter().filter(|finding| !is_harmless(finding));
            tried.unreadable.extend(harmful.map(|finding| format!("{place}: {finding}")));
        }
        Err(error) => tried.unreadable.push(format!("{place}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use crate::memory::MemoryStore;

    use super::*;

    #[test]
    fn what_is_lost_moved_cut_or_mixed_is_told() {
        let log = MemoryStore::default();
        let mut told = Vec::new();
        for (name, number) in [("a", 0), ("b", 1), ("a", 2)] {
            let text = format!("{name}/{number} x");
            let done = log.append(append(vec![said("s", "t", &text); size_of(number)], Durability::Batch));
            let first = done.expect("appended").first;
            let line = format!("ack {first} {} {name}/{number}", size_of(number));
            told.extend(acknowledged(&line));
        }
        let events = all(&log).expect("a read");
        assert_eq!(wrong(&events, &told), Vec::<String>::new());
        assert_eq!(acknowledged("running 1 test"), None);
        let without = |at: usize| [&events[..at], &events[at + 1..]].concat();
        for (changed, is_wrong) in [(events[..5].to_vec(), 2), (without(1), 4), (without(0), 4)] {
            assert_eq!(wrong(&changed, &told).len(), is_wrong, "{changed:?}");
        }
        let moved = Acknowledged { first: 2, ..told[0].clone() };
        assert_eq!(wrong(&events, &[moved]).len(), 1);
        let mut late = events;
        late[3].at = late[2].at;
        assert_eq!(wrong(&late, &told), ["times do not rise"]);
    }
}
