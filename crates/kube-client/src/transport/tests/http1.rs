//! Servers that choose HTTP/1.1.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::{Response, Uri};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tower::BoxError;

use super::{Client, NearEnd, text};
use crate::transport::any;

/// Answers this many requests and closes then.
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
        let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{line}", line.len());
        io.write_all(answer.as_bytes()).await.unwrap();
    }
}

#[tokio::test]
async fn the_connection_that_showed_it_is_used() {
    let client = Client::of(NearEnd::http1, |_, io| serve(io, 100));
    for _ in 0..5 {
        let answer = client.get("/version").await.unwrap();
        assert_eq!(text(answer).await.unwrap(), "GET /version HTTP/1.1");
    }
    assert_eq!(client.connections(), 1);
}

/// Where one connection has gone dead, those that are idle may have, too.
#[tokio::test]
async fn after_an_answer_was_given_up_no_idle_connection_is_used() {
    let client = Client::of(NearEnd::http1, |_, mut io| async move {
        loop {
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                match io.read_u8().await {
                    Ok(byte) => request.push(byte),
                    Err(_) => return,
                }
            }
            let rest = if request.starts_with(b"GET /quiet") { "" } else { "!" };
            let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n{rest}");
            io.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    let whole = async || text(client.get("/x").await.unwrap()).await.unwrap();
    futures::join!(whole(), whole(), whole());
    let before = client.connections();
    assert!(before >= 2);
    let quiet = client.get("/quiet").await.unwrap();
    whole().await;
    assert_eq!(client.connections(), before, "there are idle ones, and nothing is known against them");
    drop(quiet);
    whole().await;
    whole().await;
    assert_eq!(client.connections(), before + 1);
}

#[tokio::test]
async fn requests_at_the_same_time_have_connections_of_their_own() {
    let client = Client::of(NearEnd::http1, |_, io| serve(io, 100));
    let answers = futures::future::join_all((0..8).map(|_| client.get("/x"))).await;
    assert!(answers.iter().all(Result::is_ok));
    assert!((2..=8).contains(&client.connections()), "{}", client.connections());
}

#[tokio::test]
async fn an_upgrade_has_a_connection_of_its_own() {
    let never = any(tower::service_fn(|_: Uri| async { Err::<NearEnd, _>(BoxError::from("not this way")) }));
    let http1 = any(tower::service_fn(|_: Uri| async {
        let (near, far) = tokio::io::duplex(1 << 16);
        tokio::spawn(serve(far, 1));
        Ok::<_, BoxError>(NearEnd::http1(near))
    }));
    let client = Client::by([never, http1], Arc::new(AtomicUsize::new(0)));
    let request = http::Request::get("https://h/exec").header("upgrade", "websocket").body(super::whole(""));
    client.send(request.unwrap()).await.unwrap();
    let err = client.get("/x").await.err().unwrap();
    assert_eq!(err.to_string(), "cannot connect to h");
}

#[tokio::test]
async fn a_server_is_asked_again_after_a_failure() {
    let attempts = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&attempts);
    // It has learned HTTP/2 after its first connection.
    let connector = any(tower::service_fn(move |_: Uri| {
        let first = counter.fetch_add(1, Ordering::SeqCst) == 0;
        async move {
            let (near, mut far) = tokio::io::duplex(1 << 16);
            if first {
                tokio::spawn(async move { far.read_u8().await });
                return Ok::<_, BoxError>(NearEnd::http1(near));
            }
            tokio::spawn(async move {
                let mut server = h2::server::handshake(far).await.unwrap();
                while let Some(Ok((_, mut respond))) = server.accept().await {
                    let _: h2::SendStream<bytes::Bytes> =
                        respond.send_response(Response::new(()), true).unwrap();
                }
            });
            Ok(NearEnd::http2(near))
        }
    }));
    let client = Client::by([connector.clone(), connector], attempts);
    assert!(client.get("/x").await.is_err());
    client.get("/x").await.unwrap();
    assert_eq!(client.connections(), 2);
}
