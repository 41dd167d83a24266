//! Reading one object, and reading a collection.

use crate::labels::Selector;

/// How stale the response to a read of one object may be. By default it is the most recent state.
///
/// ```
/// use kube_core::{Request, params::GetParams};
///
/// let maps = Request::new("/api/v1/namespaces/web/configmaps");
/// assert_eq!(maps.get("a", &GetParams::default())?.uri().query(), None);
/// assert_eq!(maps.get("a", &GetParams::any())?.uri().query(), Some("&resourceVersion=0"));
/// assert_eq!(maps.get("a", &GetParams::at("4711"))?.uri().query(), Some("&resourceVersion=4711"));
/// # Ok::<(), kube_core::request::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GetParams {
    /// `None` for the most recent state (a quorum read), `"0"` for any state in the server's cache, any other resourceVersion
    /// for a state that is not older. A server whose cache is older waits about three seconds and then responds with 504 and the
    /// reason `Timeout`.
    pub resource_version: Option<String>,
}

impl GetParams {
    /// Not older than this resourceVersion, for example that of an object just written.
    #[must_use]
    pub fn at(resource_version: &str) -> Self {
        Self { resource_version: Some(resource_version.into()) }
    }

    /// Any state: served from the server's cache without reading etcd, possibly stale.
    #[must_use]
    pub fn any() -> Self {
        Self::at("0")
    }
}

/// How the server applies the resourceVersion in [`ListParams`]: `resourceVersionMatch`, on the wire the variant's name.
///
/// ```
/// use kube_core::{Request, params::{ListParams, VersionMatch}};
///
/// let maps = Request::new("/api/v1/configmaps");
/// let recent = ListParams::default().at("42").matching(VersionMatch::NotOlderThan);
/// assert_eq!(maps.list(&recent)?.uri().query(), Some("&resourceVersion=42&resourceVersionMatch=NotOlderThan"));
/// let unversioned = ListParams::default().matching(VersionMatch::Exact);
/// assert!(maps.list(&unversioned).is_err(), "a match needs a version");
/// # Ok::<(), kube_core::request::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum VersionMatch {
    /// At least as new as the resourceVersion; with `"0"`, any state.
    NotOlderThan,
    /// Exactly the state of the resourceVersion, which must not be `"0"`; 410 if the server has compacted it.
    Exact,
}

/// Which objects of a collection are listed, the page size, and how stale the response may be.
///
/// By default: all objects, in one response, in their most recent state.
///
/// ```
/// use kube_core::{Request, Selector, params::ListParams};
///
/// let pods = Request::new("/api/v1/pods");
/// let selector: Selector = [("app", "web")].into_iter().collect();
/// let lp = ListParams::default().labels_from(&selector).fields("spec.nodeName=n1").limit(100);
/// assert_eq!(
///     pods.list(&lp)?.uri().query(),
///     Some("&fieldSelector=spec.nodeName%3Dn1&labelSelector=app%3Dweb&limit=100"),
/// );
///
/// // The next page: the same parameters with the token (`metadata.continue`) of the response.
/// let next = ListParams::default().limit(100).continue_token("eyJ2");
/// assert_eq!(pods.list(&next)?.uri().query(), Some("&limit=100&continue=eyJ2"));
///
/// // A limit wins over version 0, for which servers ignore the limit.
/// let first = ListParams::default().match_any().limit(100);
/// assert_eq!(pods.list(&first)?.uri().query(), Some("&limit=100"));
///
/// let cheap = ListParams::default().match_any();
/// assert_eq!(pods.list(&cheap)?.uri().query(), Some("&resourceVersion=0&resourceVersionMatch=NotOlderThan"));
/// # Ok::<(), kube_core::request::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListParams {
    /// Only objects whose labels match; see [`Selector`] for the syntax. `None` or empty for all. Not validated here: a server
    /// responds to a syntax error with 400.
    pub label_selector: Option<String>,
    /// Only objects whose fields match, such as `metadata.name=web` (`=`, `==` and `!=`, separated by commas). All kinds
    /// support `metadata.name`, namespaced kinds `metadata.namespace`, a few kinds more; the response to any other is 400.
    pub field_selector: Option<String>,
    /// Not sent: servers apply it to watches only.
    #[deprecated(since = "5.0.0", note = "no effect on lists; use `WatchParams::timeout`")]
    pub timeout: Option<u32>,
    /// The maximum number of objects per response; the next page needs the continue token of the response. `None` or 0 for no
    /// limit.
    pub limit: Option<u32>,
    /// Requests the page after an earlier response. The token determines the listed state, so
    /// [`resource_version`](Self::resource_version) and [`version_match`](Self::version_match) are not sent with it. It expires
    /// after some minutes; then the server responds with 410.
    pub continue_token: Option<String>,
    /// How the server applies [`resource_version`](Self::resource_version), which is then required.
    pub version_match: Option<VersionMatch>,
    /// `None` for the most recent state, `"0"` for any state in the server's cache (not sent with a limit, which servers would
    /// ignore), any other for a state that is not older (with a [`limit`](Self::limit) and no match, servers treat it as exact).
    pub resource_version: Option<String>,
}

impl ListParams {
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

    /// Sets the field that is not sent.
    #[must_use]
    #[deprecated(since = "5.0.0", note = "no effect on lists; use `WatchParams::timeout`")]
    #[expect(deprecated, reason = "the setter of a deprecated field")]
    pub fn timeout(mut self, timeout_secs: u32) -> Self {
        self.timeout = Some(timeout_secs);
        self
    }

    /// Sets the [`limit`](Self::limit) of objects per response.
    #[must_use]
    pub fn limit(mut self, limit: u32) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Sets the [continue token](crate::ListMeta::continue_) of an earlier response, to request the next page.
    #[must_use]
    pub fn continue_token(mut self, token: &str) -> Self {
        self.continue_token = Some(token.into());
        self
    }

    /// Sets the [`resource_version`](Self::resource_version); [`matching`](Self::matching) sets how the server applies it.
    #[must_use]
    pub fn at(mut self, resource_version: &str) -> Self {
        self.resource_version = Some(resource_version.into());
        self
    }

    /// Sets how the server applies the resourceVersion. Without a resourceVersion the request is an error.
    #[must_use]
    pub fn matching(mut self, version_match: VersionMatch) -> Self {
        self.version_match = Some(version_match);
        self
    }

    /// Any state in the server's cache: resourceVersion `"0"`, not older.
    ///
    /// Cheapest for the server and possibly stale. Servers ignore a [`limit`](Self::limit) for it, so with a limit the version is
    /// not sent, and the most recent state is listed in pages.
    #[must_use]
    pub fn match_any(self) -> Self {
        self.at("0").matching(VersionMatch::NotOlderThan)
    }
}
