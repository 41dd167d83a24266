//! Compressed responses.

use std::convert::Infallible;
use std::io::Write;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use futures::channel::mpsc;
use futures::{StreamExt, TryStreamExt};
use http::{Request, Response};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use k8s_openapi::api::core::v1::Pod;
use kube_client::api::{ListParams, WatchEvent, WatchParams};
use kube_client::client::Body;
use kube_client::{Api, Client, Config, Error, ResourceExt};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::time::timeout;

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
async fn a_watch_without_initial_events_is_never_compressed() {
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

/// `DecompressionLayer` of tower-http reads the first member only.
#[tokio::test]
async fn initial_events_are_not_compressed_for_the_layers_of_a_program() {
    let server = tower::service_fn(|request: Request<Body>| async move {
        assert_eq!(request.headers()["accept-encoding"], "identity");
        Ok::<_, Infallible>(Response::new(Body::empty()))
    });
    let pods: Api<Pod> = Api::default_namespaced(Client::new(server, "default"));
    pods.watch(&WatchParams::streaming_lists(), "0").await.map(drop).expect("a response");
}

/// A member of gzip, as kube-apiserver 1.37 ends one at each flush.
fn member(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text.as_bytes()).expect("memory takes it");
    encoder.finish().expect("memory takes it")
}

fn added(name: &str) -> String {
    format!("{{\"type\":\"ADDED\",\"object\":{{\"metadata\":{{\"name\":\"{name}\"}}}}}}\n")
}

type TestBody = UnsyncBoxBody<Bytes, Infallible>;

/// Pods of a server whose responses have this encoding and this body.
fn pods(
    encoding: &'static str,
    collect_limit: usize,
    body: impl Fn() -> TestBody + Clone + Send + Sync + 'static,
) -> Api<Pod> {
    let server = tower::service_fn(move |request: Request<Body>| {
        assert!(request.headers()["accept-encoding"].to_str().expect("ASCII").contains("gzip"));
        let mut response = Response::new(body());
        if !encoding.is_empty() {
            response.headers_mut().insert("content-encoding", encoding.parse().expect("a header"));
        }
        std::future::ready(Ok::<_, std::io::Error>(response))
    });
    let mut config = Config::new("http://server".parse().expect("a URL"));
    config.collect_limit = collect_limit;
    Api::default_namespaced(Client::with_transport(&config, server).expect("a usable configuration"))
}

fn whole(bytes: Vec<u8>) -> impl Fn() -> TestBody + Clone + Send + Sync + 'static {
    move || Full::new(Bytes::from(bytes.clone())).boxed_unsync()
}

const LIMIT: usize = 1 << 20;

async fn watched(pods: Api<Pod>) -> Vec<Result<String, Error>> {
    let events = pods.watch(&WatchParams::streaming_lists(), "0").await.expect("a response");
    events
        .map_ok(|event| match event {
            WatchEvent::Added(pod) => pod.name_any(),
            other => format!("{other:?}"),
        })
        .collect()
        .await
}

#[tokio::test]
async fn the_events_of_any_number_of_members_are_read() {
    let (start, end) = (added("split"), added("c"));
    let (start, rest) = start.split_at(20);
    let members =
        [member(&added("a")), member(""), member(&(added("b") + start)), member(rest), member(&end)];
    let names: Vec<_> =
        watched(pods("gzip", LIMIT, whole(members.concat()))).await.into_iter().map(Result::unwrap).collect();
    assert_eq!(names, ["a", "b", "split", "c"]);
    let many: Vec<u8> = (0..2_000).flat_map(|n| member(&added(&format!("pod-{n}")))).collect();
    assert_eq!(watched(pods("gzip", LIMIT, whole(many))).await.len(), 2_000);
}

/// Neither the next event nor the end of the body is waited for.
#[tokio::test(start_paused = true)]
async fn an_event_is_there_as_soon_as_its_bytes_are() {
    let (sender, receiver) = mpsc::unbounded::<Vec<u8>>();
    let receiver = Arc::new(Mutex::new(Some(receiver)));
    let pods = pods("gzip", LIMIT, move || {
        let pieces = receiver.lock().expect("no panic").take().expect("one request");
        StreamBody::new(pieces.map(|piece| Ok(Frame::data(Bytes::from(piece))))).boxed_unsync()
    });
    let mut events = pin!(pods.watch(&WatchParams::streaming_lists(), "0").await.expect("a response"));
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    let mut flushed = |name: &str| {
        encoder.write_all(added(name).as_bytes()).expect("memory takes it");
        encoder.flush().expect("memory takes it");
        std::mem::take(encoder.get_mut())
    };
    // Members of their own, and then flushes within one.
    let pieces =
        [("a", member(&added("a"))), ("b", member(&added("b"))), ("c", flushed("c")), ("d", flushed("d"))];
    for (name, piece) in pieces {
        sender.unbounded_send(piece).expect("it is read");
        let event =
            timeout(Duration::from_secs(1), events.try_next()).await.expect("it is there").expect("valid");
        assert!(matches!(event, Some(WatchEvent::Added(pod)) if pod.name_any() == name), "{name}");
    }
    let waits = timeout(Duration::from_secs(1), events.try_next()).await;
    assert!(waits.is_err(), "the watch goes on");
}

#[tokio::test]
async fn an_incomplete_member_ends_a_watch_as_a_closed_connection_does_and_fails_a_list() {
    let (a, b) = (member(&added("a")), member(&added("b")));
    let cut = [&a[..], &b[..b.len() - 12]].concat();
    let names: Vec<_> = watched(pods("gzip", LIMIT, whole(cut))).await;
    assert!(names.iter().all(Result::is_ok) && matches!(&names[0], Ok(name) if name == "a"), "{names:?}");
    let list = member("{\"metadata\":{},\"items\":[]}");
    assert!(pods("gzip", LIMIT, whole(list.clone())).list(&ListParams::default()).await.is_ok());
    let cut = list[..list.len() - 4].to_vec();
    assert!(pods("gzip", LIMIT, whole(cut)).list(&ListParams::default()).await.is_err());
}

#[tokio::test]
async fn what_is_not_gzip_is_an_error_and_plain_text_needs_no_gzip() {
    let list = b"{\"metadata\":{},\"items\":[]}".to_vec();
    let list_of =
        async |encoding, body: Vec<u8>| pods(encoding, LIMIT, whole(body)).list(&ListParams::default()).await;
    assert!(list_of("", list.clone()).await.is_ok(), "a server or proxy that does not compress");
    assert!(list_of("identity", list.clone()).await.is_ok());
    let err = list_of("gzip", list.clone()).await.expect_err("it is not compressed").to_string();
    assert!(err.contains("gzip"), "{err}");
    let trailing = [member("{\"metadata\":{},\"items\":[]}"), b"garbage".to_vec()].concat();
    let err = list_of("gzip", trailing).await.expect_err("garbage behind a member").to_string();
    assert!(err.contains("gzip"), "{err}");
    let err = list_of("", member("{}")).await.expect_err("a proxy has removed the header").to_string();
    assert!(err.contains("compressed"), "{err}");
    let events = watched(pods("", LIMIT, whole(added("a").into_bytes()))).await;
    assert!(matches!(&events[..], [Ok(name)] if name == "a"), "a watch that is not compressed: {events:?}");
    let events =
        watched(pods("gzip", LIMIT, whole([member(&added("a")), b"garbage".to_vec()].concat()))).await;
    assert!(matches!(&events[..], [Ok(_), Err(_)]), "{events:?}");
}

/// The limit is for what comes out.
#[tokio::test]
async fn a_bomb_ends_at_the_limit_of_one_object() {
    let spaces = " ".repeat(64 << 20);
    let bomb = member(&format!(
        "{{\"metadata\":{{}},\"items\":[{{\"metadata\":{{\"name\":\"bomb\",\"resourceVersion\":\"1\"}},\"a\":\"{spaces}\"}}]}}"
    ));
    assert!(bomb.len() < LIMIT);
    let err = pods("gzip", LIMIT, whole(bomb))
        .list(&ListParams::default())
        .await
        .expect_err("too large")
        .to_string();
    assert!(err.contains("the object bomb of the list has more than 1048576 bytes"), "{err}");
    let events = watched(pods("gzip", LIMIT, whole(member(&added(&spaces))))).await;
    assert!(matches!(&events[..], [Err(Error::LinesCodecMaxLineLengthExceeded)]), "{events:?}");
    let err = pods("gzip", LIMIT, whole(member(&spaces))).get("a").await.expect_err("too large").to_string();
    assert!(err.contains("more than 1048576 bytes"), "{err}");
}
