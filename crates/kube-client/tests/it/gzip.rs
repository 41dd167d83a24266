//! Compressed responses.

use http::Request;
use k8s_openapi::api::core::v1::Pod;
use kube_client::api::WatchParams;
use kube_client::{Api, Client, Config};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// `hello hello hello hello`, compressed.
const HELLO: &[u8] = &[
    31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 203, 72, 205, 201, 201, 87, 200, 64, 39, 1, 227, 81, 61, 141, 23, 0, 0,
    0,
];

/// Sends a request to a server that compresses if it may. Returns the decoded text and the head of the request.
async fn send(change: impl FnOnce(&mut Config), request: Request<Vec<u8>>) -> (String, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let url = format!("http://{}", listener.local_addr().expect("it is bound"));
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("the client connects");
        let mut received = vec![0; 8192];
        let length = stream.read(&mut received).await.expect("it sends");
        let head = String::from_utf8_lossy(&received[..length]).to_lowercase();
        let (encoding, body) = match head.contains("accept-encoding: gzip") {
            true => ("gzip", HELLO),
            false => ("identity", b"hello".as_slice()),
        };
        let response = format!(
            "HTTP/1.1 200 OK\r\ncontent-encoding: {encoding}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            body.len()
        );
        stream.write_all(&[response.as_bytes(), body].concat()).await.expect("it reads");
        head
    });
    let mut config = Config::new(url.parse().expect("a URL"));
    change(&mut config);
    let client = Client::try_from(config).expect("a usable configuration");
    let text = client.request_text(request).await.expect("a response");
    (text, server.await.expect("no panic"))
}

fn get() -> http::request::Builder {
    Request::get("/x")
}

#[tokio::test]
async fn compressed_responses_are_requested_and_decoded() {
    let (text, head) = send(|_| {}, get().body(Vec::new()).expect("a request")).await;
    assert!(head.contains("accept-encoding: gzip"), "{head}");
    assert_eq!(text, "hello hello hello hello");
}

#[tokio::test]
async fn compression_can_be_turned_off_for_all_requests_or_one() {
    let off = |config: &mut Config| config.disable_compression = true;
    let (text, head) = send(off, get().body(Vec::new()).expect("a request")).await;
    assert!(!head.contains("gzip"), "{head}");
    assert_eq!(text, "hello");
    let request = get().header("accept-encoding", "identity").body(Vec::new()).expect("a request");
    let (text, head) = send(|_| {}, request).await;
    assert!(!head.contains("gzip"), "{head}");
    assert_eq!(text, "hello");
}

/// Compression would hold events back until there are enough of them.
#[tokio::test]
async fn a_watch_is_never_compressed() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let url = format!("http://{}", listener.local_addr().expect("it is bound"));
    let client = Client::try_from(Config::new(url.parse().expect("a URL"))).expect("a usable configuration");
    let pods: Api<Pod> = Api::default_namespaced(client);
    let watch = tokio::spawn(async move { pods.watch(&WatchParams::default(), "0").await.map(drop) });
    let (mut stream, _) = listener.accept().await.expect("the client comes");
    let mut asked = vec![0; 8192];
    let length = stream.read(&mut asked).await.expect("it asks");
    let asked = String::from_utf8_lossy(&asked[..length]).to_lowercase();
    assert!(asked.contains("watch=true") && !asked.contains("gzip"), "{asked}");
    watch.abort();
}
