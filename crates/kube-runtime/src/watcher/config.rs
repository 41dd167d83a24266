//! The configuration of a watcher, and the request parameters that follow from it.

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
/// How much longer than its timeout a watch may be idle before it is given up.
const IDLE_TIMEOUT_MARGIN: Duration = Duration::from_secs(10);
/// A watch that lasted this long was healthy, even without changes, unless its timeout is shorter.
const HEALTHY_AFTER: Duration = Duration::from_secs(5);
/// How much before its timeout a server may end a watch.
const TIMEOUT_SLACK: Duration = Duration::from_secs(1);
/// How long a streaming list may be idle before the watcher assumes that the server does not support it.
const STREAMING_IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// How old the result of a list may be.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ListSemantic {
    /// The state at the time of the request. The server reads from a quorum of its storage.
    #[default]
    MostRecent,
    /// Any state in the server's cache: cheaper for the server, possibly a little old, and in one response without pages
    /// (`resourceVersion=0`, for which servers ignore a limit, so none is sent). A later list never shows a state older than one
    /// seen before: if the server no longer serves that version, the list is a most recent one.
    Any,
}

/// The oldest state that a list may show with [`ListSemantic::Any`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Freshness {
    /// Nothing was seen yet.
    Any,
    /// This version was seen and can be requested.
    NotOlderThan(String),
    /// Something was seen, and the server cannot serve that version. An older list would go back in time.
    MostRecent,
}

/// How a watcher reads the objects that exist at its start.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum InitialListStrategy {
    /// By LIST requests, page by page. Works with every server.
    #[default]
    ListWatch,
    /// By a watch that first sends the existing objects (`sendInitialEvents`). Needs less memory in client and server, and
    /// Kubernetes 1.32 or newer. Falls back to LIST, with an error in the stream, if the server refuses it or does not complete it.
    StreamingList,
}

/// The configuration of a [`watcher`](fn@super::watcher).
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
    /// Selects objects by label. Default: all.
    pub label_selector: Option<String>,
    /// Selects objects by field. Default: all. Servers support few fields besides name and namespace.
    pub field_selector: Option<String>,
    /// The server ends a watch after this many seconds; it is then resumed. Default, also for zero: 295.
    pub timeout: Option<u32>,
    /// How old the result of a list may be. Default: [`ListSemantic::MostRecent`].
    pub list_semantic: ListSemantic,
    /// How the existing objects are read at the start. Default: [`InitialListStrategy::ListWatch`].
    pub initial_list_strategy: InitialListStrategy,
    /// Objects per page of a list. Default: 500. `None` lists everything in one response.
    pub page_size: Option<u32>,
    /// Whether the server sends its current `resourceVersion` from time to time. Default: on. Without bookmarks, a watch on a
    /// kind with few changes relists more often.
    pub bookmarks: bool,
    /// Whether objects are decoded with `metadata.managedFields`. Default: true. See
    /// [`without_managed_fields`](Self::without_managed_fields).
    pub managed_fields: bool,
    /// The fields of objects that are skipped. Default: none. See [`prune`](Self::prune).
    pub prune: Prune,
    /// Over how long the relists of many clients are spread. Default: `None`. See [`relist_spread`](Self::relist_spread).
    pub relist_spread: Option<Duration>,
    /// Whether the cache of a controller keeps objects compressed. Default: false. See [`compact_cache`](Self::compact_cache).
    #[cfg(feature = "compact-cache")]
    pub compact_cache: bool,
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
            prune: Prune::default(),
            relist_spread: None,
            #[cfg(feature = "compact-cache")]
            compact_cache: false,
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

    /// Watches only objects whose labels match `selector`.
    #[must_use]
    pub fn labels_from(self, selector: &Selector) -> Self {
        self.labels(&selector.to_string())
    }

    /// Sets after how many seconds the server ends a watch; it is resumed at once.
    #[must_use]
    pub fn timeout(mut self, timeout_secs: u32) -> Self {
        self.timeout = Some(timeout_secs);
        self
    }

    /// Sets how old the result of a list may be.
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

    /// Drops `metadata.managedFields` from every object.
    ///
    /// The decoder skips them, which saves time and often a third of the memory of a cache. Only server-side apply uses them, and
    /// the server reads its own copy.
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

    /// Reads the existing objects by a watch: short for [`InitialListStrategy::StreamingList`].
    #[must_use]
    pub fn streaming_lists(mut self) -> Self {
        self.initial_list_strategy = InitialListStrategy::StreamingList;
        self
    }

    /// Also skips these fields of every object: the decoder never allocates them. What [`Api::prune`](kube_client::Api::prune) skips is
    /// skipped, too.
    ///
    /// ```
    /// use kube_client::client::Prune;
    /// use kube_runtime::watcher::Config;
    ///
    /// let config = Config::default().prune(Prune::default().managed_fields().last_applied().status());
    /// # drop(config);
    /// ```
    #[must_use]
    pub fn prune(mut self, prune: Prune) -> Self {
        self.prune = self.prune.and(&prune);
        self
    }

    /// Spreads relists over this time: a watch that has to list again waits before it, for a random part of `spread`.
    ///
    /// For programs that run many times, such as an agent on each node. When a server comes back after an outage, or its storage is
    /// restored, the versions of all of them have expired at one instant, and so all of them list at one instant. The first list of a
    /// process does not wait, nor does a watch that goes on from its version. Meanwhile the state before the outage is shown. A deletion
    /// that cannot be decoded is such an instant too: all of them receive it.
    ///
    /// ```
    /// use kube_runtime::watcher::Config;
    /// use std::time::Duration;
    ///
    /// let config = Config::default().relist_spread(Duration::from_secs(60));
    /// assert_eq!(config.relist_spread, Some(Duration::from_secs(60)));
    /// ```
    #[must_use]
    pub fn relist_spread(mut self, spread: Duration) -> Self {
        self.relist_spread = Some(spread);
        self
    }

    /// Keeps the objects of a controller's own [`store`](crate::Controller::store) compressed: see
    /// [`compact_store`](crate::reflector::compact_store) for what it saves and what a read costs. Streams of a
    /// [`watcher`](fn@super::watcher) are not affected.
    ///
    /// Each reconcile decodes its object, unless it was used recently. An object that cannot be decoded is an error in the output of the
    /// controller when it is to be reconciled.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::{Api, Client};
    /// use kube_runtime::{Controller, watcher};
    ///
    /// fn of_many(client: Client) -> Controller<ConfigMap> {
    ///     Controller::new(Api::all(client), watcher::Config::default().compact_cache())
    /// }
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/first_reconcile.rs"));
    /// # fn main() { first_reconcile(of_many); }
    /// ```
    #[cfg(feature = "compact-cache")]
    #[must_use]
    pub fn compact_cache(mut self) -> Self {
        self.compact_cache = true;
        self
    }

    /// Whether objects are to be kept compressed. Without the feature nothing can ask for it.
    #[cfg(feature = "compact-cache")]
    #[doc(hidden)]
    #[must_use]
    pub fn is_compact(&self) -> bool {
        self.compact_cache
    }

    #[cfg(not(feature = "compact-cache"))]
    #[doc(hidden)]
    #[must_use]
    pub fn is_compact(&self) -> bool {
        false
    }

    /// The fields that the decoder skips.
    pub(crate) fn pruned(&self) -> Prune {
        let prune = self.prune.clone();
        if self.managed_fields { prune } else { prune.managed_fields() }
    }

    /// The first page of a list, which must not be older than `freshness`.
    pub(super) fn first_page(&self, freshness: &Freshness) -> ListParams {
        let params = ListParams { limit: self.page_size, ..self.whole_list() };
        match (&self.list_semantic, freshness) {
            (ListSemantic::MostRecent, _) | (_, Freshness::MostRecent) => params,
            // Servers ignore a limit when they list from their cache.
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

    /// The page of this continue token.
    pub(super) fn next_page(&self, token: &str) -> ListParams {
        ListParams { limit: self.page_size, continue_token: Some(token.to_owned()), ..self.whole_list() }
    }

    /// All objects in one response, in their most recent state.
    pub(super) fn whole_list(&self) -> ListParams {
        ListParams {
            label_selector: self.label_selector.clone(),
            field_selector: self.field_selector.clone(),
            ..ListParams::default()
        }
    }

    /// A watch.
    pub(super) fn watch(&self) -> WatchParams {
        WatchParams {
            label_selector: self.label_selector.clone(),
            field_selector: self.field_selector.clone(),
            timeout: Some(self.timeout_secs()),
            bookmarks: self.bookmarks,
            send_initial_events: false,
        }
    }

    /// A streaming list. A bookmark completes it, so bookmarks are always on.
    pub(super) fn streaming_list(&self) -> WatchParams {
        WatchParams { bookmarks: true, send_initial_events: true, ..self.watch() }
    }

    /// The version of a streaming list, which must not be older than `freshness`.
    pub(super) fn streaming_version<'a>(&self, freshness: &'a Freshness) -> &'a str {
        match (&self.list_semantic, freshness) {
            (ListSemantic::MostRecent, _) | (_, Freshness::MostRecent) => "",
            (ListSemantic::Any, Freshness::Any) => "0",
            (ListSemantic::Any, Freshness::NotOlderThan(version)) => version,
        }
    }

    /// How long a watch may be idle before it is given up. The server should have ended it by then.
    pub(super) fn idle_timeout(&self) -> Duration {
        Duration::from_secs(self.timeout_secs().into()) + IDLE_TIMEOUT_MARGIN
    }

    /// How long a watch without changes has to last to be healthy.
    pub(super) fn healthy_after(&self) -> Duration {
        HEALTHY_AFTER.min(Duration::from_secs(self.timeout_secs().into()) / 2)
    }

    /// Whether a watch that lasted this long was ended by its timeout.
    pub(super) fn reached_timeout(&self, lasted: Duration) -> bool {
        lasted + TIMEOUT_SLACK >= Duration::from_secs(self.timeout_secs().into())
    }

    /// How long a streaming list may be idle before it is given up.
    pub(super) fn streaming_idle_timeout(&self) -> Duration {
        STREAMING_IDLE_TIMEOUT.min(self.idle_timeout())
    }

    fn timeout_secs(&self) -> u32 {
        self.timeout.filter(|seconds| *seconds > 0).unwrap_or(DEFAULT_TIMEOUT_SECS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube_core::labels::Expression;

    #[test]
    fn requests_carry_the_settings() {
        let config = Config::default()
            .fields("metadata.name=x")
            .labels_from(&Selector::from_iter([Expression::Equal("app".into(), "web".into())]))
            .page_size(7)
            .timeout(30)
            .disable_bookmarks();
        let (labels, fields) = (Some("app=web".to_owned()), Some("metadata.name=x".to_owned()));
        let list = || ListParams {
            label_selector: labels.clone(),
            field_selector: fields.clone(),
            ..ListParams::default()
        };
        assert_eq!(config.whole_list(), list());
        assert_eq!(config.first_page(&Freshness::Any), ListParams { limit: Some(7), ..list() });
        let second = ListParams { limit: Some(7), continue_token: Some("token".into()), ..list() };
        assert_eq!(config.next_page("token"), second);
        let watch = || WatchParams {
            label_selector: labels.clone(),
            field_selector: fields.clone(),
            timeout: Some(30),
            bookmarks: false,
            send_initial_events: false,
        };
        assert_eq!(config.watch(), watch());
        let streaming = WatchParams { bookmarks: true, send_initial_events: true, ..watch() };
        assert_eq!(config.streaming_list(), streaming);
        assert_eq!(config.pruned(), Prune::default());
        let without_status = config.prune(Prune::default().status()).without_managed_fields();
        assert_eq!(without_status.pruned(), Prune::default().status().managed_fields());
    }

    #[test]
    fn lists_from_the_cache_have_a_version_and_no_ignored_limit() {
        let config = Config::default().any_semantic();
        let from_cache = config.first_page(&Freshness::Any);
        assert_eq!((from_cache.resource_version.as_deref(), from_cache.limit), (Some("0"), None));
        let not_older = config.first_page(&Freshness::NotOlderThan("7".into()));
        assert_eq!(not_older.resource_version.as_deref(), Some("7"));
        assert_eq!(not_older.version_match, Some(VersionMatch::NotOlderThan));
        assert_eq!(not_older.limit, Some(DEFAULT_PAGE_SIZE));
    }
}
