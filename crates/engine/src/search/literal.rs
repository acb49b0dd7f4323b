//! Texts and regular expressions: the words themselves are looked through, the newest first.

use std::collections::HashSet;
use std::ops::ControlFlow;

use stemmata_prompt::search::Matcher;

use super::filter::Scoped;
use super::hits::{HitReader, SearchReason};
use super::key::key_of;
use super::scan::{ScanBounds, ScanEnd};
use super::text::text_of;
use super::{SearchAnswer, SearchNote, SearchQuery, SearchStep};
use crate::engine::Engine;
use crate::error::Result;

impl Engine {
    /// Looks through the texts themselves, the newest first.
    pub(super) fn search_text(
        &self,
        query: &SearchQuery,
        scoped: &Scoped<'_>,
        matcher: &Matcher,
        step: &mut SearchStep<'_>,
    ) -> Result<SearchAnswer> {
        let required = scoped.file().as_ref().map(Matcher::phrase).into_iter().collect();
        let mut reader = HitReader::new(self, scoped, matcher, required);
        let mut answer = SearchAnswer::default();
        let mut known = HashSet::new();
        let scanned = self.scan_newest(scoped, ScanBounds::TEXT, step, &mut |decoded| {
            for (position, entry) in decoded.entries.iter().enumerate().skip(decoded.restated).rev() {
                answer.entries += 1;
                let text = text_of(entry);
                let is_match = matcher.is_match(&text)
                    && reader.is_required_in(&text)
                    && scoped.admits_entry(entry)
                    && known.insert(key_of(entry));
                if is_match {
                    let reason =
                        SearchReason { name: "phrase", value: 1.0, text: query.text.trim().to_owned() };
                    answer.hits.extend(reader.matched(&decoded, position, vec![reason])?);
                }
                if answer.hits.len() >= query.hits_max {
                    return Ok(ControlFlow::Break(()));
                }
            }
            Ok(ControlFlow::Continue(()))
        })?;
        let mut end = scanned.end;
        if end == ScanEnd::Whole {
            // Events come after entries, within the same bound.
            let bytes_left = ScanBounds::TEXT.bytes_max.saturating_sub(scanned.bytes);
            end =
                self.search_events_text((query, matcher), &mut reader, (step, bytes_left), &mut answer.hits)?;
        }
        answer.notes.extend(SearchNote::damaged(scanned.damaged));
        if end == ScanEnd::Cut {
            answer.notes.push(SearchNote::ScanCut { bytes_max: ScanBounds::TEXT.bytes_max });
        }
        Ok(answer)
    }
}
