//! Reading the objects of a collection.

use crate::labels::Selector;

/// How a resource version in [`ListParams`] is meant.
#[derive(Clone, Debug, PartialEq)]
pub enum VersionMatch {
    /// At least as new as the resource version.
    NotOlderThan,
    /// Exactly the state of the resource version, which must not be `"0"`.
    Exact,
}

/// Which objects of a collection are read, in what portions, and how old the answer may be.
///
/// ```
/// use kube_core::params::ListParams;
/// let page = ListParams::default().labels("app=web").limit(100);
/// assert_eq!(page.limit, Some(100));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListParams {
    /// Only objects whose labels match; see [`Selector`] for the syntax.
    pub label_selector: Option<String>,
    /// Only objects whose fields match, such as `metadata.name=web`. Which fields there are depends on the kind.
    pub field_selector: Option<String>,
    /// Has no effect.
    #[deprecated(since = "5.0.0", note = "no effect on lists; use `WatchParams::timeout`")]
    pub timeout: Option<u32>,
    /// At most so many objects per answer; the rest is fetched with the continue token of the answer.
    pub limit: Option<u32>,
    /// Goes on where an earlier answer ended. The token fixes the state that is listed, so
    /// [`resource_version`](Self::resource_version) and [`version_match`](Self::version_match) are not sent with it.
    pub continue_token: Option<String>,
    /// How [`resource_version`](Self::resource_version), which then must be there, is meant.
    pub version_match: Option<VersionMatch>,
    /// `None` for the newest state, `"0"` for any that the server has at hand.
    pub resource_version: Option<String>,
}

impl ListParams {
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

    /// Has no effect.
    #[must_use]
    #[deprecated(since = "5.0.0", note = "no effect on lists; use `WatchParams::timeout`")]
    #[expect(deprecated, reason = "the setter of a deprecated field")]
    pub fn timeout(mut self, timeout_secs: u32) -> Self {
        self.timeout = Some(timeout_secs);
        self
    }

    /// At most so many objects per answer.
    #[must_use]
    pub fn limit(mut self, limit: u32) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Goes on where the answer with this token ended.
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

    /// Says how the resource version is meant.
    #[must_use]
    pub fn matching(mut self, version_match: VersionMatch) -> Self {
        self.version_match = Some(version_match);
        self
    }

    /// Any state that the server has at hand: resource version `"0"`, not older.
    ///
    /// Cheapest for the server, possibly stale, and served whole: servers ignore the limit.
    #[must_use]
    pub fn match_any(self) -> Self {
        self.at("0").matching(VersionMatch::NotOlderThan)
    }
}
