//! Ports: what the engine needs from outside and never takes by itself.

use stemmata_model::{SessionId, Timestamp};

/// The wall clock.
pub trait Clock: Send + Sync {
    /// Returns the present, in microseconds.
    fn now(&self) -> Timestamp;
}

/// A source of ids that nobody used before.
pub trait NewIds: Send + Sync {
    /// Returns a random session id in the shape of a UUID.
    fn session(&self) -> SessionId;
}

/// The system's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        #[expect(clippy::disallowed_methods, reason = "this is the port's one implementation")]
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let micros = since.map_or(0, |elapsed| i64::try_from(elapsed.as_micros()).unwrap_or(i64::MAX));
        Timestamp::from_micros(micros)
    }
}

/// Random ids from the system.
#[derive(Debug, Clone, Copy, Default)]
pub struct RandomIds;

impl NewIds for RandomIds {
    fn session(&self) -> SessionId {
        SessionId::new(uuid::Uuid::new_v4().to_string()).expect("a UUID is a name")
    }
}
