//! Finds secrets in one text: keywords first, then the rules they lead to, in each unescaped view of the text.
//! Knows nothing of lines, fields or replacement.

use crate::assignment::{Assignments, Certainty, Hit};
use crate::escape::View;
use crate::keywords::{Keywords, Target};
use crate::pem;
use crate::rules::{Engine, Method, Rule, Rules};
use crate::url;
use crate::value::{Values, digits, distinct};

/// How often a text is unescaped for another look: JSON in a string in JSON in a string.
pub(crate) const VIEWS_MAX: usize = 3;

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
}

impl Scanner {
    pub(crate) fn of(rules: Rules) -> Scanner {
        let keywords = Keywords::of(&rules);
        Scanner { rules, keywords }
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
            }
        })
    }

    fn is_suspect_at(&self, rule: &Rule, raw: &[u8], hit: Hit) -> bool {
        match &rule.method {
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
        self.keywords.any(text, |start, end, target| {
            let hit = Hit { start, end };
            let (order, place) = match target {
                Target::Escape => return false,
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
                found.push(span);
            }
            false
        });
    }

    /// Decides about a field of a JSON object by its name; returns the order of the name that makes it a secret.
    pub(crate) fn field(&self, key: &[u8], value: &[u8]) -> Option<usize> {
        let mut found = None;
        self.keywords.any(key, |start, end, target| {
            if let Target::Name(index) = target {
                let assignments = Assignments { rules: &self.rules };
                let name = self.rules.names.get(index);
                if name.is_some_and(|name| assignments.field(key, Hit { start, end }, name, value)) {
                    found = Some(self.rules.list.len() + index);
                }
            }
            found.is_some()
        });
        found
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
                let captures = regex.get().captures(window)?;
                let (whole, secret) = (captures.get(0)?, captures.name("s").or(captures.get(0))?);
                let (start, end) = (start + secret.start(), start + secret.end());
                let from = start - (secret.start() - whole.start());
                let value = secret.as_bytes();
                (left.allows_start(text, from)
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
