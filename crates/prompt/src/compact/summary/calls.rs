//! The calls of a conversation with how they ended, from counters alone.

use stemmata_acts::{Certainty, Judged, Outcome};

use super::counted::{CallRecord, Counted, Ended, FileRecord, Piece, ResultRecord, way};
use super::table::ByHash;

/// A call with its end.
pub(super) struct CallAt<'c> {
    /// The entry that makes the call.
    pub entry: usize,
    pub counted: &'c Counted,
    pub record: &'c CallRecord,
    /// The entry that answers it, and what it says.
    pub answer: Option<(usize, &'c Counted, &'c ResultRecord)>,
    pub ended: Option<Ended>,
}

/// Returns the calls of a conversation in their order. A result answers the latest call of its id before it; a call that goes on
/// with an earlier one ends that one.
pub(super) fn calls(entries: &[Counted]) -> Vec<CallAt<'_>> {
    let mut calls: Vec<CallAt<'_>> = Vec::new();
    let mut called: ByHash<usize> = ByHash::default();
    let mut running: ByHash<usize> = ByHash::default();
    let pieces = |(at, entry): (usize, &'_ Counted)| (at, entry.pieces.len());
    for (entry, count) in entries.iter().enumerate().map(pieces) {
        let Some(counted) = entries.get(entry) else { continue };
        for piece in counted.pieces.iter().take(count) {
            let Piece { call, result, .. } = piece;
            if let Some(record) = call {
                called.insert(record.id, calls.len());
                calls.push(CallAt { entry, counted, record, answer: None, ended: None });
            }
            if let Some(record) = result
                && let Some(at) = called.get(&record.id)
            {
                answered(&mut calls, *at, (entry, counted, record), &mut running);
            }
        }
    }
    calls
}

fn answered<'c>(
    calls: &mut [CallAt<'c>],
    at: usize,
    answer: (usize, &'c Counted, &'c ResultRecord),
    running: &mut ByHash<usize>,
) {
    let Some(call) = calls.get_mut(at) else { return };
    call.answer = Some(answer);
    let ended = answer.2.ended[way(call.record.judged)];
    call.ended = Some(ended);
    let earlier = call.record.follows.and_then(|handle| running.get(&handle)).copied();
    if let (Ended::Running, Some(handle)) = (ended, answer.2.handle) {
        running.insert(handle, earlier.unwrap_or(at));
    }
    if let Some(call) = earlier.and_then(|earlier| calls.get_mut(earlier)) {
        call.ended = Some(answer.2.ended[way(call.record.judged)]);
    }
}

impl CallAt<'_> {
    /// Returns what the call did to files, as far as that is sure.
    pub(super) fn files(&self) -> impl Iterator<Item = &FileRecord> {
        self.record.files.iter().filter(|file| {
            let complains = self.answer.is_some_and(|(.., result)| result.complains_of_files);
            let sure = self.outcome().certainty(file.certainty, complains);
            sure.is_some_and(|sure| sure > Certainty::Possible)
        })
    }

    /// Whether the call failed.
    pub(super) fn is_failed(&self) -> bool {
        self.ended == Some(Ended::Failed)
    }

    /// Whether it runs a command.
    pub(super) fn is_command(&self) -> bool {
        matches!(self.record.judged, Judged::Command { .. })
    }

    fn outcome(&self) -> Outcome {
        match self.ended {
            None => Outcome::Open,
            Some(Ended::Passed) => Outcome::Passed,
            Some(Ended::Failed) => Outcome::Failed { why: String::new() },
            Some(Ended::Refused) => Outcome::Refused,
            Some(Ended::Stopped) => Outcome::Stopped,
            Some(Ended::Running) => Outcome::Running { handle: None },
            Some(Ended::Unclear) => Outcome::Unclear,
        }
    }
}
