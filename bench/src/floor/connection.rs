//! A connection by hyper and rustls alone.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, ensure};
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::case::Protocol;

pub(super) struct ServerAddress {
    authority: String,
    roots: RootCertStore,
}

impl ServerAddress {
    /// Reads the kubeconfig of the benchmark's server, which is JSON.
    pub(super) fn read(kubeconfig: &Path) -> anyhow::Result<Self> {
        let kubeconfig: Value = serde_json::from_slice(&std::fs::read(kubeconfig)?)?;
        let text =
            |name: &str| kubeconfig["clusters"][0]["cluster"][name].as_str().with_context(|| name.to_owned());
        let authority = text("server")?.trim_start_matches("https://").to_owned();
        let certificate: k8s_openapi::ByteString =
            serde_json::from_value(text("certificate-authority-data")?.into())?;
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(&certificate.0)?)?;
        Ok(Self { authority, roots })
    }

    pub(super) async fn connect(&self, protocol: Protocol) -> anyhow::Result<Connection> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(self.roots.clone())
            .with_no_client_auth();
        tls.alpn_protocols = vec![protocol.alpn().to_vec()];
        let stream = TcpStream::connect(&self.authority).await?;
        stream.set_nodelay(true)?;
        let name = ServerName::try_from("127.0.0.1")?;
        let io = TokioIo::new(TlsConnector::from(Arc::new(tls)).connect(name, stream).await?);
        let sender = match protocol {
            Protocol::Http1 => {
                let (sender, connection) = http1::handshake(io).await?;
                tokio::spawn(connection);
                Sender::Http1(sender)
            }
            Protocol::Http2 => {
                let (sender, connection) = http2::handshake(TokioExecutor::new(), io).await?;
                tokio::spawn(connection);
                Sender::Http2(sender)
            }
        };
        Ok(Connection { authority: self.authority.clone(), sender })
    }
}

pub(super) struct Connection {
    authority: String,
    sender: Sender,
}

enum Sender {
    Http1(http1::SendRequest<Empty<Bytes>>),
    Http2(http2::SendRequest<Empty<Bytes>>),
}

impl Connection {
    /// The whole body of a response.
    pub(super) async fn get(&mut self, path: &str) -> anyhow::Result<Bytes> {
        Ok(self.open(path).await?.collect().await?.to_bytes())
    }

    /// The body of a response as it arrives.
    pub(super) async fn open(&mut self, path: &str) -> anyhow::Result<Incoming> {
        let request = Request::get(format!("https://{}{path}", self.authority)).body(Empty::new())?;
        let response: Response<Incoming> = match &mut self.sender {
            Sender::Http1(sender) => {
                sender.ready().await?;
                sender.send_request(request).await?
            }
            Sender::Http2(sender) => sender.send_request(request).await?,
        };
        ensure!(response.status() == StatusCode::OK, "{path}: {}", response.status());
        Ok(response.into_body())
    }
}
