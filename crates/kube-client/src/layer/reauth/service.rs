use std::task::{Context, Poll};

use futures::future::BoxFuture;
use http::{Request, Response};
use tower::ServiceExt;
use tower_service::Service;

use crate::body::Body;
use crate::layer::auth::CredentialRefused;
use crate::layer::clone_request;

/// The service of [`ReauthLayer`](super::ReauthLayer).
#[derive(Clone, Debug)]
pub struct Reauth<S> {
    pub(super) inner: S,
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
        let copy = clone_request(&request);
        let again = self.inner.clone();
        let first = self.inner.call(request);
        Box::pin(async move {
            let response = first.await?;
            match copy {
                Some(request) if response.extensions().get::<CredentialRefused>().is_some() => {
                    drop(response);
                    tracing::debug!("credentials were refused, trying once more with new ones");
                    again.oneshot(request).await
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
    use crate::layer::{AuthLayer, ReauthLayer};

    #[tokio::test(start_paused = true)]
    async fn a_refused_token_is_read_again_and_the_request_repeated_once() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "old").unwrap();
        let user =
            AuthInfo { token_file: Some(file.path().to_str().unwrap().to_owned()), ..AuthInfo::default() };
        let config = Config { auth_info: user, ..Config::new("http://h".parse().unwrap()) };
        let credential = Credential::plan(&config).unwrap().unwrap();
        let (service, mut handle) = mock::pair::<Request<Body>, Response<()>>();
        let service =
            ServiceBuilder::new().layer(ReauthLayer).layer(AuthLayer::new(credential)).service(service);
        let unauthorized = || Response::builder().status(401).body(()).unwrap();

        let call = tokio::spawn(service.clone().oneshot(Request::new(Body::empty())));
        let (request, answer) = handle.next_request().await.unwrap();
        assert_eq!(request.headers()[AUTHORIZATION], "Bearer old");
        answer.send_response(Response::new(()));
        call.await.unwrap().unwrap();

        std::fs::write(file.path(), "new").unwrap();
        tokio::time::advance(Duration::from_secs(6)).await;
        let call = tokio::spawn(service.clone().oneshot(Request::new(Body::from(b"x".to_vec()))));
        let (request, answer) = handle.next_request().await.unwrap();
        assert_eq!(request.headers()[AUTHORIZATION], "Bearer old");
        answer.send_response(unauthorized());
        let (request, answer) = handle.next_request().await.unwrap();
        assert_eq!(request.headers()[AUTHORIZATION], "Bearer new");
        assert_eq!(request.into_body().collect_bytes().await.unwrap(), "x");
        answer.send_response(unauthorized());
        assert_eq!(call.await.unwrap().unwrap().status(), 401);
    }
}
