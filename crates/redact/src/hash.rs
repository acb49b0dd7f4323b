//! The rule-set hash: a canonical encoding of everything that decides what is replaced.
//! Not a hash of the TOML file: comments and layout do not count.

use crate::custom::{Allowance, Allowed, RuleScope};
use crate::entropy::Entropy;
use crate::rules::{Edition, Fields, Placeholders, Rule, Rules, word};

const CONTEXT: &str = "stemmata redaction rule set v1";

/// Returns the hash by which a commit says under which rules its bytes were scrubbed.
pub(crate) fn rules_hash(rules: &Rules) -> [u8; 32] {
    let mut encoder = Encoder(blake3::Hasher::new_derive_key(CONTEXT));
    encoder.number(rules.edition.engine_version());
    encoder.text(&rules.version);
    encoder.list(&rules.list, |encoder, known| {
        rule(encoder, known);
        if rules.edition > Edition::Structured3 {
            encoder.number(u64::from(known.spec.lines));
        }
    });
    encoder.list(&rules.names, |encoder, name| {
        encoder.text(&name.spec.word);
        encoder.text(&name.kind);
        encoder.text(&word(name.spec.value));
        encoder.number(u64::from(name.spec.alone));
        encoder.number(u64::from(name.spec.said));
    });
    encoder.list(&rules.tails, |encoder, tail| encoder.text(tail));
    encoder.list(&rules.not_after, |encoder, word| encoder.text(word));
    let Placeholders { words, whole, prose } = &rules.placeholders;
    for list in [words, whole, prose] {
        encoder.list(list, |encoder, word| encoder.text(word));
    }
    let Fields { opaque_types, free, seals, skip } = &rules.fields;
    for list in [opaque_types, free, seals] {
        encoder.list(list, |encoder, word| encoder.text(word));
    }
    encoder.list(skip, |encoder, field| {
        encoder.text(&field.key);
        encoder.text(&word(field.shape));
    });
    let Entropy { mode, threshold_milli, words, others, before, seals, ids, digests } = &rules.entropy;
    encoder.text(&word(mode));
    encoder.number(u64::from(*threshold_milli));
    for list in [words, others, before, seals, ids, digests] {
        encoder.list(list, |encoder, word| encoder.text(word));
    }
    encoder.list(&rules.allowances, allowance);
    *encoder.0.finalize().as_bytes()
}

fn allowance(encoder: &mut Encoder, allowance: &Allowance) {
    encoder.number(match allowance.scope {
        RuleScope::Store => 1,
        RuleScope::Project => 2,
    });
    encoder.list(&allowance.kinds, |encoder, kind| encoder.text(kind));
    let (value, regex) = match &allowance.what {
        Allowed::Value(value) => (value.as_str(), ""),
        Allowed::Matching(regex) => ("", regex.source()),
    };
    encoder.text(value);
    encoder.text(regex);
}

fn rule(encoder: &mut Encoder, rule: &Rule) {
    let spec = &rule.spec;
    encoder.text(&spec.kind);
    encoder.list(&spec.keys, |encoder, key| encoder.text(key));
    encoder.text(spec.re.as_deref().unwrap_or_default());
    encoder.text(&spec.engine.map(word).unwrap_or_default());
    for number in [spec.back, spec.run, spec.max, spec.digits, spec.distinct] {
        encoder.number(number as u64);
    }
    encoder.text(&word(spec.bound));
    encoder.text(&word(spec.left.unwrap_or(spec.bound)));
    encoder.text(&word(spec.value));
    encoder.number(rule.origin.number());
}

struct Encoder(blake3::Hasher);

impl Encoder {
    fn number(&mut self, number: u64) {
        self.0.update(&number.to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.0.update(text.as_bytes());
    }

    fn list<T>(&mut self, items: &[T], each: impl Fn(&mut Encoder, &T)) {
        self.number(items.len() as u64);
        for item in items {
            each(self, item);
        }
    }
}
