//! Asking a token endpoint: one request on a connection of its own, bounded in time and size.

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
use crate::connect::connector;
use crate::tls::{Backend, Offer, Peer};
use crate::transport::DeadlineConnector;

/// Longest time that an answer may take.
const LIMIT: Duration = Duration::from_secs(30);

/// More than any answer of a token endpoint.
const MOST_BYTES: usize = 1 << 20;

/// Why there is no answer, with the errors that the surface's enums want.
#[derive(Debug)]
pub(super) enum AskError {
    Sending(hyper_util::client::legacy::Error),
    Reading(hyper::Error),
    Other(AuthError),
}

/// Sends `request` to the server of `config`, by whose settings it is trusted and reached.
///
/// User and password in its URL are sent as a header, if it has no credentials of its own.
pub(super) async fn ask(config: &Config, mut request: Request<Bytes>) -> Result<Response<Bytes>, AskError> {
    let url = request.uri().clone();
    if let Some((name, password)) = credentials_of(&url) {
        *request.uri_mut() = without_user(&url);
        if !request.headers().contains_key(AUTHORIZATION) {
            request.headers_mut().insert(AUTHORIZATION, basic(&name, &password).map_err(AskError::Other)?);
        }
    }
    let other =
        |text: String| AskError::Other(AuthError::AuthExec(format!("{}: {text}", Redacted::Url(&url))));
    let connector = connector(Backend::usual(), config, &Peer::Server { giver: None }, Offer::Http1)
        .map_err(|err| other(err.to_string()))?;
    let client: Client<_, Full<Bytes>> =
        Client::builder(TokioExecutor::new()).build(DeadlineConnector::of(config, connector));
    let asking = async {
        let answer = client.request(request.map(Full::new)).await.map_err(AskError::Sending)?;
        let (parts, mut body) = answer.into_parts();
        let mut read = Vec::new();
        while let Some(frame) = body.frame().await {
            if let Ok(data) = frame.map_err(AskError::Reading)?.into_data() {
                read.extend_from_slice(&data);
            }
            if read.len() > MOST_BYTES {
                return Err(other(format!("the answer is longer than {MOST_BYTES} bytes")));
            }
        }
        Ok(Response::from_parts(parts, Bytes::from(read)))
    };
    let limited = tokio::time::timeout(LIMIT, asking).await;
    limited.map_err(|_| other(format!("no answer within {} s", LIMIT.as_secs())))?
}
