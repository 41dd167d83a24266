//! Verb and resource of a request, from its method and path.

use http::{Method, request::Parts};

use super::{Query, ResourcePath, Route};

/// Verb and resource of a request, from its method and path.
#[derive(Clone, Debug)]
pub(crate) struct RequestInfo {
    /// The verb of RBAC: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`; the lower-case method for
    /// non-resource paths.
    pub(crate) verb: String,
    pub(crate) path: String,
    /// `None` for non-resource paths.
    pub(crate) resource: Option<ResourcePath>,
}

impl RequestInfo {
    pub(crate) fn of(parts: &Parts) -> Self {
        let path = parts.uri.path().to_string();
        let Route::Resource(resource) = Route::parse(&path) else {
            return Self { verb: parts.method.as_str().to_ascii_lowercase(), path, resource: None };
        };
        let named = resource.name.is_some();
        let watches = || Query::parse(parts.uri.query().unwrap_or_default()).flag("watch");
        let verb = match parts.method {
            Method::GET | Method::HEAD if named => "get",
            Method::GET if watches() => "watch",
            Method::GET | Method::HEAD => "list",
            Method::POST => "create",
            Method::PUT => "update",
            Method::PATCH => "patch",
            Method::DELETE if named => "delete",
            Method::DELETE => "deletecollection",
            _ => "",
        };
        Self { verb: verb.into(), path, resource: Some(resource) }
    }
}
