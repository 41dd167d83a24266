//! Servers with generated certificates.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use base64::{Engine, engine::general_purpose::STANDARD};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
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

/// Responds to every request with the connection's client certificate in base64, or with `anonymous`.
pub(super) struct Https {
    pub(super) address: SocketAddr,
    acceptor: Arc<Mutex<TlsAcceptor>>,
}

impl Https {
    pub(super) async fn start(acceptor: TlsAcceptor) -> Self {
        let acceptor = Arc::new(Mutex::new(acceptor));
        let current = Arc::clone(&acceptor);
        let address = listen(move |stream| {
            let acceptor = current.lock().unwrap().clone();
            async move {
                // A client that does not trust the server closes the connection.
                if let Ok(stream) = acceptor.accept(stream).await {
                    let shown = reported_certificate(&stream);
                    respond(stream, &shown).await;
                }
            }
        })
        .await;
        Self { address, acceptor }
    }

    pub(super) fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// Takes effect with the next connection.
    pub(super) fn replace(&self, acceptor: TlsAcceptor) {
        *self.acceptor.lock().unwrap() = acceptor;
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

async fn respond(mut stream: impl AsyncRead + AsyncWrite + Unpin, text: &str) {
    while read_head(&mut stream).await.is_some() {
        let response = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{text}", text.len());
        if stream.write_all(response.as_bytes()).await.is_err() || stream.flush().await.is_err() {
            return;
        }
    }
}

/// The head of one request; `None` at the end of the connection.
pub(super) async fn read_head(stream: &mut (impl AsyncRead + Unpin)) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    String::from_utf8(head).ok()
}
