//! Watching a collection.

use crate::labels::Selector;

/// Which objects are watched, for how long, and with which additional events.
///
/// By default: all objects, for 290 seconds, with bookmarks and without initial events.
///
/// ```
/// use kube_core::{Request, Selector, params::WatchParams};
///
/// let pods = Request::new("/api/v1/pods");
/// let wp = WatchParams::default().labels("app=web").fields("spec.nodeName=n1").timeout(60);
/// assert!(wp.bookmarks && !wp.send_initial_events);
/// assert_eq!(
///     pods.watch(&wp, "4711")?.uri().query(),
///     Some("&watch=true&timeoutSeconds=60&fieldSelector=spec.nodeName%3Dn1&labelSelector=app%3Dweb\
///           &allowWatchBookmarks=true&resourceVersion=4711"),
/// );
///
/// let everything: Selector = Selector::default();
/// assert_eq!(WatchParams::streaming_lists(), WatchParams::default().initial_events());
/// let endless = WatchParams::streaming_lists().labels_from(&everything).disable_bookmarks();
/// assert!(pods.watch(&endless, "0").is_err(), "only a bookmark marks the end of the initial events");
/// # Ok::<(), kube_core::request::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct WatchParams {
    /// Only objects whose labels match; see [`Selector`] for the syntax. `None` or empty for all. An object that no
    /// longer matches is reported as deleted.
    pub label_selector: Option<String>,
    /// Only objects whose fields match, such as `metadata.name=web`; see
    /// [`ListParams::field_selector`](super::ListParams::field_selector).
    pub field_selector: Option<String>,
    /// Seconds after which the server ends the watch; `None` for 290, 0 for the server's default (half an hour to an hour).
    pub timeout: Option<u32>,
    /// Whether the server sends bookmarks, from which a later watch can resume without a list. On by default.
    ///
    /// Newer servers mark the end of the initial events even if none were requested, in watches from resourceVersion `"0"` or
    /// without one.
    pub bookmarks: bool,
    /// Whether the watch starts with all existing objects as `Added` events, followed by a bookmark, so that no list is needed.
    /// Off by default; requires [`bookmarks`](Self::bookmarks) and Kubernetes 1.32 or a feature gate.
    pub send_initial_events: bool,
}

impl Default for WatchParams {
    fn default() -> Self {
        Self {
            label_selector: None,
            field_selector: None,
            timeout: None,
            bookmarks: true,
            send_initial_events: false,
        }
    }
}

impl WatchParams {
    /// With bookmarks and initial events: a watch that needs no list before it, so that the server never holds a whole list in
    /// memory.
    pub fn streaming_lists() -> Self {
        Self::default().initial_events()
    }

    /// Sets [`label_selector`](Self::label_selector), replacing an earlier one.
    #[must_use]
    pub fn labels(mut self, label_selector: &str) -> Self {
        self.label_selector = Some(label_selector.into());
        self
    }

    /// Sets [`label_selector`](Self::label_selector) to `selector`. One without conditions is sent empty and selects all.
    #[must_use]
    pub fn labels_from(mut self, selector: &Selector) -> Self {
        self.label_selector = Some(selector.to_string());
        self
    }

    /// Sets [`field_selector`](Self::field_selector), replacing an earlier one.
    #[must_use]
    pub fn fields(mut self, field_selector: &str) -> Self {
        self.field_selector = Some(field_selector.into());
        self
    }

    /// Sets the seconds after which the server ends the watch, without an error.
    #[must_use]
    pub fn timeout(mut self, timeout_secs: u32) -> Self {
        self.timeout = Some(timeout_secs);
        self
    }

    /// Disables bookmarks: an interrupted watch then resumes from the last object event, however old.
    #[must_use]
    pub fn disable_bookmarks(mut self) -> Self {
        self.bookmarks = false;
        self
    }

    /// Sets [`send_initial_events`](Self::send_initial_events): the watch starts with the existing objects, followed by a
    /// bookmark with the annotation `k8s.io/initial-events-end`.
    #[must_use]
    pub fn initial_events(mut self) -> Self {
        self.send_initial_events = true;
        self
    }
}
