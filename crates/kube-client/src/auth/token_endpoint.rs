//! A token endpoint for tests: of an OpenID Connect issuer, or Google's.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// Head and body of each received request, without those for `.well-known/openid-configuration`.
pub(super) type ReceivedRequests = Arc<Mutex<Vec<(String, String)>>>;

/// An endpoint that sends these responses in order, and its URL.
pub(super) async fn endpoint(
    responses: Vec<(u16, String)>,
    tls: Option<TlsAcceptor>,
) -> (String, ReceivedRequests) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let scheme = if tls.is_some() { "https" } else { "http" };
    let url = format!("{scheme}://{}", listener.local_addr().unwrap());
    let (requests, base) = (ReceivedRequests::default(), url.clone());
    let received = Arc::clone(&requests);
    tokio::spawn(async move {
        let mut responses = responses.into_iter();
        while let Ok((stream, _)) = listener.accept().await {
            match &tls {
                None => serve(stream, &base, &received, &mut responses).await,
                // A client that does not trust the endpoint closes the connection.
                Some(tls) => {
                    if let Ok(stream) = tls.accept(stream).await {
                        serve(stream, &base, &received, &mut responses).await;
                    }
                }
            }
        }
    });
    (url, requests)
}

async fn serve(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    base: &str,
    requests: &ReceivedRequests,
    responses: &mut impl Iterator<Item = (u16, String)>,
) {
    let (head, body) = read(&mut stream).await;
    let (code, response) = if head.starts_with("GET /.well-known/openid-configuration") {
        (200, format!(r#"{{"token_endpoint":"{base}/token"}}"#))
    } else {
        requests.lock().unwrap().push((head, body));
        responses.next().unwrap()
    };
    // The content type of Google's endpoint.
    let (kind, length) = ("application/json; charset=utf-8", response.len());
    let head =
        format!("HTTP/1.1 {code} X\r\nconnection: close\r\ncontent-type: {kind}\r\ncontent-length: {length}");
    stream.write_all(format!("{head}\r\n\r\n{response}").as_bytes()).await.unwrap();
    // A TLS client may close the connection before our close_notify.
    let _ = stream.shutdown().await;
}

/// Head and body of one request.
async fn read(stream: &mut (impl AsyncRead + Unpin)) -> (String, String) {
    let mut read = Vec::new();
    loop {
        let mut chunk = [0; 4096];
        let length = stream.read(&mut chunk).await.unwrap();
        read.extend_from_slice(&chunk[..length]);
        let text = String::from_utf8(read.clone()).unwrap();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let expected = head
            .lines()
            .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
        if body.len() >= expected.unwrap_or(0) {
            return (head.to_owned(), body.to_owned());
        }
    }
}

/// TLS for `127.0.0.1` with a self-signed certificate, and that certificate.
#[cfg(all(feature = "oidc", feature = "rustls-tls"))]
pub(super) fn self_signed() -> (TlsAcceptor, String) {
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};

    let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".into()]).unwrap();
    let key = PrivateKeyDer::from_pem_slice(made.signing_key.serialize_pem().as_bytes()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![CertificateDer::from(made.cert.der().to_vec())], key)
        .unwrap();
    (TlsAcceptor::from(Arc::new(config)), made.cert.pem())
}
