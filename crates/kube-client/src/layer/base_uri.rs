//! Requests carry a path only; this layer puts the cluster's URL before it.

use std::sync::Arc;
use std::task::{Context, Poll};

use http::uri::{Parts, PathAndQuery};
use http::{Request, Uri};
use tower_layer::Layer;
use tower_service::Service;

use crate::config::without_credentials;
use crate::request_kind::PathPrefix;

/// Puts a base URL before the path of each request.
#[derive(Clone, Debug)]
pub struct BaseUriLayer {
    base_uri: Arc<Uri>,
}

impl BaseUriLayer {
    /// A layer for the server at `base_uri`. Its path becomes the prefix of each request's path; its user and password are left
    /// out, see [`ConfigExt::auth_layer`](crate::client::ConfigExt::auth_layer).
    pub fn new(base_uri: Uri) -> Self {
        Self { base_uri: Arc::new(without_credentials(&base_uri)) }
    }
}

impl<S> Layer<S> for BaseUriLayer {
    type Service = BaseUri<S>;

    fn layer(&self, inner: S) -> Self::Service {
        BaseUri::new(Arc::clone(&self.base_uri), inner)
    }
}

/// The service of [`BaseUriLayer`].
#[derive(Clone, Debug)]
pub struct BaseUri<S> {
    base_uri: Arc<Uri>,
    inner: S,
}

impl<S> BaseUri<S> {
    fn new(base_uri: Arc<Uri>, inner: S) -> Self {
        Self { base_uri, inner }
    }
}

impl<S, ReqBody> Service<Request<ReqBody>> for BaseUri<S>
where
    S: Service<Request<ReqBody>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<ReqBody>) -> Self::Future {
        *request.uri_mut() = join(&self.base_uri, request.uri().path_and_query());
        let prefix = prefix_of(&self.base_uri).len();
        if prefix > 0 {
            request.extensions_mut().insert(PathPrefix(prefix));
        }
        self.inner.call(request)
    }
}

/// The prefix of each request's path, without a slash at its end.
fn prefix_of(base: &Uri) -> &str {
    base.path().trim_end_matches('/')
}

/// Scheme, host and path prefix of `base`; path and query of the request.
fn join(base: &Uri, request: Option<&PathAndQuery>) -> Uri {
    let mut parts = Parts::default();
    parts.scheme = base.scheme().cloned();
    parts.authority = base.authority().cloned();
    let prefix = prefix_of(base);
    parts.path_and_query = match request {
        Some(request) if prefix.is_empty() => Some(request.clone()),
        Some(request) => {
            let request = request.as_str();
            let slash = if request.starts_with('/') { "" } else { "/" };
            format!("{prefix}{slash}{request}").parse().ok()
        }
        None => base.path_and_query().cloned(),
    };
    // A base without scheme or host is not a URL: it is passed on, and the connector reports it.
    Uri::from_parts(parts).unwrap_or_else(|_| base.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(base: &'static str, request: &'static str) -> String {
        join(&Uri::from_static(base), Uri::from_static(request).path_and_query()).to_string()
    }

    #[test]
    fn the_path_of_the_base_is_the_prefix() {
        assert_eq!(joined("https://h:1", "/api/v1/pods?watch=1"), "https://h:1/api/v1/pods?watch=1");
        assert_eq!(joined("https://h:1/", "/version"), "https://h:1/version");
        assert_eq!(joined("https://h/k8s/clusters/c", "/api?x=y"), "https://h/k8s/clusters/c/api?x=y");
        assert_eq!(joined("https://h/k8s/", "/api"), "https://h/k8s/api");
        assert_eq!(joined("https://h", "http://other/api"), "https://h/api");
    }
}
