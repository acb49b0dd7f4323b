//! Counters as bytes, for a cache: small numbers in few bytes, no names of fields. Whoever cannot read them counts anew.

use std::ops::Range;

use stemmata_acts::{Certainty, Task, TaskAct, TaskStatus};

use super::counted::{
    COUNTED_VERSION, CallRecord, Change, Counted, Ended, FileRecord, Line, LocalName, Piece, ResultRecord,
    Sentence, Span, Speaker, WAYS, hash, way,
};
use crate::compact::names::Class;

const CLASSES: [Class; 4] = [Class::Path, Class::File, Class::Identifier, Class::Literal];
const SPEAKERS: [Speaker; 5] =
    [Speaker::User, Speaker::Client, Speaker::Assistant, Speaker::Call, Speaker::Result];
const CHANGES: [Change; 3] = [Change::Created, Change::Edited, Change::Deleted];
const CERTAINTIES: [Certainty; 3] = [Certainty::Possible, Certainty::Likely, Certainty::Sure];
const ENDS: [Ended; 6] =
    [Ended::Passed, Ended::Failed, Ended::Refused, Ended::Stopped, Ended::Running, Ended::Unclear];
const STATUSES: [TaskStatus; 4] =
    [TaskStatus::Open, TaskStatus::Active, TaskStatus::Done, TaskStatus::Dropped];

impl Counted {
    /// Returns the counters as bytes. The same counters give the same bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Put(vec![COUNTED_VERSION]);
        out.text(&self.text);
        out.list(&self.names, |out, name| {
            out.span(name.span);
            out.one_of(&CLASSES, name.class);
        });
        out.list(&self.line_names, |out, id| out.number((*id).into()));
        out.list(&self.lines, |out, line| {
            out.option(line.text, Put::span);
            out.number(line.key);
            out.range(&line.names);
        });
        out.list(&self.sentences, |out, sentence| {
            out.span(sentence.text);
            out.range(&sentence.names);
            out.number(sentence.decides.into());
        });
        out.list(&self.pieces, Put::piece);
        out.0
    }

    /// Reads counters; none where the bytes are of another version or damaged.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (version, bytes) = bytes.split_first()?;
        let mut from = Take((*version == COUNTED_VERSION).then_some(bytes)?);
        let text = from.text()?;
        let names = from.list(|from| Some((from.span()?, from.one_of(&CLASSES)?)))?;
        let line_names = from.list(Take::small)?;
        let lines = from.list(|from| {
            Some(Line { text: from.option(Take::span)?, key: from.number()?, names: from.range()? })
        })?;
        let sentences = from.list(|from| Some((from.span()?, from.range()?, from.number()? == 1)))?;
        let pieces = from.list(Take::piece)?;
        let mut read = Self { text, names: Vec::new(), lines, line_names, sentences: Vec::new(), pieces };
        let hashed = |span| hash(read.text(span).bytes());
        let names: Vec<LocalName> =
            names.into_iter().map(|(span, class)| LocalName { span, class, hash: hashed(span) }).collect();
        let sentences: Vec<Sentence> = sentences
            .into_iter()
            .map(|(text, names, decides)| Sentence { text, key: hashed(text), names, decides })
            .collect();
        (read.names, read.sentences) = (names, sentences);
        (from.0.is_empty() && read.is_sound()).then_some(read)
    }

    /// Whether every name that is pointed at is there.
    fn is_sound(&self) -> bool {
        let is_name = |id: &u32| usize::try_from(*id).is_ok_and(|id| id < self.names.len());
        let files = self.pieces.iter().filter_map(|piece| piece.call.as_ref()).flat_map(|call| &call.files);
        let heads = self.pieces.iter().filter_map(|piece| piece.head.as_ref());
        self.line_names.iter().chain(heads).all(is_name)
            && files.into_iter().all(|file| is_name(&file.path) && file.added.iter().all(is_name))
    }
}

/// Bytes that are being written.
struct Put(Vec<u8>);

impl Put {
    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number.to_le_bytes()[0] | 0x80);
            number >>= 7;
        }
        self.0.push(number.to_le_bytes()[0]);
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.0.extend_from_slice(text.as_bytes());
    }

    fn span(&mut self, span: Span) {
        self.number(span.start.into());
        self.number(span.length.into());
    }

    fn range(&mut self, range: &Range<u32>) {
        self.number(range.start.into());
        self.number(range.end.into());
    }

    fn one_of<T: PartialEq + Copy>(&mut self, all: &[T], one: T) {
        self.number(all.iter().position(|known| *known == one).unwrap_or(all.len()) as u64);
    }

    fn option<T>(&mut self, value: Option<T>, put: impl FnOnce(&mut Self, T)) {
        self.number(value.is_some().into());
        if let Some(value) = value {
            put(self, value);
        }
    }

    fn list<T>(&mut self, all: &[T], put: impl Fn(&mut Self, &T)) {
        self.number(all.len() as u64);
        for one in all {
            put(self, one);
        }
    }

    fn piece(&mut self, piece: &Piece) {
        self.one_of(&SPEAKERS, piece.speaker);
        self.number(piece.chars.into());
        self.range(&piece.lines);
        self.range(&piece.sentences);
        self.option(piece.head, |out, head| out.number(head.into()));
        self.option(piece.call.as_ref(), Self::call);
        self.option(piece.result.as_ref(), Self::result);
        self.option(piece.prompt, Self::span);
    }

    fn call(&mut self, call: &CallRecord) {
        self.number(call.id);
        self.number(way(call.judged) as u64);
        self.list(&call.commands, |out, span| out.span(*span));
        self.list(&call.files, |out, file| {
            out.number(file.path.into());
            out.one_of(&CHANGES, file.change);
            out.one_of(&CERTAINTIES, file.certainty);
            out.list(&file.added, |out, id| out.number((*id).into()));
            out.option(file.line, Self::span);
        });
        self.list(&call.tasks, Self::task_act);
        self.option(call.follows, Self::number);
    }

    fn task_act(&mut self, act: &TaskAct) {
        match act {
            TaskAct::Write { tasks } => {
                self.number(0);
                self.list(tasks, |out, task| {
                    out.option(task.id.as_deref(), Self::text);
                    out.text(&task.text);
                    out.one_of(&STATUSES, task.status);
                });
            }
            TaskAct::Add { text } => {
                self.number(1);
                self.text(text);
            }
            TaskAct::Change { id, status, text } => {
                self.number(2);
                self.text(id);
                self.option(*status, |out, status| out.one_of(&STATUSES, status));
                self.option(text.as_deref(), Self::text);
            }
            TaskAct::List => self.number(3),
        }
    }

    fn result(&mut self, result: &ResultRecord) {
        self.number(result.id);
        result.ended.iter().for_each(|ended| self.one_of(&ENDS, *ended));
        self.option(result.handle, Self::number);
        self.number(result.complains_of_files.into());
        self.list(&result.errors, |out, span| out.span(*span));
        self.option(result.tasks, Self::span);
    }
}

/// Bytes that are being read.
struct Take<'b>(&'b [u8]);

impl Take<'_> {
    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn small(&mut self) -> Option<u32> {
        self.number()?.try_into().ok()
    }

    fn text(&mut self) -> Option<String> {
        let length = usize::try_from(self.number()?).ok()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        String::from_utf8(text.to_vec()).ok()
    }

    fn span(&mut self) -> Option<Span> {
        Some(Span { start: self.small()?, length: self.small()? })
    }

    fn range(&mut self) -> Option<Range<u32>> {
        Some(self.small()?..self.small()?)
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> Option<T> {
        all.get(usize::try_from(self.number()?).ok()?).copied()
    }

    #[expect(clippy::option_option, reason = "the outer one says whether the bytes could be read")]
    fn option<T>(&mut self, take: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        if self.number()? == 0 { Some(None) } else { Some(Some(take(self)?)) }
    }

    /// An item takes a byte at least, so that no number of them makes more than the bytes hold.
    fn list<T>(&mut self, take: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = usize::try_from(self.number()?).ok().filter(|count| *count <= self.0.len())?;
        (0..count).map(|_| take(self)).collect()
    }

    fn piece(&mut self) -> Option<Piece> {
        Some(Piece {
            speaker: self.one_of(&SPEAKERS)?,
            chars: self.small()?,
            lines: self.range()?,
            sentences: self.range()?,
            head: self.option(Self::small)?,
            call: self.option(Self::call)?,
            result: self.option(Self::result)?,
            prompt: self.option(Self::span)?,
        })
    }

    fn call(&mut self) -> Option<CallRecord> {
        Some(CallRecord {
            id: self.number()?,
            judged: self.one_of(&WAYS)?,
            commands: self.list(Self::span)?,
            files: self.list(|from| {
                Some(FileRecord {
                    path: from.small()?,
                    change: from.one_of(&CHANGES)?,
                    certainty: from.one_of(&CERTAINTIES)?,
                    added: from.list(Self::small)?,
                    line: from.option(Self::span)?,
                })
            })?,
            tasks: self.list(Self::task_act)?,
            follows: self.option(Self::number)?,
        })
    }

    fn task_act(&mut self) -> Option<TaskAct> {
        Some(match self.number()? {
            0 => {
                let task = |from: &mut Self| {
                    let (id, text) = (from.option(Self::text)?, from.text()?);
                    Some(Task { id, text, status: from.one_of(&STATUSES)? })
                };
                TaskAct::Write { tasks: self.list(task)? }
            }
            1 => TaskAct::Add { text: self.text()? },
            2 => TaskAct::Change {
                id: self.text()?,
                status: self.option(|from| from.one_of(&STATUSES))?,
                text: self.option(Self::text)?,
            },
            3 => TaskAct::List,
            _ => return None,
        })
    }

    fn result(&mut self) -> Option<ResultRecord> {
        Some(ResultRecord {
            id: self.number()?,
            ended: [self.one_of(&ENDS)?, self.one_of(&ENDS)?, self.one_of(&ENDS)?, self.one_of(&ENDS)?],
            handle: self.option(Self::number)?,
            complains_of_files: self.number()? == 1,
            errors: self.list(Self::span)?,
            tasks: self.option(Self::span)?,
        })
    }
}
