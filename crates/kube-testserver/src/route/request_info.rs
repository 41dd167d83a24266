use http::{Method, request::Parts};

use super::{Query, ResourcePath, Route};

/// What a request asks for, as far as its method and path say.
#[derive(Clone, Debug)]
pub(crate) struct RequestInfo {
    /// As RBAC names it: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`; the method in
    /// lower case where the path is no resource.
    pub(crate) verb: String,
    pub(crate) path: String,
    /// `None` where the path is no resource.
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
