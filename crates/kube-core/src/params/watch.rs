//! Following the changes of a collection.

use crate::labels::Selector;

/// Which objects are watched, for how long, and with which extra events.
///
/// By default: all of them, for 290 seconds, with bookmarks and without initial events.
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
/// assert!(pods.watch(&endless, "0").is_err(), "nothing would tell where the initial events end");
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
    /// Seconds after which the server ends the watch; `None` for 290, 0 leaves it to the server (half an hour to an hour).
    pub timeout: Option<u32>,
    /// Whether the server sends bookmarks, by which a later watch can go on without a list. On by default.
    ///
    /// Newer servers mark the end of the initial events also where none were asked for, in watches from the resource
    /// version `"0"` or without one.
    pub bookmarks: bool,
    /// Whether the watch begins with the present objects as `Added` events and ends them by a bookmark, so that no
    /// list is needed. Off by default; needs [`bookmarks`](Self::bookmarks) and Kubernetes 1.32 or a feature gate.
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
    /// Bookmarks and initial events: a watch that needs no list before it, and of which the server never holds a
    /// whole list in memory.
    pub fn streaming_lists() -> Self {
        Self::default().initial_events()
    }

    /// Sets [`label_selector`](Self::label_selector), replacing an earlier one.
    #[must_use]
    pub fn labels(mut self, label_selector: &str) -> Self {
        self.label_selector = Some(label_selector.into());
        self
    }

    /// Sets [`label_selector`](Self::label_selector) to the text of `selector`; one without conditions is sent empty and selects all.
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

    /// Lets the server end the watch, without an error, after so many seconds.
    #[must_use]
    pub fn timeout(mut self, timeout_secs: u32) -> Self {
        self.timeout = Some(timeout_secs);
        self
    }

    /// Asks for no bookmarks, so that a broken watch goes on from the last event of an object, however old.
    #[must_use]
    pub fn disable_bookmarks(mut self) -> Self {
        self.bookmarks = false;
        self
    }

    /// Sets [`send_initial_events`](Self::send_initial_events): begins with the present objects, ended by a bookmark
    /// annotated `k8s.io/initial-events-end`.
    #[must_use]
    pub fn initial_events(mut self) -> Self {
        self.send_initial_events = true;
        self
    }
}
