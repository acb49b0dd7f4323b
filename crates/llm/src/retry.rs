//! Whether another attempt can help, and after how long. Pure: who waits is the caller.

use std::time::Duration;

use crate::endpoint::Limits;
use crate::error::LlmError;

/// The wait before the second attempt, where the server names none. It doubles each time.
const FIRST_WAIT: Duration = Duration::from_millis(500);

/// Returns how long to wait before the next attempt, or `None` if none would help or all are used up.
///
/// `attempt` counts from 1. A server that asks for a longer wait than [`Limits::wait_max`] is not asked again: it would
/// refuse.
pub(crate) fn wait_before_next(error: &LlmError, attempt: u32, limits: &Limits) -> Option<Duration> {
    if attempt >= limits.attempts_max || !can_help(error) {
        return None;
    }
    let asked = match error {
        LlmError::Refused { status, .. } => status.retry_after,
        _ => None,
    };
    if let Some(asked) = asked {
        return (asked <= limits.wait_max).then_some(asked);
    }
    let factor = 1_u32.checked_shl(attempt.saturating_sub(1)).unwrap_or(u32::MAX);
    Some(FIRST_WAIT.saturating_mul(factor).min(limits.wait_max))
}

/// Whether the same request may be answered a moment later.
fn can_help(error: &LlmError) -> bool {
    match error {
        LlmError::Unreachable { .. } | LlmError::TimedOut { .. } | LlmError::BadReply { .. } => true,
        // 529 is Anthropic's "overloaded".
        LlmError::Refused { status, .. } => matches!(status.status, 408 | 409 | 425 | 429 | 500..=599),
        LlmError::BadEndpoint { .. } | LlmError::RequestTooLarge { .. } | LlmError::NotScrubbed { .. } => {
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Status;

    fn refused(status: u16, retry_after: Option<u64>) -> LlmError {
        let retry_after = retry_after.map(Duration::from_secs);
        let status = Status { status, code: String::new(), message: String::new(), retry_after };
        LlmError::Refused { url: String::new(), status }
    }

    #[test]
    fn only_what_may_pass_is_tried_again() {
        let limits = Limits::default();
        for (status, is_tried) in
            [(400, false), (401, false), (404, false), (413, false), (429, true), (500, true), (529, true)]
        {
            assert_eq!(wait_before_next(&refused(status, None), 1, &limits).is_some(), is_tried, "{status}");
        }
    }

    #[test]
    fn waits_double_and_have_an_end() {
        let limits = Limits { attempts_max: 100, wait_max: Duration::from_secs(3), ..Limits::default() };
        let waits: Vec<_> =
            (1..=5).filter_map(|attempt| wait_before_next(&refused(500, None), attempt, &limits)).collect();
        assert_eq!(waits, [500, 1000, 2000, 3000, 3000].map(Duration::from_millis));
        assert!(wait_before_next(&refused(500, None), 99, &limits).is_some());
        assert!(wait_before_next(&refused(500, None), 100, &limits).is_none());
    }

    #[test]
    fn the_server_says_how_long_within_reason() {
        let limits = Limits::default();
        let two = Some(Duration::from_secs(2));
        assert_eq!(wait_before_next(&refused(429, Some(2)), 1, &limits), two);
        assert_eq!(wait_before_next(&refused(429, Some(3600)), 1, &limits), None);
    }
}
