//! A file of this machine whose lines somebody asks about: what stands in it, and whose commits of git its lines are.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use stemmata_api::v1::{Blame, BlameRequest, KnownLine};
use stemmata_api::{Answer, Code, Problem};
use stemmata_store::read_bounded;

use super::Host;
use super::git::Repository;
use crate::fault::{Fault, io_failed};

/// Bytes of a file at most.
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// The commit of git that a line is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlamedCommit {
    /// Its hash; zeros where the line is not committed.
    pub id: String,
    /// The first line of its message.
    pub summary: String,
    /// The context that its trailer names.
    pub context: Option<String>,
}

impl BlamedCommit {
    /// Says whether the line is committed.
    pub fn is_committed(&self) -> bool {
        self.id.bytes().any(|byte| byte != b'0')
    }
}

/// Lines of a file, as this machine knows them.
#[derive(Debug, Clone)]
pub struct BlamedFile {
    /// What asks a store where they came from.
    pub request: BlameRequest,
    /// Their commits, by line; without a repository there are none.
    pub commits: BTreeMap<u64, BlamedCommit>,
}

impl BlamedFile {
    /// Adds to what a store answers what git says.
    pub fn complete(&self, answer: &mut Blame) {
        for line in &mut answer.lines {
            let commit = self.commits.get(&line.line).filter(|commit| commit.is_committed());
            line.git_commit = commit.map(|commit| commit.id.clone());
            line.git_summary = commit.map(|commit| commit.summary.clone());
            line.context_id = commit.and_then(|commit| commit.context.clone());
        }
    }
}

impl Host {
    /// Reads the lines that a place means: `FILE`, `FILE:LINE` or `FILE:FROM-TO`, from a directory; a file that is called so
    /// wins.
    ///
    /// # Errors
    /// `bad_place`, `line_not_found`; `bad_request` for a file that is too long; `file_not_found`, `io_failed`.
    pub fn blamed_file(&self, place: &str, dir: &Path) -> Answer<BlamedFile> {
        self.with(|_| blamed(place, dir))
    }
}

fn blamed(place: &str, dir: &Path) -> Result<BlamedFile, Fault> {
    let (path, wanted) = parse(place, dir)?;
    let path = path.canonicalize().map_err(|source| io_failed("read", &path, &source))?;
    let bytes =
        read_bounded(&path, FILE_BYTES_MAX + 1).map_err(|source| io_failed("read", &path, &source))?;
    let bytes = bytes.unwrap_or_default();
    if bytes.len() as u64 > FILE_BYTES_MAX {
        let detail = format!("{} has more than {FILE_BYTES_MAX} bytes", path.display());
        return Err(Problem::new(Code::BadRequest, detail).into());
    }
    let lines: Vec<String> = String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect();
    let wanted =
        wanted.map_or(0..lines.len(), |wanted| wanted.start.min(lines.len())..wanted.end.min(lines.len()));
    if wanted.is_empty() {
        let asked = place.rsplit_once(':').map_or("1", |(_, asked)| asked);
        let count = if lines.len() == 1 { "1 line".to_owned() } else { format!("{} lines", lines.len()) };
        let detail = format!("{} has {count}; there is no line {asked}", path.display());
        return Err(Problem::new(Code::LineNotFound, detail).with("name", place).into());
    }
    let repository = Repository::of(path.parent().unwrap_or(&path));
    let blamed = repository.as_ref().map(|found| found.blame(&path, &wanted)).unwrap_or_default();
    let commits: BTreeMap<u64, BlamedCommit> =
        blamed.into_iter().map(|(line, commit)| (number(line), commit)).collect();
    let known = commits
        .iter()
        .filter_map(|(line, commit)| Some(KnownLine { line: *line, ctx: commit.context.clone()? }));
    let project = repository.map_or_else(|| project_of(&path, dir), |found| found.top);
    let request = BlameRequest {
        file: path.to_string_lossy().into_owned(),
        project: project.to_string_lossy().into_owned(),
        lines,
        from_line: number(wanted.start),
        to_line: wanted.end as u64,
        known: known.collect(),
    };
    Ok(BlamedFile { request, commits })
}

/// Returns the number of a line that is counted from 0.
const fn number(line: usize) -> u64 {
    line as u64 + 1
}

/// Returns the directory whose sessions are searched for a file outside of any repository.
fn project_of(file: &Path, dir: &Path) -> PathBuf {
    if file.starts_with(dir) { dir.to_owned() } else { file.parent().unwrap_or(file).to_owned() }
}

fn parse(place: &str, dir: &Path) -> Result<(PathBuf, Option<Range<usize>>), Fault> {
    let whole = dir.join(place);
    if whole.exists() {
        return Ok((whole, None));
    }
    let numbers = place.rsplit_once(':').and_then(|(file, numbers)| {
        let (from, to) = numbers.split_once('-').unwrap_or((numbers, numbers));
        let (from, to): (usize, usize) = (from.parse().ok()?, to.parse().ok()?);
        (1 <= from && from <= to).then(|| (dir.join(file), Some(from - 1..to)))
    });
    numbers.ok_or_else(|| {
        let backwards = place.rsplit_once(':').is_some_and(|(file, numbers)| {
            dir.join(file).is_file() && numbers.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
        });
        let detail = if backwards {
            format!(
                "`{place}` names no line: lines are counted from 1, and the first one of a range comes first"
            )
        } else {
            format!("no file matches `{place}` (FILE, FILE:LINE or FILE:FROM-TO)")
        };
        Problem::new(Code::BadPlace, detail).with("name", place).into()
    })
}
