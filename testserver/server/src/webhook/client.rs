//! The webhook client: one call per connection, or to a backend in the process.

use std::{sync::Arc, sync::mpsc, time::Duration};

use bytes::Bytes;
use http::{Request, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::{Target, WebhookCall, tls};
use crate::backend::{Backends, MAX_RESPONSE};

/// As many as Go's HTTP client follows.
const MAX_REDIRECTS: usize = 10;
/// Added to the timeout, so that a webhook that gives up at the timeout can still respond.
const GRACE: Duration = Duration::from_millis(50);

const TIMED_OUT: &str = "context deadline exceeded";

/// What begins the error of a webhook that has not responded.
pub(crate) const UNREACHED: &str = "failed to call webhook: ";

/// Sends a call and returns the review in the response. The error is the text after "failed calling webhook".
pub(crate) async fn send(call: &WebhookCall, backends: &Backends) -> Result<Value, String> {
    let service = call.address.service.as_ref();
    let in_process = service.and_then(|(port, path)| Some((port, path, backends.get(port)?)));
    let (url, result) = match in_process {
        Some((port, path, backend)) => {
            let request = request(port.to_string(), path.clone(), Bytes::from(call.body.to_string()))?;
            // On tokio's clock, as the webhook itself.
            let answer = tokio::time::timeout(call.timeout + GRACE, backend(request)).await;
            (format!("https://{port}{path}"), answer.unwrap_or_else(|_| Err(TIMED_OUT.to_owned())))
        }
        None => {
            let target = call.address.target.clone()?;
            (target.to_string(), send_to(target, call).await)
        }
    };
    match result.map_err(|why| format!("{UNREACHED}Post \"{url}\": {why}"))? {
        (code @ 200..=299, body) if body.is_empty() => {
            Err(format!("0-length response with status code: {code} and content type: application/json"))
        }
        (200..=299, body) => serde_json::from_slice(&body).map_err(|why| {
            format!("couldn't get version/kind; json parse error: the response is not JSON: {why}")
        }),
        (404, _) => Err("the server could not find the requested resource".into()),
        (_, _) => {
            Err("an error on the server (\"unknown\") has prevented the request from succeeding".into())
        }
    }
}

/// Sends a call over the network. The timeout is measured in real time, also with a paused tokio clock: the webhook runs outside of it.
async fn send_to(target: Target, call: &WebhookCall) -> Result<(u16, Bytes), String> {
    let (done, waiting) = mpsc::channel::<()>();
    let timeout = call.timeout + GRACE;
    // A blocking task also stops a paused clock from advancing.
    let timed_out = tokio::task::spawn_blocking(move || waiting.recv_timeout(timeout));
    let body = Bytes::from(call.body.to_string());
    let result = tokio::select! {
        result = follow(target, body) => result,
        _ = timed_out => Err(TIMED_OUT.to_owned()),
    };
    drop(done);
    result
}

/// A review, as the API server sends it.
fn request(host: String, path: String, body: Bytes) -> Result<Request<Full<Bytes>>, String> {
    Request::post(path)
        .header(header::HOST, host)
        .header(header::USER_AGENT, "kube-apiserver-admission")
        .header(header::ACCEPT, "application/json, */*")
        .header(header::CONTENT_TYPE, "application/json")
        .body(Full::new(body))
        .map_err(|why| why.to_string())
}

/// Sends a request, again where the webhook says that it has moved: Go's router does for paths with two slashes.
async fn follow(mut target: Target, body: Bytes) -> Result<(u16, Bytes), String> {
    for _ in 0..MAX_REDIRECTS {
        let response = post(target.clone(), body.clone()).await?;
        match response.location {
            Some(location) if matches!(response.code, 307 | 308) => target = target.moved(&location)?,
            _ => return Ok((response.code, response.body)),
        }
    }
    Err(format!("stopped after {MAX_REDIRECTS} redirects"))
}

struct Response {
    code: u16,
    location: Option<String>,
    body: Bytes,
}

async fn post(target: Target, body: Bytes) -> Result<Response, String> {
    let dialled = (target.host.as_str(), target.port);
    let stream = TcpStream::connect(dialled).await.map_err(|why| {
        let why = if why.kind() == std::io::ErrorKind::ConnectionRefused {
            "connect: connection refused".into()
        } else {
            why.to_string()
        };
        format!("dial tcp {}:{}: {why}", target.host, target.port)
    })?;
    let name = ServerName::try_from(target.server_name.clone()).map_err(|why| why.to_string())?;
    let connector = TlsConnector::from(Arc::new(tls::client_config(&target.ca_bundle)?));
    let stream = connector.connect(name, stream).await.map_err(|why| format!("tls: {why}"))?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(|why| why.to_string())?;
    let request = request(format!("{}:{}", target.server_name, target.port), target.path, body)?;
    let response = async {
        let response = sender.send_request(request).await.map_err(|why| why.to_string())?;
        let code = response.status().as_u16();
        let location = response.headers().get(header::LOCATION).and_then(|value| value.to_str().ok());
        let location = location.map(str::to_owned);
        let body = Limited::new(response.into_body(), MAX_RESPONSE)
            .collect()
            .await
            .map_err(|why| why.to_string())?;
        Ok(Response { code, location, body: body.to_bytes() })
    };
    // The connection is polled here, so that it ends with the response or with this future.
    tokio::select! {
        biased;
        response = response => response,
        ended = connection => Err(ended.err().map_or_else(|| "EOF".into(), |why| why.to_string())),
    }
}
