//! What to request next to follow the states of one object. No I/O.

use std::time::Duration;

use kube_client::error::{Error, ErrorClass};
use kube_core::{DynamicObject, Status, WatchEvent};
use tokio::time::Instant;

/// How long requests may fail before the error ends the waiting.
const MAX_FAILURE_TIME: Duration = Duration::from_secs(60);

/// A watch that ends earlier and without an event counts as failed: a server that closes watches at once is not asked without a pause. One
/// that lasted longer has succeeded, although an object that does not change has no events.
const MIN_WATCH_TIME: Duration = Duration::from_secs(1);

/// Follows one object: a list, then watches from its version on; a list again if that version has expired.
#[derive(Debug, Default)]
pub(super) struct ObjectWatch {
    /// Where the next watch starts. Without it, the next request is a list.
    version: Option<String>,
    /// Requests that the server has answered before: lists, and watches.
    has_listed: bool,
    has_watched: bool,
    patience: Patience,
    /// When the watch started that has shown no event yet.
    silent_since: Option<Instant>,
}

/// For how long a request is sent again.
#[derive(Debug, Default)]
pub(super) struct Patience {
    failing_since: Option<Instant>,
}

impl Patience {
    pub(super) fn succeeded(&mut self) {
        self.failing_since = None;
    }

    /// A request has failed. What was allowed before will be again: a server that starts refuses users until it has read their roles, and
    /// does not serve custom resources at first; a token or a credential plugin may be late.
    pub(super) fn failed(&mut self, error: &Error, allowed_before: bool, now: Instant) -> Reaction {
        if ErrorClass::of(error).is_permanent() && !allowed_before {
            return Reaction::GiveUp;
        }
        let since = *self.failing_since.get_or_insert(now);
        match now.duration_since(since) >= MAX_FAILURE_TIME {
            true => Reaction::GiveUp,
            false => Reaction::Retry { after: error.retry_after() },
        }
    }
}

/// The next request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    List,
    Watch { version: String },
}

/// What an event means.
#[derive(Debug, PartialEq)]
pub(super) enum Effect {
    /// The object has changed.
    State(Box<DynamicObject>),
    /// The object was deleted in this state.
    Deleted(Box<DynamicObject>),
    /// Go on with this watch.
    Continue,
    /// The watch is over, with an error of the server.
    Failed(Box<Status>),
}

/// What to do after a request has ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reaction {
    /// Send the next one at once.
    Continue,
    /// Send the next one after this time, or after a backoff.
    Retry { after: Option<Duration> },
    /// It is useless.
    GiveUp,
}

impl ObjectWatch {
    pub(super) fn next(&self) -> Next {
        match &self.version {
            None => Next::List,
            Some(version) => Next::Watch { version: version.clone() },
        }
    }

    /// A list has succeeded; a server without versions has none.
    pub(super) fn listed(&mut self, version: Option<String>) {
        self.version = Some(version.unwrap_or_default());
        self.has_listed = true;
        self.patience.succeeded();
    }

    /// The next request is a list, for the present state.
    pub(super) fn forget(&mut self) {
        self.version = None;
        self.silent_since = None;
    }

    pub(super) fn watch_started(&mut self, now: Instant) {
        self.has_watched = true;
        self.silent_since = Some(now);
    }

    /// Whether the watch that ends now has succeeded: the failures before it count no more.
    pub(super) fn watch_lasted(&mut self, now: Instant) -> bool {
        let lasted = self.silent_since.is_some_and(|since| now >= since + MIN_WATCH_TIME);
        if lasted {
            self.patience.succeeded();
        }
        lasted
    }

    pub(super) fn event(&mut self, event: WatchEvent<DynamicObject>) -> Effect {
        let (version, effect) = match event {
            WatchEvent::Error(status) => return Effect::Failed(status),
            WatchEvent::Bookmark(bookmark) => (Some(bookmark.metadata.resource_version), Effect::Continue),
            WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                (object.metadata.resource_version.clone(), Effect::State(Box::new(object)))
            }
            WatchEvent::Deleted(object) => {
                (object.metadata.resource_version.clone(), Effect::Deleted(Box::new(object)))
            }
        };
        self.version = version.or(self.version.take());
        self.patience.succeeded();
        self.silent_since = None;
        effect
    }

    /// The watch has ended without an error.
    pub(super) fn watch_ended(&mut self, now: Instant) -> Reaction {
        let lasted = self.watch_lasted(now);
        match self.silent_since.take() {
            Some(_) if !lasted => Reaction::Retry { after: None },
            _ => Reaction::Continue,
        }
    }

    /// A request or an open watch has failed.
    pub(super) fn failed(&mut self, error: &Error, now: Instant) -> Reaction {
        let allowed_before = if self.version.is_some() { self.has_watched } else { self.has_listed };
        let class = ErrorClass::of(error);
        if class.invalidates_version() || class == ErrorClass::InvalidRequest {
            self.version = None;
        }
        self.watch_lasted(now);
        self.silent_since = None;
        self.patience.failed(error, allowed_before, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(version: &str) -> DynamicObject {
        serde_json::from_value(serde_json::json!({ "metadata": { "resourceVersion": version } })).unwrap()
    }

    fn listed() -> ObjectWatch {
        let mut machine = ObjectWatch::default();
        assert_eq!(machine.next(), Next::List);
        machine.listed(Some("1".into()));
        machine
    }

    fn api_error(code: u16) -> Error {
        Error::Api(Status::failure("no", "").with_code(code).boxed())
    }

    fn watch(version: &str) -> Next {
        Next::Watch { version: version.into() }
    }

    #[test]
    fn a_watch_resumes_from_the_last_version() {
        let (mut machine, now) = (listed(), Instant::now());
        assert_eq!(machine.next(), watch("1"));
        machine.watch_started(now);
        assert!(matches!(machine.event(WatchEvent::Modified(object("2"))), Effect::State(_)));
        assert_eq!(machine.watch_ended(now), Reaction::Continue);
        assert_eq!(machine.next(), watch("2"));
        assert_eq!(machine.event(WatchEvent::Deleted(object("3"))), Effect::Deleted(Box::new(object("3"))));
        assert_eq!(machine.next(), watch("3"));
        let bookmark = serde_json::from_str(
            r#"{"type":"BOOKMARK","object":{"apiVersion":"v1","kind":"Pod","metadata":{"resourceVersion":"9"}}}"#,
        );
        assert_eq!(machine.event(bookmark.unwrap()), Effect::Continue);
        assert_eq!(machine.next(), watch("9"));
        assert!(matches!(machine.failed(&api_error(500), now), Reaction::Retry { after: None }));
        assert_eq!(machine.next(), watch("9"));
    }

    #[test]
    fn an_expired_version_needs_a_list() {
        let mut machine = listed();
        assert_eq!(machine.failed(&api_error(410), Instant::now()), Reaction::Retry { after: None });
        assert_eq!(machine.next(), Next::List);
        let mut without_versions = ObjectWatch::default();
        without_versions.listed(None);
        assert_eq!(without_versions.next(), watch(""));
    }

    #[test]
    fn a_watch_that_ends_at_once_waits_before_the_next() {
        let (mut machine, now) = (listed(), Instant::now());
        machine.watch_started(now);
        assert_eq!(machine.watch_ended(now), Reaction::Retry { after: None });
        machine.watch_started(now);
        assert_eq!(machine.watch_ended(now + Duration::from_secs(290)), Reaction::Continue);
    }

    #[test]
    fn it_gives_up_at_once_where_it_is_useless_and_else_after_a_minute() {
        let now = Instant::now();
        for code in [400, 401, 403, 404, 405, 422] {
            assert_eq!(ObjectWatch::default().failed(&api_error(code), now), Reaction::GiveUp, "{code}");
            assert_eq!(
                listed().failed(&api_error(code), now),
                Reaction::GiveUp,
                "no watch has begun: {code}"
            );
        }
        // Not the kind, but the namespace, which may be created.
        let absent = Status::failure("namespaces \"a\" not found", "NotFound").with_code(404).boxed();
        assert_eq!(listed().failed(&Error::Api(absent), now), Reaction::Retry { after: None });
        let mut machine = listed();
        for code in [408, 409, 429, 500, 503, 410] {
            assert_eq!(machine.failed(&api_error(code), now), Reaction::Retry { after: None }, "{code}");
        }
        machine.listed(None);
        let minute = Duration::from_secs(60);
        assert_eq!(
            machine.failed(&api_error(500), now + minute),
            Reaction::Retry { after: None },
            "it had succeeded"
        );
        assert_eq!(machine.failed(&api_error(500), now + minute * 2), Reaction::GiveUp);
    }

    /// A server that starts knows neither its roles nor its custom resources; a plugin for credentials fails once.
    #[test]
    fn what_was_allowed_before_will_be_again() {
        let now = Instant::now();
        let plugin = Error::Auth(kube_client::client::AuthError::UnrefreshableTokenResponse);
        let errors = [400, 401, 403, 404, 405, 422].map(api_error).into_iter().chain([plugin]);
        for error in errors {
            let mut machine = listed();
            machine.watch_started(now);
            assert_eq!(machine.failed(&error, now), Reaction::Retry { after: None }, "{error}");
            assert_eq!(machine.failed(&error, now), Reaction::Retry { after: None }, "{error}");
            assert_eq!(machine.failed(&error, now + MAX_FAILURE_TIME), Reaction::GiveUp, "{error}");
        }
    }

    /// Rolling restarts, and balancers that cut every connection after a while: each reconnect succeeds, and the object does not change.
    #[test]
    fn quiet_watches_that_are_cut_again_and_again_are_no_failure() {
        let (mut machine, mut now) = (listed(), Instant::now());
        for cut in 0..100 {
            machine.watch_started(now);
            now += Duration::from_secs(35);
            assert_eq!(machine.failed(&api_error(500), now), Reaction::Retry { after: None }, "{cut}");
        }
        // Watches that are cut at once are.
        for _ in 0..60 {
            machine.watch_started(now);
            now += Duration::from_millis(999);
            machine.failed(&api_error(500), now);
        }
        machine.watch_started(now);
        assert_eq!(machine.failed(&api_error(500), now + Duration::from_millis(999)), Reaction::GiveUp);
    }

    #[test]
    fn retry_after_is_honoured() {
        let details = serde_json::from_str(r#"{"retryAfterSeconds":7}"#).unwrap();
        let status = Status::failure("busy", "TooManyRequests").with_code(429).with_details(details);
        let after = Some(Duration::from_secs(7));
        assert_eq!(listed().failed(&Error::Api(status.boxed()), Instant::now()), Reaction::Retry { after });
    }
}
