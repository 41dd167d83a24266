//! The builder itself.

use http::{
    Method,
    header::{ACCEPT, CONTENT_TYPE},
};

use super::{Error, path};
use crate::encode::Query;

/// Builds requests for the objects of one collection. Nothing is sent.
///
/// Every method checks its parameters: names and namespaces that no encoding makes safe, and what the server would
/// refuse for sure, are an [`Error::Validation`] that says what to change. What is valid and needs it is
/// percent-encoded. Requests carry a path and query without a host, and the headers `accept` and `content-type`;
/// everything about the connection is added when they are sent.
///
/// URLs are those of the 5.0 line to the byte, so that recorded ones stay valid: the order of parameters, `+` for a
/// space, `?` where parameters may follow, and `&` before each. Servers skip the empty parameter before the first `&`.
///
/// ```
/// use kube_core::{Request, params::{DeleteParams, GetParams, ListParams, Patch, PatchParams, PostParams, WatchParams}};
///
/// let maps = Request::new("/api/v1/namespaces/web/configmaps");
/// let line = |request: http::Request<Vec<u8>>| format!("{} {}", request.method(), request.uri());
///
/// let json = br#"{"metadata": {"name": "a"}}"#.to_vec();
/// assert_eq!(line(maps.create(&PostParams::default(), json.clone())?), "POST /api/v1/namespaces/web/configmaps?");
/// assert_eq!(line(maps.get("a", &GetParams::default())?), "GET /api/v1/namespaces/web/configmaps/a");
/// assert_eq!(line(maps.replace("a", &PostParams::default(), json)?), "PUT /api/v1/namespaces/web/configmaps/a?");
///
/// let patch = Patch::Merge(serde_json::json!({"metadata": {"labels": {"a": "b"}}}));
/// let patch = maps.patch("a", &PatchParams::default(), &patch)?;
/// assert_eq!(patch.headers()["content-type"], "application/merge-patch+json");
/// assert_eq!(patch.body(), br#"{"metadata":{"labels":{"a":"b"}}}"#);
///
/// let web = ListParams::default().labels("app=web");
/// assert_eq!(line(maps.list(&web)?), "GET /api/v1/namespaces/web/configmaps?&labelSelector=app%3Dweb");
/// let watch = maps.watch(&WatchParams::default(), "4711")?;
/// assert_eq!(watch.uri().query(), Some("&watch=true&timeoutSeconds=290&allowWatchBookmarks=true&resourceVersion=4711"));
///
/// assert_eq!(line(maps.delete("a", &DeleteParams::default())?), "DELETE /api/v1/namespaces/web/configmaps/a?");
/// let all = maps.delete_collection(&DeleteParams::background(), &web)?;
/// assert_eq!(line(all), "DELETE /api/v1/namespaces/web/configmaps?&labelSelector=app%3Dweb");
///
/// assert!(maps.get("../secrets", &GetParams::default()).is_err());
/// # Ok::<(), kube_core::request::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Request {
    /// The path of the collection, as [`Resource::url_path`](crate::Resource::url_path) gives it: encoded, without a
    /// slash at its end.
    pub url_path: String,
}

impl Request {
    /// For the collection at this path, which is checked by each request.
    pub fn new<S: Into<String>>(url_path: S) -> Self {
        Self { url_path: url_path.into() }
    }

    /// Begins a request on the collection.
    pub(crate) fn on_collection(&self, method: Method) -> Result<Draft, Error> {
        Ok(Draft { path: path::collection(&self.url_path)?, ..Draft::root(method) })
    }

    /// Begins a request on one object.
    pub(crate) fn on_object(&self, method: Method, name: &str) -> Result<Draft, Error> {
        self.on_collection(method)?.segment("the name", name)
    }

    /// Begins a request on a subresource of one object.
    pub(crate) fn on_subresource(&self, method: Method, name: &str, sub: &str) -> Result<Draft, Error> {
        self.on_object(method, name)?.segment("the subresource", sub)
    }
}

const JSON: &str = "application/json";

/// A request under construction: everything but its body.
pub(crate) struct Draft {
    method: Method,
    path: String,
    query: Option<Query>,
    accept: &'static str,
}

impl Draft {
    /// Begins at the root of the server.
    pub(crate) fn root(method: Method) -> Self {
        Self { method, path: String::new(), query: None, accept: JSON }
    }

    /// Goes one segment down the path, `what` names it in errors.
    pub(crate) fn segment(mut self, what: &str, segment: &str) -> Result<Self, Error> {
        path::push(&mut self.path, what, segment)?;
        Ok(self)
    }

    pub(crate) fn query(self, query: Query) -> Self {
        Self { query: Some(query), ..self }
    }

    pub(super) fn optional_query(self, query: Option<Query>) -> Self {
        Self { query, ..self }
    }

    pub(crate) fn accept(self, accept: &'static str) -> Self {
        Self { accept, ..self }
    }

    /// Ends a request without a body.
    pub(crate) fn empty(self) -> Result<http::Request<Vec<u8>>, Error> {
        self.finish(None, Vec::new())
    }

    /// Ends a request whose body is JSON.
    pub(crate) fn json(self, body: Vec<u8>) -> Result<http::Request<Vec<u8>>, Error> {
        self.body(JSON, body)
    }

    /// Ends a request with a body of this content type.
    pub(crate) fn body(
        self,
        content_type: &'static str,
        body: Vec<u8>,
    ) -> Result<http::Request<Vec<u8>>, Error> {
        self.finish(Some(content_type), body)
    }

    fn finish(
        self,
        content_type: Option<&'static str>,
        body: Vec<u8>,
    ) -> Result<http::Request<Vec<u8>>, Error> {
        let Self { method, path: mut uri, query, accept } = self;
        uri.push_str(query.as_ref().map_or("", Query::as_str));
        let mut builder = http::Request::builder().method(method).uri(uri).header(ACCEPT, accept);
        if let Some(content_type) = content_type {
            builder = builder.header(CONTENT_TYPE, content_type);
        }
        builder.body(body).map_err(Error::BuildRequest)
    }
}
