//! The rule set: what the TOML says, checked once and ready to be tried.
//! Does no matching (`scan`) and knows no line (`walk`).

use std::sync::{Arc, OnceLock};

use regex::bytes::Regex;
use serde::{Deserialize, Serialize};

use crate::bounds::Bound;
use crate::custom::{Allowance, Allowed, COMPILED_BYTES_MAX, RuleScope, compile};
use crate::entropy::{ENTROPY_KIND, Entropy};
use crate::keywords::KEYWORD_BYTES_MIN;

/// Longest match of a rule that names no `max`. Bounds what one keyword can cost.
const MATCH_BYTES_MAX: usize = 512;

/// Why a rule set cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RulesError {
    /// The text is no TOML of our shape.
    #[error("rule set does not parse: {0}")]
    Parse(#[from] toml::de::Error),
    /// A rule has an expression and an engine, or neither.
    #[error("rule {kind}: needs either an expression or an engine")]
    Method { kind: String },
    /// A keyword that a JSON escape could hide, or too short for the prefilter.
    #[error("rule {kind}: keyword {keyword:?} is too short or can be escaped")]
    Keyword { kind: String, keyword: String },
    /// A name that could not stand in a placeholder.
    #[error("kind {kind:?} is not made of a-z, 0-9 and -")]
    Kind { kind: String },
}

/// Returns a word of the rule set as it stands in the TOML, in the rule set's version and in its hash.
pub(crate) fn word(value: impl Serialize) -> String {
    toml::Value::try_from(value).ok().as_ref().and_then(toml::Value::as_str).unwrap_or_default().to_owned()
}

/// How the value of a finding must look, beside the rule's expression.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ValueTest {
    /// Whatever the expression takes.
    Any,
    /// No placeholder, enough distinct bytes and digits.
    #[default]
    Token,
    /// Mixed like something a machine drew.
    Random,
    /// Something a person could have set as a password.
    Password,
    /// `user:password`, the password as above.
    Login,
    /// Base64 of printable `user:password`.
    Basic,
    /// Something in a place where a password stands.
    Placed,
}

/// Matchers written by hand, where an expression could not be bounded or exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Engine {
    Pem,
    Url,
    Assignment,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Shape {
    Any,
    Typed,
    Base64,
}

/// One of the shipped rule sets. What began under an earlier one goes on as it began, so each stays what it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
pub(crate) enum Edition {
    /// Values behind a sign, and in members of an object.
    #[serde(rename = "structured-3")]
    Structured3,
    /// Values that stand beside their name, too.
    #[serde(rename = "structured-4")]
    Structured4,
}

impl Edition {
    /// Returns the version of what is code and not data: engines, value tests, unescaping, replacement. Part of the hash:
    /// whatever gives other bytes by the same rules is an edition of its own.
    pub(crate) fn engine_version(self) -> u64 {
        match self {
            Edition::Structured3 => 6,
            Edition::Structured4 => 7,
        }
    }

    /// Tells whether values count that stand beside their name, and what a terminal's colours hide.
    pub(crate) fn looks_beside(self) -> bool {
        self >= Edition::Structured4
    }
}

/// The TOML file, as written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Document {
    pub(crate) version: Edition,
    pub(crate) rules: Vec<RuleSpec>,
    pub(crate) assignment: AssignmentSpec,
    pub(crate) placeholders: Placeholders,
    pub(crate) entropy: Entropy,
    pub(crate) fields: Fields,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RuleSpec {
    pub(crate) kind: String,
    pub(crate) keys: Vec<String>,
    pub(crate) re: Option<String>,
    pub(crate) engine: Option<Engine>,
    #[serde(default)]
    pub(crate) back: usize,
    #[serde(default = "run_default")]
    pub(crate) run: usize,
    #[serde(default = "max_default")]
    pub(crate) max: usize,
    #[serde(default = "bound_default")]
    pub(crate) bound: Bound,
    pub(crate) left: Option<Bound>,
    #[serde(default)]
    pub(crate) digits: usize,
    #[serde(default = "distinct_default")]
    pub(crate) distinct: usize,
    #[serde(default)]
    pub(crate) value: ValueTest,
    /// The first rule set that it is in.
    #[serde(default = "since_default")]
    pub(crate) since: Edition,
    /// What it finds may stand in several lines.
    #[serde(default)]
    pub(crate) lines: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AssignmentSpec {
    pub(crate) names: Vec<NameSpec>,
    pub(crate) tails: Vec<String>,
    pub(crate) not_after: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NameSpec {
    pub(crate) word: String,
    pub(crate) kind: String,
    pub(crate) value: ValueTest,
    /// The word counts only where it is no part of a longer one.
    #[serde(default)]
    pub(crate) alone: bool,
    /// Whatever is assigned counts, unless it is a placeholder, a reference or code.
    #[serde(default)]
    pub(crate) said: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Placeholders {
    pub(crate) words: Vec<String>,
    pub(crate) whole: Vec<String>,
    /// Words of sentences.
    pub(crate) prose: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fields {
    pub(crate) opaque_types: Vec<String>,
    pub(crate) free: Vec<String>,
    pub(crate) seals: Vec<String>,
    pub(crate) skip: Vec<SkipSpec>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SkipSpec {
    pub(crate) key: String,
    pub(crate) shape: Shape,
}

fn run_default() -> usize {
    8
}

fn max_default() -> usize {
    MATCH_BYTES_MAX
}

fn bound_default() -> Bound {
    Bound::Word
}

fn distinct_default() -> usize {
    6
}

fn since_default() -> Edition {
    Edition::Structured3
}

/// An expression that is compiled when its keyword is first seen.
#[derive(Debug, Clone)]
pub(crate) struct LazyRegex {
    source: String,
    bytes_max: usize,
    compiled: OnceLock<Result<Regex, String>>,
}

impl LazyRegex {
    pub(crate) fn new(source: String) -> LazyRegex {
        LazyRegex::within(source, COMPILED_BYTES_MAX)
    }

    /// Makes one that is compiled to so many bytes at most.
    pub(crate) fn within(source: String, bytes_max: usize) -> LazyRegex {
        LazyRegex { source, bytes_max, compiled: OnceLock::new() }
    }

    /// Returns the expression as it is compiled.
    pub(crate) fn source(&self) -> &str {
        &self.source
    }

    /// Returns the compiled expression, or why there is none: it is larger than one may be.
    pub(crate) fn get(&self) -> Result<&Regex, &str> {
        self.compiled.get_or_init(|| compile(&self.source, self.bytes_max)).as_ref().map_err(String::as_str)
    }
}

/// How a rule decides.
#[derive(Debug, Clone)]
pub(crate) enum Method {
    Regex(LazyRegex),
    Engine(Engine),
}

/// One rule, ready to be tried where one of its keywords stands.
#[derive(Debug, Clone)]
pub(crate) struct Rule {
    pub(crate) spec: RuleSpec,
    pub(crate) kind: Arc<str>,
    pub(crate) method: Method,
    pub(crate) origin: Origin,
}

/// Who wrote a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    Shipped,
    Store,
    Project,
}

impl Origin {
    /// Returns the number that stands in the rule-set hash.
    pub(crate) const fn number(self) -> u64 {
        match self {
            Origin::Shipped => 0,
            Origin::Store => 1,
            Origin::Project => 2,
        }
    }
}

/// One name whose assigned value is a secret.
#[derive(Debug)]
pub(crate) struct Name {
    pub(crate) kind: Arc<str>,
    pub(crate) spec: NameSpec,
}

/// The whole rule set.
#[derive(Debug)]
pub(crate) struct Rules {
    pub(crate) edition: Edition,
    /// The edition's name, and `+own` where a file added anything.
    pub(crate) version: String,
    pub(crate) list: Vec<Rule>,
    pub(crate) names: Vec<Name>,
    /// Normalised: lower case, no separators.
    pub(crate) tails: Vec<String>,
    pub(crate) not_after: Vec<String>,
    pub(crate) placeholders: Placeholders,
    pub(crate) entropy: Entropy,
    entropy_kind: Arc<str>,
    pub(crate) fields: Fields,
    pub(crate) allowances: Vec<Allowance>,
}

impl Rules {
    /// Reads the newest rule set and checks what can be checked without compiling an expression.
    #[cfg(test)]
    pub(crate) fn parse(text: &str) -> Result<Rules, RulesError> {
        Rules::of_edition(text, None)
    }

    /// Reads a rule set as it was in an edition; in the newest where none is named.
    pub(crate) fn of_edition(text: &str, edition: Option<Edition>) -> Result<Rules, RulesError> {
        let document: Document = toml::from_str(text)?;
        let edition = edition.unwrap_or(document.version);
        let known = document.rules.into_iter().filter(|spec| spec.since <= edition);
        let rules = known.map(rule).collect::<Result<Vec<_>, _>>()?;
        let names = document.assignment.names.into_iter().map(name).collect::<Result<Vec<_>, _>>()?;
        let tails = document.assignment.tails.iter().map(|tail| tail.replace(' ', "")).collect();
        Ok(Rules {
            edition,
            version: word(edition),
            list: rules,
            names,
            tails,
            not_after: document.assignment.not_after,
            placeholders: document.placeholders,
            entropy: document.entropy,
            entropy_kind: Arc::from(ENTROPY_KIND),
            fields: document.fields,
            allowances: Vec::new(),
        })
    }

    /// Returns the kind of a finding by the order of what found it: rules first, then names, then entropy.
    pub(crate) fn kind(&self, order: usize) -> Option<&Arc<str>> {
        let name = || self.names.get(order.checked_sub(self.list.len())?).map(|name| &name.kind);
        let entropy = || (order == self.entropy_order()).then_some(&self.entropy_kind);
        self.list.get(order).map(|rule| &rule.kind).or_else(name).or_else(entropy)
    }

    /// Returns the order of what entropy finds: the last.
    pub(crate) fn entropy_order(&self) -> usize {
        self.list.len() + self.names.len()
    }

    /// Tells whether somebody who may say so said that a value is no secret.
    pub(crate) fn allow(&self, order: usize, value: &[u8]) -> Result<bool, RuleFailure> {
        let Some(kind) = self.kind(order) else { return Ok(false) };
        let is_projects = order == self.entropy_order()
            || self.list.get(order).is_some_and(|rule| rule.origin == Origin::Project);
        for allowance in &self.allowances {
            let counts = (allowance.scope == RuleScope::Store || is_projects)
                && (allowance.kinds.is_empty() || allowance.kinds.iter().any(|known| **known == **kind));
            let is_meant = || match &allowance.what {
                Allowed::Value(known) => Ok(known.as_bytes() == value),
                Allowed::Matching(regex) => match regex.get() {
                    Ok(regex) => Ok(regex.is_match(value)),
                    Err(reason) => {
                        Err(RuleFailure { rule: "an allowance".to_owned(), reason: reason.to_owned() })
                    }
                },
            };
            if counts && is_meant()? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Why a rule could not be tried: nothing that it might have found may pass for clean.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("secrets cannot be looked for: {rule} cannot be used, {reason}")]
pub struct RuleFailure {
    /// The rule.
    pub rule: String,
    /// Why.
    pub reason: String,
}

fn rule(spec: RuleSpec) -> Result<Rule, RulesError> {
    let kind = kind(&spec.kind)?;
    // Engines know what escapes do to their keywords; an expression's keyword must survive them.
    let escapable =
        |keyword: &&String| keyword.bytes().any(|byte| matches!(byte, b'/' | b'"' | b'\\') || byte < 0x20);
    if let Some(keyword) =
        spec.keys.iter().find(|key| key.len() < KEYWORD_BYTES_MIN || (spec.re.is_some() && escapable(key)))
    {
        return Err(RulesError::Keyword { kind: spec.kind.clone(), keyword: keyword.clone() });
    }
    let method = match (&spec.re, spec.engine) {
        (Some(re), None) => {
            // Without room before the keyword the match begins where the keyword does.
            let source = if spec.back == 0 { format!(r"\A(?:{re})") } else { re.clone() };
            Method::Regex(LazyRegex::new(source))
        }
        (None, Some(engine)) => Method::Engine(engine),
        _ => return Err(RulesError::Method { kind: spec.kind }),
    };
    Ok(Rule { spec, kind, method, origin: Origin::Shipped })
}

fn name(spec: NameSpec) -> Result<Name, RulesError> {
    Ok(Name { kind: kind(&spec.kind)?, spec })
}

fn kind(kind: &str) -> Result<Arc<str>, RulesError> {
    kind_of(kind).ok_or_else(|| RulesError::Kind { kind: kind.to_owned() })
}

/// Returns a name that can stand in a placeholder.
pub(crate) fn kind_of(kind: &str) -> Option<Arc<str>> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (!kind.is_empty() && kind.bytes().all(plain)).then(|| Arc::from(kind))
}

#[cfg(test)]
mod tests {
    use super::{Method, Rules, RulesError};
    use crate::scrubber::BUILTIN;

    #[test]
    fn every_expression_compiles_and_is_ascii() {
        for rule in &Rules::parse(BUILTIN).unwrap().list {
            if let Method::Regex(regex) = &rule.method {
                assert!(regex.source().is_ascii(), "{}", rule.kind);
                assert!(regex.get().unwrap().captures_len() <= 2, "{}", rule.kind);
            }
        }
    }

    #[test]
    fn a_bad_rule_set_is_refused() {
        let with = |rule: &str| {
            let text = format!(
                "version = 'structured-4'\nrules = [{rule}]\n[assignment]\nnames = []\ntails = []\nnot_after = []\n\
                 [placeholders]\nwords = []\nwhole = []\nprose = []\n[entropy]\nmode = 'off'\nthreshold_milli = 1\nwords = []\nothers = []\nbefore = []\nseals = []\nids = []\n\
                 digests = []\n[fields]\nopaque_types = []\nfree = []\nseals = []\nskip = []\n"
            );
            Rules::parse(&text)
        };
        assert!(with("{ kind = 'a', keys = ['kkk'], re = 'k' }").is_ok());
        assert!(matches!(with("{ kind = 'a', keys = ['kkk'] }"), Err(RulesError::Method { .. })));
        assert!(matches!(with("{ kind = 'a', keys = ['a/bb'], re = 'k' }"), Err(RulesError::Keyword { .. })));
        assert!(matches!(with("{ kind = 'a', keys = ['kk'], re = 'k' }"), Err(RulesError::Keyword { .. })));
        assert!(matches!(with("{ kind = 'A b', keys = ['kkk'], re = 'k' }"), Err(RulesError::Kind { .. })));
        assert!(matches!(with("{ kind = 'a', colour = 1 }"), Err(RulesError::Parse(_))));
    }
}
