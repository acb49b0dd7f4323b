//! Rules and allowances that a store or a project adds: read from TOML, checked, and told where they are wrong.
//! Compiles nothing: an expression is checked for sense here and compiled when its keyword is first seen.

use std::ops::Range;

use regex::bytes::{Regex, RegexBuilder};
use serde::Deserialize;
use toml::Spanned;

use crate::bounds::Bound;
use crate::entropy::{Mode, THRESHOLD_RANGE};
use crate::keywords::KEYWORD_BYTES_MIN;
use crate::rules::{Edition, LazyRegex, Method, Origin, Rule, RuleSpec, Rules, ValueTest, kind_of};

/// Bytes of one file of rules at most, whoever wrote it.
pub const RULES_BYTES_MAX: usize = 256 * 1024;
const KEYWORDS_MAX: usize = 20;
const EXPRESSION_BYTES_MAX: usize = 2_048;
const VALUE_BYTES_MAX: usize = 4_096;
const KIND_BYTES_MAX: usize = 32;
const MATCH_BYTES_MAX: usize = 4_096;
const BEFORE_BYTES_MAX: usize = 256;
/// What matches less is found everywhere.
const MATCH_BYTES_MIN: usize = 4;
/// The same for a project's rules: words that hold a transcript together are shorter.
const PROJECT_MATCH_BYTES_MIN: usize = 8;

/// Who wrote a file of rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleScope {
    /// The owner of the store: all that can be said counts.
    Store,
    /// A project, which may be anybody's: it may add rules and have entropy count; what it allows counts for its own
    /// rules and for entropy alone.
    Project,
}

/// How much one file may ask for.
#[derive(Debug, Clone, Copy)]
struct Limits {
    file_bytes: usize,
    rules: usize,
    allowances: usize,
    /// Bytes of one expression that is compiled.
    compiled_bytes: usize,
    /// Bytes that an expression matches at least.
    match_bytes: usize,
}

impl RuleScope {
    /// Returns the limits of a file. A project's rules come with whatever is cloned: they must not be able to hold up
    /// capture, and a project that needs more than a quarter of what an owner may have was not seen.
    const fn limits(self) -> Limits {
        match self {
            RuleScope::Store => Limits {
                file_bytes: RULES_BYTES_MAX,
                rules: 200,
                allowances: 1_000,
                compiled_bytes: COMPILED_BYTES_MAX,
                match_bytes: MATCH_BYTES_MIN,
            },
            RuleScope::Project => Limits {
                file_bytes: 64 * 1024,
                rules: 50,
                allowances: 200,
                compiled_bytes: 256 * 1024,
                match_bytes: PROJECT_MATCH_BYTES_MIN,
            },
        }
    }
}

/// A file of rules.
#[derive(Debug, Clone, Copy)]
pub struct RuleFile<'a> {
    /// How messages name it.
    pub name: &'a str,
    /// What stands in it.
    pub text: &'a str,
    /// Who wrote it.
    pub scope: RuleScope,
}

/// Why a file of rules cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}{}: {about}{reason}", line.map(|line| format!(":{line}")).unwrap_or_default())]
pub struct RuleFileError {
    /// The file, as it was named.
    pub file: String,
    /// The line in it.
    pub line: Option<usize>,
    /// What is wrong: the rule or the allowance, with a blank behind it; empty for the file.
    pub about: String,
    /// Why.
    pub reason: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default)]
    entropy: EntropyChange,
    #[serde(default)]
    rules: Vec<Spanned<RuleEntry>>,
    #[serde(default)]
    allow: Vec<Spanned<AllowEntry>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct EntropyChange {
    mode: Option<Mode>,
    threshold: Option<Spanned<f64>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleEntry {
    kind: String,
    keywords: Vec<String>,
    regex: Spanned<String>,
    #[serde(default)]
    before: usize,
    #[serde(default = "max_default")]
    max_bytes: usize,
    #[serde(default = "bound_default")]
    bound: Bound,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AllowEntry {
    #[serde(default)]
    kinds: Vec<String>,
    value: Option<String>,
    regex: Option<Spanned<String>>,
}

fn max_default() -> usize {
    512
}

fn bound_default() -> Bound {
    Bound::Word
}

/// What is none of our secrets although a rule finds it.
#[derive(Debug, Clone)]
pub(crate) struct Allowance {
    pub(crate) scope: RuleScope,
    pub(crate) kinds: Vec<String>,
    pub(crate) what: Allowed,
}

#[derive(Debug, Clone)]
pub(crate) enum Allowed {
    Value(String),
    Matching(LazyRegex),
}

/// A file of rules that makes sense.
#[derive(Debug)]
pub(crate) struct Custom {
    mode: Option<Mode>,
    threshold_milli: Option<u32>,
    rules: Vec<Rule>,
    allowances: Vec<Allowance>,
    scope: RuleScope,
}

impl Custom {
    /// Reads a file.
    pub(crate) fn read(file: RuleFile<'_>) -> Result<Custom, RuleFileError> {
        let at = Place { file };
        let Limits { file_bytes, rules, allowances, .. } = file.scope.limits();
        if file.text.len() > file_bytes {
            return Err(at.wrong(None, "", format!("it has more than {file_bytes} bytes")));
        }
        let document: Document = toml::from_str(file.text)
            .map_err(|error| at.wrong(error.span(), "", error.message().to_owned()))?;
        if document.rules.len() > rules || document.allow.len() > allowances {
            let reason = format!("it has more than {rules} rules or {allowances} allowances");
            return Err(at.wrong(None, "", reason));
        }
        let threshold_milli = document.entropy.threshold.map(|bits| at.threshold(&bits)).transpose()?;
        let rules = document.rules.into_iter().map(|entry| at.rule(entry)).collect::<Result<_, _>>()?;
        let allowances =
            document.allow.into_iter().map(|entry| at.allowance(entry)).collect::<Result<_, _>>()?;
        Ok(Custom { mode: document.entropy.mode, threshold_milli, rules, allowances, scope: file.scope })
    }

    /// Tells whether there is anything in the file.
    pub(crate) fn says_something(&self) -> bool {
        let is_own =
            self.scope == RuleScope::Store && (self.mode.is_some() || self.threshold_milli.is_some());
        is_own || !self.rules.is_empty() || !self.allowances.is_empty()
    }

    /// Adds itself to rules; its own come before the shipped ones, so that they give the name.
    pub(crate) fn add_to(&self, rules: &mut Rules) {
        let entropy = &mut rules.entropy;
        match (self.scope, self.mode) {
            (RuleScope::Store, Some(mode)) => entropy.mode = mode,
            (RuleScope::Project, Some(Mode::Context)) => entropy.mode = Mode::Context,
            (RuleScope::Project, Some(Mode::Off)) | (_, None) => {}
        }
        match (self.scope, self.threshold_milli) {
            (RuleScope::Store, Some(milli)) => entropy.threshold_milli = milli,
            (RuleScope::Project, Some(milli)) => entropy.threshold_milli = milli.min(entropy.threshold_milli),
            (_, None) => {}
        }
        let added = rules.list.iter().take_while(|rule| rule.origin != Origin::Shipped).count();
        rules.list.splice(added..added, self.rules.iter().cloned());
        rules.allowances.extend(self.allowances.iter().cloned());
    }
}

/// Names places in a file.
#[derive(Clone, Copy)]
struct Place<'a> {
    file: RuleFile<'a>,
}

impl Place<'_> {
    fn wrong(self, span: Option<Range<usize>>, about: &str, reason: String) -> RuleFileError {
        let before = |span: Range<usize>| self.file.text.get(..span.start).unwrap_or_default();
        let line = span.map(|span| 1 + before(span).matches('\n').count());
        RuleFileError { file: self.file.name.to_owned(), line, about: about.to_owned(), reason }
    }

    fn threshold(self, bits: &Spanned<f64>) -> Result<u32, RuleFileError> {
        let (low, high) = (THRESHOLD_RANGE.start(), THRESHOLD_RANGE.end());
        // Thousandths, read from the text of the number: the same on every machine.
        let milli = (format!("{:.3}", bits.get_ref())).replace('.', "").parse::<u32>().ok();
        milli.filter(|milli| THRESHOLD_RANGE.contains(milli)).ok_or_else(|| {
            let reason = format!("a number of bits from {} to {} makes sense", low / 1_000, high / 1_000);
            self.wrong(Some(bits.span()), "entropy.threshold ", reason)
        })
    }

    fn rule(self, entry: Spanned<RuleEntry>) -> Result<Rule, RuleFileError> {
        let span = entry.span();
        let entry = entry.into_inner();
        let about = format!("rule `{}` ", entry.kind);
        let wrong = |reason: String| self.wrong(Some(span.clone()), &about, reason);
        let kind = kind_of(&entry.kind)
            .filter(|kind| kind.len() <= KIND_BYTES_MAX)
            .ok_or_else(|| wrong(format!("its kind is not 1 to {KIND_BYTES_MAX} of a-z, 0-9 and -")))?;
        if entry.keywords.is_empty() || entry.keywords.len() > KEYWORDS_MAX {
            return Err(wrong(format!(
                "it needs 1 to {KEYWORDS_MAX} keywords: texts that every match holds"
            )));
        }
        let is_plain =
            |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'/' | b'"' | b'\\') || byte == b' ';
        if let Some(keyword) =
            entry.keywords.iter().find(|word| word.len() < KEYWORD_BYTES_MIN || !word.bytes().all(is_plain))
        {
            let reason = format!(
                "its keyword {keyword:?} has less than {KEYWORD_BYTES_MIN} bytes, or one that JSON may escape"
            );
            return Err(wrong(reason));
        }
        if !(MATCH_BYTES_MIN..=MATCH_BYTES_MAX).contains(&entry.max_bytes) || entry.before > BEFORE_BYTES_MAX
        {
            return Err(wrong(format!(
                "`max_bytes` is {MATCH_BYTES_MIN} to {MATCH_BYTES_MAX}, and `before` at most {BEFORE_BYTES_MAX}"
            )));
        }
        let source = entry.regex.get_ref().clone();
        let regex = if entry.before == 0 { format!(r"\A(?:{source})") } else { source.clone() };
        self.check(&entry.regex, &regex, &about, self.file.scope.limits().match_bytes)?;
        let spec = RuleSpec {
            kind: entry.kind,
            keys: entry.keywords,
            re: Some(source),
            engine: None,
            back: entry.before,
            run: 0,
            max: entry.max_bytes,
            bound: entry.bound,
            left: None,
            digits: 0,
            distinct: 1,
            value: ValueTest::Any,
            since: Edition::Structured3,
            lines: false,
        };
        let origin = match self.file.scope {
            RuleScope::Store => Origin::Store,
            RuleScope::Project => Origin::Project,
        };
        Ok(Rule { spec, kind, method: Method::Regex(self.compiled_later(regex)), origin })
    }

    fn allowance(self, entry: Spanned<AllowEntry>) -> Result<Allowance, RuleFileError> {
        let span = entry.span();
        let entry = entry.into_inner();
        let about = "allowance ";
        let what = match (entry.value, entry.regex) {
            (Some(value), None) if !value.is_empty() && value.len() <= VALUE_BYTES_MAX => {
                Allowed::Value(value)
            }
            (None, Some(regex)) => {
                // The whole value, so that no short expression allows whatever it is a part of.
                let whole = format!(r"\A(?:{})\z", regex.get_ref());
                self.check(&regex, &whole, about, MATCH_BYTES_MIN)?;
                Allowed::Matching(self.compiled_later(whole))
            }
            _ => {
                let reason =
                    format!("it needs either a `value` of 1 to {VALUE_BYTES_MAX} bytes or a `regex`");
                return Err(self.wrong(Some(span), about, reason));
            }
        };
        Ok(Allowance { scope: self.file.scope, kinds: entry.kinds, what })
    }

    fn compiled_later(self, source: String) -> LazyRegex {
        LazyRegex::within(source, self.file.scope.limits().compiled_bytes)
    }

    /// Checks an expression, as it was written and as it will be compiled, without compiling it.
    fn check(
        self,
        regex: &Spanned<String>,
        compiled: &str,
        about: &str,
        least_bytes: usize,
    ) -> Result<(), RuleFileError> {
        let source = regex.get_ref();
        let wrong = |reason: String| self.wrong(Some(regex.span()), about, reason);
        if source.len() > EXPRESSION_BYTES_MAX {
            return Err(wrong(format!("its expression has more than {EXPRESSION_BYTES_MAX} bytes")));
        }
        let mut parser = regex_syntax::ParserBuilder::new();
        parser.unicode(!source.is_ascii()).utf8(false);
        let parsed = parser.build().parse(source).map_err(|error| {
            let (column, reason) = match &error {
                regex_syntax::Error::Parse(error) => (error.span().start.column, error.kind().to_string()),
                regex_syntax::Error::Translate(error) => {
                    (error.span().start.column, error.kind().to_string())
                }
                other => (1, other.to_string()),
            };
            wrong(format!("its expression is wrong at column {column}: {reason}"))
        })?;
        // What stands around it then may become a part of it.
        if parser.build().parse(compiled).is_err() {
            let reason = "its expression ends in a comment: leave it out, or end it with a line break";
            return Err(wrong(reason.to_owned()));
        }
        match parsed.properties().minimum_len() {
            Some(least) if least >= least_bytes => Ok(()),
            _ => Err(wrong(format!("its expression may match less than {least_bytes} bytes"))),
        }
    }
}

/// Bytes of one compiled expression at most, and of what matching keeps of it.
pub(crate) const COMPILED_BYTES_MAX: usize = 1024 * 1024;

/// Compiles an expression within bounds, in ASCII where its text is.
pub(crate) fn compile(source: &str, bytes_max: usize) -> Result<Regex, String> {
    RegexBuilder::new(source)
        .unicode(!source.is_ascii())
        .size_limit(bytes_max)
        .dfa_size_limit(COMPILED_BYTES_MAX)
        .build()
        .map_err(|error| match error {
            regex::Error::CompiledTooBig(bytes) => format!("compiled it has more than {bytes} bytes"),
            other => other.to_string(),
        })
}

#[cfg(test)]
mod tests {
    use super::{Custom, RuleFile, RuleScope, compile};

    #[test]
    fn a_project_may_ask_for_less_than_an_owner() {
        let is_read = |text: &str, scope| Custom::read(RuleFile { name: "rules.toml", text, scope }).is_ok();
        let allow = |count: usize| "[[allow]]\nvalue = 'acme'\n".repeat(count);
        let rule = "[[rules]]\nkind = 'a'\nkeywords = ['acme']\nregex = 'acme[0-9]{4}'\n";
        let short = "[[rules]]\nkind = 'a'\nkeywords = ['acme']\nregex = 'acme[0-9]{3}'\n";
        assert!(!is_read(short, RuleScope::Project) && is_read(short, RuleScope::Store));
        for (few, many) in [
            (rule.repeat(50), rule.repeat(51)),
            (allow(200), allow(201)),
            ("#".repeat(64 * 1024), "#".repeat(64 * 1024 + 1)),
        ] {
            assert!(is_read(&few, RuleScope::Project) && !is_read(&many, RuleScope::Project));
            assert!(is_read(&many, RuleScope::Store));
        }
    }

    #[test]
    fn expressions_of_projects_that_make_sense_fit() {
        let most = RuleScope::Project.limits().compiled_bytes;
        for source in [
            "(?i)acme[_-][A-Za-z0-9_-]{20,400}",
            "acme-é[a-zé]{4,9}",
            "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
        ] {
            assert!(compile(source, most).is_ok(), "{source}");
        }
        assert!(compile("acme[A-Za-z0-9_-]{1,9000}", most).is_err());
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (text, message) in [
            ("[[rule]]\n", "rules.toml:1: unknown field `rule`"),
            (
                "\n[[rules]]\nkind = 'A'\nkeywords = ['acme']\nregex = 'acme'\n",
                "rules.toml:2: rule `A` its kind is not",
            ),
            ("[[rules]]\nkind = 'a'\nkeywords = []\nregex = 'acme'\n", "rule `a` it needs 1 to 20 keywords"),
            ("[[rules]]\nkind = 'a'\nkeywords = ['a/b']\nregex = 'acme'\n", "its keyword \"a/b\" has less"),
            (
                "[[rules]]\nkind = 'a'\nkeywords = ['acme']\nregex = 'acme_['\n",
                "rules.toml:4: rule `a` its expression is wrong at column 6: unclosed character class",
            ),
            ("[[rules]]\nkind = 'a'\nkeywords = ['acme']\nregex = 'a*'\n", "may match less than 4 bytes"),
            (
                "[[rules]]\nkind = 'a'\nkeywords = ['acme']\nregex = 'acme'\nmax_bytes = 5000\n",
                "`max_bytes` is 4 to 4096",
            ),
            ("[[allow]]\n", "rules.toml:1: allowance it needs either"),
            ("[[allow]]\nregex = '(acme'\n", "rules.toml:2: allowance its expression is wrong at column 1"),
            (
                "[[rules]]\nkind = 'a'\nkeywords = ['acme']\nregex = '(?x)acme # a comment'\n",
                "rules.toml:4: rule `a` its expression ends in a comment",
            ),
            (
                "[[allow]]\nregex = '(?x)acme # a comment'\n",
                "rules.toml:2: allowance its expression ends in a comment",
            ),
            ("[entropy]\nmode = 'loud'\n", "rules.toml:2: unknown variant `loud`"),
            ("[entropy]\nthreshold = 9.5\n", "rules.toml:2: entropy.threshold a number of bits from 2 to 6"),
        ] {
            let file = RuleFile { name: "rules.toml", text, scope: RuleScope::Store };
            let error = Custom::read(file).map(|_| ()).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
    }
}
