//! Servers that negotiate HTTP/1.1.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Response, Uri};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tower::BoxError;

use super::{MemoryIo, TestClient, text};
use crate::transport::boxed;

/// Responds to this many requests, then closes the connection.
pub(super) async fn serve(mut io: DuplexStream, requests: usize) {
    for _ in 0..requests {
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            match io.read_u8().await {
                Ok(byte) => request.push(byte),
                Err(_) => return,
            }
        }
        let line = String::from_utf8_lossy(&request).lines().next().unwrap_or_default().to_owned();
        let response = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{line}", line.len());
        io.write_all(response.as_bytes()).await.unwrap();
    }
}

#[tokio::test]
async fn the_connection_that_negotiated_http1_is_reused() {
    let client = TestClient::new(MemoryIo::http1, |_, io| serve(io, 100));
    for _ in 0..5 {
        let response = client.get("/version").await.unwrap();
        assert_eq!(text(response).await.unwrap(), "GET /version HTTP/1.1");
    }
    assert_eq!(client.connections(), 1);
}

/// Responds to all requests; for `/quiet` the body never comes, for `/late` after a second.
async fn respond_without_body_to_quiet(mut io: DuplexStream) {
    loop {
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            match io.read_u8().await {
                Ok(byte) => request.push(byte),
                Err(_) => return,
            }
        }
        io.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n").await.unwrap();
        if request.starts_with(b"GET /late") {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        if !request.starts_with(b"GET /quiet") {
            io.write_all(b"!").await.unwrap();
        }
    }
}

/// A client that has some idle connections.
async fn with_idle_connections() -> TestClient {
    let client = TestClient::new(MemoryIo::http1, |_, io| respond_without_body_to_quiet(io));
    futures::join!(whole(&client), whole(&client), whole(&client), whole(&client));
    assert!(client.connections() >= 3, "{}", client.connections());
    client
}

async fn whole(client: &TestClient) {
    assert_eq!(text(client.get("/x").await.unwrap()).await.unwrap(), "!");
}

/// When one connection is dead, idle ones may be dead too.
#[tokio::test(start_paused = true)]
async fn after_a_stalled_response_was_dropped_no_idle_connection_is_reused() {
    let client = with_idle_connections().await;
    let before = client.connections();
    whole(&client).await;
    let quiet = client.get("/quiet").await.unwrap();
    assert_eq!(client.connections(), before, "idle connections are reused while none is suspect");
    tokio::time::sleep(Duration::from_secs(55)).await;
    drop(quiet);
    whole(&client).await;
    whole(&client).await;
    assert_eq!(client.connections(), before + 1);
}

#[tokio::test(start_paused = true)]
async fn idle_connections_are_reused_while_other_connections_receive_data() {
    let client = with_idle_connections().await;
    let before = client.connections();
    for _ in 0..10 {
        let quiet = client.get("/quiet").await.unwrap();
        tokio::time::sleep(Duration::from_secs(54)).await;
        whole(&client).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        // This closes only its own connection.
        drop(quiet);
        whole(&client).await;
    }
    assert!(client.connections() <= before + 10, "{}", client.connections());
}

#[tokio::test(start_paused = true)]
async fn a_response_that_is_dropped_early_does_not_discard_idle_connections() {
    let client = with_idle_connections().await;
    let before = client.connections();
    for _ in 0..before - 1 {
        drop(client.get("/quiet").await.unwrap());
        whole(&client).await;
    }
    assert_eq!(client.connections(), before);
}

#[tokio::test]
async fn concurrent_requests_use_separate_connections() {
    let client = TestClient::new(MemoryIo::http1, |_, io| serve(io, 100));
    let responses = futures::future::join_all((0..8).map(|_| client.get("/x"))).await;
    assert!(responses.iter().all(Result::is_ok));
    assert!((2..=8).contains(&client.connections()), "{}", client.connections());
}

#[tokio::test]
async fn a_request_on_a_connection_that_the_server_closed_is_sent_over_another_one() {
    let client = TestClient::new(MemoryIo::http1, |_, io| serve(io, 1));
    for expected in 1..=5 {
        whole_text(&client).await;
        assert_eq!(client.connections(), expected);
    }
}

async fn whole_text(client: &TestClient) {
    let response = client.get("/version").await.unwrap();
    assert_eq!(text(response).await.unwrap(), "GET /version HTTP/1.1");
}

/// As after a TLS alert, with which a server refuses a client certificate once the handshake is over.
#[tokio::test]
async fn the_error_of_a_connection_that_fails_before_the_request_has_its_cause() {
    let attempts = Arc::new(AtomicUsize::new(0));
    let connector = boxed(tower::service_fn(|_: Uri| async {
        Ok::<_, BoxError>(MemoryIo::failing_http1("received fatal alert: CertificateRequired"))
    }));
    let client = TestClient::with_connectors([connector.clone(), connector], attempts);
    let upgrade = http::Request::get("https://h/exec").header("upgrade", "websocket").body(super::whole(""));
    for response in [client.get("/x").await, client.send(upgrade.unwrap()).await] {
        let err = response.err().unwrap();
        let causes = std::iter::successors(Some(err.as_ref() as &dyn std::error::Error), |err| err.source());
        let texts: Vec<_> = causes.map(ToString::to_string).collect();
        assert!(texts.iter().any(|text| text.contains("CertificateRequired")), "{texts:?}");
    }
}

/// A client, and the number of its connections that are closed.
fn counting_closed() -> (TestClient, Arc<AtomicUsize>) {
    let closed = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&closed);
    let client = TestClient::new(MemoryIo::http1, move |_, io| {
        let counter = Arc::clone(&counter);
        async move {
            serve(io, 100).await;
            counter.fetch_add(1, Ordering::SeqCst);
        }
    });
    (client, closed)
}

#[tokio::test(start_paused = true)]
async fn a_connection_is_not_reused_after_90_idle_seconds_and_closes_within_180() {
    let (client, closed) = counting_closed();
    futures::join!(whole_text(&client), whole_text(&client), whole_text(&client));
    let opened = client.connections();
    assert!(opened >= 2, "{opened}");
    for _ in 0..4 {
        tokio::time::sleep(Duration::from_secs(60)).await;
        whole_text(&client).await;
    }
    // The one that is used stays open.
    assert_eq!((client.connections(), closed.load(Ordering::SeqCst)), (opened, opened - 1));
    tokio::time::sleep(Duration::from_secs(89)).await;
    whole_text(&client).await;
    assert_eq!((client.connections(), closed.load(Ordering::SeqCst)), (opened, opened - 1));
    for reconnects in 1..=2 {
        tokio::time::sleep(Duration::from_secs(91)).await;
        whole_text(&client).await;
        assert_eq!(client.connections(), opened + reconnects);
    }
    tokio::time::sleep(Duration::from_secs(181)).await;
    assert_eq!(closed.load(Ordering::SeqCst), opened + 2);
}

#[tokio::test(start_paused = true)]
async fn idle_connections_close_with_the_client() {
    let (client, closed) = counting_closed();
    whole_text(&client).await;
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    assert!(tasks() > 0);
    drop(client);
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!((closed.load(Ordering::SeqCst), tasks()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_request_does_not_wait_for_a_new_connection_if_another_becomes_idle() {
    let attempts = Arc::new(AtomicUsize::new(0));
    let (opens, may_open) = tokio::sync::watch::channel(false);
    let connector = |counter: Arc<AtomicUsize>| {
        boxed(tower::service_fn(move |_: Uri| {
            let (first, mut may_open) = (counter.fetch_add(1, Ordering::SeqCst) == 0, may_open.clone());
            async move {
                let (near, far) = tokio::io::duplex(1 << 16);
                if !first {
                    let _ = may_open.wait_for(|may_open| *may_open).await;
                }
                tokio::spawn(respond_without_body_to_quiet(far));
                Ok::<_, BoxError>(MemoryIo::http1(near))
            }
        }))
    };
    let connector = connector(Arc::clone(&attempts));
    let client = TestClient::with_connectors([connector.clone(), connector], attempts);
    whole(&client).await;
    let busy = client.get("/late").await.unwrap();
    let waiting = async { tokio::time::timeout(Duration::from_secs(9), whole(&client)).await.unwrap() };
    futures::join!(waiting, async { assert_eq!(text(busy).await.unwrap(), "!") });
    assert_eq!(client.connections(), 2);
    // The connection that came too late is used by the next requests.
    opens.send_replace(true);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let held = [client.get("/quiet").await.unwrap(), client.get("/quiet").await.unwrap()];
    assert_eq!((held.len(), client.connections()), (2, 2));
}

/// The server responds before it has received the body of the request.
#[tokio::test(start_paused = true)]
async fn a_connection_is_not_reused_while_its_request_is_being_sent() {
    let client = TestClient::new(MemoryIo::http1, |_, mut io| async move {
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            request.push(io.read_u8().await.unwrap());
        }
        io.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.unwrap();
        while request.starts_with(b"POST") && !request.ends_with(b"\r\n0\r\n\r\n") {
            request.push(io.read_u8().await.unwrap());
        }
        serve(io, 100).await;
    });
    let (sends, body) = futures::channel::mpsc::unbounded::<Result<Frame<Bytes>, std::io::Error>>();
    let request = http::Request::post("https://h/x").body(StreamBody::new(body).boxed_unsync()).unwrap();
    assert_eq!(text(client.send(request).await.unwrap()).await.unwrap(), "");
    assert_eq!(text(client.get("/x").await.unwrap()).await.unwrap(), "");
    assert_eq!(client.connections(), 2);
    sends.unbounded_send(Ok(Frame::data(Bytes::from_static(b"late")))).unwrap();
    drop(sends);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let responses = [client.get("/x").await.unwrap(), client.get("/x").await.unwrap()];
    assert_eq!((responses.len(), client.connections()), (2, 2));
}

#[tokio::test]
async fn an_upgrade_uses_a_connection_of_its_own() {
    let never =
        boxed(tower::service_fn(|_: Uri| async { Err::<MemoryIo, _>(BoxError::from("not this way")) }));
    let http1 = boxed(tower::service_fn(|_: Uri| async {
        let (near, far) = tokio::io::duplex(1 << 16);
        tokio::spawn(serve(far, 1));
        Ok::<_, BoxError>(MemoryIo::http1(near))
    }));
    let client = TestClient::with_connectors([never, http1], Arc::new(AtomicUsize::new(0)));
    let request = http::Request::get("https://h/exec").header("upgrade", "websocket").body(super::whole(""));
    client.send(request.unwrap()).await.unwrap();
    let err = client.get("/x").await.err().unwrap();
    assert_eq!(err.to_string(), "cannot connect to h");
}

#[tokio::test]
async fn the_protocol_is_negotiated_again_after_a_failure() {
    let attempts = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&attempts);
    // The server supports HTTP/2 from its second connection on.
    let connector = boxed(tower::service_fn(move |_: Uri| {
        let first = counter.fetch_add(1, Ordering::SeqCst) == 0;
        async move {
            let (near, mut far) = tokio::io::duplex(1 << 16);
            if first {
                tokio::spawn(async move { far.read_u8().await });
                return Ok::<_, BoxError>(MemoryIo::http1(near));
            }
            tokio::spawn(async move {
                let mut server = h2::server::handshake(far).await.unwrap();
                while let Some(Ok((_, mut respond))) = server.accept().await {
                    let _: h2::SendStream<bytes::Bytes> =
                        respond.send_response(Response::new(()), true).unwrap();
                }
            });
            Ok(MemoryIo::http2(near))
        }
    }));
    let client = TestClient::with_connectors([connector.clone(), connector], attempts);
    assert!(client.get("/x").await.is_err());
    client.get("/x").await.unwrap();
    assert_eq!(client.connections(), 2);
}
