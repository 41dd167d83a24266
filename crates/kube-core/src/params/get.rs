//! Reading one object.

/// How old the answer to a read of one object may be. By default it is the newest state.
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
    /// The age the answer may have: `None` for the newest state (a quorum read), `"0"` for any that the server has
    /// at hand, another version for one that is not older. A server that has not come that far waits for about
    /// three seconds and then answers 504 with the reason `Timeout`.
    pub resource_version: Option<String>,
}

impl GetParams {
    /// Not older than this resource version, such as that of an object just written.
    #[must_use]
    pub fn at(resource_version: &str) -> Self {
        Self { resource_version: Some(resource_version.into()) }
    }

    /// Of any age: served from the server's cache without asking the storage, possibly stale.
    #[must_use]
    pub fn any() -> Self {
        Self::at("0")
    }
}
