//! A request to a token endpoint, over a new connection, with limits on time and size.

use std::time::Duration;

use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;

use super::AuthError;
use super::header::basic;
use crate::config::{Config, Redacted, credentials_of, without_user};
use crate::connect::server_connector;
use crate::tls::{Alpn, Backend, Peer};
use crate::transport::DeadlineConnector;

const TIMEOUT: Duration = Duration::from_secs(30);

/// The largest accepted response body.
const MAX_BYTES: usize = 1 << 20;

/// Why there is no response, with the sources that the public error enums hold.
#[derive(Debug)]
pub(super) enum TokenRequestError {
    Sending(hyper_util::client::legacy::Error),
    Reading(hyper::Error),
    Other(AuthError),
}

/// Sends `request` with the TLS and proxy settings of `config`.
///
/// User and password in the URL become an `Authorization` header, unless the request has one.
pub(super) async fn send_token_request(
    config: &Config,
    mut request: Request<Bytes>,
) -> Result<Response<Bytes>, TokenRequestError> {
    let url = request.uri().clone();
    if let Some((name, password)) = credentials_of(&url) {
        *request.uri_mut() = without_user(&url);
        if !request.headers().contains_key(AUTHORIZATION) {
            request
                .headers_mut()
                .insert(AUTHORIZATION, basic(&name, &password).map_err(TokenRequestError::Other)?);
        }
    }
    let other = |text: String| {
        TokenRequestError::Other(AuthError::AuthExec(format!("{}: {text}", Redacted::Url(&url))))
    };
    let connector = server_connector(
        Backend::preferred(),
        config,
        &Peer::Server { identity_provider: None },
        Alpn::Http1,
    )
    .map_err(|err| other(err.to_string()))?;
    let client: Client<_, Full<Bytes>> =
        Client::builder(TokioExecutor::new()).build(DeadlineConnector::new(config, connector));
    let exchange = async {
        let response = client.request(request.map(Full::new)).await.map_err(TokenRequestError::Sending)?;
        let (parts, mut body) = response.into_parts();
        let mut read = Vec::new();
        while let Some(frame) = body.frame().await {
            if let Ok(data) = frame.map_err(TokenRequestError::Reading)?.into_data() {
                read.extend_from_slice(&data);
            }
            if read.len() > MAX_BYTES {
                return Err(other(format!("the response is longer than {MAX_BYTES} bytes")));
            }
        }
        Ok(Response::from_parts(parts, Bytes::from(read)))
    };
    let response = tokio::time::timeout(TIMEOUT, exchange).await;
    response.map_err(|_| other(format!("no response within {} s", TIMEOUT.as_secs())))?
}
