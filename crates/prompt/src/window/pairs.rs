//! Calls and results as every provider takes them: each call answered once, right behind it.
//!
//! What a harness that was killed, or that mixed things up, leaves is mended in what the model is given. What is stored stays.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};

use stemmata_model::{Entry, EntryId, Part, Role};

/// What a call is answered with that has no result although the conversation went on.
const CLOSED_TEXT: &str = "[Closed by Stemmata: this tool call has no result. It may or may not have run.]";

/// Characters that every provider takes in a call's id.
const NAME_CHARS_MAX: usize = 64;

/// Entries as a provider takes them, and what had to be done for that.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Paired {
    /// The entries.
    pub entries: Vec<Entry>,
    /// Calls that got a marked result.
    pub closed: Vec<String>,
    /// Calls that results name which nobody made, or which are answered already: the results are left out.
    pub left_out: Vec<String>,
}

/// Calls that stand together, and what answers them.
struct Run {
    /// Behind its last entry and the results that follow: where late results go.
    end: usize,
    calls: Vec<Call>,
}

struct Call {
    id: String,
    of: EntryId,
    is_answered: bool,
}

/// What was found of the calls and results of a window.
#[derive(Default)]
struct Found {
    runs: Vec<Run>,
    /// Results that go to another run, each with the run, its entry's place and its own in that.
    late: Vec<(usize, usize, usize)>,
    /// Results that answer nothing.
    left_out: Vec<(usize, usize)>,
    by_id: HashMap<String, Vec<(usize, usize)>>,
}

impl Found {
    fn of(entries: &[Entry]) -> Self {
        let mut found = Self::default();
        let mut before = Role::User;
        for (at, entry) in entries.iter().enumerate() {
            if entry.role == Role::Assistant && before != Role::Assistant {
                found.runs.push(Run { end: at, calls: Vec::new() });
            }
            let is_reply = entry.role == Role::Tool && found.runs.last().is_some_and(|run| run.end == at);
            let is_beside = is_reply || entry.role == Role::Assistant;
            if let Some(run) = found.runs.last_mut().filter(|_| is_beside) {
                run.end = at + 1;
            }
            for (place, part) in entry.parts.iter().enumerate() {
                match part {
                    Part::ToolCall { call_id, .. } => found.call(entry, call_id),
                    Part::ToolResult { call_id, .. } => found.result(call_id, (at, place), is_beside),
                    _ => {}
                }
            }
            before = entry.role;
        }
        found
    }

    fn call(&mut self, entry: &Entry, call_id: &str) {
        let newest = self.runs.len().saturating_sub(1);
        let Some(run) = self.runs.last_mut() else { return };
        self.by_id.entry(call_id.to_owned()).or_default().push((newest, run.calls.len()));
        run.calls.push(Call { id: call_id.to_owned(), of: entry.id.clone(), is_answered: false });
    }

    fn result(&mut self, call_id: &str, (at, place): (usize, usize), is_beside: bool) {
        let newest = self.runs.len().saturating_sub(1);
        for (run, call) in self.by_id.get(call_id).into_iter().flatten().copied() {
            let call = self.runs.get_mut(run).and_then(|run| run.calls.get_mut(call));
            if let Some(call) = call.filter(|call| !call.is_answered) {
                call.is_answered = true;
                if run != newest || !is_beside {
                    self.late.push((run, at, place));
                }
                return;
            }
        }
        self.left_out.push((at, place));
    }

    /// Returns the calls without a result behind which something else was said.
    fn open(&self, entries: usize) -> impl Iterator<Item = (usize, &Call)> {
        let goes_on = self.runs.iter().filter(move |run| run.end < entries);
        goes_on.flat_map(|run| run.calls.iter().filter(|call| !call.is_answered).map(|call| (run.end, call)))
    }
}

/// Pairs the calls of a window with their results. Calls at the end of it wait, and stay as they are.
pub fn paired(entries: Vec<Entry>) -> Paired {
    let found = Found::of(&entries);
    let closed: Vec<String> = found.open(entries.len()).map(|(_, call)| call.id.clone()).collect();
    if found.late.is_empty() && found.left_out.is_empty() && closed.is_empty() {
        return Paired { entries, ..Paired::default() };
    }
    let part =
        |at: usize, place: usize| entries.get(at).and_then(|entry| Some((entry, entry.parts.get(place)?)));
    let mut behind: HashMap<usize, Vec<Entry>> = HashMap::new();
    for (run, at, place) in &found.late {
        let Some(((entry, part), run)) = part(*at, *place).zip(found.runs.get(*run)) else { continue };
        let one = Entry { parts: vec![part.clone()], ..entry.clone() };
        behind.entry(run.end).or_default().push(one);
    }
    for (end, call) in found.open(entries.len()) {
        let text = vec![Part::Text(CLOSED_TEXT.to_owned())];
        let parts = vec![Part::ToolResult { call_id: call.id.clone(), is_error: true, parts: text }];
        behind.entry(end).or_default().push(Entry::said(call.of.clone(), Role::Tool, parts));
    }
    let name = |(at, place): &(usize, usize)| match part(*at, *place) {
        Some((_, Part::ToolResult { call_id, .. })) => Some(call_id.clone()),
        _ => None,
    };
    let left_out: Vec<String> = found.left_out.iter().filter_map(name).collect();
    let moved = found.late.iter().map(|(_, at, place)| (*at, *place));
    let gone: HashSet<(usize, usize)> = found.left_out.iter().copied().chain(moved).collect();
    let mut all = Vec::with_capacity(entries.len());
    for (at, entry) in entries.iter().enumerate() {
        all.extend(behind.remove(&at).unwrap_or_default());
        let kept = entry.parts.iter().enumerate().filter(|(place, _)| !gone.contains(&(at, *place)));
        let parts: Vec<Part> = kept.map(|(_, part)| part.clone()).collect();
        if !parts.is_empty() || entry.parts.is_empty() {
            all.push(Entry { parts, ..entry.clone() });
        }
    }
    Paired { entries: all, closed, left_out }
}

/// Gives entries and calls whose id another one before has an id of their own, and results that of their call; entries are
/// [`paired`]. Returns the ids of such calls. What repeats one is what a program numbers from 0 in each turn, and what `paired`
/// made of an entry.
pub fn named_apart(entries: &mut [Entry]) -> Vec<String> {
    let mut names = Names::of(entries.iter().map(|entry| entry.id.as_str()));
    for entry in entries.iter_mut() {
        if let Some(Ok(name)) = names.apart(entry.id.as_str()).map(EntryId::new) {
            entry.id = name;
        }
    }
    let mut names = Names::of(entries.iter().flat_map(Entry::calls));
    let mut waiting: HashMap<String, VecDeque<String>> = HashMap::new();
    let mut repeated = BTreeSet::new();
    for part in entries.iter_mut().flat_map(|entry| &mut entry.parts) {
        match part {
            Part::ToolCall { call_id, .. } => {
                let id = call_id.clone();
                if let Some(name) = names.apart(&id) {
                    repeated.insert(id.clone());
                    *call_id = name;
                }
                waiting.entry(id).or_default().push_back(call_id.clone());
            }
            Part::ToolResult { call_id, .. } => {
                if let Some(name) = waiting.get_mut(call_id.as_str()).and_then(VecDeque::pop_front) {
                    *call_id = name;
                }
            }
            _ => {}
        }
    }
    repeated.into_iter().collect()
}

/// Ids, each of them given to one.
struct Names {
    taken: HashSet<String>,
    given: HashSet<String>,
    /// Counts on for all of them, so that looking for a free name takes linear time.
    count: u64,
}

impl Names {
    fn of<'a>(all: impl Iterator<Item = &'a str>) -> Self {
        Self { taken: all.map(str::to_owned).collect(), given: HashSet::new(), count: 0 }
    }

    /// Returns another id where this one was given before.
    fn apart(&mut self, id: &str) -> Option<String> {
        self.count += 1;
        if self.given.insert(id.to_owned()) {
            return None;
        }
        loop {
            let name: String = format!("again-{}-{id}", self.count).chars().take(NAME_CHARS_MAX).collect();
            if self.taken.insert(name.clone()) {
                return Some(name);
            }
            self.count += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn id(name: &str) -> EntryId {
        EntryId::new(name).expect("a name")
    }

    /// Entries by letters: `U` a prompt, `A` an answer, `a` to `c` calls, `1` to `3` their results, in an entry each; what stands in
    /// brackets is one entry.
    fn entries(letters: &str) -> Vec<Entry> {
        let mut all: Vec<Entry> = Vec::new();
        let mut joins = false;
        for (at, letter) in letters.chars().enumerate() {
            let call_id = |base: u8| format!("c{}", u8::try_from(letter).expect("ASCII") - base);
            let part = match letter {
                '(' | ')' => {
                    joins = letter == '(';
                    if joins {
                        all.push(Entry::said(id(&format!("e{at}")), Role::User, Vec::new()));
                    }
                    continue;
                }
                'U' | 'A' => Part::Text(letter.to_string()),
                'a'..='c' => Part::ToolCall {
                    call_id: call_id(b'a'),
                    name: "t".to_owned(),
                    arguments: "{}".to_owned(),
                },
                _ => Part::ToolResult { call_id: call_id(b'1'), is_error: false, parts: Vec::new() },
            };
            let role = match letter {
                'U' => Role::User,
                'A' | 'a'..='c' => Role::Assistant,
                _ => Role::Tool,
            };
            match all.last_mut().filter(|_| joins) {
                Some(entry) => (entry.role, entry.parts) = (role, [entry.parts.clone(), vec![part]].concat()),
                None => all.push(Entry::said(id(&format!("e{at}")), role, vec![part])),
            }
        }
        all
    }

    /// The same letters for entries; `!` is a marked result.
    fn letters(entries: &[Entry]) -> String {
        let part = |part: &Part| match part {
            Part::Text(text) => text.clone(),
            Part::ToolCall { call_id, .. } => {
                call_id.replace("c0", "a").replace("c1", "b").replace("c2", "c")
            }
            Part::ToolResult { is_error: true, .. } => "!".to_owned(),
            Part::ToolResult { call_id, .. } => {
                call_id.replace("c0", "1").replace("c1", "2").replace("c2", "3")
            }
            _ => "?".to_owned(),
        };
        entries.iter().flat_map(|entry| &entry.parts).map(part).collect()
    }

    #[test]
    fn each_call_is_answered_once_right_behind_it() {
        for (given, wanted, closed, left_out) in [
            ("Ua1A", "Ua1A", 0, 0),
            ("Uab12A", "Uab12A", 0, 0),
            ("U(ab)21A", "Uab21A", 0, 0),
            ("Ua1a1A", "Ua1a1A", 0, 0),
            // Calls that wait.
            ("Ua", "Ua", 0, 0),
            ("Uab1", "Uab1", 0, 0),
            // The harness was killed while they ran.
            ("UaU", "Ua!U", 1, 0),
            ("Uab2U", "Uab2!U", 1, 0),
            ("UaUbU", "Ua!Ub!U", 2, 0),
            // A result that came late.
            ("UaU1A", "Ua1UA", 0, 0),
            ("UaAU1", "UaA1U", 0, 0),
            ("Uab1U2", "Uab12U", 0, 0),
            // Of nobody, and once more.
            ("U3", "U", 0, 1),
            ("Ua11A", "Ua1A", 0, 1),
            ("Ua(13)A", "Ua1A", 0, 1),
            ("Ua1A1", "Ua1A", 0, 1),
            ("1a1", "a1", 0, 1),
        ] {
            let done = paired(entries(given));
            assert_eq!(letters(&done.entries), wanted, "{given}");
            assert_eq!((done.closed.len(), done.left_out.len()), (closed, left_out), "{given}");
        }
    }

    proptest! {
        #[test]
        fn whatever_was_stored_a_provider_takes_what_comes_of_it(given in "[UAabc123]{0,24}") {
            let done = paired(entries(&given));
            let said = letters(&done.entries);
            prop_assert!(given.chars().filter(|letter| "UAabc".contains(*letter)).eq(said.chars().filter(|letter| "UAabc".contains(*letter))));
            // Each call waits for one result, and nobody speaks before that unless it is the end.
            let mut open: Vec<&str> = Vec::new();
            for entry in &done.entries {
                let is_reply = entry.role == Role::Tool;
                prop_assert!(is_reply || entry.role == Role::Assistant || open.is_empty(), "{given} → {said}");
                for part in &entry.parts {
                    match part {
                        Part::ToolCall { call_id, .. } => open.push(call_id),
                        Part::ToolResult { call_id, .. } => {
                            let at = open.iter().position(|open| open == call_id);
                            prop_assert!(at.is_some(), "{given} → {said}");
                            open.remove(at.expect("it is there"));
                        }
                        _ => {}
                    }
                }
            }
            prop_assert_eq!(&paired(done.entries.clone()).entries, &done.entries);
            // Where calls repeat an id, each gets one of its own, and results go with them.
            let mut apart = done.entries.clone();
            let repeated = named_apart(&mut apart);
            let unique = |ids: Vec<&str>| ids.iter().collect::<HashSet<_>>().len() == ids.len();
            let calls: Vec<&str> = apart.iter().flat_map(Entry::calls).collect();
            let answers: Vec<&str> = apart.iter().flat_map(Entry::answers).collect();
            prop_assert!(answers.iter().all(|id| calls.contains(id)), "{calls:?} {answers:?}");
            prop_assert_eq!(repeated.is_empty(), unique(done.entries.iter().flat_map(Entry::calls).collect()));
            prop_assert!(unique(calls) && unique(answers) && unique(apart.iter().map(|entry| entry.id.as_str()).collect()));
            prop_assert_eq!(paired(apart.clone()).entries, apart);
        }
    }
}
