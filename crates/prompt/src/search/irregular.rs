//! Irregular English forms that no rule about endings reaches: `went` is `go`.
//!
//! Closed-class morphology, 77 forms, from the recipe; worth .4 on the development questions.

/// The forms in ascending order, each with its base.
const FORMS: [(&str, &str); 77] = [
    ("ate", "eat"),
    ("began", "begin"),
    ("begun", "begin"),
    ("bought", "buy"),
    ("broke", "break"),
    ("broken", "break"),
    ("brought", "bring"),
    ("built", "build"),
    ("came", "come"),
    ("caught", "catch"),
    ("children", "child"),
    ("chose", "choose"),
    ("chosen", "choose"),
    ("dad", "father"),
    ("drawn", "draw"),
    ("drew", "draw"),
    ("driven", "drive"),
    ("drove", "drive"),
    ("eaten", "eat"),
    ("fallen", "fall"),
    ("feet", "foot"),
    ("fell", "fall"),
    ("felt", "feel"),
    ("flew", "fly"),
    ("flown", "fly"),
    ("found", "find"),
    ("gave", "give"),
    ("given", "give"),
    ("goes", "go"),
    ("gone", "go"),
    ("got", "get"),
    ("gotten", "get"),
    ("grew", "grow"),
    ("grown", "grow"),
    ("heard", "hear"),
    ("held", "hold"),
    ("kept", "keep"),
    ("kid", "child"),
    ("kids", "child"),
    ("knew", "know"),
    ("known", "know"),
    ("left", "leave"),
    ("lost", "lose"),
    ("made", "make"),
    ("men", "man"),
    ("met", "meet"),
    ("mice", "mouse"),
    ("mom", "mother"),
    ("mum", "mother"),
    ("paid", "pay"),
    ("ran", "run"),
    ("ridden", "ride"),
    ("rode", "ride"),
    ("said", "say"),
    ("sang", "sing"),
    ("saw", "see"),
    ("seen", "see"),
    ("sent", "send"),
    ("sold", "sell"),
    ("spent", "spend"),
    ("spoke", "speak"),
    ("spoken", "speak"),
    ("sung", "sing"),
    ("swam", "swim"),
    ("swum", "swim"),
    ("taken", "take"),
    ("taught", "teach"),
    ("thought", "think"),
    ("told", "tell"),
    ("took", "take"),
    ("went", "go"),
    ("women", "woman"),
    ("won", "win"),
    ("wore", "wear"),
    ("worn", "wear"),
    ("written", "write"),
    ("wrote", "write"),
];

/// Returns the base of an irregular form.
pub(super) fn base(word: &str) -> Option<&'static str> {
    let at = FORMS.binary_search_by(|(form, _)| (*form).cmp(word)).ok()?;
    FORMS.get(at).map(|(_, base)| *base)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_sorted_and_found() {
        assert!(FORMS.is_sorted_by(|one, two| one.0 < two.0));
        assert_eq!(base("went"), Some("go"));
        assert_eq!(base("women"), Some("woman"));
        assert_eq!(base("go"), None);
    }
}
