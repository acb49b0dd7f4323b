//! What a command line names: commits, ranges of prompts and sessions, as they are asked for, and ids as they are shown.

use std::path::Path;

use stemmata_api::{read_field, v1};
use stemmata_model::CommitId;

use super::App;
use crate::errors::CliError;
use crate::output::commit::ShortIds;
use crate::output::style::{Style, tame};

impl App {
    /// Finds the commit that the user means, and says where scrubbing replaced the one that was named.
    pub(crate) fn commit(&self, reference: &str) -> Result<CommitId, CliError> {
        Ok(self.told(&self.service()?.find(&self.reference(reference))?))
    }

    /// Returns what [`Self::commit`] finds as requests have it.
    pub(crate) fn ctx(&self, reference: &str) -> Result<String, CliError> {
        Ok(self.commit(reference)?.to_string())
    }

    /// Returns what asks for a reference: one that is a path is the user's, relative to where the command was called.
    pub(crate) fn reference(&self, reference: &str) -> v1::FindRequest {
        let here = self.environment.current_dir.to_string_lossy().into_owned();
        let (text, path) = (reference.to_owned(), Some(self.path_of(reference)));
        v1::FindRequest { text, here: Some(here), path, takes_range: false }
    }

    /// Returns the prompts that a reference names as a range, with the commit whose chain holds them. `None` where it names no range.
    pub(crate) fn range(&self, reference: &str) -> Result<Option<(String, v1::FoundRange)>, CliError> {
        // Anything else is found another way, and need not be looked for here.
        let Some((_, numbers)) = reference.rsplit_once(':') else { return Ok(None) };
        if !numbers.contains("..") && !numbers.contains('-') {
            return Ok(None);
        }
        let request = v1::FindRequest { takes_range: true, ..self.reference(reference) };
        let found = self.service()?.find(&request)?;
        let Some(range) = found.range.clone() else { return Ok(None) };
        Ok(Some((self.told(&found).to_string(), range)))
    }

    /// Says where scrubbing replaced the commit that was named, and returns the one that is meant.
    pub(crate) fn told(&self, found: &v1::Found) -> CommitId {
        self.say_redirected(found);
        self.say_cut(found.cut.as_ref());
        found.ctx
    }

    /// Says where a reference ends before the prompt that it names, for what is often meant to be that prompt's turn.
    pub(crate) fn say_before(&self, reference: &str, found: &v1::Found) {
        if let Some((of, number)) = reference.rsplit_once(':').filter(|_| found.prompt.is_some()) {
            let note = Style::Note.paint("note");
            self.console.say(&format!(
                "{note}: `{0}` ends before prompt {number}; `{1}:{number}..{number}` is that turn",
                tame(reference),
                tame(of)
            ));
        }
    }

    /// Says where a session's transcript lacks what the store has of it. Once, however often the session is looked up.
    pub(crate) fn say_cut(&self, cut: Option<&v1::CutTranscript>) {
        let Some(v1::CutTranscript { path, messages, of, whole }) =
            cut.filter(|_| !self.has_said_cut.replace(true))
        else {
            return;
        };
        let (note, path) = (Style::Note.paint("note"), self.environment.shown(Path::new(path)));
        let whole = whole
            .map(|whole| self.short_ids([whole]).map_or_else(|_| whole.to_string(), |ids| ids.cut(whole)));
        self.console.say(&match whole {
            None => format!(
                "{note}: {path} was cut or damaged and has {messages} of {of} messages; this is all that was read before, and \
                 `stemma recover` gives it back"
            ),
            Some(whole) => format!(
                "{note}: {path} was cut and went on with {messages} messages; `{whole}` has all {of} that were read before, and \
                 `stemma recover` gives them back"
            ),
        });
    }

    /// Says where scrubbing replaced the commit that was named.
    pub(crate) fn say_redirected(&self, found: &v1::Found) {
        if let Some(from) = &found.redirected_from {
            let note = Style::Note.paint("note");
            self.console.say(&format!(
                "{note}: {from} was scrubbed of secrets; this is {}, which it became",
                found.ctx
            ));
        }
    }

    /// Returns a name as the absolute path that it may be.
    pub(crate) fn path_of(&self, reference: &str) -> String {
        self.environment.absolute(Path::new(reference)).to_string_lossy().into_owned()
    }

    /// Finds where the user wants a context to begin.
    pub(crate) fn stop(&self, text: &str) -> Result<String, CliError> {
        match text {
            "compaction" => Ok(text.to_owned()),
            // The old name is still understood.
            "start" | "root" => Ok("root".to_owned()),
            reference => self.ctx(reference),
        }
    }

    /// Returns how these ids are cut for people.
    pub(crate) fn short_ids(&self, ids: impl IntoIterator<Item = CommitId>) -> Result<ShortIds, CliError> {
        let request = v1::ShortIdsRequest { ids: ids.into_iter().collect(), sessions: Vec::new() };
        Ok(ShortIds::at(self.service()?.short_ids(&request)?.chars))
    }

    /// Returns the references to sessions that lists show, in the order of their ids.
    pub(crate) fn short_sessions(
        &self,
        ids: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Result<Vec<String>, CliError> {
        let sessions = ids.into_iter().map(|id| read_field("sessions", id.as_ref()));
        let request = v1::ShortIdsRequest { ids: Vec::new(), sessions: sessions.collect::<Result<_, _>>()? };
        Ok(self.service()?.short_ids(&request)?.sessions.iter().map(tame).collect())
    }
}
