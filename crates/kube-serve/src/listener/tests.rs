//! Tests of the listener: limits, TLS, reload, drain.

use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::{Notify, oneshot},
    task::JoinHandle,
};

use super::{Listener, Served, TlsSettings, serve::next_pause};

struct Running {
    addr: std::net::SocketAddr,
    stop: oneshot::Sender<()>,
    task: JoinHandle<Served>,
}

async fn start<S: super::HttpService + Sync>(service: S, adjust: impl FnOnce(Listener) -> Listener) -> Running
where
    S::Future: Send,
{
    let listener = adjust(Listener::bind(([127, 0, 0, 1], 0).into()).await.unwrap());
    let addr = listener.local_addr();
    let (stop, stopped) = oneshot::channel();
    let task = tokio::spawn(listener.serve(service, async move {
        stopped.await.ok();
    }));
    Running { addr, stop, task }
}

fn version_echo() -> impl tower::Service<
    http::Request<Incoming>,
    Response = http::Response<Full<Bytes>>,
    Error = Infallible,
    Future: Send,
> + Clone
+ Send
+ Sync
+ 'static {
    tower::service_fn(async |request: http::Request<Incoming>| {
        Ok(http::Response::new(Full::new(Bytes::from(format!("{:?}", request.version())))))
    })
}

async fn h2_get(io: impl tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static) -> Bytes {
    let (mut send, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(io)).await.unwrap();
    let connection = tokio::spawn(connection);
    let request = http::Request::get("http://localhost/").body(Empty::<Bytes>::new()).unwrap();
    let body = send.send_request(request).await.unwrap().into_body().collect().await.unwrap().to_bytes();
    drop(send);
    connection.await.unwrap().unwrap();
    body
}

#[tokio::test]
async fn serves_both_http_versions_on_one_plain_socket() {
    let server = start(version_echo(), |l| l).await;
    let mut tcp = TcpStream::connect(server.addr).await.unwrap();
    tcp.write_all(b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    tcp.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("HTTP/1.1"), "{answer}");
    assert_eq!(h2_get(TcpStream::connect(server.addr).await.unwrap()).await, "HTTP/2.0");

    server.stop.send(()).unwrap();
    assert!(server.task.await.unwrap().drained);
}

/// Whether the server closes a connection on which this was sent and nothing else comes.
async fn is_closed_after(addr: std::net::SocketAddr, sent: &[u8]) -> bool {
    let mut tcp = TcpStream::connect(addr).await.unwrap();
    tcp.write_all(sent).await.unwrap();
    let mut received = Vec::new();
    // Settings may come before.
    tokio::time::timeout(Duration::from_secs(20), tcp.read_to_end(&mut received)).await.is_ok()
}

#[tokio::test]
async fn a_connection_without_a_request_is_closed_and_one_with_a_request_is_not() {
    let server = start(version_echo(), |l| l.first_request_timeout(Duration::from_millis(100))).await;
    let mut busy = TcpStream::connect(server.addr).await.unwrap();
    let request = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n";
    let mut answer = [0; 12];
    busy.write_all(request).await.unwrap();
    busy.read_exact(&mut answer).await.unwrap();
    for sent in [&b""[..], b"P", b"PRI * HTTP/2.0\r\n", b"GET / HT", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"] {
        assert!(is_closed_after(server.addr, sent).await);
    }
    busy.write_all(request).await.unwrap();
    let mut more = [0; 200];
    assert!(busy.read(&mut more).await.unwrap() > 0, "it has made a request");
    drop(busy);
    server.stop.send(()).unwrap();
    assert!(server.task.await.unwrap().drained);
}

#[tokio::test]
async fn a_silent_connection_gives_up_its_place_and_a_used_one_does_not() {
    let server = start(version_echo(), |l| l.max_connections(2)).await;
    let request = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n";
    let mut answer = [0; 12];
    let mut used = TcpStream::connect(server.addr).await.unwrap();
    used.write_all(request).await.unwrap();
    used.read_exact(&mut answer).await.unwrap();
    let mut silent = TcpStream::connect(server.addr).await.unwrap();
    let mut third = TcpStream::connect(server.addr).await.unwrap();
    third.write_all(request).await.unwrap();
    third.read_exact(&mut answer).await.unwrap();
    assert_eq!(silent.read(&mut answer).await.unwrap(), 0, "it was closed");
    // No place is free now, and no connection is silent.
    let mut fourth = TcpStream::connect(server.addr).await.unwrap();
    fourth.write_all(request).await.unwrap();
    used.write_all(request).await.unwrap();
    let mut text = Vec::new();
    while !text.windows(12).any(|window| window == b"HTTP/1.1 200") {
        used.read_buf(&mut text).await.unwrap();
    }
    drop(used);
    fourth.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200");
    drop((third, fourth));
    server.stop.send(()).unwrap();
    assert!(server.task.await.unwrap().drained);
}

fn certificate(name: &str) -> rcgen::CertifiedKey<rcgen::KeyPair> {
    rcgen::generate_simple_self_signed([name.to_string()]).unwrap()
}

async fn tls_connect(
    addr: std::net::SocketAddr,
    trust: &rcgen::CertifiedKey<rcgen::KeyPair>,
    name: &'static str,
) -> std::io::Result<tokio_rustls::client::TlsStream<TcpStream>> {
    tls_connect_as(addr, trust, name, None).await
}

/// Shows a certificate, given with its key.
async fn tls_connect_as(
    addr: std::net::SocketAddr,
    trust: &rcgen::CertifiedKey<rcgen::KeyPair>,
    name: &'static str,
    identity: Option<(rustls::pki_types::CertificateDer<'static>, Vec<u8>)>,
) -> std::io::Result<tokio_rustls::client::TlsStream<TcpStream>> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(trust.cert.der().clone()).unwrap();
    let config =
        rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots);
    let mut config = match identity {
        Some((certificate, key)) => {
            config.with_client_auth_cert(vec![certificate], key.try_into().unwrap()).unwrap()
        }
        None => config.with_no_client_auth(),
    };
    config.alpn_protocols = vec![b"h2".to_vec()];
    let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
    connector.connect(name.try_into().unwrap(), TcpStream::connect(addr).await?).await
}

#[tokio::test]
async fn a_reloaded_certificate_is_used_by_the_next_connection() {
    let (first, second) = (certificate("first.test"), certificate("second.test"));
    let tls =
        TlsSettings::from_pem(first.cert.pem().as_bytes(), first.signing_key.serialize_pem().as_bytes())
            .unwrap();
    let server = start(version_echo(), |l| l.tls(tls.clone())).await;
    assert_eq!(h2_get(tls_connect(server.addr, &first, "first.test").await.unwrap()).await, "HTTP/2.0");

    tls.reload(second.cert.pem().as_bytes(), second.signing_key.serialize_pem().as_bytes()).unwrap();
    assert!(tls_connect(server.addr, &first, "first.test").await.is_err());
    assert_eq!(h2_get(tls_connect(server.addr, &second, "second.test").await.unwrap()).await, "HTTP/2.0");

    tls.reload(b"nonsense", b"").unwrap_err();
    assert!(
        tls_connect(server.addr, &second, "second.test").await.is_ok(),
        "a bad reload keeps the old certificate"
    );
}

/// An authority, and what it has signed for a client: certificate and key.
fn client_authority() -> (rcgen::Certificate, rustls::pki_types::CertificateDer<'static>, rcgen::KeyPair) {
    let mut params = rcgen::CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let key = rcgen::KeyPair::generate().unwrap();
    let authority = params.self_signed(&key).unwrap();
    let (own, issuer) = (rcgen::KeyPair::generate().unwrap(), rcgen::Issuer::new(params, key));
    let signed = rcgen::CertificateParams::new(["client".to_string()]).unwrap().signed_by(&own, &issuer);
    (authority, signed.unwrap().der().clone(), own)
}

#[tokio::test]
async fn a_reload_keeps_asking_clients_for_their_certificates() {
    let (first, second) = (certificate("first.test"), certificate("second.test"));
    let (authority, client, key) = client_authority();
    let pem =
        |made: &rcgen::CertifiedKey<rcgen::KeyPair>| (made.cert.pem(), made.signing_key.serialize_pem());
    let (chain, own_key) = pem(&first);
    let from_pem =
        TlsSettings::from_pem_with_clients(chain.as_bytes(), own_key.as_bytes(), authority.pem().as_bytes());
    let whole = from_pem.as_ref().unwrap().current();
    // However the settings were made.
    for tls in [from_pem.unwrap(), TlsSettings::new((*whole).clone())] {
        let service = tower::service_fn(async |request: http::Request<Incoming>| {
            let leaf = request.extensions().get::<super::PeerCertificates>().and_then(|peer| peer.leaf());
            let shown = leaf.map_or_else(Bytes::new, Bytes::copy_from_slice);
            Ok::<_, Infallible>(http::Response::new(Full::new(shown)))
        });
        let server = start(service, |l| l.tls(tls.clone())).await;
        for (made, name) in [(&first, "first.test"), (&second, "second.test")] {
            let (chain, own_key) = pem(made);
            tls.reload(chain.as_bytes(), own_key.as_bytes()).unwrap();
            let shown = (client.clone(), key.serialize_der());
            let connection = tls_connect_as(server.addr, made, name, Some(shown)).await.unwrap();
            assert_eq!(h2_get(connection).await, client.as_ref(), "{name}");
        }
    }
}

fn server_config(
    made: &rcgen::CertifiedKey<rcgen::KeyPair>,
    provider: rustls::crypto::CryptoProvider,
) -> rustls::ServerConfig {
    rustls::ServerConfig::builder_with_provider(Arc::new(provider))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], made.signing_key.serialize_der().try_into().unwrap())
        .unwrap()
}

fn reload(tls: &TlsSettings, made: &rcgen::CertifiedKey<rcgen::KeyPair>) {
    tls.reload(made.cert.pem().as_bytes(), made.signing_key.serialize_pem().as_bytes()).unwrap();
}

#[test]
fn a_reload_forgets_sessions_and_begins_to_keep_none() {
    let made = certificate("x.test");
    let mut config = server_config(&made, rustls::crypto::ring::default_provider());
    let tls = TlsSettings::new(config.clone());
    tls.current().session_storage.put(b"id".to_vec(), b"session".to_vec());
    reload(&tls, &made);
    let after = tls.current();
    assert!(after.session_storage.can_cache() && after.session_storage.get(b"id").is_none());
    assert!(!after.ticketer.enabled(), "tickets that were off stay off");

    config.session_storage = Arc::new(rustls::server::NoServerSessionStorage {});
    tls.replace(config.clone());
    reload(&tls, &made);
    assert!(!tls.current().session_storage.can_cache(), "resumption that was off stays off");

    config.ticketer = rustls::crypto::ring::Ticketer::new().unwrap();
    let ticket = config.ticketer.encrypt(b"session").unwrap();
    assert!(config.ticketer.decrypt(&ticket).is_some());
    tls.replace(config);
    reload(&tls, &made);
    let after = tls.current();
    assert!(after.ticketer.enabled());
    assert!(after.ticketer.decrypt(&ticket).is_none(), "a ticket of the old certificate is void");
}

/// Replaces the settings in another thread while a reload reads its key.
#[derive(Debug)]
struct ReplacesMeanwhile;

static MEANWHILE: Mutex<Option<(TlsSettings, rustls::ServerConfig)>> = Mutex::new(None);
static REPLACING: Mutex<Option<std::thread::JoinHandle<()>>> = Mutex::new(None);

impl rustls::crypto::KeyProvider for ReplacesMeanwhile {
    fn load_private_key(
        &self,
        key: rustls::pki_types::PrivateKeyDer<'static>,
    ) -> Result<Arc<dyn rustls::sign::SigningKey>, rustls::Error> {
        if let Some((tls, config)) = MEANWHILE.lock().unwrap().take() {
            let (done, replaced) = std::sync::mpsc::channel();
            let replacing = std::thread::spawn(move || {
                tls.replace(config);
                done.send(()).ok();
            });
            // A reload that holds the lock blocks the other thread, so this wait times out.
            replaced.recv_timeout(Duration::from_millis(100)).ok();
            *REPLACING.lock().unwrap() = Some(replacing);
        }
        rustls::crypto::ring::default_provider().key_provider.load_private_key(key)
    }
}

#[test]
fn a_configuration_that_comes_during_a_reload_is_not_lost() {
    let made = certificate("x.test");
    let provider = rustls::crypto::CryptoProvider {
        key_provider: &ReplacesMeanwhile,
        ..rustls::crypto::ring::default_provider()
    };
    let config = server_config(&made, provider);
    let tls = TlsSettings::new(config.clone());
    let mut newer = config;
    newer.max_fragment_size = Some(99);
    *MEANWHILE.lock().unwrap() = Some((tls.clone(), newer));
    reload(&tls, &made);
    REPLACING.lock().unwrap().take().unwrap().join().unwrap();
    assert_eq!(tls.current().max_fragment_size, Some(99));
}

#[tokio::test]
async fn a_peer_that_is_no_http_or_tls_concerns_nobody_else() {
    let cert = certificate("x.test");
    let tls = TlsSettings::from_pem(cert.cert.pem().as_bytes(), cert.signing_key.serialize_pem().as_bytes())
        .unwrap();
    let server = start(version_echo(), |l| l.tls(tls)).await;
    let mut rude = TcpStream::connect(server.addr).await.unwrap();
    rude.write_all(b"not TLS at all\r\n\r\n").await.unwrap();
    let silent = TcpStream::connect(server.addr).await.unwrap();
    assert_eq!(h2_get(tls_connect(server.addr, &cert, "x.test").await.unwrap()).await, "HTTP/2.0");
    server.stop.send(()).unwrap();
    assert!(server.task.await.unwrap().drained, "an unfinished handshake does not hold up the drain");
    drop(silent);
}

/// Answers when told to; counts its live futures.
fn gated(open: Arc<Notify>, entered: Arc<Notify>, alive: Arc<()>) -> impl super::HttpService + Sync {
    tower::service_fn(move |_: http::Request<Incoming>| {
        let (open, entered, alive) = (open.clone(), entered.clone(), alive.clone());
        async move {
            let _alive = alive;
            entered.notify_one();
            open.notified().await;
            Ok::<_, Infallible>(http::Response::new(Full::new(Bytes::from_static(b"late"))))
        }
    })
}

#[tokio::test]
async fn running_requests_end_before_the_listener_does() {
    let (open, entered) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let server = start(gated(open.clone(), entered.clone(), Arc::new(())), |l| l).await;
    let request = tokio::spawn(h2_get(TcpStream::connect(server.addr).await.unwrap()));
    entered.notified().await;
    server.stop.send(()).unwrap();
    open.notify_one();
    assert_eq!(request.await.unwrap(), "late");
    assert!(server.task.await.unwrap().drained);
}

#[tokio::test]
async fn the_deadline_cuts_requests_and_leaves_no_task() {
    let (entered, alive) = (Arc::new(Notify::new()), Arc::new(()));
    let service = gated(Arc::new(Notify::new()), entered.clone(), alive.clone());
    let server = start(service, |l| l.drain_deadline(Duration::from_millis(20))).await;
    let request = tokio::spawn(async move {
        let (mut send, connection) = hyper::client::conn::http2::handshake(
            TokioExecutor::new(),
            TokioIo::new(TcpStream::connect(server.addr).await.unwrap()),
        )
        .await
        .unwrap();
        tokio::spawn(connection);
        send.send_request(http::Request::get("http://x/").body(Empty::<Bytes>::new()).unwrap())
            .await
            .map(drop)
    });
    entered.notified().await;
    server.stop.send(()).unwrap();
    assert!(!server.task.await.unwrap().drained);
    assert_eq!(Arc::strong_count(&alive), 1, "the service and all its futures are dropped");
    request.await.unwrap().unwrap_err();
}

#[tokio::test]
async fn dropping_the_future_closes_every_connection() {
    let (entered, alive) = (Arc::new(Notify::new()), Arc::new(()));
    let server = start(gated(Arc::new(Notify::new()), entered.clone(), alive.clone()), |l| l).await;
    let mut tcp = TcpStream::connect(server.addr).await.unwrap();
    tcp.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    entered.notified().await;
    server.task.abort();
    let mut rest = Vec::new();
    tcp.read_to_end(&mut rest).await.ok();
    assert!(rest.is_empty());
    while Arc::strong_count(&alive) > 1 {
        tokio::task::yield_now().await;
    }
}

#[test]
fn bad_pem_names_the_input_that_is_wrong() {
    let good = certificate("x.test");
    let (chain, key) = (good.cert.pem(), good.signing_key.serialize_pem());
    let error = TlsSettings::from_pem(b"", key.as_bytes()).unwrap_err();
    assert!(error.to_string().contains("certificate chain"), "{error}");
    let error = TlsSettings::from_pem(chain.as_bytes(), b"zzz").unwrap_err();
    assert!(error.to_string().contains("private key"), "{error}");
    let other = certificate("y.test").signing_key.serialize_pem();
    let error = TlsSettings::from_pem(chain.as_bytes(), other.as_bytes()).unwrap_err();
    assert!(error.to_string().contains("together"), "{error}");
}

#[test]
fn accept_pauses_double_up_to_a_second() {
    let pauses: Vec<_> =
        std::iter::successors(Some(Duration::from_millis(5)), |p| Some(next_pause(*p))).take(12).collect();
    assert!(pauses.windows(2).all(|w| w[1] == w[0] * 2 || w[1] == Duration::from_secs(1)));
    assert_eq!(pauses.last(), Some(&Duration::from_secs(1)));
}
