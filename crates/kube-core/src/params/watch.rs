//! Following the changes of a collection.

use crate::labels::Selector;

/// Which objects are watched, for how long, and with which extra events.
///
/// ```
/// use kube_core::params::WatchParams;
/// let wp = WatchParams::default().labels("app=web").timeout(290);
/// assert!(wp.bookmarks && !wp.send_initial_events);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct WatchParams {
    /// Only objects whose labels match; see [`Selector`] for the syntax.
    pub label_selector: Option<String>,
    /// Only objects whose fields match, such as `metadata.name=web`. Which fields there are depends on the kind.
    pub field_selector: Option<String>,
    /// Seconds after which the server ends the watch; `None` leaves it to the server (half an hour to an hour).
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
    /// Bookmarks and initial events: a watch that needs no list before it.
    pub fn streaming_lists() -> Self {
        Self::default().initial_events()
    }

    /// Only objects whose labels match.
    #[must_use]
    pub fn labels(mut self, label_selector: &str) -> Self {
        self.label_selector = Some(label_selector.into());
        self
    }

    /// Only objects whose labels match the selector.
    #[must_use]
    pub fn labels_from(mut self, selector: &Selector) -> Self {
        self.label_selector = Some(selector.to_string());
        self
    }

    /// Only objects whose fields match.
    #[must_use]
    pub fn fields(mut self, field_selector: &str) -> Self {
        self.field_selector = Some(field_selector.into());
        self
    }

    /// Lets the server end the watch after so many seconds.
    #[must_use]
    pub fn timeout(mut self, timeout_secs: u32) -> Self {
        self.timeout = Some(timeout_secs);
        self
    }

    /// No bookmarks: only for servers that do not know them.
    #[must_use]
    pub fn disable_bookmarks(mut self) -> Self {
        self.bookmarks = false;
        self
    }

    /// Begins with the present objects, ended by a bookmark.
    #[must_use]
    pub fn initial_events(mut self) -> Self {
        self.send_initial_events = true;
        self
    }
}
