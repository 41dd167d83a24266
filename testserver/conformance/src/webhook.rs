//! A webhook server for cases: HTTPS on this machine, with scripted responses and a record of its requests. It must be reachable from the
//! server under test, which therefore runs on the same machine.

use std::{convert::Infallible, sync::Arc, time::Duration};

use parking_lot::Mutex;

use base64::{Engine, prelude::BASE64_STANDARD};
use bytes::Bytes;
use http::{Request, Response, header};
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::rt::TokioIo;
use rustls::{
    ServerConfig,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_rustls::TlsAcceptor;

use crate::check::Failure;

/// A scripted response.
pub(crate) enum WebhookResponse {
    /// The `response` of a review of the requested type; a missing uid is set.
    Response(Value),
    /// A raw status code and body.
    Raw(u16, String),
    /// An allowing response after this many seconds.
    Late(u64),
}

type Handler = dyn Fn(&str, &Value) -> WebhookResponse + Send + Sync;

/// A running webhook server; stops when dropped.
pub(crate) struct TestWebhook {
    port: u16,
    ca: String,
    requests: Arc<Mutex<Vec<(String, Value)>>>,
    task: JoinHandle<()>,
}

impl Drop for TestWebhook {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl TestWebhook {
    /// Starts a server whose responses depend on path and request.
    pub(crate) async fn start(
        handler: impl Fn(&str, &Value) -> WebhookResponse + Send + Sync + 'static,
    ) -> Result<Self, Failure> {
        let failed = |why: String| Failure::new("the suite's webhook", "a server on 127.0.0.1".into(), why);
        let (acceptor, ca) = tls().map_err(failed)?;
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(|e| failed(e.to_string()))?;
        let port = listener.local_addr().map_err(|e| failed(e.to_string()))?.port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let task = tokio::spawn(serve(listener, acceptor, Arc::new(handler), requests.clone()));
        Ok(Self { port, ca, requests, task })
    }

    /// A `clientConfig` for a path.
    pub(crate) fn client(&self, path: &str) -> Value {
        json!({"url": format!("https://127.0.0.1:{}{path}", self.port), "caBundle": self.ca})
    }

    /// A `clientConfig` without the CA bundle.
    pub(crate) fn untrusted(&self, path: &str) -> Value {
        json!({"url": format!("https://127.0.0.1:{}{path}", self.port)})
    }

    /// The requests so far on a path.
    pub(crate) fn requests(&self, path: &str) -> Vec<Value> {
        let requests = self.requests.lock();
        requests.iter().filter(|(at, _)| at == path).map(|(_, request)| request.clone()).collect()
    }

    /// The paths of all requests so far, in order.
    pub(crate) fn paths(&self) -> Vec<String> {
        let requests = self.requests.lock();
        requests.iter().map(|(path, _)| path.clone()).collect()
    }

    pub(crate) fn clear(&self) {
        self.requests.lock().clear();
    }
}

async fn serve(
    listener: TcpListener,
    acceptor: TlsAcceptor,
    handler: Arc<Handler>,
    requests: Arc<Mutex<Vec<(String, Value)>>>,
) {
    while let Ok((stream, _)) = listener.accept().await {
        let (acceptor, handler, requests) = (acceptor.clone(), handler.clone(), requests.clone());
        tokio::spawn(async move {
            let Ok(stream) = acceptor.accept(stream).await else { return };
            let service = service_fn(move |request| respond(request, handler.clone(), requests.clone()));
            // The server under test reports connection errors.
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

async fn respond(
    request: Request<Incoming>,
    handler: Arc<Handler>,
    requests: Arc<Mutex<Vec<(String, Value)>>>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let path = request.uri().path().to_owned();
    let body = request.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let review: Value = serde_json::from_slice(&body).unwrap_or_default();
    let review_request = review["request"].clone();
    if !is_from_controller(&review_request) {
        requests.lock().push((path.clone(), review_request.clone()));
    }
    let whole = |mut response: Value| {
        if response.get("uid").is_none() {
            response["uid"] = review_request["uid"].clone();
        }
        json!({"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response}).to_string()
    };
    let (code, body) = match handler(&path, &review_request) {
        WebhookResponse::Response(response) => (200, whole(response)),
        WebhookResponse::Raw(code, body) => (code, body),
        WebhookResponse::Late(seconds) => {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            (200, whole(json!({"allowed": true})))
        }
    };
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = http::StatusCode::from_u16(code).unwrap_or_default();
    response.headers_mut().insert(header::CONTENT_TYPE, http::HeaderValue::from_static("application/json"));
    Ok(response)
}

/// Requests for objects that the cluster's controllers create in every namespace.
fn is_from_controller(request: &Value) -> bool {
    ["object", "oldObject"].iter().any(|object| request[object]["metadata"]["name"] == "kube-root-ca.crt")
}

/// A self-signed certificate, and its CA bundle.
fn tls() -> Result<(TlsAcceptor, String), String> {
    let names = vec!["127.0.0.1".to_owned(), "localhost".to_owned()];
    let made = rcgen::generate_simple_self_signed(names).map_err(|e| e.to_string())?;
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| e.to_string())?
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .map_err(|e| e.to_string())?;
    Ok((TlsAcceptor::from(Arc::new(config)), BASE64_STANDARD.encode(made.cert.pem())))
}
