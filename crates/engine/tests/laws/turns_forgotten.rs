//! A session that is forgotten while one of its acts is under way, where the log is not the store: the act says so, and leaves
//! nothing behind.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use stemmata_engine::{
    BeginTurn, Engine, EngineError, ForgetOptions, ForgetTarget, Refusal, TurnEnded, TurnMade,
};
use stemmata_model::{Principal, Role};
use stemmata_store::{EventLog, FileLog, FileLogOptions, SessionKey, Store};

use crate::heard::{Asked, HeardLog};
use crate::support::{engine_on, new_store};
use crate::turns_again::{said, turn};

/// A session with an open turn, in a store and a log beside it.
struct Apart {
    store: Arc<dyn Store>,
    log: Arc<dyn EventLog>,
    key: SessionKey,
    _folder: tempfile::TempDir,
}

impl Apart {
    fn begun() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let log = Arc::new(FileLog::open(folder.path(), FileLogOptions::default()).expect("a log"));
        let (store, log): (Arc<dyn Store>, Arc<dyn EventLog>) = (new_store(), log);
        let engine = engine_on("m1", Arc::clone(&store)).with_log(Arc::clone(&log));
        engine.begin_turn(&BeginTurn::new(turn("s"), said("u", Role::User, "kilnwright"))).expect("begun");
        let made = TurnMade { entries: vec![said("a", Role::Assistant, "one")], ..TurnMade::default() };
        engine.step(&turn("s"), made).expect("a step");
        let key = SessionKey { machine: engine.identity().machine.clone(), path: "api:s".to_owned() };
        Self { store, log, key, _folder: folder }
    }

    fn engine(&self) -> Engine {
        engine_on("m1", Arc::clone(&self.store)).with_log(Arc::clone(&self.log))
    }

    fn heard(&self, hears: impl Fn(Asked) + Send + Sync + 'static) -> Engine {
        let log = HeardLog { log: Arc::clone(&self.log), hears: Box::new(hears) };
        engine_on("m1", Arc::clone(&self.store)).with_log(Arc::new(log))
    }

    /// Checks that nothing of the session is left.
    fn assert_gone(&self, when: usize) {
        assert_eq!(self.store.session(&self.key).expect("read"), None, "at {when}");
        assert_eq!(self.store.usage().expect("read").commits, 0, "at {when}");
    }
}

fn end(engine: &Engine) -> Result<TurnEnded, EngineError> {
    let made = TurnMade { entries: vec![said("z", Role::Assistant, "done")], ..TurnMade::default() };
    engine.end_turn(&turn("s"), made)
}

fn forget(engine: &Engine, key: &SessionKey) {
    let by = Principal::new("ada").expect("a name");
    let options = ForgetOptions { everywhere: false, even_pinned: false, by };
    engine.forget(&ForgetTarget::Session(key.clone()), &options).expect("forgotten");
}

#[test]
fn a_turn_that_ends_while_its_session_is_forgotten_stores_nothing_and_says_so() {
    let mut refused = 0;
    for at in 0.. {
        let apart = Apart::begun();
        let (other, key, asked) = (apart.engine(), apart.key.clone(), AtomicUsize::new(0));
        let engine = apart.heard(move |_| {
            if asked.fetch_add(1, Ordering::Relaxed) == at {
                forget(&other, &key);
            }
        });
        let ended = end(&engine);
        if ended.is_ok() {
            // Forgotten behind its commit, or not at all, for it asks less often than that.
            if apart.store.session(&apart.key).expect("read").is_some() {
                break;
            }
        } else {
            refused += 1;
            let is_told = matches!(&ended, Err(EngineError::Refused { what: Refusal::TurnForgotten, .. }));
            assert!(is_told, "at {at}: {ended:?}");
        }
        apart.assert_gone(at);
    }
    assert!(refused >= 3, "{refused}: of each read before its commit");
}

#[test]
fn a_turn_that_ends_before_the_log_forgets_leaves_no_commit() {
    let apart = Apart::begun();
    let other = Mutex::new(Some(apart.engine()));
    let engine = apart.heard(move |asked| {
        if let (Asked::Forget, Some(other)) = (asked, other.lock().expect("no panic").take()) {
            end(&other).expect("its events can be read still");
        }
    });
    forget(&engine, &apart.key);
    apart.assert_gone(0);
}
