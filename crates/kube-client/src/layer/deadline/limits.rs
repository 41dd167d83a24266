//! The time limits of each kind of request, as a pure function.

use std::time::Duration;

use crate::config::MAX_DELAY;
use crate::layer::request_kind::RequestKind;

/// Time limits of one request; `None` is unlimited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct DeadlineLimits {
    /// Until the response's head.
    pub(super) head: Option<Duration>,
    /// Between two frames of the body.
    pub(super) silence: Option<Duration>,
    /// Until the end of the body.
    pub(super) whole: Option<Duration>,
    /// Between two frames of the body of a watch over HTTP/1.1.
    pub(super) idle: Option<Duration>,
}

impl DeadlineLimits {
    /// The limits of a request of this kind, derived from the general `limit`.
    pub(super) fn of(kind: RequestKind, limit: Duration) -> Self {
        let head = Some(limit);
        match kind {
            RequestKind::Short => Self { head, silence: Some(limit), ..Self::default() },
            RequestKind::Watch(seconds) => {
                let timeout = seconds.map(Duration::from_secs).filter(|timeout| *timeout <= MAX_DELAY);
                Self { head, whole: timeout.map(|timeout| timeout + limit), idle: Some(limit), silence: None }
            }
            RequestKind::FollowedLog | RequestKind::Proxied => Self::default(),
            RequestKind::Upgrade => Self { head, ..Self::default() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(55);

    #[test]
    fn each_kind_of_request_has_its_limits() {
        let head = Some(LIMIT);
        let short = DeadlineLimits { head, silence: Some(LIMIT), ..DeadlineLimits::default() };
        assert_eq!(DeadlineLimits::of(RequestKind::Short, LIMIT), short);
        let watch = |whole| DeadlineLimits { head, silence: None, whole, idle: Some(LIMIT) };
        assert_eq!(
            DeadlineLimits::of(RequestKind::Watch(Some(290)), LIMIT),
            watch(Some(Duration::from_secs(345)))
        );
        assert_eq!(DeadlineLimits::of(RequestKind::Watch(None), LIMIT), watch(None));
        assert_eq!(DeadlineLimits::of(RequestKind::Watch(Some(u64::MAX)), LIMIT), watch(None));
        assert_eq!(
            DeadlineLimits::of(RequestKind::Upgrade, LIMIT),
            DeadlineLimits { head, ..DeadlineLimits::default() }
        );
        assert_eq!(DeadlineLimits::of(RequestKind::FollowedLog, LIMIT), DeadlineLimits::default());
        assert_eq!(DeadlineLimits::of(RequestKind::Proxied, LIMIT), DeadlineLimits::default());
    }
}
