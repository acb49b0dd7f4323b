//! Secrets in the clients' own transcripts: what a capture redacted in the store is still in the file that it read. Reads line by
//! line and changes nothing.
//!
//! Which stretches are secrets is `stemmata-redact`'s; secrets in the store are the parent's.

use std::path::{Path, PathBuf};

use stemmata_api::v1::ClientFinding;
use stemmata_model::FormatId;
use stemmata_redact::{ScrubbedLine, Scrubber};
use stemmata_runtimes::adapter::{Adapter, Shape};
use stemmata_runtimes::clients::of_format;
use stemmata_runtimes::translate::runtime_of;
use stemmata_store::SIDECAR_FORMAT;

use super::{fingerprint, lines_before};
use crate::capture::homes::find;
use crate::capture::sidecars::found::FoundSidecars;
use crate::capture::transcript_file::Transcript;
use crate::engine::Engine;
use crate::error::{EngineError, FormatUse, Result};
use crate::scrubbing::{line_scrubber, scrub_document};

/// What a scan of files has read.
#[derive(Debug, Default)]
pub struct ScannedFiles {
    /// Transcripts that were read.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Transcripts that could not be read, and why.
    pub unread: Vec<(PathBuf, EngineError)>,
}

impl Engine {
    /// Passes each secret in the transcripts below `paths` to `found`, file by file in the order of their paths, until `found`
    /// returns false. Other files are skipped.
    ///
    /// # Errors
    /// `Rules`, store errors. A file that cannot be read is named in [`ScannedFiles::unread`].
    pub fn scan_files(
        &self,
        paths: &[PathBuf],
        found: &mut dyn FnMut(ClientFinding) -> bool,
    ) -> Result<ScannedFiles> {
        let key = self.store.identity()?.secret;
        let listed = find(paths);
        let mut scanned = ScannedFiles { unread: listed.failures, ..ScannedFiles::default() };
        for file in listed.files {
            let mut goes_on = true;
            let read = self.scan_file(&file.path, &mut |path, (runtime, line), kind, secret| {
                goes_on &= found(ClientFinding {
                    client: runtime.to_owned(),
                    path: path.to_string_lossy().into_owned(),
                    line,
                    kind: kind.to_owned(),
                    fingerprint: fingerprint(&key, secret),
                });
                goes_on
            });
            match read {
                Ok(bytes) => {
                    scanned.files += 1;
                    scanned.bytes = scanned.bytes.saturating_add(bytes);
                }
                Err(EngineError::NotATranscript { .. }) => {}
                Err(error @ EngineError::Rules(_)) => return Err(error),
                Err(error) => scanned.unread.push((file.path, error)),
            }
            if !goes_on {
                break;
            }
        }
        Ok(scanned)
    }

    fn scan_file(&self, path: &Path, found: FoundSecret<'_>) -> Result<u64> {
        let mut opened = Transcript::open_whole(path)?;
        let (adapter, _) = opened.detected()?;
        let scrubber = self.scrubber_for(&mut opened, None, None)?;
        let bytes = opened.stamp().length;
        if adapter.shape() == Shape::Document {
            let whole = opened.range(0, bytes)?;
            let read = whole_line(&scrubber, adapter, &whole)?;
            report((path, runtime_of(&adapter.format())), 0, &read, found);
            return Ok(bytes + Self::scan_sidecars(&mut opened, adapter, &scrubber, found)?);
        }
        let mut scrubbing = line_scrubber(&scrubber, &adapter.format());
        let mut lines = opened.lines(0, 1)?;
        // A secret that spans lines is reported with the line that it begins in, so lines are counted as they come out.
        let mut number = 0;
        let mut goes_on = true;
        while let Some(line) = lines.next()?.filter(|_| goes_on) {
            for scrubbed in scrubbing.push(line.bytes)? {
                number += 1;
                goes_on &= report((path, runtime_of(&adapter.format())), number, &scrubbed, found);
            }
        }
        for scrubbed in scrubbing.finish()? {
            number += 1;
            report((path, runtime_of(&adapter.format())), number, &scrubbed, found);
        }
        Ok(bytes + Self::scan_sidecars(&mut opened, adapter, &scrubber, found)?)
    }

    /// Scans the files that a client keeps beside a transcript, whether they are captured or not. Returns their bytes.
    fn scan_sidecars(
        opened: &mut Transcript,
        adapter: &'static dyn Adapter,
        scrubber: &Scrubber,
        found: FoundSecret<'_>,
    ) -> Result<u64> {
        let format = adapter.format();
        let Some(kept) = of_format(&format).and_then(|client| client.sidecars) else { return Ok(0) };
        let session = opened.session_name(adapter)?;
        let mut files = FoundSidecars::default();
        for (_, folder) in kept.folders(opened.path(), session.as_str()) {
            files.look(kept, &folder);
        }
        let (file_format, mut bytes) = (FormatId::new(SIDECAR_FORMAT)?, 0);
        let beside = Self::adapter(&file_format, FormatUse::Read)?;
        for file in files.files() {
            // One that is gone by now, or changes at this moment, is for the next scan.
            let Ok(raw) = file.read() else { continue };
            bytes += file.stamp.length;
            let read = whole_line(scrubber, beside, &raw)?;
            if !report((Path::new(&file.path), runtime_of(&format)), 0, &read, found) {
                break;
            }
        }
        Ok(bytes)
    }
}

/// Receives the file, client and line, kind and value of a secret, and returns whether to continue.
type FoundSecret<'f> = &'f mut dyn FnMut(&Path, (&str, u64), &str, &[u8]) -> bool;

fn whole_line<'b>(scrubber: &Scrubber, adapter: &dyn Adapter, bytes: &'b [u8]) -> Result<ScrubbedLine<'b>> {
    let whole = scrub_document(scrubber, adapter, bytes)?;
    Ok(ScrubbedLine { raw: bytes.into(), bytes: whole.bytes, findings: whole.findings })
}

/// Reports what was found in a line; `number` is 0 where the line is a whole document.
fn report(
    (path, runtime): (&Path, &str),
    number: u64,
    line: &ScrubbedLine<'_>,
    found: FoundSecret<'_>,
) -> bool {
    let mut goes_on = true;
    for finding in &line.findings {
        let secret = line.raw.get(finding.offset..finding.offset + finding.len).unwrap_or_default();
        let at = if number == 0 { 1 + lines_before(&line.raw, finding.offset) } else { number };
        goes_on &= found(path, (runtime, at), &finding.kind, secret);
    }
    goes_on
}
