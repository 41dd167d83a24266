//! Which connection carries a request.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Response, Uri};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::sync::Barrier;
use tower::BoxError;

use super::{MemoryIo, TestClient};
use crate::transport::boxed;

/// Sends response heads with the index of the connection, and never ends a response.
async fn never_ending(number: usize, streams: u32, io: DuplexStream) {
    let server = h2::server::Builder::new().max_concurrent_streams(streams).handshake::<_, Bytes>(io);
    let mut server = server.await.unwrap();
    let mut held = Vec::new();
    while let Some(Ok((_, mut respond))) = server.accept().await {
        let response = Response::builder().header("connection-number", number).body(()).unwrap();
        held.push(respond.send_response(response, false).unwrap());
    }
}

async fn number(client: &TestClient) -> (usize, Response<super::ResponseBody>) {
    let response = client.get("/watch").await.unwrap();
    (response.headers()["connection-number"].to_str().unwrap().parse().unwrap(), response)
}

#[tokio::test]
async fn the_first_connection_with_a_free_stream_is_used_and_streams_are_released() {
    let client = TestClient::new(MemoryIo::http2, |number, io| never_ending(number, 250, io));
    let mut held = Vec::new();
    for expected in (0..180).map(|index| index / 90) {
        let (number, response) = number(&client).await;
        assert_eq!(number, expected);
        held.push(response);
    }
    held.remove(0);
    assert_eq!(number(&client).await.0, 0);
    drop(held);
    // A stream that was not released would move the last requests to a third connection.
    let mut held = Vec::new();
    for expected in (0..180).map(|index| index / 90) {
        let (number, response) = number(&client).await;
        assert_eq!(number, expected);
        held.push(response);
    }
    assert_eq!(client.connections(), 2);
}

#[tokio::test]
async fn a_lower_stream_limit_of_the_server_is_respected() {
    let client = TestClient::new(MemoryIo::http2, |number, io| never_ending(number, 10, io));
    let mut held = vec![number(&client).await.1];
    for expected in (1..30).map(|index| index / 10) {
        let (number, response) = number(&client).await;
        assert_eq!(number, expected);
        held.push(response);
    }
}

#[tokio::test]
async fn concurrent_first_requests_share_one_connection() {
    let client = TestClient::new(MemoryIo::http2, |number, io| never_ending(number, 250, io));
    let responses = futures::future::join_all((0..64).map(|_| client.get("/watch"))).await;
    assert!(responses.iter().all(Result::is_ok));
    assert_eq!(client.connections(), 1);
}

/// The server allows ten streams per connection and responds only after all requests have arrived.
#[tokio::test(start_paused = true)]
async fn a_burst_without_open_connections_reaches_a_server_with_ten_streams_each_request_once() {
    const REQUESTS: usize = 100;
    let (seen, all_arrived) = (Arc::new(AtomicUsize::new(0)), Arc::new(Barrier::new(REQUESTS)));
    let counter = Arc::clone(&seen);
    let client = TestClient::new(MemoryIo::http2, move |_, io| {
        let (counter, all_arrived) = (Arc::clone(&counter), Arc::clone(&all_arrived));
        async move {
            let server = h2::server::Builder::new().max_concurrent_streams(10).handshake::<_, Bytes>(io);
            let mut server = server.await.unwrap();
            while let Some(Ok((_, mut respond))) = server.accept().await {
                counter.fetch_add(1, Ordering::SeqCst);
                let all_arrived = Arc::clone(&all_arrived);
                tokio::spawn(async move {
                    all_arrived.wait().await;
                    respond.send_response(Response::new(()), true).map(drop)
                });
            }
        }
    });
    let burst = futures::future::join_all((0..REQUESTS).map(|_| client.get("/x")));
    let responses = tokio::time::timeout(Duration::from_secs(20), burst).await.expect("all arrive");
    let failed: Vec<_> = responses.iter().filter_map(|response| response.as_ref().err()).collect();
    assert!(failed.is_empty(), "{failed:?}");
    assert_eq!(seen.load(Ordering::SeqCst), REQUESTS);
    assert_eq!(client.connections(), REQUESTS / 10);
}

#[tokio::test]
async fn a_request_that_is_sent_at_the_last_attempt_succeeds() {
    let client = TestClient::new(MemoryIo::http2, |number, io| async move {
        // The first three connections are closed before a request is sent.
        if number >= 3 {
            never_ending(number, 250, io).await;
        }
    });
    assert_eq!(number(&client).await.0, 3);
}

#[tokio::test]
async fn a_dropped_request_releases_its_stream() {
    let client = TestClient::new(MemoryIo::http2, |_, io| async move {
        let mut server = h2::server::handshake(io).await.unwrap();
        let mut held = Vec::new();
        while let Some(Ok(request)) = server.accept().await {
            held.push(request);
        }
    });
    for _ in 0..3 {
        let calls = futures::future::join_all((0..90).map(|_| client.get("/x")));
        assert!(tokio::time::timeout(Duration::from_millis(50), calls).await.is_err());
    }
    assert_eq!(client.connections(), 1);
}

#[tokio::test]
async fn a_new_epoch_uses_new_connections() {
    let client = TestClient::new(MemoryIo::http2, |number, io| never_ending(number, 250, io));
    for expected in [0, 0, 1, 1] {
        client.epoch.store(expected, Ordering::SeqCst);
        assert_eq!(number(&client).await.0 as u64, expected);
    }
}

#[tokio::test]
async fn open_responses_and_a_burst_share_a_connection() {
    let client = TestClient::new(MemoryIo::http2, |number, io| never_ending(number, 250, io));
    let mut watches = Vec::new();
    for _ in 0..80 {
        watches.push(number(&client).await);
        for _ in 0..10 {
            number(&client).await;
        }
    }
    assert_eq!(client.connections(), 1);
    drop(watches);
    let burst = futures::future::join_all((0..90).map(|_| client.get("/x"))).await;
    assert!(burst.iter().all(Result::is_ok));
    assert_eq!(client.connections(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_abandoned_connection_attempt_is_not_reused() {
    let attempts = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&attempts);
    let connector = boxed(tower::service_fn(move |_: Uri| {
        let number = counter.fetch_add(1, Ordering::SeqCst);
        async move {
            if number == 0 {
                std::future::pending::<()>().await;
            }
            let (near, far) = tokio::io::duplex(1 << 16);
            tokio::spawn(never_ending(number, 250, far));
            Ok::<_, BoxError>(MemoryIo::http2(near))
        }
    }));
    let client = TestClient::with_connectors([connector.clone(), connector], attempts);
    let gave_up = tokio::time::timeout(Duration::from_secs(20), client.get("/x")).await;
    assert!(gave_up.is_err());
    // The first attempt would have timed out by now.
    tokio::time::sleep(Duration::from_secs(20)).await;
    client.get("/x").await.unwrap();
    assert_eq!(client.connections(), 2);
}

/// Many connections at the same time, which are idle then.
#[test]
fn connections_that_were_idle_for_long_take_no_memory() {
    const REQUESTS: usize = 400;
    /// Responds when all requests have arrived.
    async fn http1(mut io: DuplexStream, all_arrived: Arc<Barrier>) {
        let mut request = [0; 1024];
        while io.read(&mut request).await.is_ok_and(|read| read > 0) {
            // The last requests are alone.
            let _ = tokio::time::timeout(Duration::from_secs(1), all_arrived.wait()).await;
            io.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.unwrap();
        }
    }
    let all_arrived = Arc::new(Barrier::new(REQUESTS));
    let http2 = TestClient::new(MemoryIo::http2, |number, io| never_ending(number, 2, io));
    let http1 = TestClient::new(MemoryIo::http1, move |_, io| http1(io, Arc::clone(&all_arrived)));
    for (protocol, client) in [("HTTP/2", http2), ("HTTP/1.1", http1)] {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        let idle = Duration::from_secs(600);
        let request_after_idle = async |client: &TestClient| {
            tokio::time::sleep(idle).await;
            client.get("/x").await.unwrap();
            tokio::time::sleep(idle).await;
        };
        runtime.block_on(request_after_idle(&client));
        let before = client.connections();
        let memory = allocation_counter::measure(|| {
            runtime.block_on(async {
                let responses = futures::future::join_all((0..REQUESTS).map(|_| client.get("/x"))).await;
                assert!(responses.iter().all(Result::is_ok), "{protocol}");
                drop(responses);
                request_after_idle(&client).await;
            });
        });
        assert!(client.connections() > before + REQUESTS / 3, "{protocol}: {}", client.connections());
        assert!(memory.bytes_total > 5_000_000 && memory.bytes_current < 20_000, "{protocol}: {memory:?}");
    }
}
