//! What HTTP/2 servers may do.

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

use super::{Client, NearEnd, text, whole};
use crate::transport::NotTaken;

type Server = Connection<DuplexStream, Bytes>;

async fn accept(io: DuplexStream) -> Server {
    h2::server::handshake(io).await.unwrap()
}

/// Answers every request with what it said.
async fn echo(mut server: Server) {
    while let Some(Ok((request, mut respond))) = server.accept().await {
        tokio::spawn(async move {
            let length = request.headers().get(CONTENT_LENGTH).cloned();
            let body = read(request.into_body()).await;
            let mut answer = Response::new(());
            if let Some(length) = length {
                answer.headers_mut().insert("said", length);
            }
            let mut stream = respond.send_response(answer, body.is_empty()).unwrap();
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
async fn bodies_go_there_and_back() {
    let client = Client::of(NearEnd::http2, |_, io| async move { echo(accept(io).await).await });
    // More than the windows hold.
    for size in [0, 1, 100_000, 3 << 20] {
        let sent = "x".repeat(size);
        let answer = client.send(post(whole(sent.clone()))).await.unwrap();
        assert_eq!(answer.headers()["said"], size.to_string());
        assert!(text(answer).await.unwrap() == sent, "{size}");
    }
    assert_eq!(client.connections(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_body_may_come_in_pieces_and_late() {
    let client = Client::of(NearEnd::http2, |_, io| async move { echo(accept(io).await).await });
    let pieces = stream::unfold(0, |number| async move {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let piece = Bytes::from(number.to_string().repeat(50_000));
        (number < 5).then(|| (Ok::<_, std::io::Error>(Frame::data(piece)), number + 1))
    });
    let answer = client.send(post(StreamBody::new(Box::pin(pieces)).boxed_unsync())).await.unwrap();
    assert!(!answer.headers().contains_key("said"), "nobody knows its length");
    let expected: String = (0..5).map(|number| number.to_string().repeat(50_000)).collect();
    assert!(text(answer).await.unwrap() == expected);
}

#[tokio::test]
async fn a_body_that_breaks_off_ends_the_request() {
    let client = Client::of(NearEnd::http2, |_, io| async move { echo(accept(io).await).await });
    let pieces = [Ok(Frame::data(Bytes::from_static(b"x"))), Err(std::io::Error::other("the file is gone"))];
    let body = StreamBody::new(stream::iter(pieces)).boxed_unsync();
    assert!(client.send(post(body)).await.is_err());
}

#[tokio::test]
async fn to_give_up_stops_an_upload_too() {
    let (told, mut telling) = tokio::sync::mpsc::unbounded_channel();
    let client = Client::of(NearEnd::http2, move |_, io| {
        let told = told.clone();
        async move {
            let mut server = accept(io).await;
            let (request, _respond) = server.accept().await.unwrap().unwrap();
            let mut body = request.into_body();
            tokio::spawn(async move { while server.accept().await.is_some() {} });
            while let Some(Ok(_)) = body.data().await {}
            told.send(()).unwrap();
        }
    });
    let first = stream::iter([Ok::<_, std::io::Error>(Frame::data(Bytes::from_static(b"x")))]);
    let endless = StreamBody::new(futures::StreamExt::chain(first, stream::pending()));
    let sending = client.send(post(endless.boxed_unsync()));
    assert!(tokio::time::timeout(Duration::from_millis(50), sending).await.is_err());
    tokio::time::timeout(Duration::from_secs(10), telling.recv()).await.unwrap().unwrap();
}

/// Frames without content, and one that says that nothing after the first request is taken (RFC 9113, 6.5 and 6.8).
const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];
const GOAWAY: [u8; 17] = [0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0];

#[tokio::test(start_paused = true)]
async fn what_a_closing_connection_did_not_take_is_told_apart() {
    let client = Client::of(NearEnd::http2, |number, mut io| async move {
        if number > 0 {
            return echo(accept(io).await).await;
        }
        io.write_all(&SETTINGS).await.unwrap();
        // By then, both requests have been sent.
        tokio::time::sleep(Duration::from_secs(1)).await;
        io.write_all(&GOAWAY).await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
    });
    let (first, second) = tokio::join!(biased; client.get("/first"), client.get("/second"));
    assert!(!first.err().unwrap().is::<NotTaken>());
    assert!(second.err().unwrap().is::<NotTaken>());
    client.get("/third").await.unwrap();
    assert_eq!(client.connections(), 2);
}

#[tokio::test]
async fn a_request_that_is_refused_was_not_taken() {
    let client = Client::of(NearEnd::http2, |_, io| async move {
        let mut server = accept(io).await;
        while let Some(Ok((_, mut respond))) = server.accept().await {
            respond.send_reset(Reason::REFUSED_STREAM);
        }
    });
    assert!(client.get("/x").await.err().unwrap().is::<NotTaken>());
}

#[tokio::test]
async fn a_server_that_shuts_down_gracefully_loses_no_request() {
    let client = Client::of(NearEnd::http2, |number, io| async move {
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
async fn a_connection_that_breaks_is_an_error_and_the_next_request_makes_another_one() {
    let client = Client::of(NearEnd::http2, |number, io| async move {
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

/// What `io::Error`s led to an error.
fn io_kind(err: &(dyn std::error::Error + 'static)) -> Option<io::ErrorKind> {
    std::iter::successors(Some(err), |err| err.source())
        .find_map(|err| err.downcast_ref::<io::Error>())
        .map(io::Error::kind)
}

#[tokio::test]
async fn a_server_that_is_killed_leaves_an_answer_that_ended_too_early() {
    let client = Client::of(NearEnd::http2, |_, io| async move {
        let mut server = accept(io).await;
        let (_, mut respond) = server.accept().await.unwrap().unwrap();
        let mut stream = respond.send_response(Response::new(()), false).unwrap();
        stream.send_data(Bytes::from_static(b"x"), false).unwrap();
        let _ = tokio::time::timeout(Duration::from_millis(20), server.accept()).await;
    });
    let err = text(client.get("/watch").await.unwrap()).await.unwrap_err();
    assert_eq!(io_kind(&*err), Some(io::ErrorKind::UnexpectedEof), "{err:?}");
}

#[tokio::test(start_paused = true)]
async fn the_silence_of_a_server_is_a_timeout() {
    let client = Client::of(NearEnd::http2, |_, io| async move {
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
async fn the_headers_of_an_answer_may_not_be_endless() {
    let client = Client::of(NearEnd::http2, |_, io| async move {
        let mut server = accept(io).await;
        while let Some(Ok((request, mut respond))) = server.accept().await {
            let size = request.uri().path()[1..].parse().unwrap();
            let answer = Response::builder().header("warning", "x".repeat(size)).body(()).unwrap();
            let _ = respond.send_response(answer, true);
        }
    });
    client.get("/15000").await.unwrap();
    assert!(client.get("/17000").await.is_err());
}

/// How much of it lies in memory is the server's choice, up to here.
#[tokio::test(start_paused = true)]
async fn what_nobody_reads_is_bounded_for_the_connection_as_a_whole() {
    const MEBIBYTE: usize = 1 << 20;
    let sent = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&sent);
    let client = Client::of(NearEnd::http2, move |_, io| {
        let counter = Arc::clone(&counter);
        async move {
            let mut server = accept(io).await;
            while let Some(Ok((_, mut respond))) = server.accept().await {
                let mut stream = respond.send_response(Response::new(()), false).unwrap();
                let counter = Arc::clone(&counter);
                tokio::spawn(async move {
                    stream.reserve_capacity(100 * MEBIBYTE);
                    while let Some(Ok(granted)) = poll_fn(|cx| stream.poll_capacity(cx)).await {
                        counter.fetch_add(granted, Ordering::SeqCst);
                        stream.send_data(vec![b'x'; granted].into(), false).unwrap();
                    }
                });
            }
        }
    });
    let mut answers = Vec::new();
    for _ in 0..40 {
        answers.push(client.get("/watch").await.unwrap());
    }
    // Nothing moves any more then.
    tokio::time::sleep(Duration::from_secs(60)).await;
    let sent = sent.load(Ordering::SeqCst);
    assert!((4 * MEBIBYTE..=16 * MEBIBYTE).contains(&sent), "{sent}");
    assert_eq!(client.connections(), 1);
}

/// How often another task has its turn until the reader of an answer has what was sent to it.
async fn turns_until_read(quiet_streams: usize) -> usize {
    let (send, mut to_send) = tokio::sync::mpsc::unbounded_channel::<()>();
    let to_send = Arc::new(tokio::sync::Mutex::new(async move { to_send.recv().await }.boxed().shared()));
    let client = Client::of(NearEnd::http2, move |_, io| {
        let to_send = Arc::clone(&to_send);
        async move {
            let mut server = accept(io).await;
            let mut streams = Vec::new();
            let told = to_send.lock().await.clone();
            let mut told = std::pin::pin!(told.fuse());
            loop {
                tokio::select! {
                    accepted = server.accept() => {
                        let Some(Ok((_, mut respond))) = accepted else { return };
                        streams.push(respond.send_response(Response::new(()), false).unwrap());
                    }
                    _ = &mut told => streams[0].send_data(Bytes::from_static(b"x"), false).unwrap(),
                }
            }
        }
    });
    let mut answer = client.get("/watch").await.unwrap();
    let mut quiet = Vec::new();
    for _ in 0..quiet_streams {
        quiet.push(client.get("/watch").await.unwrap());
    }
    let turns = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&turns);
    let busy = tokio::spawn(async move {
        loop {
            counter.fetch_add(1, Ordering::SeqCst);
            tokio::task::yield_now().await;
        }
    });
    tokio::time::sleep(Duration::from_millis(5)).await;
    send.send(()).unwrap();
    let before = turns.load(Ordering::SeqCst);
    answer.frame().await.unwrap().unwrap();
    busy.abort();
    turns.load(Ordering::SeqCst) - before
}

#[tokio::test]
async fn a_read_waits_no_longer_where_other_streams_are_open() {
    assert_eq!(turns_until_read(20).await, turns_until_read(0).await);
}

#[tokio::test]
async fn a_server_that_takes_nothing_is_not_asked_for_ever_and_its_reason_is_told() {
    let calm = Client::of(NearEnd::http2, |_, mut io| async move {
        let mut goaway = GOAWAY;
        goaway[16] = 0xb;
        io.write_all(&[&SETTINGS[..], &goaway].concat()).await.unwrap();
        while io.read_u8().await.is_ok() {}
    });
    let garbage = Client::of(NearEnd::http2, |_, mut io| async move {
        io.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        while io.read_u8().await.is_ok() {}
    });
    for (client, expected) in
        [(calm, Reason::ENHANCE_YOUR_CALM.description()), (garbage, Reason::FRAME_SIZE_ERROR.description())]
    {
        let err = client.get("/x").await.err().unwrap();
        assert!(client.connections() < 10);
        let told = crate::chain::ErrorChain(&*err).to_string();
        assert!(told.contains(expected), "{told}");
    }
}

#[tokio::test(start_paused = true)]
async fn silence_is_noticed_and_named() {
    let client = Client::of(NearEnd::http2, |_, io| async move {
        let _kept = io;
        std::future::pending().await
    });
    let started = tokio::time::Instant::now();
    let err = client.get("/x").await.err().unwrap();
    assert_eq!(started.elapsed().as_secs(), 45);
    let expected =
        "the connection to the server is dead: nothing came for 45s, not even the answer to a ping";
    assert_eq!(err.to_string(), expected);
}

#[tokio::test(start_paused = true)]
async fn a_quiet_answer_stays_open_and_an_unused_connection_is_closed() {
    let (closed, mut closing) = tokio::sync::mpsc::unbounded_channel();
    let client = Client::of(NearEnd::http2, move |_, io| {
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
    let answer = client.get("/watch").await.unwrap();
    tokio::time::sleep(Duration::from_secs(6 * 3600)).await;
    assert!(closing.try_recv().is_err(), "somebody still reads");
    drop(answer);
    let limit = Duration::from_secs(200);
    tokio::time::timeout(limit, closing.recv()).await.expect("nobody uses it any more").unwrap();
    client.get("/watch").await.unwrap();
    assert_eq!(client.connections(), 2);
}
