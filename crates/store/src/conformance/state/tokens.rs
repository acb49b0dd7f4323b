//! Tokens and grants: kept, used, void.

use std::thread;

use stemmata_model::{SessionId, TokenId};

use super::{MakeState, at};
use crate::conformance::builders::principal;
use crate::error::StoreError;
use crate::state::{
    Grant, NewToken, StateError, TOKEN_LABEL_BYTES_MAX, TOKEN_LIMITS_MAX, TokenHash, TokenLimits, TokenScopes,
};

fn id(text: &str) -> TokenId {
    TokenId::new(text).expect("a short name")
}

fn token(number: u8) -> NewToken {
    NewToken {
        id: id(&format!("tok-{number}")),
        hash: TokenHash([number; 32]),
        label: "a laptop".to_owned(),
        principal: principal("ada"),
        scopes: TokenScopes { read: true, publish: number.is_multiple_of(2), manage: false },
        limits: TokenLimits {
            projects: vec!["/projects/a b".to_owned()],
            sessions: vec![SessionId::new("s-\"1\"").expect("a short name")],
        },
        created_at: at(1),
        expires_at: None,
        once: false,
    }
}

pub(super) fn check_tokens(make: MakeState<'_>) {
    let state = make();
    assert_eq!(state.use_token(&TokenHash([1; 32]), at(2)).expect("a read"), None);
    for number in [2, 1, 3] {
        state.add_token(&token(number)).expect("added");
    }
    state.add_token(&NewToken { expires_at: Some(at(50)), ..token(4) }).expect("added");
    for twin in [NewToken { id: id("tok-1"), ..token(9) }, NewToken { hash: TokenHash([1; 32]), ..token(9) }]
    {
        let error = state.add_token(&twin).expect_err("its id or its hash is taken");
        assert!(matches!(error, StateError::TokenTaken(_)), "{error}");
    }
    let of = |number: u8| state.token(&TokenHash([number; 32])).expect("a read").expect("it is kept");
    assert_eq!((of(2).made, of(2).used_at, of(2).revoked_at), (token(2), None, None));
    assert_eq!(state.valid_tokens(at(2)).expect("a count"), 4);

    let used = |number: u8, now| state.use_token(&TokenHash([number; 32]), at(now)).expect("a use");
    assert_eq!(used(1, 10).expect("valid").used_at, Some(at(10)));
    assert_eq!(used(1, 60).expect("valid").used_at, Some(at(10)), "within a minute nothing is noted");
    assert_eq!(used(1, 70).expect("valid").used_at, Some(at(70)));
    assert_eq!(of(1).used_at, Some(at(70)));
    assert!(used(4, 49).is_some() && used(4, 50).is_none(), "it is void from its last moment on");

    assert!(state.revoke_token(&id("tok-1"), at(80)).expect("revoked"));
    assert!(!state.revoke_token(&id("tok-1"), at(90)).expect("it was before"));
    assert!(!state.revoke_token(&id("tok-0"), at(90)).expect("nobody has it"));
    assert_eq!(used(1, 0), None, "also for a clock that went back");
    assert_eq!((of(1).revoked_at, of(1).used_at), (Some(at(80)), Some(at(70))));
    assert_eq!(state.valid_tokens(at(90)).expect("a count"), 2);

    let names = |after: Option<&str>, rows_max| {
        let tokens = state.tokens(after.map(id).as_ref(), rows_max).expect("a read");
        tokens.iter().map(|token| token.made.id.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(names(None, 9), ["tok-1", "tok-2", "tok-3", "tok-4"]);
    assert_eq!(names(Some("tok-1"), 2), ["tok-2", "tok-3"]);
}

/// Of many that use a token for one use at the same time, one does.
pub(super) fn check_single_use(make: MakeState<'_>) {
    let state = make();
    state.add_token(&NewToken { once: true, ..token(1) }).expect("added");
    let hash = TokenHash([1; 32]);
    let uses = thread::scope(|scope| {
        let threads: Vec<_> =
            (0..6).map(|_| scope.spawn(|| state.use_token(&hash, at(5)).expect("a use").is_some())).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).filter(|used| *used).count()
    });
    assert_eq!(uses, 1);
    assert_eq!(state.valid_tokens(at(5)).expect("a count"), 0);
}

pub(super) fn check_bounds(make: MakeState<'_>) {
    let state = make();
    let many = TokenLimits { projects: vec!["/p".to_owned(); TOKEN_LIMITS_MAX + 1], sessions: Vec::new() };
    for bad in [
        NewToken { label: "x".repeat(TOKEN_LABEL_BYTES_MAX + 1), ..token(1) },
        NewToken { limits: many, ..token(1) },
        NewToken { scopes: TokenScopes { read: false, publish: false, manage: false }, ..token(1) },
    ] {
        let error = state.add_token(&bad).expect_err("out of bounds");
        assert!(
            matches!(error, StateError::Storage(StoreError::Bound { .. } | StoreError::Empty { .. })),
            "{error}"
        );
    }
    assert_eq!(state.tokens(None, 9).expect("a read"), []);
}

pub(super) fn check_grants(make: MakeState<'_>) {
    let state = make();
    let (ada, bob, eve) = (principal("ada"), principal("bob"), principal("eve"));
    let grant = |reader: &_, whose: &_, until| Grant {
        whose: Clone::clone(whose),
        reader: Clone::clone(reader),
        granted_at: at(1),
        until,
    };
    let may = |reader: &_, whose: &_, now| state.may_read(reader, whose, at(now)).expect("a read");
    assert!(!may(&bob, &ada, 1));
    state.grant(&grant(&bob, &ada, None)).expect("granted");
    state.grant(&grant(&eve, &ada, Some(at(10)))).expect("granted");
    assert!(may(&bob, &ada, 1) && !may(&ada, &bob, 1), "a grant has a direction");
    assert!(may(&eve, &ada, 9) && !may(&eve, &ada, 10));
    state.grant(&grant(&bob, &ada, Some(at(5)))).expect("granted");
    assert!(may(&bob, &ada, 4) && !may(&bob, &ada, 5), "it was changed");
    let all = [grant(&bob, &ada, Some(at(5))), grant(&eve, &ada, Some(at(10)))];
    assert_eq!(state.grants(None, 9).expect("a read"), all);
    assert_eq!(state.grants(Some((&bob, &ada)), 9).expect("a read"), all[1..]);
    assert_eq!(state.grants(None, 1).expect("a read"), all[..1]);
    assert!(state.ungrant(&ada, &eve).expect("taken back"));
    assert!(!state.ungrant(&ada, &eve).expect("it was before"));
    assert!(!may(&eve, &ada, 1));
}
