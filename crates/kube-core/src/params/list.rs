//! Reading the objects of a collection.

use crate::labels::Selector;

/// How a resource version in [`ListParams`] is meant: `resourceVersionMatch` on the wire, as the name of the variant.
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
    /// At least as new as the resource version; with `"0"`, any state.
    NotOlderThan,
    /// Exactly the state of the resource version, which must not be `"0"`; 410 where the server has compacted it.
    Exact,
}

/// Which objects of a collection are read, in what portions, and how old the answer may be.
///
/// By default: all of them, in one answer, in the newest state.
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
/// // The next page: the same parameters with the token (`metadata.continue`) of the answer.
/// let next = ListParams::default().limit(100).continue_token("eyJ2");
/// assert_eq!(pods.list(&next)?.uri().query(), Some("&limit=100&continue=eyJ2"));
///
/// // A limit wins: servers would answer version 0 whole.
/// let first = ListParams::default().match_any().limit(100);
/// assert_eq!(pods.list(&first)?.uri().query(), Some("&limit=100"));
///
/// let cheap = ListParams::default().match_any();
/// assert_eq!(pods.list(&cheap)?.uri().query(), Some("&resourceVersion=0&resourceVersionMatch=NotOlderThan"));
/// # Ok::<(), kube_core::request::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListParams {
    /// Only objects whose labels match; see [`Selector`] for the syntax. `None` or empty for all. Not checked here:
    /// a server answers 400 to another syntax.
    pub label_selector: Option<String>,
    /// Only objects whose fields match, such as `metadata.name=web` (`=`, `==` and `!=`, joined by commas). All kinds
    /// have `metadata.name`, those in namespaces `metadata.namespace`, a few have more; a server answers 400 to others.
    pub field_selector: Option<String>,
    /// Not sent: servers look at it in watches only.
    #[deprecated(since = "5.0.0", note = "no effect on lists; use `WatchParams::timeout`")]
    pub timeout: Option<u32>,
    /// At most so many objects per answer; the rest is fetched with the continue token of the answer. `None` or 0 for
    /// all at once.
    pub limit: Option<u32>,
    /// Goes on where an earlier answer ended. The token fixes the state that is listed, so
    /// [`resource_version`](Self::resource_version) and [`version_match`](Self::version_match) are not sent with it.
    /// It is good for some minutes; then the server answers 410.
    pub continue_token: Option<String>,
    /// How [`resource_version`](Self::resource_version), which then must be there, is meant.
    pub version_match: Option<VersionMatch>,
    /// `None` for the newest state, `"0"` for any that the server has at hand (not sent with a limit, which servers would
    /// ignore), another version for one not older
    /// (with a [`limit`](Self::limit) and no match, servers take it as exact).
    pub resource_version: Option<String>,
}

impl ListParams {
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

    /// Sets the field that is not sent.
    #[must_use]
    #[deprecated(since = "5.0.0", note = "no effect on lists; use `WatchParams::timeout`")]
    #[expect(deprecated, reason = "the setter of a deprecated field")]
    pub fn timeout(mut self, timeout_secs: u32) -> Self {
        self.timeout = Some(timeout_secs);
        self
    }

    /// Sets the [`limit`](Self::limit) of objects per answer.
    #[must_use]
    pub fn limit(mut self, limit: u32) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Sets the token of an earlier answer, [`ListMeta::continue_`](crate::ListMeta), to read on where it ended.
    #[must_use]
    pub fn continue_token(mut self, token: &str) -> Self {
        self.continue_token = Some(token.into());
        self
    }

    /// Sets the resource version; [`matching`](Self::matching) says how it is meant.
    #[must_use]
    pub fn at(mut self, resource_version: &str) -> Self {
        self.resource_version = Some(resource_version.into());
        self
    }

    /// Says how the resource version is meant, without which the request is refused.
    #[must_use]
    pub fn matching(mut self, version_match: VersionMatch) -> Self {
        self.version_match = Some(version_match);
        self
    }

    /// Any state that the server has at hand: resource version `"0"`, not older.
    ///
    /// Cheapest for the server, possibly stale, and served whole: servers ignore a [`limit`](Self::limit) there. So where
    /// one is set, it wins, and the version is not sent: the newest state is read, in pages.
    #[must_use]
    pub fn match_any(self) -> Self {
        self.at("0").matching(VersionMatch::NotOlderThan)
    }
}
