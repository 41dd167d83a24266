//! The listener: TLS with HTTP/2 and HTTP/1.1, as in API servers, or neither TLS nor HTTP/2.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use anyhow::Context;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::collection::Collection;
use super::response::respond;

struct Tls {
    acceptor: TlsAcceptor,
    certificate: String,
}

impl Tls {
    fn new() -> anyhow::Result<Self> {
        let certified = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()])?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(certified.signing_key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut tls = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![certified.cert.der().clone()], key)?;
        tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self { acceptor: TlsAcceptor::from(Arc::new(tls)), certificate: certified.cert.pem() })
    }
}

pub(super) struct Socket {
    listener: TcpListener,
    tls: Option<Tls>,
}

impl Socket {
    pub(super) async fn bind(tls: bool) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.context("cannot bind a port")?;
        Ok(Self { listener, tls: tls.then(Tls::new).transpose()? })
    }

    /// A kubeconfig for this server. It is JSON, which is valid YAML.
    pub(super) fn kubeconfig(&self) -> String {
        let port = self.listener.local_addr().map_or(0, |address| address.port());
        let cluster = match &self.tls {
            Some(tls) => serde_json::json!({
                "server": format!("https://127.0.0.1:{port}"),
                "certificate-authority-data": base64(tls.certificate.as_bytes()),
            }),
            None => serde_json::json!({"server": format!("http://127.0.0.1:{port}")}),
        };
        serde_json::json!({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "bench",
            "contexts": [{"name": "bench", "context": {"cluster": "bench", "user": "bench"}}],
            "clusters": [{"name": "bench", "cluster": cluster}],
            "users": [{"name": "bench", "user": {"token": "bench"}}],
        })
        .to_string()
    }

    pub(super) async fn serve(self, collection: Arc<Collection>) -> anyhow::Result<()> {
        loop {
            let (stream, _) = self.listener.accept().await?;
            stream.set_nodelay(true)?;
            let acceptor = self.tls.as_ref().map(|tls| tls.acceptor.clone());
            let collection = Arc::clone(&collection);
            tokio::spawn(async move {
                match acceptor {
                    Some(acceptor) => {
                        let Ok(stream) = acceptor.accept(stream).await else { return };
                        serve_connection(stream, &collection).await;
                    }
                    None => serve_connection(stream, &collection).await,
                }
            });
        }
    }
}

async fn serve_connection(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    collection: &Arc<Collection>,
) {
    collection.connections.fetch_add(1, Ordering::Relaxed);
    let service = service_fn(|request| respond(Arc::clone(collection), request));
    let mut http = auto::Builder::new(TokioExecutor::new());
    http.http2().max_concurrent_streams(250);
    // Ignored: a client that disconnects is no error.
    let _ = http.serve_connection(TokioIo::new(stream), service).await;
    collection.connections.fetch_sub(1, Ordering::Relaxed);
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().fold(0, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for digit in 0..4 {
            let value = (word >> (18 - 6 * digit)) & 63;
            text.push(if digit <= chunk.len() { char::from(DIGITS[value as usize]) } else { '=' });
        }
    }
    text
}
