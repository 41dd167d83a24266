use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper_util::rt::{TokioExecutor, TokioIo};
use kube_testserver::{StartError, TestServer};
use serde_json::Value;
use tokio::net::TcpStream;

use crate::client::*;

async fn get(addr: std::net::SocketAddr, path: &str) -> http::Response<hyper::body::Incoming> {
    let tcp = TcpStream::connect(addr).await.unwrap();
    let (mut send, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(tcp)).await.unwrap();
    tokio::spawn(connection);
    let uri = format!("http://{addr}{path}");
    send.send_request(http::Request::get(uri).body(Empty::<Bytes>::new()).unwrap()).await.unwrap()
}

#[tokio::test]
async fn socket_and_handle_share_the_state() {
    let server = TestServer::start().await.unwrap();
    let client = TestClient { api: server.api() };
    client.post(CONFIG_MAPS, config_map("a")).await.ok();
    let body =
        get(server.addr(), &format!("{CONFIG_MAPS}/a")).await.into_body().collect().await.unwrap().to_bytes();
    let object: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(object["data"]["k"], "v");
    assert!(server.kubeconfig().contains(&format!("server: http://{}", server.addr())));
    let port = server.addr().port();
    let taken = TestServer::builder().port(port).start().await.unwrap_err();
    assert!(matches!(taken, StartError::Bind { port: p, .. } if p == port));

    server.shutdown().await;
    let again = TestServer::builder().port(port).api(client.api.clone()).start().await.unwrap();
    assert_eq!(get(again.addr(), &format!("{CONFIG_MAPS}/a")).await.status(), 200);
}

#[tokio::test]
async fn shutdown_ends_watches_through_the_socket_and_no_others() {
    let server = TestServer::start().await.unwrap();
    let client = TestClient { api: server.api() };
    let mut inside = client.watch(&format!("{CONFIG_MAPS}?watch=1")).await;
    let outside = get(server.addr(), &format!("{CONFIG_MAPS}?watch=1")).await;
    let reader = tokio::spawn(async move { outside.into_body().collect().await.unwrap().to_bytes() });
    let alive = tokio::runtime::Handle::current().metrics().num_alive_tasks();
    assert!(alive > 1);
    server.shutdown().await;
    assert!(reader.await.unwrap().is_empty());
    client.post(CONFIG_MAPS, config_map("a")).await.ok();
    assert_eq!(inside.event().await.0, "ADDED");
    while tokio::runtime::Handle::current().metrics().num_alive_tasks() > 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn tls_is_verified_by_the_ca_in_the_kubeconfig() {
    let server = TestServer::builder().tls().start().await.unwrap();
    let kubeconfig = server.kubeconfig();
    let data =
        kubeconfig.lines().find_map(|l| l.trim().strip_prefix("certificate-authority-data: ")).unwrap();
    let pem = base64::Engine::decode(&base64::prelude::BASE64_STANDARD, data).unwrap();
    let mut roots = rustls::RootCertStore::empty();
    let ca = rustls::pki_types::pem::PemObject::from_pem_slice(&pem).unwrap();
    roots.add(ca).unwrap();
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let connector = tokio_rustls::TlsConnector::from(std::sync::Arc::new(config));
    for name in ["127.0.0.1", "localhost"] {
        let tcp = TcpStream::connect(server.addr()).await.unwrap();
        connector.connect(name.try_into().unwrap(), tcp).await.unwrap();
    }
    let tcp = TcpStream::connect(server.addr()).await.unwrap();
    connector.connect("elsewhere.test".try_into().unwrap(), tcp).await.unwrap_err();
    assert!(server.url().starts_with("https://127.0.0.1:"));
}

/// Long queries are accepted; longer URIs get 414.
#[tokio::test]
async fn uris_have_a_limit() {
    let server = TestServer::start().await.unwrap();
    let long = |length: usize| format!("{CONFIG_MAPS}?labelSelector=a%3D{}", "b".repeat(length));
    // The error about the label shows that the query was parsed.
    assert_eq!(get(server.addr(), &long(60_000)).await.status(), 400);
    let mut tcp = TcpStream::connect(server.addr()).await.unwrap();
    let request = format!("GET {} HTTP/1.1\r\nhost: x\r\n\r\n", long(70_000));
    tokio::io::AsyncWriteExt::write_all(&mut tcp, request.as_bytes()).await.unwrap();
    let mut answer = [0; 12];
    tokio::io::AsyncReadExt::read_exact(&mut tcp, &mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 414");
    assert_eq!(get(server.addr(), "/version").await.status(), 200);
}
