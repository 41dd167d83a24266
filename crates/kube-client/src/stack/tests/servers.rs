//! Servers with generated certificates.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use base64::{Engine, engine::general_purpose::STANDARD};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::broadcast;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// A certificate authority.
pub(super) struct CertificateAuthority {
    certificate: rcgen::Certificate,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate with its key, both PEM.
pub(super) struct TestCertificate {
    pub(super) certificate: String,
    pub(super) key: String,
    der: Vec<u8>,
}

impl CertificateAuthority {
    pub(super) fn new(name: &str) -> Self {
        let mut params = named(name, &[]);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        Self { certificate, issuer: Issuer::new(params, key) }
    }

    pub(super) fn pem(&self) -> String {
        self.certificate.pem()
    }

    pub(super) fn der(&self) -> Vec<u8> {
        self.certificate.der().to_vec()
    }

    /// A certificate for a server with these names, or for a client.
    pub(super) fn sign(&self, names: &[&str]) -> TestCertificate {
        let key = KeyPair::generate().unwrap();
        let certificate = named("leaf", names).signed_by(&key, &self.issuer).unwrap();
        TestCertificate {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
            der: certificate.der().to_vec(),
        }
    }
}

impl TestCertificate {
    /// A self-signed CA certificate, as `openssl req -x509` creates.
    pub(super) fn self_signed(names: &[&str]) -> Self {
        let mut params = named("itself", names);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        Self { certificate: certificate.pem(), key: key.serialize_pem(), der: certificate.der().to_vec() }
    }

    pub(super) fn der(&self) -> Vec<u8> {
        self.der.clone()
    }

    /// How [`Https`] reports this client certificate.
    pub(super) fn as_reported(&self) -> String {
        STANDARD.encode(&self.der)
    }
}

fn named(name: &str, names: &[&str]) -> CertificateParams {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    let mut params = CertificateParams::new(names).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

/// TLS with the certificate `own` and optional client certificates of `clients`.
pub(super) fn acceptor(own: &TestCertificate, clients: &CertificateAuthority) -> TlsAcceptor {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = RootCertStore::empty();
    roots.add(clients.der().into()).unwrap();
    let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), Arc::clone(&provider))
        .allow_unauthenticated()
        .build()
        .unwrap();
    let chain = vec![CertificateDer::from(own.der.clone())];
    let key = PrivateKeyDer::from_pem_slice(own.key.as_bytes()).unwrap();
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(verifier)
        .with_single_cert(chain, key)
        .unwrap();
    TlsAcceptor::from(Arc::new(config))
}

/// Responds to every request with the connection's client certificate in base64, or with `anonymous`: a watch has it in its events.
pub(super) struct Https {
    pub(super) address: SocketAddr,
    acceptor: Arc<Mutex<TlsAcceptor>>,
    events: broadcast::Sender<()>,
}

impl Https {
    pub(super) async fn start(acceptor: TlsAcceptor) -> Self {
        let acceptor = Arc::new(Mutex::new(acceptor));
        let events = broadcast::Sender::new(8);
        let (current, of_server) = (Arc::clone(&acceptor), events.clone());
        let address = listen(move |stream| {
            let acceptor = current.lock().unwrap().clone();
            let events = of_server.clone();
            async move {
                // A client that does not trust the server closes the connection.
                if let Ok(stream) = acceptor.accept(stream).await {
                    let shown = reported_certificate(&stream);
                    respond(stream, &shown, &events).await;
                }
            }
        })
        .await;
        Self { address, acceptor, events }
    }

    pub(super) fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// Takes effect with the next connection.
    pub(super) fn replace(&self, acceptor: TlsAcceptor) {
        *self.acceptor.lock().unwrap() = acceptor;
    }

    /// To each watch that is open.
    pub(super) fn send_event(&self) {
        self.events.send(()).unwrap();
    }
}

/// Serves every connection in its own task until the runtime ends.
pub(super) async fn listen<F>(serve: impl Fn(TcpStream) -> F + Send + 'static) -> SocketAddr
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream));
        }
    });
    address
}

fn reported_certificate(stream: &TlsStream<TcpStream>) -> String {
    let shown = stream.get_ref().1.peer_certificates().and_then(|chain| chain.first());
    shown.map_or_else(|| "anonymous".to_owned(), |certificate| STANDARD.encode(certificate))
}

async fn respond(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    certificate: &str,
    events: &broadcast::Sender<()>,
) {
    while let Some(head) = read_head(&mut stream).await {
        if head.contains("watch=") {
            return send_events(stream, certificate, events.subscribe()).await;
        }
        let response =
            format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{certificate}", certificate.len());
        if send(&mut stream, &response).await.is_err() {
            return;
        }
    }
}

async fn send_events(
    mut stream: impl AsyncWrite + Unpin,
    certificate: &str,
    mut events: broadcast::Receiver<()>,
) {
    let object = json!({ "metadata": { "name": "a", "resourceVersion": "2" }, "data": { "certificate": certificate } });
    let event = format!("{}\n", json!({ "type": "MODIFIED", "object": object }));
    let chunk = format!("{:x}\r\n{event}\r\n", event.len());
    let mut next = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    while send(&mut stream, next).await.is_ok() && events.recv().await.is_ok() {
        next = &chunk;
    }
}

async fn send(stream: &mut (impl AsyncWrite + Unpin), text: &str) -> std::io::Result<()> {
    stream.write_all(text.as_bytes()).await?;
    stream.flush().await
}

/// The head of one request; `None` at the end of the connection.
pub(super) async fn read_head(stream: &mut (impl AsyncRead + Unpin)) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    String::from_utf8(head).ok()
}
