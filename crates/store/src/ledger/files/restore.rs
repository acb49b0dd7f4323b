//! Restoring a ledger: what is known of it, its saved states, the events after them, and all that is not as it should
//! be. Reads every line once.
//!
//! Damage in the middle is only told; `repair` sets it aside.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::Path;

use stemmata_model::{LedgerId, SessionId, Timestamp, to_u64, topics};

use super::desk::{Desk, Loaded};
use super::finding::Finding;
use super::folder::{EVENTS, Hold, INDEX, META, SNAPSHOT, failed, is_missing};
use super::index;
use super::line::{IntegrityMode, Record, decode, foreign, hex};
use super::meta::{Meta, MetaFault};
use super::names;
use super::repair::LOST_SENDER;
use super::scan::{Lines, Place, Rest, scan};
use super::snapshot::{SNAPSHOT_BYTES_MAX, States, decode as decode_states, last_event};
use super::{FileLog, Notes};
use crate::error::StoreError;
use crate::ledger::{Ledger, SavedState};

/// Sessions that are told as foreign, at most.
const FOREIGN_MAX: usize = 64;

/// Files of version 1 that are named, at most.
const VERSION_ONE_MAX: usize = 16;

/// Names that are tried for what is set aside.
const ASIDE_MAX: u32 = 10_000;

/// The folder of version 1, beside ours.
const VERSION_ONE: &str = "contexts";

/// What a ledger is restored from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// The ledger, with the last event that can be read; none where there is none, or it begins anew.
    pub ledger: Option<Ledger>,
    /// The saved states that can be used, by name.
    pub states: Vec<SavedState>,
    /// Events after this number are to be replayed, each state's own `through` aside.
    pub replay_from: u64,
    /// How many events can be read.
    pub events: u64,
    /// The newest link, as 64 digits, where the ledger has a chain.
    pub link: Option<String>,
    /// What was found, in the order of the files.
    pub findings: Vec<Finding>,
}

/// A restore under way.
struct Restoring<'a> {
    desk: &'a Desk,
    /// Whether files may be changed.
    writes: bool,
    findings: Vec<Finding>,
}

impl FileLog {
    /// Restores a ledger: reads `meta.json`, then the saved states, then every event, and says what it found. A torn end
    /// is cut off, a `meta.json` that cannot be read is made anew, and a folder of which nothing can be read is set
    /// aside; a log that is read only tells the same and does nothing. Idempotent.
    ///
    /// # Errors
    /// `Locked`, and where the storage fails. What the files say is never an error here.
    pub fn restore(&self, id: &LedgerId, now: Timestamp) -> Result<Restored, StoreError> {
        let mut findings = self.version_one()?;
        let desk = self.desk(id);
        if desk.folder.is_link()? {
            findings.push(Finding::Linked { path: desk.folder.dir.clone() });
            return Ok(nothing(findings));
        }
        if !desk.folder.is_there()? {
            return Ok(nothing(findings));
        }
        let writes = !self.options.read_only && !self.is_closed.load(std::sync::atomic::Ordering::Acquire);
        let alone = match writes.then(|| desk.alone_unseen()).transpose() {
            // Files of somebody else, or on a disk that is mounted so: what can be read is told.
            Err(StoreError::ReadOnly { .. }) => None,
            Err(StoreError::Io { source, .. }) if source.kind() == ErrorKind::PermissionDenied => None,
            alone => alone?,
        };
        let writes = alone.is_some();
        let _shared = if writes { None } else { Some(desk.folder.lock(Hold::Shared)?) };
        let mut restoring = Restoring { desk: &desk, writes, findings: Vec::new() };
        let restored = restoring.run(now)?;
        findings.append(&mut restoring.findings);
        Ok(match restored {
            Some(restored) => Restored { findings, ..restored },
            None => nothing(findings),
        })
    }

    /// Names the files of version 1 beside our folder.
    fn version_one(&self) -> Result<Vec<Finding>, StoreError> {
        let folder = self.root.with_file_name(VERSION_ONE);
        let mut names = match self.options.files.list(&folder) {
            Ok(names) => names,
            Err(error) if is_missing(&error) => return Ok(Vec::new()),
            Err(error) => return Err(failed("listing", &folder)(error)),
        };
        names.retain(|name| {
            name.strip_prefix("context-").is_some_and(|rest| rest.strip_suffix(".json").is_some())
        });
        names.sort();
        names.truncate(VERSION_ONE_MAX);
        Ok(names.iter().map(|name| Finding::VersionOne { path: folder.join(name) }).collect())
    }
}

fn nothing(findings: Vec<Finding>) -> Restored {
    Restored { ledger: None, states: Vec::new(), replay_from: 0, events: 0, link: None, findings }
}

/// A ledger whose events are gone.
fn empty(meta: Meta) -> Restored {
    let replay_from = meta.base;
    let ledger = Some(meta.ledger(replay_from, None));
    Restored { ledger, states: Vec::new(), replay_from, events: 0, link: None, findings: Vec::new() }
}

impl Restoring<'_> {
    fn run(&mut self, now: Timestamp) -> Result<Option<Restored>, StoreError> {
        let Some(meta) = self.meta(now)? else { return Ok(None) };
        let folder = &self.desk.folder;
        let path = folder.path(EVENTS);
        let Some(file) = folder.open(EVENTS)? else {
            let reason = "there are no events: the file is missing".to_owned();
            self.findings.push(Finding::BadLine { path: path.clone(), line: 1, byte: 0, reason });
            let meta = self.numbers_on(meta)?;
            if self.writes {
                drop(folder.files.create(&path).map_err(failed("making", &path))?);
                folder.sync()?;
            }
            return Ok(Some(empty(meta)));
        };
        let proven = folder.proven()?;
        let mut loaded = Loaded { proven, ..Loaded::new(&self.desk.id, file, &meta) };
        self.events(&mut loaded)?;
        if let Some(Rest::Torn(_)) = loaded.rest
            && self.writes
        {
            let mut view = self.desk.view();
            view.loaded = Some(loaded);
            self.desk.mend(&mut view, &Notes::default())?;
            let Some(mended) = view.loaded.take() else { return Ok(None) };
            loaded = mended;
        }
        let catalog = &loaded.catalog;
        let states = self.states(catalog.last())?;
        self.index(&loaded)?;
        let replay_from = if states.is_empty() { meta.base } else { last_event(&states).max(meta.base) };
        let events = to_u64(catalog.len());
        let link = (loaded.mode == IntegrityMode::Chain).then(|| hex(&catalog.link));
        let ledger = meta.ledger(catalog.last(), catalog.last_at);
        let states = states.into_values().collect();
        Ok(Some(Restored { ledger: Some(ledger), states, replay_from, events, link, findings: Vec::new() }))
    }

    /// Has numbers go on behind all that are known to have been given, where the events are gone: none is given twice.
    fn numbers_on(&self, mut meta: Meta) -> Result<Meta, StoreError> {
        let folder = &self.desk.folder;
        meta.base = meta.base.max(folder.proven()?);
        meta.generation = meta.generation.saturating_add(1);
        if self.writes {
            // First the numbers: whatever stops this afterwards, they are not given again.
            folder.write(META, &meta.encode())?;
            if folder.open(SNAPSHOT)?.is_some() {
                self.rename_aside(&folder.path(SNAPSHOT))?;
            }
            folder.remove(INDEX)?;
        }
        Ok(meta)
    }

    /// Returns what is known of the ledger, made anew where it must be; none where there is no ledger to restore.
    fn meta(&mut self, now: Timestamp) -> Result<Option<Meta>, StoreError> {
        let folder = &self.desk.folder;
        let path = folder.path(META);
        let fault = match folder.read_meta()? {
            Ok(Some(meta)) => return Ok(Some(meta)),
            Ok(None) if folder.events_bytes()? == 0 => return Ok(None),
            Ok(None) => None,
            Err(MetaFault::Unreadable(reason)) => Some(reason),
            Err(MetaFault::Version(version)) => {
                self.findings.push(Finding::OtherVersion { path, version });
                return Ok(None);
            }
            Err(MetaFault::Misplaced(ledger)) => {
                self.findings.push(Finding::Misplaced { path: folder.dir.clone(), ledger });
                return Ok(None);
            }
            Err(MetaFault::OtherProgram(reason)) => {
                self.findings.push(Finding::OtherProgram { path: folder.dir.clone(), reason });
                return Ok(None);
            }
        };
        let made = match self.look()? {
            Look::Ours(first, mode) => self.made_anew(Some(&first), mode, now)?,
            Look::Empty => self.made_anew(None, IntegrityMode::default(), now)?,
            Look::Foreign(reason) => {
                self.findings.push(Finding::OtherProgram { path: folder.dir.clone(), reason });
                return Ok(None);
            }
            Look::Nothing => {
                self.set_aside(fault)?;
                return Ok(None);
            }
        };
        self.findings.push(match &fault {
            Some(reason) => Finding::MetaUnreadable { path: path.clone(), reason: reason.clone() },
            None => Finding::MetaMissing { path: path.clone() },
        });
        if self.writes {
            if fault.is_some() {
                self.rename_aside(&path)?;
            }
            folder.write(META, &made.encode())?;
        }
        Ok(Some(made))
    }

    /// Makes what is known of a ledger from its first readable event.
    fn made_anew(
        &self,
        first: Option<&Record>,
        mode: IntegrityMode,
        now: Timestamp,
    ) -> Result<Meta, StoreError> {
        let created_at = first.map_or(now, |record| record.event.at);
        let mut meta = Meta::new(self.desk.id.clone(), created_at, mode);
        // Another generation than any index is of: it may be of another file.
        let index = self.desk.folder.read(INDEX, index::INDEX_BYTES_MAX)?.and_then(Result::ok);
        meta.generation = 1 + index.as_deref().and_then(index::generation).unwrap_or_default();
        Ok(meta)
    }

    /// Looks for the first line that says what the file is.
    fn look(&self) -> Result<Look, StoreError> {
        let during = failed("reading", &self.desk.folder.path(EVENTS));
        let Some(file) = self.desk.folder.open(EVENTS)? else { return Ok(Look::Empty) };
        let mut lines = Lines::new(file.as_ref(), 0).map_err(&during)?;
        let mut seen = false;
        while let Some(line) = lines.next().map_err(&during)? {
            seen = true;
            for mode in [IntegrityMode::Chain, IntegrityMode::Checksum, IntegrityMode::None] {
                if let Ok(record) = decode(line.bytes, mode) {
                    return Ok(Look::Ours(Box::new(record), mode));
                }
            }
            if let Some(reason) = foreign(line.bytes) {
                return Ok(Look::Foreign(reason));
            }
        }
        Ok(if seen { Look::Nothing } else { Look::Empty })
    }

    /// Has the ledger begin anew, with its old files beside it.
    fn set_aside(&mut self, fault: Option<String>) -> Result<(), StoreError> {
        let folder = &self.desk.folder;
        if !self.writes {
            let path = folder.path(META);
            self.findings.push(match fault {
                Some(reason) => Finding::MetaUnreadable { path, reason },
                None => Finding::MetaMissing { path },
            });
            let reason = "no line of the file is an event".to_owned();
            self.findings.push(Finding::BadLine { path: folder.path(EVENTS), line: 1, byte: 0, reason });
            return Ok(());
        }
        let aside = self.rename_aside(&folder.dir)?;
        self.findings.push(Finding::StartedFresh { path: folder.dir.clone(), aside });
        Ok(())
    }

    /// Gives something a name that says that it cannot be read.
    fn rename_aside(&self, path: &Path) -> Result<std::path::PathBuf, StoreError> {
        let files = &self.desk.folder.files;
        let folder = path.parent().unwrap_or(Path::new("."));
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let taken: BTreeSet<String> =
            files.list(folder).map_err(failed("listing", folder))?.into_iter().collect();
        let free = (1..ASIDE_MAX).map(|number| names::aside(name, number)).find(|name| !taken.contains(name));
        let Some(free) = free else {
            let (value, bound) = (u64::from(ASIDE_MAX), u64::from(ASIDE_MAX) - 1);
            return Err(StoreError::Bound { what: "number of what was set aside", value, bound });
        };
        let aside = folder.join(free);
        let renamed = files.rename(path, &aside).and_then(|()| files.sync_directory(folder));
        renamed.map_err(failed("setting aside", path))?;
        Ok(aside)
    }

    /// Reads every event, and notes sessions that nobody began.
    fn events(&mut self, loaded: &mut Loaded) -> Result<(), StoreError> {
        let path = self.desk.folder.path(EVENTS);
        let during = failed("reading", &path);
        let mut sessions = Sessions::new(&self.desk.id);
        let (file, start, mode) = (&loaded.file, loaded.catalog.start(), loaded.mode);
        loaded.length = file.length().map_err(&during)?;
        let catalog = &mut loaded.catalog;
        let mut take = |batch: &[(Place, Record)]| {
            for (_, record) in batch {
                sessions.see(record);
            }
            catalog.absorb(batch);
        };
        let rest = scan(file.as_ref(), &start, mode, &mut take).map_err(during)?;
        loaded.ended(rest);
        let foreign = sessions.foreign.into_iter();
        let foreign =
            foreign.map(|(event, session)| Finding::ForeignSession { path: path.clone(), event, session });
        self.findings.extend(foreign);
        match &loaded.rest {
            Some(Rest::Torn(torn)) => self.findings.push(Finding::of_torn(&path, torn)),
            Some(Rest::Damaged(at)) => self.findings.push(Finding::of_damaged(&path, at)),
            None => {}
        }
        Ok(())
    }

    /// Reads the saved states; none where one of them knows more than the log, or where they cannot be read.
    fn states(&mut self, last: u64) -> Result<States, StoreError> {
        let path = self.desk.folder.path(SNAPSHOT);
        let Some(read) = self.desk.folder.read(SNAPSHOT, SNAPSHOT_BYTES_MAX)? else {
            return Ok(States::new());
        };
        match read.and_then(|bytes| decode_states(&bytes)) {
            Err(reason) => self.findings.push(Finding::SnapshotUnreadable { path, reason }),
            // A log that ends too early does not grow, and a repair may bring the events back: the file stays.
            Ok(states) => match states.values().map(|state| state.through).max() {
                Some(through) if through > last => {
                    self.findings.push(Finding::SnapshotAhead { path, through, last });
                }
                Some(_) | None => return Ok(states),
            },
        }
        Ok(States::new())
    }

    fn index(&mut self, loaded: &Loaded) -> Result<(), StoreError> {
        let path = self.desk.folder.path(INDEX);
        let Some(read) = self.desk.folder.read(INDEX, index::INDEX_BYTES_MAX)? else { return Ok(()) };
        let empty = Loaded::new(&self.desk.id, std::sync::Arc::clone(&loaded.file), &self.known(loaded));
        let read = read
            .and_then(|bytes| index::decode(&bytes, empty.catalog, loaded.generation, loaded.catalog.end()));
        let reason = match read {
            Ok(Some(indexed)) if indexed.begins(&loaded.catalog) => return Ok(()),
            Ok(Some(_)) => Some("it says other things than the events".to_owned()),
            // Of another file: nobody believes it, and nobody is to when this one has grown.
            Ok(None) => None,
            Err(reason) => Some(reason),
        };
        if self.writes {
            self.desk.folder.remove(INDEX)?;
            self.desk.folder.sync()?;
        }
        self.findings.extend(reason.map(|reason| Finding::IndexUnreadable { path, reason }));
        Ok(())
    }

    /// What an empty catalog of this ledger begins with.
    fn known(&self, loaded: &Loaded) -> Meta {
        let meta = Meta::new(self.desk.id.clone(), Timestamp::EPOCH, loaded.mode);
        Meta { base: loaded.catalog.base, generation: loaded.generation, ..meta }
    }
}

/// What a file of events looks like.
enum Look {
    Ours(Box<Record>, IntegrityMode),
    Foreign(String),
    /// Lines, and none of them an event.
    Nothing,
    Empty,
}

/// Which sessions have begun.
struct Sessions {
    begun: BTreeSet<String>,
    foreign: Vec<(u64, SessionId)>,
}

impl Sessions {
    /// The ledger's own name is a session that is always open: clusters speak in it.
    fn new(ledger: &LedgerId) -> Self {
        Self { begun: BTreeSet::from([ledger.to_string()]), foreign: Vec::new() }
    }

    fn see(&mut self, record: &Record) {
        let event = &record.event;
        if event.topic.as_str() == topics::EVENT_LOST && event.session.as_str() == LOST_SENDER {
            return;
        }
        let is_new = self.begun.insert(event.session.to_string());
        if is_new && event.topic.as_str() != topics::SESSION_STARTED && self.foreign.len() < FOREIGN_MAX {
            self.foreign.push((event.seq.get(), event.session.clone()));
        }
    }
}
