//! The digest of a plan: what was shown is what will be done.

use serde::Serialize;
use stemmata_api::{Code, PlanDigest, Problem};

use crate::fault::Fault;

/// Bytes of a digest: enough that no two plans of one store share one by chance.
const DIGEST_BYTES: usize = 16;

/// Returns the digest of what an operation would do. Fields are written in the order in which they are declared, so equal
/// requests with equal plans have equal digests. `plan` has none of its own.
pub(crate) fn digest_of(operation: &str, request: &impl Serialize, plan: &impl Serialize) -> PlanDigest {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"stemmata plan 1\0").update(operation.as_bytes()).update(b"\0");
    serde_json::to_writer(&mut hasher, request).expect("a request is JSON");
    hasher.update(b"\0");
    serde_json::to_writer(&mut hasher, plan).expect("a plan is JSON");
    let hash = hasher.finalize().to_hex();
    PlanDigest::new(format!("plan-{}", &hash[..2 * DIGEST_BYTES]))
}

/// Refuses to apply a plan that does not hold any more.
pub(crate) fn hold(shown: &PlanDigest, now: Option<&PlanDigest>) -> Result<(), Fault> {
    if now == Some(shown) {
        return Ok(());
    }
    let detail = "something else would be done now than was shown; nothing was changed";
    let now = now.map_or("", PlanDigest::as_str);
    Err(Problem::new(Code::PlanStale, detail).with("shown", shown).with("now", now).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_says_operation_request_and_plan() {
        let first = digest_of("a", &"b", &"c");
        assert_eq!(first, digest_of("a", &"b", &"c"));
        assert!(first.as_str().starts_with("plan-") && first.as_str().len() == 5 + 2 * DIGEST_BYTES);
        for other in [digest_of("x", &"b", &"c"), digest_of("a", &"x", &"c"), digest_of("a", &"b", &"x")] {
            assert_ne!(first, other);
            assert!(hold(&first, Some(&other)).unwrap_err().0.is(Code::PlanStale));
        }
        hold(&first, Some(&first)).unwrap();
    }
}
