//! Nearness in meaning in packs: by a scripted model, since none is at hand.

use std::sync::{Arc, Mutex};

use stemmata_api::v1::{DecideRequest, RecallReason};
use stemmata_engine::prompt::retrieve::{Embedder, NoVectors};
use stemmata_engine::{
    DecisionKind, Engine, ForgetOptions, ForgetTarget, RecallNote, RecallWanted, Recalled, StoreRules,
};
use stemmata_model::{Estimate, LedgerId, Principal, Timestamp, Tokens};
use stemmata_store::LedgerChange;

use crate::support::{Folder, answer, engine, import, user};

/// Knows what pottery is, and that anything else is not.
#[derive(Default)]
struct Potter {
    asked: Mutex<Vec<String>>,
    model: Option<&'static str>,
    /// What every question is answered with.
    fails: Option<NoVectors>,
}

impl Embedder for Potter {
    fn model(&self) -> &'static str {
        self.model.unwrap_or("potter")
    }

    fn server(&self) -> &'static str {
        "http://pottery"
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, NoVectors> {
        self.asked
            .lock()
            .expect("no test panics with it")
            .extend(texts.iter().map(|text| (*text).to_owned()));
        if let Some(none) = &self.fails {
            return Err(none.clone());
        }
        let is_pottery = |text: &str| ["kiln", "clay", "celadon"].iter().any(|word| text.contains(word));
        Ok(texts.iter().map(|text| if is_pottery(text) { vec![1.0, 0.1] } else { vec![0.1, 1.0] }).collect())
    }
}

fn ledger() -> LedgerId {
    LedgerId::new("p").expect("a name")
}

fn project(embedder: &Arc<Potter>) -> Engine {
    let engine = engine().with_embedder(Arc::clone(embedder) as _);
    let root = Some("/old".to_owned());
    let change = LedgerChange { root, ..LedgerChange::new(ledger(), Timestamp::from_micros(1)) };
    engine.log().change_ledger(change).expect("made");
    for text in ["Name branches after tickets", "Fire in the gas kiln", "Answer mails on Fridays"] {
        let decision = DecideRequest {
            ledger: ledger(),
            kind: DecisionKind::Decision,
            text: text.to_owned(),
            reason: None,
            supersedes: None,
        };
        engine.decide(&decision).expect("decided");
    }
    engine
}

fn recall(engine: &Engine, ledger: Option<&LedgerId>) -> Recalled {
    engine.recall(&RecallWanted::new("where is clay burnt", ledger, Tokens(600), &Estimate)).expect("a pack")
}

fn kept(engine: &Engine) -> usize {
    engine.log().saved_states(&ledger(), "memory-vectors/").expect("a read").len()
}

#[test]
fn what_is_near_in_meaning_comes_first_and_says_so() {
    let potter = Arc::new(Potter::default());
    let engine = project(&potter);
    let pack = recall(&engine, Some(&ledger()));
    let best = pack.items.first().expect("an item");
    assert!(best.text.contains("gas kiln"), "{}", pack.text);
    let dense = |reason: &&RecallReason| reason.name == "dense";
    assert_eq!(
        best.reasons.iter().find(dense).map(|reason| reason.points.to_string()).as_deref(),
        Some("25")
    );
    assert!(!pack.notes.contains(&RecallNote::NoMatch), "{:?}", pack.notes);
    // The same question again: only the task has no vector that is kept.
    let before = potter.asked.lock().expect("no test panics with it").len();
    assert_eq!((recall(&engine, Some(&ledger())), kept(&engine)), (pack, 1));
    let asked = potter.asked.lock().expect("no test panics with it").split_off(before);
    assert_eq!(asked, ["where is clay burnt"]);
    // Without a ledger there is nowhere to keep vectors, so none are made.
    recall(&engine, None);
    assert_eq!(potter.asked.lock().expect("no test panics with it").len(), before);
}

#[test]
fn a_model_that_fails_costs_a_note_and_no_pack() {
    let potter = Arc::new(Potter { fails: Some(broken(true)), ..Potter::default() });
    let engine = project(&potter);
    let pack = recall(&engine, Some(&ledger()));
    assert!(pack.text.contains("gas kiln"), "{}", pack.text);
    let says = |note: &RecallNote| matches!(note, RecallNote::Memory(note) if note.message.contains("the wheel is broken"));
    assert!(pack.notes.iter().any(says), "{:?}", pack.notes);
    assert_eq!(kept(&engine), 0);
    // A server that is down is not waited for again by the next question.
    let asked = potter.asked.lock().expect("no test panics with it").len();
    let pack = recall(&engine, Some(&ledger()));
    let says = |note: &RecallNote| matches!(note, RecallNote::Memory(note) if note.message.contains("is asked again after"));
    assert!(pack.notes.iter().any(says) && pack.text.contains("gas kiln"), "{:?}", pack.notes);
    assert_eq!(potter.asked.lock().expect("no test panics with it").len(), asked);
    // Another model of that server may be there.
    let other = Arc::new(Potter { model: Some("mason"), ..Potter::default() });
    recall(&engine.with_embedder(Arc::clone(&other) as _), Some(&ledger()));
    assert!(!other.asked.lock().expect("no test panics with it").is_empty());
}

#[test]
fn a_server_that_refuses_is_asked_again_at_once() {
    let potter = Arc::new(Potter { fails: Some(broken(false)), ..Potter::default() });
    let engine = project(&potter);
    for questions in 1..3 {
        recall(&engine, Some(&ledger()));
        let asked = potter.asked.lock().expect("no test panics with it");
        assert_eq!(asked.iter().filter(|text| *text == "where is clay burnt").count(), questions);
    }
}

fn broken(is_down: bool) -> NoVectors {
    NoVectors { reason: "the wheel is broken".to_owned(), is_down }
}

#[test]
fn no_secret_that_only_a_newer_rule_finds_is_sent() {
    let potter = Arc::new(Potter::default());
    let engine = project(&potter);
    // The rule comes after the decision is stored; nobody has scrubbed the store since.
    let text = "Burn clay for ACME-123456".to_owned();
    let decision = DecideRequest {
        ledger: ledger(),
        kind: DecisionKind::Decision,
        text,
        reason: None,
        supersedes: None,
    };
    engine.decide(&decision).expect("decided");
    let text = "[[rules]]\nkind = 'ticket'\nkeywords = ['ACME-']\nregex = 'ACME-[0-9]{6}'\n".to_owned();
    recall(&engine.with_rules(StoreRules { name: "secrets.toml".to_owned(), text }), Some(&ledger()));
    let asked = potter.asked.lock().expect("no test panics with it").concat();
    assert!(asked.contains("Burn clay for ") && !asked.contains("ACME-123456"), "{asked}");
}

#[test]
fn vectors_go_with_what_is_forgotten_and_no_secret_of_a_task_is_sent() {
    let (potter, folder) = (Arc::new(Potter::default()), Folder::new());
    let engine = project(&potter);
    let lines = [user(1, None, "Let's use celadon."), answer(2, 1, "It is green.")];
    let captured = import(&engine, &folder.write("s.jsonl", lines.concat().as_bytes()));
    let token = format!("{}{}", "ghp_", "0123456789abcdefghijklmnopqrstuvwxyz");
    let own = ledger();
    let task = format!("clay and {token}");
    engine.recall(&RecallWanted::new(&task, Some(&own), Tokens(600), &Estimate)).expect("a pack");
    let asked = potter.asked.lock().expect("no test panics with it").clone();
    assert!(
        asked.iter().any(|text| text.contains("celadon")) && !asked.iter().any(|text| text.contains(&token))
    );
    assert_eq!(kept(&engine), 1);
    let by = Principal::new("ada").expect("a name");
    let options = ForgetOptions { everywhere: false, even_pinned: false, by };
    let plan = engine.plan_forget(&ForgetTarget::Session(captured.session.key), &options).expect("a plan");
    engine.apply_forget(plan).expect("forgotten");
    assert_eq!(kept(&engine), 0);
}
