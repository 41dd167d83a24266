//! The smallest programs that do a part of the measured work, without either library: no client that does this work can be faster.

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::case::Floor;
use crate::measure::{Metrics, Stopwatch};

pub(crate) async fn measure(kubeconfig: &Path, floor: Floor) -> anyhow::Result<Metrics> {
    let server = ServerAddress::read(kubeconfig)?;
    match floor {
        Floor::Get { http2, requests } => get(&mut server.connect(http2).await?, requests).await,
        _ => decode(&server.connect(true).await?.get("/api/v1/namespaces/default/pods").await?, floor),
    }
}

/// Decodes each Pod of a list by serde_json, on one thread.
fn decode(list: &[u8], floor: Floor) -> anyhow::Result<Metrics> {
    #[derive(Deserialize)]
    struct List<'a> {
        #[serde(borrow)]
        items: Vec<&'a RawValue>,
    }
    let List { items } = serde_json::from_slice(list)?;
    let mut kept: Vec<Arc<Pod>> = Vec::with_capacity(items.len());
    let watch = Stopwatch::start();
    for item in &items {
        let pod: Pod = serde_json::from_str(item.get())?;
        match floor {
            Floor::Keep => kept.push(Arc::new(pod)),
            Floor::KeepCopy => kept.push(Arc::new(pod.clone())),
            _ => drop(black_box(pod)),
        }
    }
    let (wall, cpu) = watch.stop();
    let each = 1e3 / items.len() as f64;
    Ok(match floor {
        Floor::Keep | Floor::KeepCopy => [("ms".into(), wall), ("ms CPU time".into(), cpu)].into(),
        _ => [("µs".into(), wall * each), ("µs CPU time".into(), cpu * each)].into(),
    })
}

/// Gets and decodes one ConfigMap after the other over one connection.
async fn get(connection: &mut Connection, requests: usize) -> anyhow::Result<Metrics> {
    let mut latencies = Vec::with_capacity(requests);
    run(connection, requests / 10, &mut latencies).await?;
    latencies.clear();
    let watch = Stopwatch::start();
    run(connection, requests, &mut latencies).await?;
    let (wall, cpu) = watch.stop();
    latencies.sort_unstable();
    let each = 1e3 / requests as f64;
    Ok([
        ("µs per request".into(), wall * each),
        ("µs CPU time per request".into(), cpu * each),
        ("µs p50".into(), latencies[requests / 2].as_secs_f64() * 1e6),
    ]
    .into())
}

async fn run(
    connection: &mut Connection,
    requests: usize,
    latencies: &mut Vec<Duration>,
) -> anyhow::Result<()> {
    for _ in 0..requests {
        let start = Instant::now();
        let body = connection.get("/api/v1/namespaces/default/configmaps/object-0").await?;
        let object: ConfigMap = serde_json::from_slice(&body)?;
        latencies.push(start.elapsed());
        ensure!(object.data.is_some(), "the object has no data");
    }
    Ok(())
}

struct ServerAddress {
    authority: String,
    roots: RootCertStore,
}

impl ServerAddress {
    /// Reads the kubeconfig of the benchmark's server, which is JSON.
    fn read(kubeconfig: &Path) -> anyhow::Result<Self> {
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

    async fn connect(&self, http2: bool) -> anyhow::Result<Connection> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(self.roots.clone())
            .with_no_client_auth();
        tls.alpn_protocols = vec![if http2 { b"h2".to_vec() } else { b"http/1.1".to_vec() }];
        let stream = TcpStream::connect(&self.authority).await?;
        stream.set_nodelay(true)?;
        let name = ServerName::try_from("127.0.0.1")?;
        let io = TokioIo::new(TlsConnector::from(Arc::new(tls)).connect(name, stream).await?);
        let sender = if http2 {
            let (sender, connection) = http2::handshake(TokioExecutor::new(), io).await?;
            tokio::spawn(connection);
            Sender::Http2(sender)
        } else {
            let (sender, connection) = http1::handshake(io).await?;
            tokio::spawn(connection);
            Sender::Http1(sender)
        };
        Ok(Connection { authority: self.authority.clone(), sender })
    }
}

struct Connection {
    authority: String,
    sender: Sender,
}

enum Sender {
    Http1(http1::SendRequest<Empty<Bytes>>),
    Http2(http2::SendRequest<Empty<Bytes>>),
}

impl Connection {
    async fn get(&mut self, path: &str) -> anyhow::Result<Bytes> {
        let request = Request::get(format!("https://{}{path}", self.authority)).body(Empty::new())?;
        let response: http::Response<Incoming> = match &mut self.sender {
            Sender::Http1(sender) => {
                sender.ready().await?;
                sender.send_request(request).await?
            }
            Sender::Http2(sender) => sender.send_request(request).await?,
        };
        Ok(response.into_body().collect().await?.to_bytes())
    }
}
