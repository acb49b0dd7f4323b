//! The scrubber: what callers see. Passes over a line until nothing more is found.
//! How secrets are found is `walk` and `scan`; how they are replaced is `edits`.

use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};

use crate::custom::{Custom, RuleFile, RuleFileError};
use crate::edits::{self, Edit, THINKING_KIND, What};
use crate::hash::rules_hash;
use crate::pem::PrivateKeyState;
use crate::rules::{Edition, RuleFailure, Rules};
use crate::scan::{Effort, Scanner};
use crate::walk::{self, Look};

/// The shipped rule set.
pub(crate) const BUILTIN: &str = include_str!("../rules/structured.toml");

/// Passes after which whole strings are replaced instead of their parts. A placeholder is an edge that can make a
/// neighbour a token; honest text is done after the first look, made-up text after two.
const NARROW_PASSES_MAX: usize = 4;
/// Passes in all. A string that was replaced whole holds nothing more.
const PASSES_MAX: usize = 8;

/// Bytes of a line that a project's rules may always replace, and the part of a longer one: one in so many. More is no
/// secret but what somebody wants gone.
const PROJECT_BYTES_MIN: usize = 512;
const PROJECT_SHARE: usize = 4;

/// Replaces secrets by one rule set. Cheap to clone and to share between threads.
#[derive(Debug, Clone)]
pub struct Scrubber {
    /// Read when it is first needed: a command that scrubs nothing must not pay the millisecond.
    shared: Arc<LazyLock<Shared, Make>>,
    /// The same rules of one's own beside the shipped ones that were in force before.
    earlier: Option<Arc<Scrubber>>,
}

type Make = Box<dyn FnOnce() -> Shared + Send>;

#[derive(Debug)]
struct Shared {
    scanner: Scanner,
    hash: [u8; 32],
    /// Lines on which a project's rules were not used: they would have replaced too much.
    suspended: AtomicU64,
}

impl Shared {
    fn of(custom: &[Custom], edition: Option<Edition>) -> Shared {
        let mut rules = Rules::of_edition(BUILTIN, edition).expect("a test reads the shipped rules");
        if custom.iter().any(Custom::says_something) {
            rules.version.push_str("+own");
        }
        for custom in custom {
            custom.add_to(&mut rules);
        }
        let hash = rules_hash(&rules);
        Shared { scanner: Scanner::of(rules), hash, suspended: AtomicU64::new(0) }
    }
}

/// A line without its secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scrubbed<'a> {
    /// Borrowed when nothing was found.
    pub bytes: Cow<'a, [u8]>,
    /// What was replaced, in the order of the line.
    pub findings: Vec<Finding>,
}

/// A text without its secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScrubbedText<'a> {
    /// Borrowed when nothing was found.
    pub text: Cow<'a, str>,
    /// What was replaced, in the order of the text.
    pub findings: Vec<Finding>,
}

/// One replaced stretch. Holds no byte of the secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The kind that the placeholder names, as in `github-token`.
    pub kind: Arc<str>,
    /// Where it began in the input, in bytes.
    pub offset: usize,
    /// How long it was in the input, in bytes, escapes included.
    pub len: usize,
    /// How long what stands there instead is, in bytes.
    pub instead_len: usize,
}

impl Scrubber {
    /// Returns the scrubber with the shipped rules. They are read once in a process, when first needed; expressions
    /// are compiled when their keyword is first seen.
    pub fn builtin() -> Scrubber {
        static BUILTIN_SCRUBBER: OnceLock<Scrubber> = OnceLock::new();
        BUILTIN_SCRUBBER.get_or_init(|| Scrubber::of(Vec::new())).clone()
    }

    /// Returns the scrubber with the shipped rules and those of files: the store's, then the project's.
    ///
    /// # Errors
    /// Names the file, the line and the rule that make no sense.
    pub fn with_files(files: &[RuleFile<'_>]) -> Result<Scrubber, RuleFileError> {
        let custom = files.iter().map(|file| Custom::read(*file)).collect::<Result<Vec<_>, _>>()?;
        Ok(Scrubber::of(custom))
    }

    fn of(custom: Vec<Custom>) -> Scrubber {
        let custom = Arc::new(custom);
        let of = |edition: Option<Edition>, earlier| {
            let custom = Arc::clone(&custom);
            let make: Make = Box::new(move || Shared::of(&custom, edition));
            Scrubber { shared: Arc::new(LazyLock::new(make)), earlier }
        };
        let earlier = of(Some(Edition::Structured3), None);
        of(None, Some(Arc::new(earlier)))
    }

    /// Returns what replaces secrets by the shipped rules that were in force before, and the same rules of one's own: for what
    /// was stored under them. Whatever it replaces, this one does, but for what stands behind a closing quote and for tags of YAML.
    pub fn earlier(&self) -> Option<&Scrubber> {
        self.earlier.as_deref()
    }

    /// Returns the hash of everything that decides what is replaced. Two scrubbers with the same hash give the same
    /// bytes.
    pub fn rules_hash(&self) -> [u8; 32] {
        self.shared.hash
    }

    /// Returns on how many texts so far a project's rules were not used, because they would have replaced more than a
    /// quarter of a long one.
    pub fn suspensions(&self) -> u64 {
        self.shared.suspended.load(Ordering::Relaxed)
    }

    /// Returns the readable name of the rule set, as in `structured-4`.
    pub fn rules_version(&self) -> &str {
        &self.shared.scanner.rules.version
    }

    /// Scrubs one line of a transcript, with or without its newline, which survives.
    ///
    /// A line of JSON stays one: only string contents change. A line that ends inside JSON is read as far as it
    /// goes; any other line is text. Scrubbing the result again borrows it.
    ///
    /// # Errors
    /// Where somebody's rule cannot be tried: then nothing is known of any line. The shipped rules never fail.
    pub fn scrub_line<'a>(&self, line: &'a [u8]) -> Result<Scrubbed<'a>, RuleFailure> {
        self.scrub_line_within(line, &mut PrivateKeyState::default())
    }

    /// Scrubs one of many lines of which a private key may take several, and moves `keys` behind it.
    ///
    /// Where the line is JSON, a key goes on only in strings of the field in which it began.
    ///
    /// # Errors
    /// As [`Scrubber::scrub_line`]; `keys` stays as it was.
    pub fn scrub_line_within<'a>(
        &self,
        line: &'a [u8],
        keys: &mut PrivateKeyState,
    ) -> Result<Scrubbed<'a>, RuleFailure> {
        self.scrub_line_with(line, &[], keys)
    }

    /// Scrubs a line in which the lines around it say what has to be replaced, too.
    pub(crate) fn scrub_line_with<'a>(
        &self,
        line: &'a [u8],
        known: &[Edit],
        keys: &mut PrivateKeyState,
    ) -> Result<Scrubbed<'a>, RuleFailure> {
        let body = line.strip_suffix(b"\n").unwrap_or(line);
        let body = body.strip_suffix(b"\r").unwrap_or(body);
        let edits = self.edits(body, known, keys, walk::edits_of)?;
        keys.pass_line(line.len());
        if edits.is_empty() {
            return Ok(Scrubbed { bytes: Cow::Borrowed(line), findings: Vec::new() });
        }
        let bytes = edits::apply(line, &edits, |order| self.kind(order));
        Ok(Scrubbed { bytes: Cow::Owned(bytes), findings: self.findings(&edits) })
    }

    /// Scrubs plain text: a summary, a note, a title. It may have any number of lines.
    ///
    /// # Errors
    /// As [`Scrubber::scrub_line`].
    pub fn scrub_text<'a>(&self, text: &'a str) -> Result<ScrubbedText<'a>, RuleFailure> {
        let mut edits =
            self.edits(text.as_bytes(), &[], &mut PrivateKeyState::default(), walk::text_edits)?;
        for edit in &mut edits {
            edit.start = text.floor_char_boundary(edit.start);
            edit.end = text.ceil_char_boundary(edit.end);
        }
        let edits = edits::settle(edits);
        if edits.is_empty() {
            return Ok(ScrubbedText { text: Cow::Borrowed(text), findings: Vec::new() });
        }
        let bytes = edits::apply(text.as_bytes(), &edits, |order| self.kind(order));
        // Edits lie on character boundaries and placeholders are ASCII: nothing is lost here.
        let scrubbed = String::from_utf8_lossy(&bytes).into_owned();
        Ok(ScrubbedText { text: Cow::Owned(scrubbed), findings: self.findings(&edits) })
    }

    /// Finds what has to be replaced in a text that stands in several lines, and may begin in a private key.
    pub(crate) fn joined_edits(&self, text: &[u8], keys: &PrivateKeyState) -> Result<Vec<Edit>, RuleFailure> {
        self.edits(text, &[], &mut keys.clone(), walk::text_edits)
    }

    /// Finds what has to be replaced in lines of a stream, private keys aside: these are known from their header on.
    pub(crate) fn edits_beside(&self, text: &[u8]) -> Result<Vec<Edit>, RuleFailure> {
        let pem = self.shared.scanner.pem_order();
        let mut edits = self.joined_edits(text, &PrivateKeyState::default())?;
        edits.retain(|edit| edit.what != What::Secret(pem));
        Ok(edits)
    }

    /// Tells whether values count that stand beside their name.
    pub(crate) fn looks_beside(&self) -> bool {
        self.shared.scanner.looks_beside()
    }

    /// Tells whether lines that follow may hold the value of a name in this one, or the rest of what a rule knows.
    pub(crate) fn opens(&self, line: &[u8]) -> bool {
        self.shared.scanner.opens(line)
    }

    /// Tells whether the last of three lines is a row of a table that the first one heads.
    pub(crate) fn is_row(&self, lines: &[u8]) -> bool {
        self.shared.scanner.is_row(lines)
    }

    /// Returns the order of what may be a secret and is not known to be one.
    pub(crate) fn unsure_order(&self) -> usize {
        self.shared.scanner.rules.entropy_order()
    }

    /// Looks until nothing more is found: what one pass leaves can be a secret only beside a placeholder.
    fn edits(
        &self,
        line: &[u8],
        known: &[Edit],
        keys: &mut PrivateKeyState,
        find: impl Fn(Look<'_>, &[u8]) -> Vec<Edit>,
    ) -> Result<Vec<Edit>, RuleFailure> {
        let scanner = &self.shared.scanner;
        // Where the line leaves a key is what its own bytes say: a placeholder may have taken the header.
        let mut behind: Option<PrivateKeyState> = None;
        let mut is_suspended = false;
        let mut made = edits::settle(known.to_vec());
        let mut current = match made.as_slice() {
            [] => Cow::Borrowed(line),
            made => Cow::Owned(edits::apply(line, made, |order| self.kind(order))),
        };
        for pass in 0..PASSES_MAX {
            let mut keys = keys.clone();
            if !keys.is_open() && !scanner.is_suspect(&current) {
                break;
            }
            let effort = &mut Effort::of(&current);
            let look = Look { scanner, wide: pass >= NARROW_PASSES_MAX, keys: &mut keys, effort };
            let mut found = find(look, &current);
            if pass == 0 && self.is_too_much(&found, line.len()) {
                is_suspended = true;
                self.shared.suspended.fetch_add(1, Ordering::Relaxed);
            }
            found.retain(|edit| !is_suspended || !self.is_of_project(edit));
            let later = edits::settle(found);
            behind.get_or_insert(keys);
            if later.is_empty() {
                break;
            }
            made = edits::compose(&made, &later, |order| self.kind(order));
            current = Cow::Owned(edits::apply(line, &made, |order| self.kind(order)));
        }
        if let Some(failure) = scanner.failure() {
            return Err(failure.clone());
        }
        if let Some(behind) = behind {
            *keys = behind;
        }
        Ok(made)
    }

    fn is_of_project(&self, edit: &Edit) -> bool {
        matches!(edit.what, What::Secret(order) if self.shared.scanner.is_own(order, true))
    }

    /// Tells whether a project's rules would replace more of a line than anybody's secrets are.
    fn is_too_much(&self, found: &[Edit], line_bytes: usize) -> bool {
        let own: Vec<Edit> = found.iter().filter(|edit| self.is_of_project(edit)).copied().collect();
        let bytes: usize = edits::settle(own).iter().map(|edit| edit.end - edit.start).sum();
        bytes > PROJECT_BYTES_MIN.max(line_bytes / PROJECT_SHARE)
    }

    fn findings(&self, edits: &[Edit]) -> Vec<Finding> {
        let kind = |what| match what {
            What::Secret(order) | What::Gone(order) => self.shared.scanner.rules.kind(order).cloned(),
            What::Thinking | What::ThinkingText | What::PlainType => Some(Arc::from(THINKING_KIND)),
        };
        edits
            .iter()
            .filter_map(|edit| {
                let instead_len = edit.what.replacement(|order| self.kind(order)).len();
                let (offset, len) = (edit.start, edit.end - edit.start);
                Some(Finding { kind: kind(edit.what)?, offset, len, instead_len })
            })
            .collect()
    }

    fn kind(&self, order: usize) -> &str {
        self.shared.scanner.rules.kind(order).map_or("secret", |kind| kind)
    }
}
