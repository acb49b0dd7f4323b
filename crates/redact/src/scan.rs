//! Finds secrets in one text: keywords first, then the rules they lead to, in each unescaped view of the text.
//! Knows nothing of lines, fields or replacement.

mod beside;

use std::sync::OnceLock;

use regex::bytes::{Match, Regex};

use crate::assignment::{Assignments, Certainty, Hit};
use crate::beside::Beside;
use crate::escape::{self, View};
use crate::keywords::{Keywords, Target};
use crate::pem;
use crate::rules::{Engine, Method, Origin, Rule, RuleFailure, Rules};
use crate::url;
use crate::value::{Values, digits, distinct};

/// How often a text is unescaped for another look: JSON in a string in JSON in a string.
pub(crate) const VIEWS_MAX: usize = 3;

/// Longest placeholder.
const PLACEHOLDER_BYTES_MAX: usize = 80;

/// Bytes that expressions of one's own may look at for each byte of a line, and beside that: at most half a second for a
/// megabyte. Honest ones need a twentieth: one that looks at 512 bytes for a keyword that stands in each line.
const EFFORT_PER_BYTE: usize = 128;
const EFFORT_MIN: usize = 1 << 18;

/// A finding: bytes of the text, and the rule or name that found them, by its order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) order: usize,
}

/// What expressions of one's own may still look at in a line, in all its strings together: a line may have any number of
/// them. Anybody may have written the rules and the line: without a bound many rules with one keyword, which stands
/// everywhere, would take hours.
#[derive(Debug)]
pub(crate) struct Effort {
    left: usize,
    is_spent: bool,
}

impl Effort {
    pub(crate) fn of(line: &[u8]) -> Effort {
        Effort {
            left: line.len().saturating_mul(EFFORT_PER_BYTE).saturating_add(EFFORT_MIN),
            is_spent: false,
        }
    }

    /// Takes a look into account; says whether it was one too many.
    fn spend(&mut self, rule: &Rule, bytes: usize) -> bool {
        if rule.origin == Origin::Shipped {
            return false;
        }
        self.is_spent |= bytes > self.left;
        self.left = self.left.saturating_sub(bytes);
        self.is_spent
    }
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
        let mut is_coloured = false;
        self.is_suspect_as_it_is(raw, &mut is_coloured)
            || (is_coloured && self.is_suspect_as_it_is(&escape::raw_without_colours(raw), &mut false))
    }

    fn is_suspect_as_it_is(&self, raw: &[u8], is_coloured: &mut bool) -> bool {
        self.keywords.any(raw, |start, end, target| {
            let hit = Hit { start, end };
            match target {
                Target::Escape => true,
                Target::Colour => {
                    *is_coloured = true;
                    false
                }
                Target::Rule(index) => {
                    self.rules.list.get(index).is_some_and(|rule| self.is_suspect_at(rule, raw, hit))
                }
                Target::Name(index) => self.may_have_value(raw, hit, index),
                Target::Word => self.rules.entropy.is_possible(raw, (start, end), &self.rules.placeholders),
            }
        })
    }

    fn is_suspect_at(&self, rule: &Rule, raw: &[u8], hit: Hit) -> bool {
        let is_found = || self.find(rule, raw, hit, &mut Effort::of(raw)).is_some();
        match &rule.method {
            // What somebody's expression makes of an escape is not known.
            _ if rule.origin != Origin::Shipped => true,
            // A client may split a key over the strings of an array.
            Method::Engine(Engine::Pem) => pem::may_open(raw, hit.start),
            Method::Engine(Engine::Url) if url::goes_on_escaped(raw, hit.start) => true,
            Method::Engine(_) => is_found(),
            Method::Regex(_) => is_found() || has_escape(rule, raw, hit),
        }
    }

    /// Collects the findings of a text and of what it says when unescaped, up to `views` times.
    pub(crate) fn collect(&self, text: &[u8], views: usize, effort: &mut Effort, found: &mut Vec<Span>) {
        self.collect_shown(text, effort, found);
        let mut chain: Vec<View> = Vec::new();
        while chain.len() < views {
            let source = chain.last().map_or(text, |view| view.text.as_slice());
            let Some(view) = View::of(source) else { return };
            let first = found.len();
            self.collect_shown(&view.text, effort, found);
            chain.push(view);
            for span in found.iter_mut().skip(first) {
                for view in chain.iter().rev() {
                    (span.start, span.end) = (view.source_start(span.start), view.source_end(span.end));
                }
            }
        }
    }

    /// Collects the findings of a text as it is, and as a terminal shows it, and of its lines without what stands before each.
    fn collect_shown(&self, text: &[u8], effort: &mut Effort, found: &mut Vec<Span>) {
        let first = found.len();
        self.collect_plain(text, effort, found);
        let Some(view) = View::without_colours(text).filter(|_| self.looks_beside()) else { return };
        for span in found.iter_mut().skip(first) {
            *span = whole_characters(text, Span { end: view.word_end(span.end), ..*span });
        }
        let first = found.len();
        self.collect_plain(&view.text, effort, found);
        for span in found.iter_mut().skip(first) {
            (span.start, span.end) = (view.source_start(span.start), view.source_end(span.end));
        }
    }

    fn collect_plain(&self, text: &[u8], effort: &mut Effort, found: &mut Vec<Span>) {
        // Names in lines with a prefix, which may hide where their values stand.
        let mut prefixed = Vec::new();
        // A rule need not look again inside what it has just found.
        let mut last: Option<Span> = None;
        let mut is_taken = false;
        let (first, mut drawn, mut spans) = (found.len(), Vec::new(), Vec::new());
        let mut beside = Beside::default();
        self.keywords.any(text, |start, end, target| {
            let hit = Hit { start, end };
            let (order, place) = match target {
                Target::Escape | Target::Colour => return false,
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
                    let Some(rule) = self.rules.list.get(index) else { return false };
                    if matches!(rule.method, Method::Engine(Engine::Pem)) {
                        let places = pem::key(text, start).map_or_else(Vec::new, |key| key.places);
                        let spans = places.into_iter().map(|(start, end)| Span { start, end, order: index });
                        found.extend(spans.filter(|span| !self.is_allowed(text, *span)));
                        return false;
                    }
                    let is_own = rule.origin != Origin::Shipped;
                    if is_own && is_taken {
                        return false;
                    }
                    let may_look = !(is_own && effort.is_spent);
                    let place = may_look.then(|| self.find(rule, text, hit, effort)).flatten();
                    if is_own && effort.is_spent {
                        // What it might have found is not known: all of the text is taken, whatever is allowed.
                        is_taken = true;
                        found.push(Span { start: 0, end: text.len(), order: index });
                        return false;
                    }
                    (index, place)
                }
                Target::Name(index) => {
                    let (order, place) =
                        (self.rules.list.len() + index, self.assigned(text, hit, index, Certainty::Exact));
                    // What looks like a value may be a mark of YAML, and the value behind it.
                    let is_mark = |(start, _)| matches!(text.get(start), Some(b'&' | b'!' | b'#'));
                    if place.is_none_or(is_mark)
                        && self.looks_beside()
                        && self.is_asked_here(text, (hit, index), &mut prefixed)
                    {
                        self.stands_beside(text, (hit, index), &mut beside, &mut spans);
                    }
                    (order, place)
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
        let known = Stretches::of(found.get(first..).unwrap_or_default());
        drawn.sort_unstable_by_key(|span: &Span| (span.start, span.end));
        drawn.dedup();
        drawn.retain(|span| !known.overlap(span) && !self.is_allowed(text, *span));
        found.extend(drawn);
        found.extend(spans.into_iter().filter(|span| !self.is_allowed(text, *span)));
        self.collect_unprefixed(text, &prefixed, found);
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
                    let is_secret = |name| self.assignments().field(key, Hit { start, end }, name, value);
                    if self.rules.names.get(index).is_some_and(is_secret) {
                        named =
                            Some(Span { start: 0, end: value.len(), order: self.rules.list.len() + index });
                    }
                }
                Target::Word if near.is_none() && self.rules.entropy.names_secret(key, (start, end)) => {
                    let order = self.rules.entropy_order();
                    let place = self.rules.entropy.in_field(value, &self.rules.placeholders);
                    near = place.map(|(start, end)| Span { start, end, order });
                }
                Target::Rule(_) | Target::Word | Target::Escape | Target::Colour => {}
            }
            named.is_some()
        });
        let allowed = |span: &Span| !self.is_allowed(value, *span);
        named.filter(allowed).or(near.filter(allowed))
    }

    /// Tells whether what found something is a rule of somebody's own; of a project's, where only these are asked for.
    pub(crate) fn is_own(&self, order: usize, of_project: bool) -> bool {
        let origin = self.rules.list.get(order).map(|rule| rule.origin);
        origin == Some(Origin::Project) || (!of_project && origin == Some(Origin::Store))
    }

    /// Returns the order of the rule for private keys.
    pub(crate) fn pem_order(&self) -> usize {
        let is_pem = |rule: &Rule| matches!(rule.method, Method::Engine(Engine::Pem));
        self.rules.list.iter().position(is_pem).unwrap_or_default()
    }

    fn assigned(&self, text: &[u8], hit: Hit, name: usize, certainty: Certainty) -> Option<(usize, usize)> {
        self.assignments().value(text, hit, self.rules.names.get(name)?, certainty)
    }

    fn assignments(&self) -> Assignments<'_> {
        Assignments { rules: &self.rules }
    }

    /// Tries one rule at a keyword.
    fn find(&self, rule: &Rule, text: &[u8], hit: Hit, effort: &mut Effort) -> Option<(usize, usize)> {
        let values = Values { placeholders: &self.rules.placeholders };
        match &rule.method {
            Method::Engine(Engine::Url) => url::password(text, hit.start, values),
            Method::Engine(Engine::Assignment | Engine::Pem) => None,
            Method::Regex(regex) => {
                let spec = &rule.spec;
                let start = hit.start - spec.back.min(hit.start);
                let left = spec.left.unwrap_or(spec.bound);
                if (spec.back == 0 && !left.allows_start(text, start)) || !has_run(text, hit.end, spec.run) {
                    return None;
                }
                let end = text.len().min(hit.start + spec.max);
                let window = Window { text, start, end, hit };
                match regex.get() {
                    Ok(regex) => self.matched(rule, regex, window, effort),
                    Err(reason) => {
                        self.fail(rule, reason);
                        None
                    }
                }
            }
        }
    }

    /// Finds the first match that begins at the keyword or before it, holds it, and passes the rule's tests. What
    /// stands before it may match too, and is another keyword's.
    fn matched(
        &self,
        rule: &Rule,
        regex: &Regex,
        at: Window<'_>,
        effort: &mut Effort,
    ) -> Option<(usize, usize)> {
        let window = at.text.get(at.start..at.end)?;
        let mut from = 0;
        loop {
            let captures = regex.captures_at(window, from);
            let whole = captures.as_ref().and_then(|captures| captures.get(0));
            let looked_at = whole.map_or(window.len(), |whole| whole.end()).saturating_sub(from);
            if effort.spend(rule, looked_at) {
                return None;
            }
            let whole = whole?;
            if at.start + whole.start() > at.hit.start {
                return None;
            }
            // A match that begins at the keyword is that keyword's, however short.
            let holds = rule.spec.back == 0 || at.start + whole.end() >= at.hit.end;
            let secret = captures.as_ref().and_then(|captures| captures.name("s")).unwrap_or(whole);
            if holds && self.is_secret(rule, at, (whole.start(), secret)) {
                return Some((at.start + secret.start(), at.start + secret.end()));
            }
            from = whole.start() + 1;
            if from > window.len() {
                return None;
            }
        }
    }

    /// Tells whether a match passes the tests of its rule.
    fn is_secret(&self, rule: &Rule, at: Window<'_>, (whole, secret): (usize, Match<'_>)) -> bool {
        let spec = &rule.spec;
        let (start, end) = (at.start + secret.start(), at.start + secret.end());
        let value = secret.as_bytes();
        let values = Values { placeholders: &self.rules.placeholders };
        spec.left.unwrap_or(spec.bound).allows_start(at.text, at.start + whole)
            && (rule.origin == Origin::Shipped || !is_in_placeholder(at.text, (start, end)))
            && spec.bound.allows_end(at.text, end)
            && distinct(value) >= spec.distinct
            && digits(value) >= spec.digits
            && values.passes(spec.value, value)
    }
}

/// Where an expression is tried for a keyword.
#[derive(Debug, Clone, Copy)]
struct Window<'a> {
    text: &'a [u8],
    start: usize,
    end: usize,
    hit: Hit,
}

/// Stretches of a text, to be asked for many times.
struct Stretches {
    /// Where each begins, and where the last of these and those before it ends; in the order of their beginnings.
    sorted: Vec<(usize, usize)>,
}

impl Stretches {
    fn of(spans: &[Span]) -> Stretches {
        let mut sorted: Vec<(usize, usize)> = spans.iter().map(|span| (span.start, span.end)).collect();
        sorted.sort_unstable();
        let mut last = 0;
        for (_, end) in &mut sorted {
            last = last.max(*end);
            *end = last;
        }
        Stretches { sorted }
    }

    fn overlap(&self, span: &Span) -> bool {
        let before = self.sorted.partition_point(|(start, _)| *start < span.end);
        before.checked_sub(1).and_then(|last| self.sorted.get(last)).is_some_and(|(_, end)| span.start < *end)
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

/// What an expression reads differently when it is escaped: base64 holds slashes, and JSON may write them `\/`; blanks
/// are `\t`; and what takes all but some bytes takes letters that JSON may spell by their numbers. Such a line is looked
/// at unescaped.
fn has_escape(rule: &Rule, raw: &[u8], hit: Hit) -> bool {
    let Some(re) = &rule.spec.re else { return false };
    let left = rule.spec.left.unwrap_or(rule.spec.bound);
    let end = raw.len().min(hit.start + rule.spec.max);
    let window = raw.get(hit.start..end).unwrap_or_default();
    let knows = |marks: &[&str]| marks.iter().any(|mark| re.contains(mark));
    let has = |escape: &str| memchr::memmem::find(window, escape.as_bytes()).is_some();
    left.allows_start(raw, hit.start)
        && ((knows(&["/"]) && has(r"\/"))
            || (knows(&[r"\t", r"\s"]) && has(r"\t"))
            || (knows(&["[^"]) && has(r"\u")))
}
