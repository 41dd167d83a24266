//! A webhook of the suite's own: an HTTPS server on this machine that answers as a case wants, and remembers what it was
//! asked. Servers under test have to be able to reach it, so they run on the same machine.

use std::{
    convert::Infallible,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

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

/// How a webhook answers.
pub(crate) enum Answer {
    /// The `response` of a review of the type it was asked with; the uid is filled in where it is missing.
    Response(Value),
    /// A code and a body, whatever they are.
    Raw(u16, String),
    /// After a while, in seconds, that it is fine.
    Late(u64),
}

type Answering = dyn Fn(&str, &Value) -> Answer + Send + Sync;

/// A running webhook server; it ends when this is dropped.
pub(crate) struct Hook {
    port: u16,
    ca: String,
    heard: Arc<Mutex<Vec<(String, Value)>>>,
    task: JoinHandle<()>,
}

impl Drop for Hook {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Hook {
    /// Starts a server whose answers depend on the path and the request.
    pub(crate) async fn start(
        answer: impl Fn(&str, &Value) -> Answer + Send + Sync + 'static,
    ) -> Result<Self, Failure> {
        let failed = |why: String| Failure::new("the suite's webhook", "a server on 127.0.0.1".into(), why);
        let (acceptor, ca) = tls().map_err(failed)?;
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(|e| failed(e.to_string()))?;
        let port = listener.local_addr().map_err(|e| failed(e.to_string()))?.port();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let task = tokio::spawn(serve(listener, acceptor, Arc::new(answer), heard.clone()));
        Ok(Self { port, ca, heard, task })
    }

    /// A `clientConfig` for a path.
    pub(crate) fn client(&self, path: &str) -> Value {
        json!({"url": format!("https://127.0.0.1:{}{path}", self.port), "caBundle": self.ca})
    }

    /// A `clientConfig` without the certificate that the server would have to trust.
    pub(crate) fn untrusted(&self, path: &str) -> Value {
        json!({"url": format!("https://127.0.0.1:{}{path}", self.port)})
    }

    /// The requests heard so far on a path.
    pub(crate) fn heard(&self, path: &str) -> Vec<Value> {
        let heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.iter().filter(|(at, _)| at == path).map(|(_, request)| request.clone()).collect()
    }

    /// The paths on which something was heard, in order.
    pub(crate) fn paths(&self) -> Vec<String> {
        let heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.iter().map(|(path, _)| path.clone()).collect()
    }

    pub(crate) fn forget(&self) {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

async fn serve(
    listener: TcpListener,
    acceptor: TlsAcceptor,
    answer: Arc<Answering>,
    heard: Arc<Mutex<Vec<(String, Value)>>>,
) {
    while let Ok((stream, _)) = listener.accept().await {
        let (acceptor, answer, heard) = (acceptor.clone(), answer.clone(), heard.clone());
        tokio::spawn(async move {
            let Ok(stream) = acceptor.accept(stream).await else { return };
            let service = service_fn(move |request| respond(request, answer.clone(), heard.clone()));
            // What is wrong with a connection is for the other side to say.
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

async fn respond(
    request: Request<Incoming>,
    answer: Arc<Answering>,
    heard: Arc<Mutex<Vec<(String, Value)>>>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let path = request.uri().path().to_owned();
    let body = request.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let review: Value = serde_json::from_slice(&body).unwrap_or_default();
    let asked = review["request"].clone();
    if !by_controller(&asked) {
        heard.lock().unwrap_or_else(PoisonError::into_inner).push((path.clone(), asked.clone()));
    }
    let whole = |mut response: Value| {
        if response.get("uid").is_none() {
            response["uid"] = asked["uid"].clone();
        }
        json!({"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response}).to_string()
    };
    let (code, body) = match answer(&path, &asked) {
        Answer::Response(response) => (200, whole(response)),
        Answer::Raw(code, body) => (code, body),
        Answer::Late(seconds) => {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            (200, whole(json!({"allowed": true})))
        }
    };
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = http::StatusCode::from_u16(code).unwrap_or_default();
    response.headers_mut().insert(header::CONTENT_TYPE, http::HeaderValue::from_static("application/json"));
    Ok(response)
}

/// What a cluster's own controllers put into every namespace is not a case's doing.
fn by_controller(request: &Value) -> bool {
    ["object", "oldObject"].iter().any(|object| request[object]["metadata"]["name"] == "kube-root-ca.crt")
}

/// A certificate that signs itself, as small webhooks have it, and the bundle that trusts it.
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
