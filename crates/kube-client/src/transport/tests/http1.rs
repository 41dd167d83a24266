//! Servers that choose HTTP/1.1.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

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

/// Answers all requests, but those for `/quiet` only with a head.
async fn answer_but_not_wholly(mut io: DuplexStream) {
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
}

/// A client that has some idle connections.
async fn with_idle_connections() -> Client {
    let client = Client::of(NearEnd::http1, |_, io| answer_but_not_wholly(io));
    futures::join!(whole(&client), whole(&client), whole(&client), whole(&client));
    assert!(client.connections() >= 3, "{}", client.connections());
    client
}

async fn whole(client: &Client) {
    assert_eq!(text(client.get("/x").await.unwrap()).await.unwrap(), "!");
}

/// Where one connection has gone dead, those that are idle may have, too.
#[tokio::test(start_paused = true)]
async fn after_an_answer_was_given_up_no_idle_connection_is_used() {
    let client = with_idle_connections().await;
    let before = client.connections();
    whole(&client).await;
    let quiet = client.get("/quiet").await.unwrap();
    assert_eq!(client.connections(), before, "there are idle ones, and nothing is known against them");
    tokio::time::sleep(Duration::from_secs(55)).await;
    drop(quiet);
    whole(&client).await;
    whole(&client).await;
    assert_eq!(client.connections(), before + 1);
}

#[tokio::test(start_paused = true)]
async fn idle_connections_stay_in_use_while_other_exchanges_are_well() {
    let client = with_idle_connections().await;
    let before = client.connections();
    for _ in 0..10 {
        let quiet = client.get("/quiet").await.unwrap();
        tokio::time::sleep(Duration::from_secs(54)).await;
        whole(&client).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        // Its own connection is lost, and no other one.
        drop(quiet);
        whole(&client).await;
    }
    assert!(client.connections() <= before + 10, "{}", client.connections());
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_given_up_early_says_nothing_against_idle_connections() {
    let client = with_idle_connections().await;
    let before = client.connections();
    for _ in 0..before - 1 {
        drop(client.get("/quiet").await.unwrap());
        whole(&client).await;
    }
    assert_eq!(client.connections(), before);
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
