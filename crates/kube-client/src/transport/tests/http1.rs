//! Servers that negotiate HTTP/1.1.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http::{Response, Uri};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tower::BoxError;

use super::{MemoryIo, TestClient, text};
use crate::transport::boxed;

/// Responds to this many requests, then closes the connection.
async fn serve(mut io: DuplexStream, requests: usize) {
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

/// Responds to all requests; for `/quiet` the body never comes.
async fn respond_without_body_to_quiet(mut io: DuplexStream) {
    loop {
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            match io.read_u8().await {
                Ok(byte) => request.push(byte),
                Err(_) => return,
            }
        }
        let rest = if request.starts_with(b"GET /quiet") { "" } else { "!" };
        let response = format!("HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n{rest}");
        io.write_all(response.as_bytes()).await.unwrap();
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
