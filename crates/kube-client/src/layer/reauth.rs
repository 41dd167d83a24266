//! Sends a request again after its credential was refused and has been renewed.

use std::task::{Context, Poll};

use futures::future::BoxFuture;
use http::{Request, Response};
use tower::ServiceExt;
use tower_layer::Layer;
use tower_service::Service;

use super::auth::CredentialRefused;
use crate::body::{Body, try_clone_request};

/// Repeats a request once after a 401, if the credential that [`AuthLayer`](crate::client::middleware::AuthLayer) added to it can
/// be renewed. Goes around that layer.
///
/// Requests whose body is a stream are not repeated; the 401 is then the response.
///
/// ```
/// use http::{Request, Response};
/// use kube_client::client::{Body, ConfigExt, middleware::ReauthLayer};
/// use tower::{BoxError, ServiceBuilder};
///
/// let config = kube_client::Config::new("http://localhost:8080".parse().unwrap());
/// let service = ServiceBuilder::new()
///     .layer(ReauthLayer)
///     .option_layer(config.auth_layer().unwrap())
///     .layer(config.base_uri_layer())
///     .service_fn(|_: Request<Body>| async { Ok::<_, BoxError>(Response::new(Body::empty())) });
/// let client = kube_client::Client::new(service, "default");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ReauthLayer;

impl<S> Layer<S> for ReauthLayer {
    type Service = Reauth<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Reauth { inner }
    }
}

/// The service of [`ReauthLayer`].
#[derive(Clone, Debug)]
pub struct Reauth<S> {
    inner: S,
}

impl<S, ResBody> Service<Request<Body>> for Reauth<S>
where
    S: Service<Request<Body>, Response = Response<ResBody>> + Clone + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Send,
    ResBody: Send + 'static,
{
    type Response = Response<ResBody>;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<Self::Response, S::Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let copy = try_clone_request(&request);
        let repeat = self.inner.clone();
        let first = self.inner.call(request);
        Box::pin(async move {
            let response = first.await?;
            match copy {
                Some(request) if response.extensions().get::<CredentialRefused>().is_some() => {
                    drop(response);
                    tracing::debug!("the credential was refused, repeating the request with a renewed one");
                    repeat.oneshot(request).await
                }
                _ => Ok(response),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http::header::AUTHORIZATION;
    use tower::ServiceBuilder;
    use tower_test::mock;

    use super::*;
    use crate::auth::Credential;
    use crate::config::{AuthInfo, Config};
    use crate::layer::AuthLayer;

    #[tokio::test(start_paused = true)]
    async fn a_401_reads_the_token_again_and_repeats_the_request_once() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "old").unwrap();
        let user =
            AuthInfo { token_file: Some(file.path().to_str().unwrap().to_owned()), ..AuthInfo::default() };
        let config = Config { auth_info: user, ..Config::new("http://h".parse().unwrap()) };
        let credential = Credential::from_config(&config).unwrap().unwrap();
        let (service, mut handle) = mock::pair::<Request<Body>, Response<()>>();
        let service =
            ServiceBuilder::new().layer(ReauthLayer).layer(AuthLayer::new(credential)).service(service);
        let unauthorized = || Response::builder().status(401).body(()).unwrap();

        let call = tokio::spawn(service.clone().oneshot(Request::new(Body::empty())));
        let (request, respond) = handle.next_request().await.unwrap();
        assert_eq!(request.headers()[AUTHORIZATION], "Bearer old");
        respond.send_response(Response::new(()));
        call.await.unwrap().unwrap();

        std::fs::write(file.path(), "new").unwrap();
        tokio::time::advance(Duration::from_secs(6)).await;
        let call = tokio::spawn(service.clone().oneshot(Request::new(Body::from(b"x".to_vec()))));
        let (request, respond) = handle.next_request().await.unwrap();
        assert_eq!(request.headers()[AUTHORIZATION], "Bearer old");
        respond.send_response(unauthorized());
        let (request, respond) = handle.next_request().await.unwrap();
        assert_eq!(request.headers()[AUTHORIZATION], "Bearer new");
        assert_eq!(request.into_body().collect_bytes().await.unwrap(), "x");
        respond.send_response(unauthorized());
        assert_eq!(call.await.unwrap().unwrap().status(), 401);
    }
}
