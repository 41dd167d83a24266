//! Whether an answer means "try again", and when: pure.

use std::time::Duration;

use http::header::RETRY_AFTER;
use http::{HeaderMap, Method, StatusCode};

/// What an answer says about trying again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is the answer.
    Final,
    /// Trying again is safe and may help. The server's wish for when, if it has one.
    Again { after: Option<Duration>, asked: bool },
}

/// Judges an answer of `status` to a request by `method`.
///
/// 429 was refused before anything happened, so everything may be repeated; so was 503 where it carries `Retry-After`. A plain 503
/// or a 504 may come from behind, after something was written: then only reads are repeated.
pub(super) fn judge(method: &Method, status: StatusCode, headers: &HeaderMap) -> Verdict {
    let asked = headers.contains_key(RETRY_AFTER);
    let untouched = match status {
        StatusCode::TOO_MANY_REQUESTS => true,
        StatusCode::SERVICE_UNAVAILABLE => asked,
        StatusCode::GATEWAY_TIMEOUT => false,
        _ => return Verdict::Final,
    };
    if untouched || matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS) {
        Verdict::Again { after: retry_after(headers), asked }
    } else {
        Verdict::Final
    }
}

/// `Retry-After` in seconds, the only form that Kubernetes writes.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds: u64 = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    // Beyond a day it is no serious wish, and adding it to a time could overflow.
    (seconds <= 86_400).then(|| Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(method: Method, status: u16, retry_after: Option<&str>) -> Verdict {
        let mut headers = HeaderMap::new();
        if let Some(value) = retry_after {
            headers.insert(RETRY_AFTER, value.parse().unwrap());
        }
        judge(&method, StatusCode::from_u16(status).unwrap(), &headers)
    }

    fn again(after: Option<u64>, asked: bool) -> Verdict {
        Verdict::Again { after: after.map(Duration::from_secs), asked }
    }

    #[test]
    fn what_was_refused_at_the_door_is_safe_to_repeat() {
        assert_eq!(verdict(Method::POST, 429, Some("3")), again(Some(3), true));
        assert_eq!(verdict(Method::POST, 429, None), again(None, false));
        assert_eq!(verdict(Method::POST, 503, Some("1")), again(Some(1), true));
    }

    #[test]
    fn what_may_have_happened_is_repeated_only_for_reads() {
        assert_eq!(verdict(Method::POST, 503, None), Verdict::Final);
        assert_eq!(verdict(Method::PATCH, 504, Some("1")), Verdict::Final);
        assert_eq!(verdict(Method::GET, 503, None), again(None, false));
        assert_eq!(verdict(Method::GET, 504, Some("2")), again(Some(2), true));
    }

    #[test]
    fn all_else_is_an_answer() {
        for status in [200, 201, 401, 403, 404, 409, 410, 500, 502] {
            assert_eq!(verdict(Method::GET, status, Some("1")), Verdict::Final);
        }
    }

    #[test]
    fn a_wish_that_cannot_be_read_leaves_the_time_open() {
        for odd in ["Wed, 21 Oct 2015 07:28:00 GMT", "99999999999999999999", "-1", "86401"] {
            assert_eq!(verdict(Method::GET, 429, Some(odd)), again(None, true));
        }
    }
}
