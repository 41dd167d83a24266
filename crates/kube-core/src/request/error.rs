//! Errors of building a request.

/// A request cannot be built. Nothing has been sent, and a retry does not help.
///
/// ```
/// use kube_core::{Request, params::{GetParams, ListParams, Patch, PatchParams}, request::Error};
/// use std::collections::BTreeMap;
///
/// let maps = Request::new("/api/v1/namespaces/web/configmaps");
/// let Err(Error::Validation(why)) = maps.get("", &GetParams::default()) else { panic!("expected an error") };
/// assert_eq!(why, r#"the name "" must not be empty, `.`, `..`, or contain a slash or a percent sign"#);
///
/// let no_json = Patch::Merge(BTreeMap::from([((1, 2), "the key is no string")]));
/// let rejected = maps.patch("a", &PatchParams::default(), &no_json);
/// assert!(matches!(rejected, Err(Error::SerializeBody(_))));
///
/// let no_uri = Request::new("/api/v1/config maps").list(&ListParams::default());
/// assert!(matches!(no_uri, Err(Error::BuildRequest(_))));
/// ```
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The result is no valid HTTP request: [`Request::url_path`](crate::Request::url_path) is no valid path.
    #[error("failed to build request: {0}")]
    BuildRequest(#[source] http::Error),

    /// The body has no JSON form; the source says why.
    #[error("failed to serialize body: {0}")]
    SerializeBody(#[source] serde_json::Error),

    /// Every server rejects the parameters, or a proxy may change the path; the text says what to change.
    #[error("failed to validate request: {0}")]
    Validation(String),
}

impl Error {
    pub(crate) fn invalid(what: impl Into<String>) -> Self {
        Self::Validation(what.into())
    }
}
