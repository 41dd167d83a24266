//! Follows the redirects of reads, within the server.

use std::task::{Context, Poll};

use futures::future::{BoxFuture, Either, ready};
use futures::{FutureExt, TryFutureExt};
use http::header::{LOCATION, UPGRADE};
use http::uri::{Parts, Scheme};
use http::{Method, Request, Response, Uri};
use tower::{BoxError, ServiceExt};
use tower_layer::Layer;
use tower_service::Service;

use crate::body::{Body, try_clone_request};

/// Follows redirects of GET and HEAD to the same scheme, host and port, as an aggregated API or a proxy before the server may send them.
///
/// Any other redirect is the response: it could lead credentials to another server, or repeat a write. Requests carry whole URLs here, so
/// this is below [`BaseUriLayer`](super::BaseUriLayer).
#[derive(Clone, Copy, Debug)]
pub(crate) struct RedirectLayer;

impl<S> Layer<S> for RedirectLayer {
    type Service = Redirect<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Redirect { inner }
    }
}

/// The service of [`RedirectLayer`].
#[derive(Clone, Debug)]
pub(crate) struct Redirect<S> {
    inner: S,
}

impl<S, B> Service<Request<Body>> for Redirect<S>
where
    S: Service<Request<Body>, Response = Response<B>, Error = BoxError> + Clone + Send + 'static,
    S::Future: Send + 'static,
    B: Send + 'static,
{
    type Response = Response<B>;
    type Error = BoxError;
    type Future = Either<S::Future, BoxFuture<'static, Result<Response<B>, BoxError>>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let follows = matches!(*request.method(), Method::GET | Method::HEAD)
            && !request.headers().contains_key(UPGRADE);
        let copy = if follows { try_clone_request(&request) } else { None };
        let first = self.inner.call(request);
        let Some(request) = copy else { return Either::Left(first) };
        let service = self.inner.clone();
        let response = first.and_then(move |response| match target(&response, request.uri()) {
            // In a box, so that the future of each other request is smaller.
            Some(_) => Either::Right(follow(response, request, service).boxed()),
            None => Either::Left(ready(Ok(response))),
        });
        Either::Right(response.boxed())
    }
}

/// As many as Go's HTTP client follows.
const MAX_REDIRECTS: usize = 10;

async fn follow<S, B>(
    mut response: Response<B>,
    mut request: Request<Body>,
    service: S,
) -> Result<Response<B>, BoxError>
where
    S: Service<Request<Body>, Response = Response<B>, Error = BoxError> + Clone,
{
    for _ in 0..MAX_REDIRECTS {
        let Some(target) = target(&response, request.uri()) else { break };
        tracing::debug!(status = response.status().as_u16(), path = target.path(), "following a redirect");
        *request.uri_mut() = target;
        let Some(copy) = try_clone_request(&request) else { break };
        response = service.clone().oneshot(copy).await?;
    }
    Ok(response)
}

/// Where to send the request again; `None` if the response is no redirect, or leads elsewhere.
fn target<B>(response: &Response<B>, from: &Uri) -> Option<Uri> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let text = response.headers().get(LOCATION)?.to_str().ok()?;
    let location: Uri = text.parse().ok()?;
    if location.authority().is_some() {
        return is_same_origin(&location, from).then_some(location);
    }
    // `//host/path` is another host. Other forms do not occur: Go's servers send whole paths.
    if !text.starts_with('/') || text.starts_with("//") {
        return None;
    }
    let mut parts = Parts::default();
    parts.scheme = from.scheme().cloned();
    parts.authority = from.authority().cloned();
    parts.path_and_query = location.into_parts().path_and_query;
    Uri::from_parts(parts).ok()
}

/// Whether both lead to the same scheme, host and port.
fn is_same_origin(one: &Uri, other: &Uri) -> bool {
    let port =
        |uri: &Uri| uri.port_u16().unwrap_or(if uri.scheme() == Some(&Scheme::HTTPS) { 443 } else { 80 });
    let host = |uri: &Uri| uri.host().map(str::to_ascii_lowercase);
    one.scheme().is_some()
        && one.scheme() == other.scheme()
        && host(one) == host(other)
        && port(one) == port(other)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parking_lot::Mutex;

    use super::*;

    /// Sends a request to a server that redirects `/a` to `location`, and returns the last status and the URLs that the server saw.
    async fn sent(method: Method, location: &'static str) -> (u16, Vec<String>) {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let all = Arc::clone(&seen);
        let server = tower::service_fn(move |request: Request<Body>| {
            all.lock().push(request.uri().to_string());
            assert_eq!(request.headers()["x-own"], "1");
            let moved = matches!(request.uri().path(), "/a" | "/loop");
            let location = if request.uri().path() == "/loop" { "/loop" } else { location };
            let response =
                Response::builder().status(if moved { 307 } else { 200 }).header(LOCATION, location);
            std::future::ready(Ok::<_, BoxError>(response.body(()).unwrap()))
        });
        let request = Request::builder().method(method).uri("https://h:1/a").header("x-own", "1");
        let request = request.body(Body::empty()).unwrap();
        let response = RedirectLayer.layer(server).oneshot(request).await.unwrap();
        let seen = seen.lock().clone();
        (response.status().as_u16(), seen)
    }

    #[tokio::test]
    async fn a_read_follows_a_redirect_to_the_same_server() {
        for location in ["/b?c=d", "https://h:1/b?c=d", "https://H:1/b?c=d"] {
            for method in [Method::GET, Method::HEAD] {
                let (status, seen) = sent(method, location).await;
                assert_eq!((status, seen.len()), (200, 2), "{location}");
                assert_eq!(seen[1].to_lowercase(), "https://h:1/b?c=d");
            }
        }
    }

    #[tokio::test]
    async fn other_redirects_are_the_response() {
        for location in
            ["https://other:1/b", "http://h:1/b", "https://h/b", "https://h:2/b", "b", "//other/b", ""]
        {
            assert_eq!(
                sent(Method::GET, location).await,
                (307, vec!["https://h:1/a".to_owned()]),
                "{location}"
            );
        }
        for method in [Method::POST, Method::DELETE, Method::PATCH] {
            assert_eq!(sent(method, "/b").await.0, 307);
        }
    }

    #[tokio::test]
    async fn a_loop_ends() {
        let (status, seen) = sent(Method::GET, "/loop").await;
        assert_eq!((status, seen.len()), (307, 1 + MAX_REDIRECTS));
    }
}
