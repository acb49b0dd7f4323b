//! Finds secrets in one text: keywords first, then the rules they lead to, in each unescaped view of the text.
//! Knows nothing of lines, fields or replacement.

use std::sync::OnceLock;

use crate::assignment::{Assignments, Certainty, Hit};
use crate::escape::View;
use crate::keywords::{Keywords, Target};
use crate::pem;
use crate::rules::{Engine, Method, Origin, Rule, RuleFailure, Rules};
use crate::url;
use crate::value::{Values, digits, distinct};

/// How often a text is unescaped for another look: JSON in a string in JSON in a string.
pub(crate) const VIEWS_MAX: usize = 3;

/// Longest placeholder.
const PLACEHOLDER_BYTES_MAX: usize = 80;

/// A finding: bytes of the text, and the rule or name that found them, by its order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) order: usize,
}

/// The rules with their keywords.
#[derive(Debug)]
pub(crate) struct Scanner {
    pub(crate) rules: Rules,
    keywords: Keywords,
    /// The first rule that could not be tried: from then on nothing passes for clean.
    failed: OnceLock<RuleFailure>,
}

impl Scanner {
    pub(crate) fn of(rules: Rules) -> Scanner {
        let keywords = Keywords::of(&rules);
        Scanner { rules, keywords, failed: OnceLock::new() }
    }

    /// Returns why nothing may pass for clean, where a rule could not be tried.
    pub(crate) fn failure(&self) -> Option<&RuleFailure> {
        self.failed.get()
    }

    fn fail(&self, rule: &Rule, reason: &str) {
        let failure = RuleFailure { rule: format!("rule `{}`", rule.kind), reason: reason.to_owned() };
        self.failed.get_or_init(|| failure);
    }

    /// Tells whether a raw line could hold a secret in any field at any depth of escaping. Errs on the side of yes.
    pub(crate) fn is_suspect(&self, raw: &[u8]) -> bool {
        self.keywords.any(raw, |start, end, target| {
            let hit = Hit { start, end };
            match target {
                Target::Escape => true,
                Target::Rule(index) => {
                    self.rules.list.get(index).is_some_and(|rule| self.is_suspect_at(rule, raw, hit))
                }
                Target::Name(index) => self.assigned(raw, hit, index, Certainty::Possible).is_some(),
                Target::Word => self.rules.entropy.is_possible(raw, (start, end), &self.rules.placeholders),
            }
        })
    }

    fn is_suspect_at(&self, rule: &Rule, raw: &[u8], hit: Hit) -> bool {
        match &rule.method {
            // What somebody's expression makes of an escape is not known.
            _ if rule.origin != Origin::Shipped => true,
            // A client may split a key over the strings of an array.
            Method::Engine(Engine::Pem) => pem::header(raw, hit.start).is_some(),
            Method::Engine(_) => self.find(rule, raw, hit).is_some(),
            Method::Regex(_) => self.find(rule, raw, hit).is_some() || has_escaped_slash(rule, raw, hit),
        }
    }

    /// Collects the findings of a text and of what it says when unescaped, up to `views` times.
    pub(crate) fn collect(&self, text: &[u8], views: usize, found: &mut Vec<Span>) {
        self.collect_plain(text, found);
        let mut chain: Vec<View> = Vec::new();
        while chain.len() < views {
            let source = chain.last().map_or(text, |view| view.text.as_slice());
            let Some(view) = View::of(source) else { return };
            let first = found.len();
            self.collect_plain(&view.text, found);
            chain.push(view);
            for span in found.iter_mut().skip(first) {
                for view in chain.iter().rev() {
                    (span.start, span.end) = (view.source_start(span.start), view.source_end(span.end));
                }
            }
        }
    }

    fn collect_plain(&self, text: &[u8], found: &mut Vec<Span>) {
        // A rule need not look again inside what it has just found.
        let mut last: Option<Span> = None;
        let (first, mut drawn) = (found.len(), Vec::new());
        self.keywords.any(text, |start, end, target| {
            let hit = Hit { start, end };
            let (order, place) = match target {
                Target::Escape => return false,
                Target::Word => {
                    let near = self.rules.entropy.near(text, (start, end), &self.rules.placeholders);
                    let order = self.rules.entropy_order();
                    drawn.extend(near.map(|(start, end)| Span { start, end, order }));
                    return false;
                }
                Target::Rule(index) if last.is_some_and(|span| span.order == index && start < span.end) => {
                    return false;
                }
                Target::Rule(index) => {
                    (index, self.rules.list.get(index).and_then(|rule| self.find(rule, text, hit)))
                }
                Target::Name(index) => {
                    (self.rules.list.len() + index, self.assigned(text, hit, index, Certainty::Exact))
                }
            };
            if let Some((start, end)) = place {
                let span = whole_characters(text, Span { start, end, order });
                last = Some(span);
                if !self.is_allowed(text, span) {
                    found.push(span);
                }
            }
            false
        });
        // What a rule knows by its form is that, and nothing else.
        let is_known = |span: &Span, known: &[Span]| {
            known.iter().any(|other| other.start < span.end && span.start < other.end)
        };
        drawn.sort_unstable_by_key(|span: &Span| (span.start, span.end));
        drawn.dedup();
        drawn.retain(|span| {
            !is_known(span, found.get(first..).unwrap_or_default()) && !self.is_allowed(text, *span)
        });
        found.extend(drawn);
    }

    fn is_allowed(&self, text: &[u8], span: Span) -> bool {
        let Some(value) = text.get(span.start..span.end) else { return false };
        self.rules.allow(span.order, value).unwrap_or_else(|failure| {
            self.failed.get_or_init(|| failure);
            false
        })
    }

    /// Decides about a field of a JSON object by its name; returns what of its value is a secret.
    pub(crate) fn field(&self, key: &[u8], value: &[u8]) -> Option<Span> {
        let (mut named, mut near) = (None, None);
        self.keywords.any(key, |start, end, target| {
            match target {
                Target::Name(index) => {
                    let assignments = Assignments { rules: &self.rules };
                    let name = self.rules.names.get(index);
                    if name.is_some_and(|name| assignments.field(key, Hit { start, end }, name, value)) {
                        named =
                            Some(Span { start: 0, end: value.len(), order: self.rules.list.len() + index });
                    }
                }
                Target::Word if near.is_none() && self.rules.entropy.names_secret(key, (start, end)) => {
                    let order = self.rules.entropy_order();
                    let place = self.rules.entropy.in_field(value, &self.rules.placeholders);
                    near = place.map(|(start, end)| Span { start, end, order });
                }
                Target::Rule(_) | Target::Word | Target::Escape => {}
            }
            named.is_some()
        });
        let allowed = |span: &Span| !self.is_allowed(value, *span);
        named.filter(allowed).or(near.filter(allowed))
    }

    /// Returns the order of the rule for private keys.
    pub(crate) fn pem_order(&self) -> usize {
        let is_pem = |rule: &Rule| matches!(rule.method, Method::Engine(Engine::Pem));
        self.rules.list.iter().position(is_pem).unwrap_or_default()
    }

    fn assigned(&self, text: &[u8], hit: Hit, name: usize, certainty: Certainty) -> Option<(usize, usize)> {
        let assignments = Assignments { rules: &self.rules };
        assignments.value(text, hit, self.rules.names.get(name)?, certainty)
    }

    /// Tries one rule at a keyword.
    fn find(&self, rule: &Rule, text: &[u8], hit: Hit) -> Option<(usize, usize)> {
        let values = Values { placeholders: &self.rules.placeholders };
        match &rule.method {
            Method::Engine(Engine::Pem) => pem::key(text, hit.start),
            Method::Engine(Engine::Url) => url::password(text, hit.start, values),
            Method::Engine(Engine::Assignment) => None,
            Method::Regex(regex) => {
                let spec = &rule.spec;
                let start = hit.start - spec.back.min(hit.start);
                let left = spec.left.unwrap_or(spec.bound);
                if (spec.back == 0 && !left.allows_start(text, start)) || !has_run(text, hit.end, spec.run) {
                    return None;
                }
                let end = text.len().min(hit.start + spec.max);
                let window = text.get(start..end)?;
                let regex = match regex.get() {
                    Ok(regex) => regex,
                    Err(reason) => {
                        self.fail(rule, reason);
                        return None;
                    }
                };
                let captures = regex.captures(window)?;
                let (whole, secret) = (captures.get(0)?, captures.name("s").or(captures.get(0))?);
                let (start, end) = (start + secret.start(), start + secret.end());
                let from = start - (secret.start() - whole.start());
                let value = secret.as_bytes();
                (left.allows_start(text, from)
                    && (rule.origin == Origin::Shipped || !is_in_placeholder(text, (start, end)))
                    && from <= hit.start
                    && spec.bound.allows_end(text, end)
                    && distinct(value) >= spec.distinct
                    && digits(value) >= spec.digits
                    && values.passes(spec.value, value))
                .then_some((start, end))
            }
        }
    }
}

/// A bound may cut a match inside a character; half of one would not be text any more.
fn whole_characters(text: &[u8], mut span: Span) -> Span {
    let is_inside = |at: usize| text.get(at).is_some_and(|byte| byte & 0xc0 == 0x80);
    // A character has at most four bytes; in what is no UTF-8 a longer run means nothing.
    for _ in 0..3 {
        span.start -= usize::from(span.start > 0 && is_inside(span.start));
        span.end += usize::from(is_inside(span.end));
    }
    span
}

/// Tells whether a stretch overlaps what stands for a secret already: somebody's expression may know that, too.
fn is_in_placeholder(text: &[u8], (start, end): (usize, usize)) -> bool {
    const MARK: &[u8] = b"[REDACTED:";
    let from = start.saturating_sub(PLACEHOLDER_BYTES_MAX);
    let window = text.get(from..end).unwrap_or_default();
    memchr::memmem::find_iter(window, MARK).any(|at| {
        let rest = window.get(at..).unwrap_or_default();
        let len = memchr::memchr(b']', rest).unwrap_or(rest.len());
        from + at + len >= start
    })
}

/// Tells whether enough bytes that could be a token's follow the keyword; cheaper than trying the expression.
fn has_run(text: &[u8], at: usize, run: usize) -> bool {
    let is_run = |byte: &u8| *byte > b' ' && !b"\"'`<>(){}[],;|".contains(byte);
    text.get(at..at + run).is_some_and(|bytes| bytes.iter().all(is_run))
}

/// Base64 holds slashes, and JSON may write them `\/`: such a line is looked at unescaped.
fn has_escaped_slash(rule: &Rule, raw: &[u8], hit: Hit) -> bool {
    let left = rule.spec.left.unwrap_or(rule.spec.bound);
    let end = raw.len().min(hit.start + rule.spec.max);
    let window = raw.get(hit.start..end).unwrap_or_default();
    let has_slash = rule.spec.re.as_ref().is_some_and(|re| re.contains('/'));
    has_slash && left.allows_start(raw, hit.start) && memchr::memmem::find(window, br"\/").is_some()
}
