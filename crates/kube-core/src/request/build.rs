//! The builder of requests, and the paths that it accepts.

use http::{
    HeaderValue, Method, Uri,
    header::{ACCEPT, CONTENT_TYPE},
};

use super::Error;
use crate::encode::{Query, path_segment};

/// Builds requests for the objects of one collection. It sends nothing.
///
/// Every method validates its parameters: names and namespaces that are unsafe in a path even if encoded, and values that
/// every server rejects, are an [`Error::Validation`] that says what to change. All other names are percent-encoded.
/// Requests have a path and query without a host, and the headers `accept` and `content-type`; the client adds the rest.
///
/// URLs are byte-identical to those of kube 5.0, so that recorded ones stay valid: the order of parameters, `+` for a space,
/// `?` even without parameters, and `&` before each. Servers skip the empty parameter before the first `&`.
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
    /// The path of the collection, as returned by [`Resource::url_path`](crate::Resource::url_path): encoded, without a
    /// trailing slash.
    pub url_path: String,
}

impl Request {
    /// For the collection at this path, which each request validates.
    pub fn new<S: Into<String>>(url_path: S) -> Self {
        Self { url_path: url_path.into() }
    }

    /// Starts a request on the collection.
    pub(crate) fn on_collection(&self, method: Method) -> Result<RequestBuilder, Error> {
        Ok(RequestBuilder { path: collection_path(&self.url_path)?, ..RequestBuilder::root(method) })
    }

    /// Starts a request on one object.
    pub(crate) fn on_object(&self, method: Method, name: &str) -> Result<RequestBuilder, Error> {
        self.on_collection(method)?.segment("the name", name)
    }

    /// Starts a request on a subresource of one object.
    pub(crate) fn on_subresource(
        &self,
        method: Method,
        name: &str,
        sub: &str,
    ) -> Result<RequestBuilder, Error> {
        self.on_object(method, name)?.segment("the subresource", sub)
    }
}

const JSON: &str = "application/json";

/// A request under construction, without its body.
pub(crate) struct RequestBuilder {
    method: Method,
    path: String,
    query: Option<Query>,
    accept: &'static str,
}

impl RequestBuilder {
    /// Starts at the root path of the server.
    pub(crate) fn root(method: Method) -> Self {
        Self { method, path: String::new(), query: None, accept: JSON }
    }

    /// Appends one path segment; `what` describes it in errors.
    pub(crate) fn segment(mut self, what: &str, segment: &str) -> Result<Self, Error> {
        push_segment(&mut self.path, what, segment)?;
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

    /// Finishes a request without a body.
    pub(crate) fn empty(self) -> Result<http::Request<Vec<u8>>, Error> {
        self.finish(None, Vec::new())
    }

    /// Finishes a request with a JSON body.
    pub(crate) fn json(self, body: Vec<u8>) -> Result<http::Request<Vec<u8>>, Error> {
        self.body(JSON, body)
    }

    /// Finishes a request with a body of this content type.
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
        // Not by http's builder, which moves the whole request with each call.
        let mut request = http::Request::new(body);
        *request.method_mut() = method;
        *request.uri_mut() = Uri::try_from(uri).map_err(|err| Error::BuildRequest(err.into()))?;
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static(accept));
        if let Some(content_type) = content_type {
            request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        }
        Ok(request)
    }
}

/// Validates the path of a collection.
fn collection_path(url_path: &str) -> Result<String, Error> {
    let mut segments = url_path.trim_start_matches('/').as_bytes().split(|byte| *byte == b'/');
    if let Some(segment) = segments.find(|segment| !is_encoded_segment(segment)) {
        let segment = String::from_utf8_lossy(segment);
        return Err(Error::invalid(format!(
            "the path {url_path:?} has the segment {segment:?}; a namespace must not be empty, `.`, `..`, or contain a \
                 slash or a percent sign"
        )));
    }
    let mut path = String::with_capacity(url_path.len() + USUAL_REST);
    path.push_str(url_path);
    Ok(path)
}

/// Room for a name, a subresource and a query.
const USUAL_REST: usize = 100;

/// Appends one segment, such as an object's name; `what` describes it in errors.
fn push_segment(path: &mut String, what: &str, segment: &str) -> Result<(), Error> {
    if !is_segment(segment) {
        return Err(Error::invalid(format!(
            "{what} {segment:?} must not be empty, `.`, `..`, or contain a slash or a percent sign"
        )));
    }
    path.push('/');
    path_segment(segment, path);
    Ok(())
}

/// Whether a name is safe as one segment: a proxy that normalizes paths must not turn it into another path.
fn is_segment(segment: &str) -> bool {
    !matches!(segment, "" | "." | "..") && !segment.contains(['/', '%'])
}

/// The same for an encoded segment.
fn is_encoded_segment(segment: &[u8]) -> bool {
    let is_unsafe = |code: &[u8]| matches!(code, b"%2F" | b"%2f" | b"%25");
    // Few segments have a percent sign.
    let has_unsafe = segment.contains(&b'%') && segment.windows(3).any(is_unsafe);
    !matches!(segment, b"" | b"." | b"..") && !has_unsafe
}
