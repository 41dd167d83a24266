//! What to watch, and how.

use kube_client::client::Prune;
use kube_core::{
    labels::Selector,
    params::{ListParams, VersionMatch, WatchParams},
};
use std::time::Duration;

/// `timeoutSeconds` of a watch unless configured: just under the five minutes after which many proxies cut it.
const DEFAULT_TIMEOUT_SECS: u32 = 295;
/// Objects per page of a list unless configured.
const DEFAULT_PAGE_SIZE: u32 = 500;
/// How much longer than its timeout a watch may be silent before it counts as dead.
const SILENCE_MARGIN: Duration = Duration::from_secs(10);
/// A watch that lived so long was a good one, even without news, unless its timeout is shorter.
const GOOD_LIFE: Duration = Duration::from_secs(5);
/// How much earlier than asked a server may end a watch whose timeout is over.
const TIMEOUT_SLACK: Duration = Duration::from_secs(1);
/// How long the initial events of a streaming list may pause before the server is taken not to support it.
const STREAMING_SILENCE: Duration = Duration::from_secs(30);

/// Which answer of the server is good enough for a list.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ListSemantic {
    /// The state at the time of the request. The server reads from a quorum of its storage.
    #[default]
    MostRecent,
    /// Any state the server has in its cache: cheaper for the server, possibly a little old, and in one answer without
    /// pages (`resourceVersion=0`, which servers answer without regard to a limit, so none is sent). A later list never shows a
    /// state older than what was seen before: where the server no longer serves that version, the list is a most recent one.
    Any,
}

/// What a list has to show at least, where an old answer would do ([`ListSemantic::Any`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Freshness {
    /// Nothing was seen yet.
    Any,
    /// This version was seen, and can be asked for.
    NotOlderThan(String),
    /// Something was seen, and the server cannot serve that version: any other answer could go back in time.
    MostRecent,
}

/// How a watcher learns which objects are there at its start.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum InitialListStrategy {
    /// By LIST requests, page by page. Works with every server.
    #[default]
    ListWatch,
    /// By a watch that first sends what exists (`sendInitialEvents`). Needs less memory on both sides, and Kubernetes
    /// 1.32 or newer. Falls back to LIST, with an error in the stream, where the server refuses it or never ends it.
    StreamingList,
}

/// What a [`watcher`](fn@super::watcher) watches, and how.
///
/// ```
/// use kube_runtime::watcher::Config;
///
/// let config = Config::default().labels("app=web").page_size(100).any_semantic();
/// assert_eq!(config.label_selector.as_deref(), Some("app=web"));
/// assert!(config.bookmarks, "bookmarks are on unless disabled");
///
/// let one_node = Config::default().fields("spec.nodeName=worker-1").timeout(60).streaming_lists();
/// assert_ne!(one_node, one_node.clone().disable_bookmarks());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Only objects whose labels match. Default: all.
    pub label_selector: Option<String>,
    /// Only objects whose fields match. Default: all. Servers support few fields besides name and namespace.
    pub field_selector: Option<String>,
    /// After how many seconds the server ends a watch, which is then resumed. Default, and meaning of zero: 295.
    pub timeout: Option<u32>,
    /// How old the answer to a list may be. Default: [`ListSemantic::MostRecent`].
    pub list_semantic: ListSemantic,
    /// How the objects present at the start are read. Default: [`InitialListStrategy::ListWatch`].
    pub initial_list_strategy: InitialListStrategy,
    /// Objects per page of a list. Default: 500. `None` lists everything at once.
    pub page_size: Option<u32>,
    /// Whether the server reports the present `resourceVersion` now and then. Default: on. Without, a watch on a
    /// quiet kind has to list again more often.
    pub bookmarks: bool,
    /// Whether objects come with `metadata.managedFields`. Default: they do. See
    /// [`without_managed_fields`](Self::without_managed_fields).
    pub managed_fields: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            label_selector: None,
            field_selector: None,
            timeout: None,
            list_semantic: ListSemantic::default(),
            initial_list_strategy: InitialListStrategy::default(),
            page_size: Some(DEFAULT_PAGE_SIZE),
            bookmarks: true,
            managed_fields: true,
        }
    }
}

impl Config {
    /// Watches only objects whose fields match, such as `metadata.name=web`.
    #[must_use]
    pub fn fields(mut self, field_selector: &str) -> Self {
        self.field_selector = Some(field_selector.to_owned());
        self
    }

    /// Watches only objects whose labels match, such as `app=web,tier!=cache`.
    #[must_use]
    pub fn labels(mut self, label_selector: &str) -> Self {
        self.label_selector = Some(label_selector.to_owned());
        self
    }

    /// Watches only objects whose labels match a selector that was built in code.
    #[must_use]
    pub fn labels_from(self, selector: &Selector) -> Self {
        self.labels(&selector.to_string())
    }

    /// Lets the server end each watch after so many seconds; it is resumed at once.
    #[must_use]
    pub fn timeout(mut self, timeout_secs: u32) -> Self {
        self.timeout = Some(timeout_secs);
        self
    }

    /// Sets how old the answer to a list may be.
    #[must_use]
    pub fn list_semantic(mut self, semantic: ListSemantic) -> Self {
        self.list_semantic = semantic;
        self
    }

    /// Accepts lists from the server's cache: short for [`ListSemantic::Any`].
    #[must_use]
    pub fn any_semantic(self) -> Self {
        self.list_semantic(ListSemantic::Any)
    }

    /// Turns bookmarks off.
    #[must_use]
    pub fn disable_bookmarks(mut self) -> Self {
        self.bookmarks = false;
        self
    }

    /// Leaves `metadata.managedFields` out of every object, which is then seen without.
    ///
    /// They are passed over in what the server sends and never built: that saves time, and often a third of a cache. Only
    /// server-side apply has a use for them, and it reads its own.
    ///
    /// ```
    /// use kube_runtime::watcher::Config;
    /// assert!(!Config::default().without_managed_fields().managed_fields);
    /// ```
    #[must_use]
    pub fn without_managed_fields(mut self) -> Self {
        self.managed_fields = false;
        self
    }

    /// Sets the number of objects per page of a list.
    #[must_use]
    pub fn page_size(mut self, page_size: u32) -> Self {
        self.page_size = Some(page_size);
        self
    }

    /// Reads the objects present at the start by a watch: short for [`InitialListStrategy::StreamingList`].
    #[must_use]
    pub fn streaming_lists(mut self) -> Self {
        self.initial_list_strategy = InitialListStrategy::StreamingList;
        self
    }

    /// What of each object is passed over.
    pub(super) fn prune(&self) -> Prune {
        if self.managed_fields { Prune::default() } else { Prune::managed_fields() }
    }

    /// The first page. Where an old answer would do, of this freshness at least.
    pub(super) fn first_page(&self, freshness: &Freshness) -> ListParams {
        let params = ListParams { limit: self.page_size, ..self.whole_list() };
        match (&self.list_semantic, freshness) {
            (ListSemantic::MostRecent, _) | (_, Freshness::MostRecent) => params,
            // Servers answer from their cache without pages, whatever the limit.
            (ListSemantic::Any, Freshness::Any) => {
                ListParams { resource_version: Some("0".to_owned()), limit: None, ..params }
            }
            (ListSemantic::Any, Freshness::NotOlderThan(version)) => ListParams {
                resource_version: Some(version.clone()),
                version_match: Some(VersionMatch::NotOlderThan),
                ..params
            },
        }
    }

    /// The page that `token` stands for.
    pub(super) fn next_page(&self, token: &str) -> ListParams {
        ListParams { limit: self.page_size, continue_token: Some(token.to_owned()), ..self.whole_list() }
    }

    /// Everything, in one answer, as it is now.
    pub(super) fn whole_list(&self) -> ListParams {
        ListParams {
            label_selector: self.label_selector.clone(),
            field_selector: self.field_selector.clone(),
            ..ListParams::default()
        }
    }

    /// Changes from a version on.
    pub(super) fn watch(&self) -> WatchParams {
        WatchParams {
            label_selector: self.label_selector.clone(),
            field_selector: self.field_selector.clone(),
            timeout: Some(self.timeout_secs()),
            bookmarks: self.bookmarks,
            send_initial_events: false,
        }
    }

    /// Everything there is, then changes. The end of the first part is a bookmark, so they cannot be off.
    pub(super) fn streaming_list(&self) -> WatchParams {
        WatchParams { bookmarks: true, send_initial_events: true, ..self.watch() }
    }

    /// The version to start a streaming list from: it shows a state that is no older.
    pub(super) fn streaming_version<'a>(&self, freshness: &'a Freshness) -> &'a str {
        match (&self.list_semantic, freshness) {
            (ListSemantic::MostRecent, _) | (_, Freshness::MostRecent) => "",
            (ListSemantic::Any, Freshness::Any) => "0",
            (ListSemantic::Any, Freshness::NotOlderThan(version)) => version,
        }
    }

    /// How long a watch may be silent before it counts as dead: it should have ended by itself.
    pub(super) fn silence(&self) -> Duration {
        Duration::from_secs(self.timeout_secs().into()) + SILENCE_MARGIN
    }

    /// How long a watch has to last to be a good one, even without news.
    pub(super) fn good_life(&self) -> Duration {
        GOOD_LIFE.min(Duration::from_secs(self.timeout_secs().into()) / 2)
    }

    /// Whether a watch that lasted so long has ended because its timeout was over.
    pub(super) fn is_full_life(&self, lasted: Duration) -> bool {
        lasted + TIMEOUT_SLACK >= Duration::from_secs(self.timeout_secs().into())
    }

    /// How long a streaming list may be silent before its end.
    pub(super) fn streaming_silence(&self) -> Duration {
        STREAMING_SILENCE.min(self.silence())
    }

    fn timeout_secs(&self) -> u32 {
        self.timeout.filter(|seconds| *seconds > 0).unwrap_or(DEFAULT_TIMEOUT_SECS)
    }
}
