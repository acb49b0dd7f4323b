//! `export`: a conversation for other programs and for people, in a form that no client resumes.
//!
//! What it looks like is decided in `stemmata_runtimes::export`.

use std::fmt;
use std::io::{self, Write};
use std::ops::RangeInclusive;

use stemmata_api::v1::Exported;
use stemmata_model::{Bytes, Closure, CommitId, Entry, ExportForm, Note, to_u64};
use stemmata_runtimes::export::{About, export};
use stemmata_runtimes::translate::{as_told, runtime_of};
use stemmata_store::StoreError;

use crate::engine::Engine;
use crate::error::{BadRange, EngineError, FormatUse, Result};
use crate::verbs::materialize::Stop;
use crate::verbs::translate::era_stop;

/// Bytes of a conversation that is exported at most: its entries are held in memory.
const EXPORTED_BYTES_MAX: usize = 1 << 30;

impl Engine {
    /// Writes the conversation of a commit, down to a stop, or of it the turns of these prompts, in a form for other programs or for
    /// people. Pure: the same commit and parameters give the same text, but for the title, which may have been given anew.
    ///
    /// # Errors
    /// As `materialize`, and the output's own. `NoPrompt` where the conversation lacks one of the prompts.
    pub fn export(
        &self,
        ctx: CommitId,
        (form, stop, prompts): (ExportForm, Stop, Option<RangeInclusive<u64>>),
        out: &mut dyn Write,
    ) -> Result<Exported> {
        let (mut entries, notes) = self.conversation(ctx, stop)?;
        if let Some(prompts) = prompts {
            entries = self.turns_of(ctx, entries, &prompts)?;
        }
        let about = self.about(ctx)?;
        let mut sink = Sink { out, bytes: Bytes(0), error: None };
        let written = export(form, &about, &entries, &mut sink);
        let bytes = sink.bytes;
        match (written, sink.error) {
            (Ok(()), None) => {}
            (_, error) => {
                let error = error.unwrap_or_else(|| io::Error::other("a text could not be formatted"));
                return Err(EngineError::Store(StoreError::Sink(error)));
            }
        }
        Ok(Exported {
            ctx,
            stop: stop.to_string(),
            format: form.as_str().to_owned(),
            bytes: bytes.0,
            entry_count: to_u64(entries.len()),
            notes,
            path: None,
        })
    }

    /// Returns the entries of a conversation, oldest first, each as its own runtime wrote it.
    fn conversation(&self, ctx: CommitId, stop: Stop) -> Result<(Vec<Entry>, Vec<Note>)> {
        let commit = self.store.commit(ctx)?.ok_or(StoreError::CommitMissing(ctx))?;
        if commit.closure == Closure::Forgotten {
            return Err(StoreError::Forgotten(ctx).into());
        }
        if let Stop::Ancestor(ancestor) = stop {
            self.check_ancestor(ancestor, ctx)?;
        }
        let eras = self.eras(ctx, stop)?;
        let newest = eras.len().saturating_sub(1);
        let (mut entries, mut notes) = (Vec::new(), Vec::new());
        for (index, era) in eras.iter().rev().enumerate() {
            let source = Self::adapter(&era.format, FormatUse::Read)?;
            let era_stop = era_stop(stop, index, newest);
            let mut context = self.plan_era(source, (era.tip, era.bound), era_stop)?;
            let mut native = Vec::new();
            context.write_uncounted(&mut |piece: &[u8]| {
                if native.len() + piece.len() > EXPORTED_BYTES_MAX {
                    let message =
                        format!("a conversation of more than {EXPORTED_BYTES_MAX} bytes cannot be exported");
                    return Err(io::Error::other(message));
                }
                native.extend_from_slice(piece);
                Ok(())
            })?;
            notes.extend(context.notes());
            let told = as_told(source.told(&native).entries, runtime_of(&era.format), era_stop.0);
            entries.extend(told.entries);
        }
        Ok((entries, notes))
    }

    /// Returns the entries of the turns of these prompts.
    fn turns_of(
        &self,
        ctx: CommitId,
        entries: Vec<Entry>,
        prompts: &RangeInclusive<u64>,
    ) -> Result<Vec<Entry>> {
        let numbered = self.numbered_prompts(ctx)?;
        let place = |number: u64| {
            let prompt = numbered.iter().find(|prompt| prompt.number == number)?;
            entries.iter().position(|entry| entry.id == prompt.entry)
        };
        let [first, last] = [*prompts.start(), *prompts.end()];
        if let Some(number) = [first, last].into_iter().find(|number| place(*number).is_none()) {
            let prompts = numbered.len() as u64;
            if (1..=prompts).contains(&number) {
                let (text, of) = (format!("{first}..{last}"), ctx.to_string());
                let why = BadRange::BeforeTheStart;
                return Err(EngineError::PromptRange { text, of, from: first, why });
            }
            return Err(EngineError::NoPrompt { of: ctx.to_string(), number, prompts });
        }
        let start = place(first).unwrap_or(0);
        let end = place(last.saturating_add(1)).unwrap_or(entries.len());
        Ok(entries.into_iter().take(end).skip(start).collect())
    }

    fn about(&self, ctx: CommitId) -> Result<About> {
        let commit = self.store.commit(ctx)?.ok_or(StoreError::CommitMissing(ctx))?;
        let session = self.session_of(ctx)?;
        Ok(About {
            ctx: ctx.to_string(),
            runtime: runtime_of(&commit.core.format).to_owned(),
            version: session.as_ref().and_then(|known| known.version.clone()),
            title: session.as_ref().and_then(|known| known.title.clone()),
            cwd: session.as_ref().and_then(|known| known.cwd.clone()),
            git_branch: session.as_ref().and_then(|known| known.git_branch.clone()),
            session: session.map(|known| known.session.to_string()),
        })
    }
}

/// Hands text on, and keeps what went wrong: formatting has no place for it.
struct Sink<'o> {
    out: &'o mut dyn Write,
    bytes: Bytes,
    error: Option<io::Error>,
}

impl fmt::Write for Sink<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.bytes += Bytes::of(text.as_bytes());
        self.out.write_all(text.as_bytes()).map_err(|error| {
            self.error = Some(error);
            fmt::Error
        })
    }
}
