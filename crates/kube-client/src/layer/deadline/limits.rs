//! How long the answers to a kind of request may take: pure.

use std::time::Duration;

use crate::delay::MAX_DELAY;
use crate::layer::nature::Nature;

/// How long things may take; `None` is for ever.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Limits {
    /// Until the head of the answer.
    pub(super) head: Option<Duration>,
    /// Between two pieces of the body.
    pub(super) silence: Option<Duration>,
    /// Until the end of the body.
    pub(super) whole: Option<Duration>,
    /// Between two pieces of the body of a watch over HTTP/1.1.
    pub(super) idle: Option<Duration>,
}

/// What holds for a request where `limit` is what holds in general.
pub(super) fn limits(nature: Nature, limit: Duration) -> Limits {
    let head = Some(limit);
    match nature {
        Nature::Call => Limits { head, silence: Some(limit), ..Limits::default() },
        Nature::Watch(seconds) => {
            let asked = seconds.map(Duration::from_secs).filter(|asked| *asked <= MAX_DELAY);
            Limits { head, whole: asked.map(|asked| asked + limit), idle: Some(limit), silence: None }
        }
        Nature::FollowedLog | Nature::Proxied => Limits::default(),
        Nature::Upgrade => Limits { head, ..Limits::default() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(55);

    #[test]
    fn what_may_be_quiet_is_left_alone() {
        let head = Some(LIMIT);
        let call = Limits { head, silence: Some(LIMIT), ..Limits::default() };
        assert_eq!(limits(Nature::Call, LIMIT), call);
        let watch = |whole| Limits { head, silence: None, whole, idle: Some(LIMIT) };
        assert_eq!(limits(Nature::Watch(Some(290)), LIMIT), watch(Some(Duration::from_secs(345))));
        assert_eq!(limits(Nature::Watch(None), LIMIT), watch(None));
        assert_eq!(limits(Nature::Watch(Some(u64::MAX)), LIMIT), watch(None));
        assert_eq!(limits(Nature::Upgrade, LIMIT), Limits { head, ..Limits::default() });
        assert_eq!(limits(Nature::FollowedLog, LIMIT), Limits::default());
        assert_eq!(limits(Nature::Proxied, LIMIT), Limits::default());
    }
}
