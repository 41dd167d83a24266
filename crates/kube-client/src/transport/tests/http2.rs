//! Servers that negotiate HTTP/2, well-behaved and not.

use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures::{FutureExt, stream};
use h2::server::Connection;
use h2::{Reason, RecvStream};
use http::header::CONTENT_LENGTH;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::time::Instant;

use super::{MemoryIo, TestClient, text, whole};
use crate::transport::NotProcessed;

type Server = Connection<DuplexStream, Bytes>;

async fn accept(io: DuplexStream) -> Server {
    h2::server::handshake(io).await.unwrap()
}

/// Responds to every request with its body, and with its content-length in the header `received-length`.
async fn echo(mut server: Server) {
    while let Some(Ok((request, mut respond))) = server.accept().await {
        tokio::spawn(async move {
            let length = request.headers().get(CONTENT_LENGTH).cloned();
            let body = read(request.into_body()).await;
            let mut response = Response::new(());
            if let Some(length) = length {
                response.headers_mut().insert("received-length", length);
            }
            let mut stream = respond.send_response(response, body.is_empty()).unwrap();
            if !body.is_empty() {
                stream.send_data(body, true).unwrap();
            }
        });
    }
}

async fn read(mut body: RecvStream) -> Bytes {
    let mut all = Vec::new();
    while let Some(Ok(data)) = body.data().await {
        body.flow_control().release_capacity(data.len()).unwrap();
        all.extend_from_slice(&data);
    }
    all.into()
}

fn post(body: super::TestBody) -> Request<super::TestBody> {
    Request::post("https://h/x").body(body).unwrap()
}

#[tokio::test]
async fn request_and_response_bodies_arrive_whole() {
    let client = TestClient::new(MemoryIo::http2, |_, io| async move { echo(accept(io).await).await });
    // Up to more than the flow-control windows.
    for size in [0, 1, 100_000, 3 << 20] {
        let sent = "x".repeat(size);
        let response = client.send(post(whole(sent.clone()))).await.unwrap();
        assert_eq!(response.headers()["received-length"], size.to_string());
        assert!(text(response).await.unwrap() == sent, "{size}");
    }
    assert_eq!(client.connections(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_request_body_may_arrive_in_delayed_pieces() {
    let client = TestClient::new(MemoryIo::http2, |_, io| async move { echo(accept(io).await).await });
    let pieces = stream::unfold(0, |number| async move {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let piece = Bytes::from(number.to_string().repeat(50_000));
        (number < 5).then(|| (Ok::<_, std::io::Error>(Frame::data(piece)), number + 1))
    });
    let response = client.send(post(StreamBody::new(Box::pin(pieces)).boxed_unsync())).await.unwrap();
    assert!(!response.headers().contains_key("received-length"), "the length is unknown");
    let expected: String = (0..5).map(|number| number.to_string().repeat(50_000)).collect();
    assert!(text(response).await.unwrap() == expected);
}

#[tokio::test]
async fn a_failing_request_body_fails_the_request() {
    let client = TestClient::new(MemoryIo::http2, |_, io| async move { echo(accept(io).await).await });
    let pieces = [Ok(Frame::data(Bytes::from_static(b"x"))), Err(std::io::Error::other("the file is gone"))];
    let body = StreamBody::new(stream::iter(pieces)).boxed_unsync();
    assert!(client.send(post(body)).await.is_err());
}

#[tokio::test]
async fn dropping_a_request_stops_its_upload() {
    let (stopped, mut on_stop) = tokio::sync::mpsc::unbounded_channel();
    let client = TestClient::new(MemoryIo::http2, move |_, io| {
        let stopped = stopped.clone();
        async move {
            let mut server = accept(io).await;
            let (request, _respond) = server.accept().await.unwrap().unwrap();
            let mut body = request.into_body();
            tokio::spawn(async move { while server.accept().await.is_some() {} });
            while let Some(Ok(_)) = body.data().await {}
            stopped.send(()).unwrap();
        }
    });
    let first = stream::iter([Ok::<_, std::io::Error>(Frame::data(Bytes::from_static(b"x")))]);
    let endless = StreamBody::new(futures::StreamExt::chain(first, stream::pending()));
    let sending = client.send(post(endless.boxed_unsync()));
    assert!(tokio::time::timeout(Duration::from_millis(50), sending).await.is_err());
    tokio::time::timeout(Duration::from_secs(10), on_stop.recv()).await.unwrap().unwrap();
}

/// An empty SETTINGS frame, and a GOAWAY whose last stream id is 1 (RFC 9113, 6.5 and 6.8).
const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];
const GOAWAY: [u8; 17] = [0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0];

#[tokio::test(start_paused = true)]
async fn requests_after_the_last_stream_of_a_goaway_were_not_processed() {
    let client = TestClient::new(MemoryIo::http2, |number, mut io| async move {
        if number > 0 {
            return echo(accept(io).await).await;
        }
        io.write_all(&SETTINGS).await.unwrap();
        // Both requests have been sent by then.
        tokio::time::sleep(Duration::from_secs(1)).await;
        io.write_all(&GOAWAY).await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
    });
    let (first, second) = tokio::join!(biased; client.get("/first"), client.get("/second"));
    assert!(!first.err().unwrap().is::<NotProcessed>());
    assert!(second.err().unwrap().is::<NotProcessed>());
    client.get("/third").await.unwrap();
    assert_eq!(client.connections(), 2);
}

#[tokio::test]
async fn a_refused_stream_was_not_processed() {
    let client = TestClient::new(MemoryIo::http2, |_, io| async move {
        let mut server = accept(io).await;
        while let Some(Ok((_, mut respond))) = server.accept().await {
            respond.send_reset(Reason::REFUSED_STREAM);
        }
    });
    assert!(client.get("/x").await.err().unwrap().is::<NotProcessed>());
}

#[tokio::test]
async fn a_graceful_shutdown_of_the_server_loses_no_request() {
    let client = TestClient::new(MemoryIo::http2, |number, io| async move {
        let mut server = accept(io).await;
        let mut held = Vec::new();
        while let Some(Ok((_, respond))) = server.accept().await {
            held.push(respond);
            if number == 0 {
                server.graceful_shutdown();
            }
            tokio::task::yield_now().await;
            let mut respond: h2::server::SendResponse<Bytes> = held.pop().unwrap();
            respond.send_response(Response::new(()), true).unwrap();
        }
    });
    for _ in 0..5 {
        client.get("/x").await.unwrap();
    }
    assert_eq!(client.connections(), 2);
}

#[tokio::test]
async fn a_broken_connection_is_an_error_and_the_next_request_opens_another_one() {
    let client = TestClient::new(MemoryIo::http2, |number, io| async move {
        let mut server = accept(io).await;
        if number == 0 {
            server.accept().await.unwrap().unwrap();
        } else {
            echo(server).await;
        }
    });
    let err = client.get("/x").await.err().unwrap();
    assert_eq!(err.to_string(), "the connection to the server failed");
    client.get("/x").await.unwrap();
}

/// The kind of the `io::Error` in the chain of `err`.
fn io_kind(err: &(dyn std::error::Error + 'static)) -> Option<io::ErrorKind> {
    std::iter::successors(Some(err), |err| err.source())
        .find_map(|err| err.downcast_ref::<io::Error>())
        .map(io::Error::kind)
}

#[tokio::test]
async fn a_response_of_a_killed_server_ends_with_unexpected_eof() {
    let client = TestClient::new(MemoryIo::http2, |_, io| async move {
        let mut server = accept(io).await;
        let (_, mut respond) = server.accept().await.unwrap().unwrap();
        let mut stream = respond.send_response(Response::new(()), false).unwrap();
        stream.send_data(Bytes::from_static(b"x"), false).unwrap();
        let _ = tokio::time::timeout(Duration::from_millis(20), server.accept()).await;
    });
    let err = text(client.get("/watch").await.unwrap()).await.unwrap_err();
    assert_eq!(io_kind(&*err), Some(io::ErrorKind::UnexpectedEof), "{err:?}");
}

/// `content-length: 100`, 18 bytes, and then RST_STREAM with NO_ERROR.
#[tokio::test(start_paused = true)]
async fn a_body_that_is_shorter_than_its_content_length_is_an_error() {
    let client = TestClient::new(MemoryIo::http2, |_, io| async move {
        let mut server = accept(io).await;
        while let Some(Ok((_, mut respond))) = server.accept().await {
            let response = Response::builder().header(CONTENT_LENGTH, 100).body(()).unwrap();
            let mut stream = respond.send_response(response, false).unwrap();
            stream.send_data(Bytes::from_static(b"{\"kind\":\"PodList\"}"), false).unwrap();
            tokio::spawn(async move {
                // The data have been sent by then.
                tokio::time::sleep(Duration::from_millis(1)).await;
                stream.send_reset(Reason::NO_ERROR);
            });
        }
    });
    let err = text(client.get("/x").await.unwrap()).await.unwrap_err();
    assert_eq!(io_kind(&*err), Some(io::ErrorKind::UnexpectedEof), "{err:?}");
}

#[tokio::test(start_paused = true)]
async fn an_unresponsive_server_is_a_timeout() {
    let client = TestClient::new(MemoryIo::http2, |_, io| async move {
        let mut server = accept(io).await;
        let (_, mut respond) = server.accept().await.unwrap().unwrap();
        let _stream = respond.send_response(Response::new(()), false).unwrap();
        let _ = tokio::time::timeout(Duration::from_millis(20), server.accept()).await;
        std::future::pending::<()>().await;
    });
    let err = text(client.get("/watch").await.unwrap()).await.unwrap_err();
    assert_eq!(io_kind(&*err), Some(io::ErrorKind::TimedOut), "{err:?}");
}

#[tokio::test]
async fn the_size_of_response_headers_is_limited() {
    let client = TestClient::new(MemoryIo::http2, |_, io| async move {
        let mut server = accept(io).await;
        while let Some(Ok((request, mut respond))) = server.accept().await {
            let size = request.uri().path()[1..].parse().unwrap();
            let response = Response::builder().header("warning", "x".repeat(size)).body(()).unwrap();
            let _ = respond.send_response(response, true);
        }
    });
    client.get("/15000").await.unwrap();
    assert!(client.get("/17000").await.is_err());
}

/// Sends 1 MiB after the response to `/much`, and then a byte after all other responses.
async fn send_much_and_little(mut server: Server) {
    while let Some(Ok((request, mut respond))) = server.accept().await {
        let mut stream = respond.send_response(Response::new(()), false).unwrap();
        tokio::spawn(async move {
            let (delay, size) = if request.uri().path() == "/much" { (1, 1 << 20) } else { (2, 1) };
            tokio::time::sleep(Duration::from_millis(delay)).await;
            stream.send_data(vec![b'x'; size].into(), false).unwrap();
            poll_fn(|cx| stream.poll_reset(cx)).await // keeps the stream open
        });
    }
}

#[tokio::test(start_paused = true)]
async fn an_unread_response_does_not_delay_others() {
    let client =
        TestClient::new(MemoryIo::http2, |_, io| async move { send_much_and_little(accept(io).await).await });
    let start = Instant::now();
    let mut little = client.get("/little").await.unwrap();
    let unread = client.get("/much").await.unwrap();
    little.body_mut().frame().await.unwrap().unwrap();
    assert_eq!(start.elapsed(), Duration::from_millis(2), "when it was sent");
    drop(unread);
    assert_eq!(client.connections(), 1);
}

const MEBIBYTE: usize = 1 << 20;

/// Sends as much as the client accepts in response to each request but `/little`, and counts it in `sent`.
async fn send_endlessly(mut server: Server, sent: Arc<AtomicUsize>) {
    while let Some(Ok((request, mut respond))) = server.accept().await {
        let little = request.uri().path() == "/little";
        let mut stream = respond.send_response(Response::new(()), false).unwrap();
        if little {
            stream.send_data(Bytes::from_static(b"x"), true).unwrap();
            continue;
        }
        let sent = Arc::clone(&sent);
        tokio::spawn(async move {
            stream.reserve_capacity(100 * MEBIBYTE);
            while let Some(Ok(granted)) = poll_fn(|cx| stream.poll_capacity(cx)).await {
                sent.fetch_add(granted, Ordering::SeqCst);
                stream.send_data(vec![b'x'; granted].into(), false).unwrap();
            }
        });
    }
}

/// The server decides how much unread data is in memory, up to a bound. Whatever it is, it delays no other request, such as the renewal of
/// a Lease.
#[tokio::test(start_paused = true)]
async fn unread_responses_are_bounded_and_do_not_delay_others_however_many_they_are() {
    const UNREAD: usize = 40;
    let sent = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&sent);
    let client = TestClient::new(MemoryIo::http2, move |_, io| {
        let counter = Arc::clone(&counter);
        async move { send_endlessly(accept(io).await, counter).await }
    });
    let mut responses = Vec::new();
    for _ in 0..UNREAD {
        responses.push(client.get("/watch").await.unwrap());
    }
    // The transfer has stalled by then.
    tokio::time::sleep(Duration::from_secs(60)).await;
    let little = async { text(client.get("/little").await.unwrap()).await.unwrap() };
    let little = tokio::time::timeout(Duration::from_secs(5), little).await;
    assert_eq!(little.expect("it is answered"), "x");
    let sent = sent.load(Ordering::SeqCst) / UNREAD;
    assert!((MEBIBYTE..=2 * MEBIBYTE).contains(&sent), "{sent}");
    let read = tokio::time::timeout(Duration::from_secs(5), responses[0].frame()).await;
    read.expect("an unread response can be read").unwrap().unwrap();
    assert_eq!(client.connections(), 1);
}

/// How often another task is polled between the server sending data and the client reading it.
async fn polls_until_read(quiet_streams: usize) -> usize {
    let (send, mut to_send) = tokio::sync::mpsc::unbounded_channel::<()>();
    let to_send = Arc::new(tokio::sync::Mutex::new(async move { to_send.recv().await }.boxed().shared()));
    let client = TestClient::new(MemoryIo::http2, move |_, io| {
        let to_send = Arc::clone(&to_send);
        async move {
            let mut server = accept(io).await;
            let mut streams = Vec::new();
            let send_now = to_send.lock().await.clone();
            let mut send_now = std::pin::pin!(send_now.fuse());
            loop {
                tokio::select! {
                    accepted = server.accept() => {
                        let Some(Ok((_, mut respond))) = accepted else { return };
                        streams.push(respond.send_response(Response::new(()), false).unwrap());
                    }
                    _ = &mut send_now => streams[0].send_data(Bytes::from_static(b"x"), false).unwrap(),
                }
            }
        }
    });
    let mut response = client.get("/watch").await.unwrap();
    let mut quiet = Vec::new();
    for _ in 0..quiet_streams {
        quiet.push(client.get("/watch").await.unwrap());
    }
    let polls = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&polls);
    let busy = tokio::spawn(async move {
        loop {
            counter.fetch_add(1, Ordering::SeqCst);
            tokio::task::yield_now().await;
        }
    });
    tokio::time::sleep(Duration::from_millis(5)).await;
    send.send(()).unwrap();
    let before = polls.load(Ordering::SeqCst);
    response.frame().await.unwrap().unwrap();
    busy.abort();
    polls.load(Ordering::SeqCst) - before
}

#[tokio::test]
async fn open_streams_do_not_delay_a_read() {
    assert_eq!(polls_until_read(20).await, polls_until_read(0).await);
}

#[tokio::test]
async fn a_server_that_refuses_every_request_is_an_error_with_its_reason() {
    let calm = TestClient::new(MemoryIo::http2, |_, mut io| async move {
        let mut goaway = GOAWAY;
        goaway[16] = 0xb;
        io.write_all(&[&SETTINGS[..], &goaway].concat()).await.unwrap();
        while io.read_u8().await.is_ok() {}
    });
    let garbage = TestClient::new(MemoryIo::http2, |_, mut io| async move {
        io.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        while io.read_u8().await.is_ok() {}
    });
    for (client, expected) in
        [(calm, Reason::ENHANCE_YOUR_CALM.description()), (garbage, Reason::FRAME_SIZE_ERROR.description())]
    {
        let err = client.get("/x").await.err().unwrap();
        assert!(client.connections() < 10);
        let text = crate::chain::ErrorChain(&*err).to_string();
        assert!(text.contains(expected), "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_unresponsive_server_is_an_error_after_45_seconds() {
    let client = TestClient::new(MemoryIo::http2, |_, io| async move {
        let _kept = io;
        std::future::pending().await
    });
    let started = tokio::time::Instant::now();
    let err = client.get("/x").await.err().unwrap();
    assert_eq!(started.elapsed().as_secs(), 45);
    let expected =
        "the connection to the server is dead: nothing was received for 45s, not even a ping acknowledgement";
    assert_eq!(err.to_string(), expected);
}

#[tokio::test(start_paused = true)]
async fn a_response_without_data_stays_open_and_an_idle_connection_is_closed() {
    let (closed, mut closing) = tokio::sync::mpsc::unbounded_channel();
    let client = TestClient::new(MemoryIo::http2, move |_, io| {
        let closed = closed.clone();
        async move {
            let mut server = accept(io).await;
            let mut held = Vec::new();
            while let Some(Ok((_, mut respond))) = server.accept().await {
                held.push(respond.send_response(Response::new(()), false).unwrap());
            }
            closed.send(()).unwrap();
        }
    });
    let response = client.get("/watch").await.unwrap();
    tokio::time::sleep(Duration::from_secs(6 * 3600)).await;
    assert!(closing.try_recv().is_err(), "a response is open");
    drop(response);
    let limit = Duration::from_secs(200);
    tokio::time::timeout(limit, closing.recv()).await.expect("the idle connection is closed").unwrap();
    client.get("/watch").await.unwrap();
    assert_eq!(client.connections(), 2);
}
