//! Connections to a kubeconfig endpoint, one request each.

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client as Pool, connect::HttpConnector},
    rt::TokioExecutor,
};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use serde_json::Value;

use super::{ApiResponse, Watch};
use crate::{check::Failure, kubeconfig::Endpoint};

/// The timeout of a response, except watches.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);

/// A client of one server with one identity.
#[derive(Clone)]
pub(crate) struct Client {
    pool: Pool<HttpsConnector<HttpConnector>, Full<Bytes>>,
    server: String,
    token: Option<String>,
}

/// A request builder.
pub(crate) struct Call {
    client: Client,
    method: Method,
    path: String,
    headers: Vec<(String, String)>,
    body: Bytes,
}

impl Client {
    pub(crate) fn new(endpoint: &Endpoint) -> Result<Self, String> {
        let https = HttpsConnectorBuilder::new()
            .with_tls_config(tls(endpoint)?)
            .https_or_http()
            .enable_http1()
            .build();
        Ok(Self {
            pool: Pool::builder(TokioExecutor::new()).build(https),
            server: endpoint.server.clone(),
            token: endpoint.token.clone(),
        })
    }

    /// Starts a request; `path` includes the query.
    pub(crate) fn call(&self, method: Method, path: impl Into<String>) -> Call {
        let headers = match &self.token {
            Some(token) => vec![(header::AUTHORIZATION.to_string(), format!("Bearer {token}"))],
            None => Vec::new(),
        };
        Call { client: self.clone(), method, path: path.into(), headers, body: Bytes::new() }
    }
}

impl Call {
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn accept(self, value: &str) -> Self {
        self.header("accept", value)
    }

    pub(crate) fn json(self, value: &Value) -> Self {
        self.bytes("application/json", value.to_string())
    }

    pub(crate) fn typed(self, content_type: &str, value: &Value) -> Self {
        self.bytes(content_type, value.to_string())
    }

    pub(crate) fn bytes(mut self, content_type: &str, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self.header("content-type", content_type)
    }

    /// Sends the request and reads the whole response; a transport error fails the case.
    pub(crate) async fn send(self) -> Result<ApiResponse, Failure> {
        let line = self.line();
        let response = async {
            let (head, body) = self.start().await?.into_parts();
            let body = body.collect().await.map_err(|e| transport_error(&line, &e))?.to_bytes();
            Ok(ApiResponse::new(line.clone(), head.status.as_u16(), head.headers, &body))
        };
        match tokio::time::timeout(RESPONSE_TIMEOUT, response).await {
            Ok(response) => response,
            Err(_) => {
                Err(Failure::new(&line, format!("a response within {RESPONSE_TIMEOUT:?}"), "none".to_owned()))
            }
        }
    }

    /// Sends the request and returns the response as a stream of watch events; expects 200.
    pub(crate) async fn watch(self) -> Result<Watch, Failure> {
        let line = self.line();
        let (head, body) = self.start().await?.into_parts();
        if head.status == 200 {
            return Ok(Watch::new(line, head.headers, body));
        }
        let body = body.collect().await.map_err(|e| transport_error(&line, &e))?.to_bytes();
        Err(Failure::new(
            &line,
            "200 and a stream".to_owned(),
            format!("{} {}", head.status, String::from_utf8_lossy(&body)),
        ))
    }

    fn line(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    async fn start(self) -> Result<Response<Incoming>, Failure> {
        let line = self.line();
        let mut request =
            Request::builder().method(self.method).uri(format!("{}{}", self.client.server, self.path));
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let request = request.body(Full::new(self.body)).map_err(|e| transport_error(&line, &e))?;
        self.client.pool.request(request).await.map_err(|e| transport_error(&line, &e))
    }
}

fn transport_error(line: &str, error: &dyn std::error::Error) -> Failure {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(e) = source {
        text = format!("{text}: {e}");
        source = e.source();
    }
    Failure::new(line, "an HTTP response".to_owned(), text)
}

fn tls(endpoint: &Endpoint) -> Result<ClientConfig, String> {
    let mut roots = RootCertStore::empty();
    for cert in CertificateDer::pem_slice_iter(endpoint.ca.as_deref().unwrap_or_default()) {
        let cert = cert.map_err(|e| format!("certificate-authority: {e}"))?;
        roots.add(cert).map_err(|e| format!("certificate-authority: {e}"))?;
    }
    let builder = ClientConfig::builder_with_provider(rustls::crypto::ring::default_provider().into())
        .with_safe_default_protocol_versions()
        .map_err(|e| e.to_string())?
        .with_root_certificates(roots);
    let Some((cert, key)) = &endpoint.identity else { return Ok(builder.with_no_client_auth()) };
    let chain = CertificateDer::pem_slice_iter(cert).collect::<Result<Vec<_>, _>>();
    let chain = chain.map_err(|e| format!("client-certificate: {e}"))?;
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|e| format!("client-key: {e}"))?;
    builder.with_client_auth_cert(chain, key).map_err(|e| format!("client-certificate: {e}"))
}
