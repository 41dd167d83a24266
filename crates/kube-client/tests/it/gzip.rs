//! Compressed answers.

use http::Request;
use kube_client::{Client, Config};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// `hello hello hello hello`, compressed.
const HELLO: &[u8] = &[
    31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 203, 72, 205, 201, 201, 87, 200, 64, 39, 1, 227, 81, 61, 141, 23, 0, 0,
    0,
];

/// A server that compresses where it may. Gives the client, and what it was asked for.
async fn ask(change: impl FnOnce(&mut Config), request: Request<Vec<u8>>) -> (String, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let url = format!("http://{}", listener.local_addr().expect("it is bound"));
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("the client comes");
        let mut asked = vec![0; 8192];
        let length = stream.read(&mut asked).await.expect("it asks");
        let asked = String::from_utf8_lossy(&asked[..length]).to_lowercase();
        let (encoding, body) = match asked.contains("accept-encoding: gzip") {
            true => ("gzip", HELLO),
            false => ("identity", b"hello".as_slice()),
        };
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-encoding: {encoding}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            body.len()
        );
        stream.write_all(&[head.as_bytes(), body].concat()).await.expect("it listens");
        asked
    });
    let mut config = Config::new(url.parse().expect("a URL"));
    change(&mut config);
    let client = Client::try_from(config).expect("a usable configuration");
    let text = client.request_text(request).await.expect("an answer");
    (text, server.await.expect("no panic"))
}

fn get() -> http::request::Builder {
    Request::get("/x")
}

#[tokio::test]
async fn compressed_answers_are_asked_for_and_understood() {
    let (text, asked) = ask(|_| {}, get().body(Vec::new()).expect("a request")).await;
    assert!(asked.contains("accept-encoding: gzip"), "{asked}");
    assert_eq!(text, "hello hello hello hello");
}

#[tokio::test]
async fn compression_can_be_declined_for_all_requests_or_one() {
    let off = |config: &mut Config| config.disable_compression = true;
    let (text, asked) = ask(off, get().body(Vec::new()).expect("a request")).await;
    assert!(!asked.contains("gzip"), "{asked}");
    assert_eq!(text, "hello");
    let request = get().header("accept-encoding", "identity").body(Vec::new()).expect("a request");
    let (text, asked) = ask(|_| {}, request).await;
    assert!(!asked.contains("gzip"), "{asked}");
    assert_eq!(text, "hello");
}
