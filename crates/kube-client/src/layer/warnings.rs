//! Passes the `Warning` headers of responses to the handler of the configuration.

use std::borrow::Cow;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http::header::WARNING;
use http::{HeaderMap, Method, Request, Response, Uri};
use kube_core::panic::panic_message;
use pin_project_lite::pin_project;
use tower_layer::Layer;
use tower_service::Service;

use crate::config::{Warning, WarningHandler};

/// Passes the `Warning` headers of responses to a [`WarningHandler`]. For requests that carry a path only, above [`BaseUriLayer`].
///
/// Warnings of API servers have the code 299; others, and headers that are not as RFC 7234 has them, are ignored.
///
/// ```
/// use kube_client::client::middleware::WarningLayer;
/// use kube_client::config::WarningHandler;
/// let layer = WarningLayer::new(WarningHandler::new(|warning| eprintln!("{}", warning.text)));
/// ```
///
/// [`BaseUriLayer`]: super::BaseUriLayer
#[derive(Clone, Debug, Default)]
pub struct WarningLayer(WarningHandler);

impl WarningLayer {
    /// Calls `handler`.
    pub fn new(handler: WarningHandler) -> Self {
        Self(handler)
    }
}

impl<S> Layer<S> for WarningLayer {
    type Service = Warnings<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Warnings { inner, handler: self.0.clone() }
    }
}

/// The service of [`WarningLayer`].
#[derive(Clone, Debug)]
pub struct Warnings<S> {
    inner: S,
    handler: WarningHandler,
}

impl<S, ReqBody, ResBody> Service<Request<ReqBody>> for Warnings<S>
where
    S: Service<Request<ReqBody>, Response = Response<ResBody>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = WarningFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<ReqBody>) -> Self::Future {
        WarningFuture {
            verb: request.extensions().get().copied(),
            method: request.method().clone(),
            uri: request.uri().clone(),
            handler: self.handler.clone(),
            inner: self.inner.call(request),
        }
    }
}

pin_project! {
    /// The future of [`Warnings`].
    #[derive(Debug)]
    pub struct WarningFuture<F> {
        #[pin]
        inner: F,
        handler: WarningHandler,
        verb: Option<&'static str>,
        method: Method,
        uri: Uri,
    }
}

impl<F, B, E> Future for WarningFuture<F>
where
    F: Future<Output = Result<Response<B>, E>>,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let result = ready!(this.inner.poll(cx));
        if let Ok(response) = &result
            && response.headers().contains_key(WARNING)
        {
            let verb = this.verb.unwrap_or(this.method.as_str());
            pass(response.headers(), verb, &resource(this.uri.path()), this.handler);
        }
        Poll::Ready(result)
    }
}

fn pass(headers: &HeaderMap, verb: &str, resource: &str, handler: &WarningHandler) {
    for value in headers.get_all(WARNING) {
        let value = String::from_utf8_lossy(value.as_bytes());
        let mut rest = &*value;
        while let Some((agent, text, after)) = parse(rest) {
            if !text.is_empty() {
                let warning = Warning { code: CODE, agent, text: &text, verb, resource };
                if let Err(panic) = catch_unwind(AssertUnwindSafe(|| handler.handle(&warning))) {
                    tracing::error!(
                        message = panic_message(&*panic),
                        "the warning handler of the client panicked"
                    );
                }
            }
            rest = after;
        }
    }
}

/// "Miscellaneous persistent warning", the only code of API servers.
const CODE: u16 = 299;

/// Parses the first of several warnings, `299 agent "text" "date"`: agent, text and the others.
fn parse(header: &str) -> Option<(&str, String, &str)> {
    let (agent, rest) = header.trim_start().strip_prefix("299 ")?.split_once(' ')?;
    let (text, rest) = quoted(rest)?;
    // The date is optional.
    let rest = quoted(rest).map_or(rest, |(_, after)| after);
    Some((agent, text, rest.trim_start().strip_prefix(',').unwrap_or_default()))
}

/// A quoted string with its escapes resolved, and what follows.
fn quoted(text: &str) -> Option<(String, &str)> {
    let text = text.trim_start().strip_prefix('"')?;
    let (mut content, mut chars) = (String::new(), text.char_indices());
    while let Some((at, char)) = chars.next() {
        match char {
            '"' => return Some((content, &text[at + 1..])),
            '\\' => content.push(chars.next()?.1),
            _ => content.push(char),
        }
    }
    None
}

/// `deployments.v1.apps` for `/apis/apps/v1/namespaces/a/deployments/b`; paths outside of the resource API as they are.
fn resource(path: &str) -> Cow<'_, str> {
    let mut segments = path.split('/').filter(|segment| !segment.is_empty());
    let group_version = match segments.next() {
        Some("api") => segments.next().map(str::to_owned),
        Some("apis") => {
            segments.next().zip(segments.next()).map(|(group, version)| format!("{version}.{group}"))
        }
        _ => None,
    };
    let (first, namespaced) = (segments.next(), segments.nth(1));
    let resource = match (first, namespaced) {
        (Some("namespaces"), Some(resource)) if !matches!(resource, "status" | "finalize") => Some(resource),
        _ => first,
    };
    match (resource, group_version) {
        (Some(resource), Some(group_version)) => Cow::Owned(format!("{resource}.{group_version}")),
        _ => Cow::Borrowed(path),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parking_lot::Mutex;
    use tower::ServiceExt;

    use super::*;

    #[tokio::test]
    async fn each_warning_of_a_response_is_passed_with_verb_and_resource() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let all = Arc::clone(&seen);
        let handler = WarningHandler::new(move |warning| {
            all.lock()
                .push(format!("{} {} {}: {}", warning.verb, warning.resource, warning.agent, warning.text));
        });
        let server = tower::service_fn(async |_: Request<()>| {
            let response = Response::builder()
                .header(WARNING, r#"299 - "one", 299 a \"#)
                .header(WARNING, r#"299 a "say \"two\"" "Wed, 21 Oct 2015 07:28:00 GMT",299 - "three""#)
                .header(WARNING, r#"199 - "not ours""#)
                .header(WARNING, "299 - \"no end");
            Ok::<_, std::convert::Infallible>(response.body(()).unwrap())
        });
        let mut request = Request::get("/apis/apps/v1/namespaces/a/deployments").body(()).unwrap();
        request.extensions_mut().insert("list");
        WarningLayer::new(handler).layer(server).oneshot(request).await.unwrap();
        let expected = [r"- one", r#"a say "two""#, "- three"].map(|text| {
            let (agent, text) = text.split_once(' ').unwrap();
            format!("list deployments.v1.apps {agent}: {text}")
        });
        assert_eq!(*seen.lock(), expected);
    }

    #[test]
    fn the_resource_follows_from_the_path() {
        for (path, expected) in [
            ("/api/v1/pods", "pods.v1"),
            ("/api/v1/namespaces/a/pods/b/log", "pods.v1"),
            ("/api/v1/namespaces/a", "namespaces.v1"),
            ("/api/v1/namespaces/a/status", "namespaces.v1"),
            ("/apis/example.com/v1/widgets/w", "widgets.v1.example.com"),
            ("/version", "/version"),
            ("/apis/apps/v1", "/apis/apps/v1"),
        ] {
            assert_eq!(resource(path), expected);
        }
    }
}
