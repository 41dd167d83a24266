//! Reading one object.

/// How one object is read.
///
/// ```
/// use kube_core::params::GetParams;
/// assert_eq!(GetParams::any().resource_version.as_deref(), Some("0"));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GetParams {
    /// The age the answer may have: `None` for the newest state, `"0"` for any that the server has at hand, another
    /// version for one that is not older.
    pub resource_version: Option<String>,
}

impl GetParams {
    /// Not older than this resource version.
    #[must_use]
    pub fn at(resource_version: &str) -> Self {
        Self { resource_version: Some(resource_version.into()) }
    }

    /// Of any age: cheapest for the server, possibly stale.
    #[must_use]
    pub fn any() -> Self {
        Self::at("0")
    }
}
