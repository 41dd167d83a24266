use std::sync::Arc;
use std::task::{Context, Poll};

use futures::future::{BoxFuture, Either, ErrInto};
use futures::{FutureExt, TryFutureExt};
use http::header::AUTHORIZATION;
use http::{HeaderValue, Request, Response, StatusCode};
use tower::BoxError;
use tower_service::Service;

use super::CredentialRefused;
use crate::auth::{Credential, Renewing};

/// The service of [`AuthLayer`](super::AuthLayer).
#[derive(Clone, Debug)]
pub struct Auth<S> {
    credential: Credential,
    inner: S,
}

impl<S> Auth<S> {
    pub(super) fn new(credential: Credential, inner: S) -> Self {
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
                Credential::Renewing(renewing) => {
                    // What was polled ready has to be called, so it goes along and its copy stays.
                    let copy = self.inner.clone();
                    let inner = std::mem::replace(&mut self.inner, copy);
                    return Either::Right(send_renewed(Arc::clone(renewing), inner, request).boxed());
                }
            }
        }
        Either::Left(self.inner.call(request).err_into())
    }
}

async fn send_renewed<S, ReqBody, ResBody>(
    renewing: Arc<Renewing>,
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

    use tower::{Layer, ServiceExt};
    use tower_test::mock;

    use super::*;
    use crate::config::{AuthInfo, Config};
    use crate::layer::AuthLayer;

    type Mock = mock::Mock<Request<()>, Response<()>>;

    fn layered(user: &AuthInfo) -> (Auth<Mock>, mock::Handle<Request<()>, Response<()>>) {
        let config = Config { auth_info: user.clone(), ..Config::new("http://h".parse().unwrap()) };
        let (service, handle) = mock::pair();
        (AuthLayer::new(Credential::plan(&config).unwrap().unwrap()).layer(service), handle)
    }

    #[tokio::test]
    async fn a_fixed_header_is_added_unless_there_is_one() {
        let user = AuthInfo { token: Some("abc".to_owned().into()), ..AuthInfo::default() };
        let (service, mut handle) = layered(&user);
        for (own, expected) in [(None, "Bearer abc"), (Some("Bearer own"), "Bearer own")] {
            let mut request = Request::new(());
            if let Some(own) = own {
                request.headers_mut().insert(AUTHORIZATION, HeaderValue::from_static(own));
            }
            let call = tokio::spawn(service.clone().oneshot(request));
            let (request, answer) = handle.next_request().await.unwrap();
            assert_eq!(request.headers()[AUTHORIZATION], expected);
            answer.send_response(Response::new(()));
            call.await.unwrap().unwrap();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_401_marks_a_renewable_credential_that_is_not_brand_new() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "one").unwrap();
        let user =
            AuthInfo { token_file: Some(file.path().to_str().unwrap().to_owned()), ..AuthInfo::default() };
        let (service, mut handle) = layered(&user);
        for (age, marked) in [(0, false), (6, true)] {
            tokio::time::advance(Duration::from_secs(age)).await;
            let call = tokio::spawn(service.clone().oneshot(Request::new(())));
            let (_, answer) = handle.next_request().await.unwrap();
            answer.send_response(Response::builder().status(401).body(()).unwrap());
            let response = call.await.unwrap().unwrap();
            assert_eq!(response.extensions().get::<CredentialRefused>().is_some(), marked);
        }
    }
}
