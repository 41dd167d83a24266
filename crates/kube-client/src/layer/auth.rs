//! Adds the `Authorization` header.

use std::sync::Arc;
use std::task::{Context, Poll};

use futures::future::{BoxFuture, Either, ErrInto};
use futures::{FutureExt, TryFutureExt};
use http::header::AUTHORIZATION;
use http::{HeaderValue, Request, Response, StatusCode};
use tower::BoxError;
use tower_layer::Layer;
use tower_service::Service;

use crate::auth::{Credential, RefreshingCredential};

/// Adds the `Authorization` header to requests that have none.
///
/// A credential that expires or changes is renewed when it is due, once for all requests that wait for it, and after a response of
/// 401. This layer does not send the request that got the 401 again: see [`ReauthLayer`](super::ReauthLayer).
#[derive(Clone, Debug)]
pub struct AuthLayer(Credential);

impl AuthLayer {
    pub(crate) fn new(credential: Credential) -> Self {
        Self(credential)
    }
}

impl<S> Layer<S> for AuthLayer {
    type Service = Auth<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Auth::new(self.0.clone(), inner)
    }
}

/// Extension of a 401 response whose credential can be renewed: the same request may succeed now.
#[derive(Clone, Copy, Debug)]
pub(super) struct CredentialRefused;

/// The service of [`AuthLayer`].
#[derive(Clone, Debug)]
pub struct Auth<S> {
    credential: Credential,
    inner: S,
}

impl<S> Auth<S> {
    fn new(credential: Credential, inner: S) -> Self {
        Self { credential, inner }
    }
}

impl<S, ReqBody, ResBody> Service<Request<ReqBody>> for Auth<S>
where
    S: Service<Request<ReqBody>, Response = Response<ResBody>> + Clone + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
    ReqBody: Send + 'static,
    ResBody: Send + 'static,
{
    type Response = Response<ResBody>;
    type Error = BoxError;
    type Future = Either<ErrInto<S::Future, BoxError>, BoxFuture<'static, Result<Self::Response, BoxError>>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, mut request: Request<ReqBody>) -> Self::Future {
        if !request.headers().contains_key(AUTHORIZATION) {
            match &self.credential {
                Credential::Fixed(header) => {
                    request.headers_mut().insert(AUTHORIZATION, header.clone());
                }
                Credential::Refreshing(renewing) => {
                    // The service that was polled ready has to be the one that is called; its clone stays here.
                    let copy = self.inner.clone();
                    let inner = std::mem::replace(&mut self.inner, copy);
                    return Either::Right(send_with_renewed(Arc::clone(renewing), inner, request).boxed());
                }
            }
        }
        Either::Left(self.inner.call(request).err_into())
    }
}

async fn send_with_renewed<S, ReqBody, ResBody>(
    renewing: Arc<RefreshingCredential>,
    mut inner: S,
    mut request: Request<ReqBody>,
) -> Result<Response<ResBody>, BoxError>
where
    S: Service<Request<ReqBody>, Response = Response<ResBody>>,
    S::Error: Into<BoxError>,
{
    let header: Option<HeaderValue> = Arc::clone(&renewing).header().await?;
    if let Some(header) = header.clone() {
        request.headers_mut().insert(AUTHORIZATION, header);
    }
    let mut response = inner.call(request).await.map_err(Into::into)?;
    if response.status() == StatusCode::UNAUTHORIZED && renewing.refused(header.as_ref()) {
        response.extensions_mut().insert(CredentialRefused);
    }
    Ok(response)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tower::ServiceExt;
    use tower_test::mock;

    use super::*;
    use crate::config::{AuthInfo, Config};

    type Mock = mock::Mock<Request<()>, Response<()>>;

    fn layered(user: &AuthInfo) -> (Auth<Mock>, mock::Handle<Request<()>, Response<()>>) {
        let config = Config { auth_info: user.clone(), ..Config::new("http://h".parse().unwrap()) };
        let (service, handle) = mock::pair();
        (AuthLayer::new(Credential::from_config(&config).unwrap().unwrap()).layer(service), handle)
    }

    #[tokio::test]
    async fn a_fixed_header_is_added_unless_the_request_has_its_own() {
        let user = AuthInfo { token: Some("abc".to_owned().into()), ..AuthInfo::default() };
        let (service, mut handle) = layered(&user);
        for (own, expected) in [(None, "Bearer abc"), (Some("Bearer own"), "Bearer own")] {
            let mut request = Request::new(());
            if let Some(own) = own {
                request.headers_mut().insert(AUTHORIZATION, HeaderValue::from_static(own));
            }
            let call = tokio::spawn(service.clone().oneshot(request));
            let (request, respond) = handle.next_request().await.unwrap();
            assert_eq!(request.headers()[AUTHORIZATION], expected);
            respond.send_response(Response::new(()));
            call.await.unwrap().unwrap();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_401_response_is_marked_if_its_credential_can_be_renewed() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "one").unwrap();
        let user =
            AuthInfo { token_file: Some(file.path().to_str().unwrap().to_owned()), ..AuthInfo::default() };
        let (service, mut handle) = layered(&user);
        for (age, marked) in [(0, false), (6, true)] {
            tokio::time::advance(Duration::from_secs(age)).await;
            let call = tokio::spawn(service.clone().oneshot(Request::new(())));
            let (_, respond) = handle.next_request().await.unwrap();
            respond.send_response(Response::builder().status(401).body(()).unwrap());
            let response = call.await.unwrap().unwrap();
            assert_eq!(response.extensions().get::<CredentialRefused>().is_some(), marked);
        }
    }
}
