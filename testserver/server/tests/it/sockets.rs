//! The server on a socket: TLS, HTTP/2, shutdown.

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper_util::rt::{TokioExecutor, TokioIo};
use kube_testserver::{AdmissionPlugin, ApiServer, BuiltInController, StartError, TestServer, User};
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

/// A TLS client that trusts the CA of a kubeconfig.
fn connector(kubeconfig: &str) -> tokio_rustls::TlsConnector {
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
    tokio_rustls::TlsConnector::from(std::sync::Arc::new(config))
}

/// Whether a client that expects this name accepts the server's certificate.
async fn accepts(server: &TestServer, name: &'static str) -> bool {
    let tcp = TcpStream::connect((std::net::Ipv4Addr::LOCALHOST, server.addr().port())).await.unwrap();
    connector(&server.kubeconfig()).connect(name.try_into().unwrap(), tcp).await.is_ok()
}

#[tokio::test]
async fn tls_is_verified_by_the_ca_in_the_kubeconfig() {
    let server = TestServer::builder().tls().start().await.unwrap();
    for (name, valid) in [("127.0.0.1", true), ("localhost", true), ("elsewhere.test", false)] {
        assert_eq!(accepts(&server, name).await, valid, "{name}");
    }
    assert!(server.url().starts_with("https://127.0.0.1:"));
}

#[tokio::test]
async fn the_certificate_has_the_names_that_were_asked_for() {
    let builder = TestServer::builder().tls().bind_address(std::net::Ipv4Addr::UNSPECIFIED);
    let server =
        builder.clone().san("elsewhere.test").san("192.0.2.7").san("localhost").start().await.unwrap();
    for (name, valid) in
        [("elsewhere.test", true), ("192.0.2.7", true), ("localhost", true), ("192.0.2.8", false)]
    {
        assert_eq!(accepts(&server, name).await, valid, "{name}");
    }
    let refused = builder.san("host:6443").start().await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "cannot issue a certificate for \"host:6443\": expected a DNS name or an IP address"
    );
}

/// The loopback network has further addresses, so that this needs no other network.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn it_listens_on_another_address() {
    let other = std::net::Ipv4Addr::new(127, 0, 0, 9);
    let server = TestServer::builder().bind_address(other).start().await.unwrap();
    assert_eq!((server.addr().ip(), server.url()), (other.into(), format!("http://{}", server.addr())));
    assert_eq!(get(server.addr(), "/version").await.status(), 200);
    let loopback = TcpStream::connect((std::net::Ipv4Addr::LOCALHOST, server.addr().port())).await;
    assert!(loopback.is_err(), "only the given address");

    let all = TestServer::builder().bind_address(std::net::Ipv4Addr::UNSPECIFIED).start().await.unwrap();
    assert_eq!(all.url(), format!("http://127.0.0.1:{}", all.addr().port()));
    let reached = std::net::SocketAddr::from((other, all.addr().port()));
    assert_eq!(get(reached, "/version").await.status(), 200);

    // 192.0.2.0/24 is reserved for documentation. The others are a link-local address without its interface, multicast and broadcast.
    for other in ["192.0.2.1", "fe80::1", "224.0.0.1", "255.255.255.255"] {
        let address: std::net::IpAddr = other.parse().unwrap();
        let refused = TestServer::builder().bind_address(address).start().await.unwrap_err();
        let expected = format!("cannot listen on the address {other}: expected an address of this machine");
        assert_eq!(refused.to_string(), expected);
    }
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

/// The kubeconfig of a second socket has the administrator of the existing server.
#[tokio::test]
async fn an_existing_server_keeps_its_settings_on_another_socket() {
    let api = TestServer::builder().with_rbac().service().unwrap();
    let server = TestServer::builder().api(api.clone()).start().await.unwrap();
    let kubeconfig = server.kubeconfig();
    let token = kubeconfig.lines().find_map(|line| line.split_once("{\"token\":\"")?.1.strip_suffix("\"}"));
    let token = token.expect("the administrator has a token");
    let tcp = TcpStream::connect(server.addr()).await.unwrap();
    let (mut send, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(tcp)).await.unwrap();
    tokio::spawn(connection);
    let uri = format!("http://{}/api/v1/pods", server.addr());
    let request = http::Request::get(uri).header("authorization", format!("Bearer {token}"));
    let response = send.send_request(request.body(Empty::<Bytes>::new()).unwrap()).await.unwrap();
    assert_eq!(response.status(), 200);

    let dir = tempfile::tempdir().unwrap();
    let again = TestServer::builder().with_rbac().api(api.clone());
    again.service().expect("the same settings");
    let existing = || TestServer::builder().api(api.clone());
    let issuer = "https://kubernetes.default.svc";
    existing().service_account_issuer(issuer).service().expect("the same issuer");
    let tokens = "service_account_issuer or service_account_key";
    for (builder, setting) in [
        (existing().seed(1), "seed"),
        (existing().start_time(jiff::Timestamp::UNIX_EPOCH), "start_time"),
        (existing().history(5), "history"),
        (existing().runtime_config("api/all=true"), "runtime_config"),
        (existing().disable_admission_plugin(AdmissionPlugin::Priority), "disable_admission_plugin"),
        (existing().without(BuiltInController::GarbageCollection), "with or without"),
        (existing().data(dir.path()), "data or sync"),
        (existing().service_account_issuer("https://other.test"), tokens),
        (existing().service_account_key(rcgen::KeyPair::generate().unwrap().serialize_pem()), tokens),
        (TestServer::builder().with_rbac().api(ApiServer::new()), "with_rbac"),
    ] {
        let refused = builder.service().unwrap_err().to_string();
        let expected = format!(
            "cannot change `{setting}` of an existing server: expected what the server was built with"
        );
        assert_eq!(refused, expected);
    }
}

#[test]
fn no_secret_is_printed() {
    let user = User::new("ann").token("s3cret");
    let builder = TestServer::builder().certificate("chain", "s3cret").service_account_key("s3cret");
    for text in [format!("{user:?}"), format!("{:?}", builder.with_user(user.clone()))] {
        assert!(text.contains("ann") && !text.contains("s3cret"), "{text}");
    }
}

/// Reopened with its directory, the server has the CA that it had.
#[tokio::test]
async fn a_socket_is_reopened_with_its_data_directory() {
    let dir = tempfile::tempdir().unwrap();
    let builder = TestServer::builder().data(dir.path()).tls();
    let server = builder.clone().start().await.unwrap();
    let (api, port, kubeconfig) = (server.api(), server.addr().port(), server.kubeconfig());
    server.shutdown().await;
    let again = builder.clone().port(port).api(api.clone()).start().await.unwrap();
    assert_eq!(again.kubeconfig(), kubeconfig);
    let refused = builder.sync().api(api).start().await.unwrap_err();
    assert!(matches!(refused, StartError::ExistingServer { setting: "data or sync" }));
}
