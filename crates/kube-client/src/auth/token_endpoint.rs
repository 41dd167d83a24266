//! A token endpoint for tests: an issuer of OpenID Connect, or Google's.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// What the endpoint was asked: the head and body of each request, those for the issuer's description left out.
pub(super) type Asked = Arc<Mutex<Vec<(String, String)>>>;

/// An endpoint that answers so, request by request, and its URL.
pub(super) async fn endpoint(answers: Vec<(u16, String)>, tls: Option<TlsAcceptor>) -> (String, Asked) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let scheme = if tls.is_some() { "https" } else { "http" };
    let url = format!("{scheme}://{}", listener.local_addr().unwrap());
    let (asked, base) = (Asked::default(), url.clone());
    let heard = Arc::clone(&asked);
    tokio::spawn(async move {
        let mut answers = answers.into_iter();
        while let Ok((stream, _)) = listener.accept().await {
            match &tls {
                None => serve(stream, &base, &heard, &mut answers).await,
                // Who does not trust us hangs up.
                Some(tls) => {
                    if let Ok(stream) = tls.accept(stream).await {
                        serve(stream, &base, &heard, &mut answers).await;
                    }
                }
            }
        }
    });
    (url, asked)
}

async fn serve(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    base: &str,
    asked: &Asked,
    answers: &mut impl Iterator<Item = (u16, String)>,
) {
    let (head, body) = read(&mut stream).await;
    let (code, answer) = if head.starts_with("GET /.well-known/openid-configuration") {
        (200, format!(r#"{{"token_endpoint":"{base}/token"}}"#))
    } else {
        asked.lock().unwrap().push((head, body));
        answers.next().unwrap()
    };
    // The type is the one that Google's endpoint states.
    let (kind, length) = ("application/json; charset=utf-8", answer.len());
    let head =
        format!("HTTP/1.1 {code} X\r\nconnection: close\r\ncontent-type: {kind}\r\ncontent-length: {length}");
    stream.write_all(format!("{head}\r\n\r\n{answer}").as_bytes()).await.unwrap();
    // Over TLS, a client may have read all and gone before the farewell.
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

/// TLS for `127.0.0.1` by a certificate that vouches for itself, and that certificate.
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
