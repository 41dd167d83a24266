//! Which connection a request takes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Response, Uri};
use tokio::io::DuplexStream;
use tokio::sync::Barrier;
use tower::BoxError;

use super::{Client, NearEnd};
use crate::transport::any;

/// Answers with the number of the connection, and never ends an answer.
async fn never_ending(number: usize, streams: u32, io: DuplexStream) {
    let server = h2::server::Builder::new().max_concurrent_streams(streams).handshake::<_, Bytes>(io);
    let mut server = server.await.unwrap();
    let mut held = Vec::new();
    while let Some(Ok((_, mut respond))) = server.accept().await {
        let answer = Response::builder().header("connection-number", number).body(()).unwrap();
        held.push(respond.send_response(answer, false).unwrap());
    }
}

async fn number(client: &Client) -> (usize, Response<super::Answer>) {
    let answer = client.get("/watch").await.unwrap();
    (answer.headers()["connection-number"].to_str().unwrap().parse().unwrap(), answer)
}

#[tokio::test]
async fn the_first_with_room_is_taken_and_places_come_back() {
    let client = Client::of(NearEnd::http2, |number, io| never_ending(number, 250, io));
    let mut held = Vec::new();
    for expected in (0..180).map(|index| index / 90) {
        let (number, answer) = number(&client).await;
        assert_eq!(number, expected);
        held.push(answer);
    }
    held.remove(0);
    assert_eq!(number(&client).await.0, 0);
    drop(held);
    // As many fit again as at first: one place that did not come back would send the last ones to the next connection.
    let mut held = Vec::new();
    for expected in (0..180).map(|index| index / 90) {
        let (number, answer) = number(&client).await;
        assert_eq!(number, expected);
        held.push(answer);
    }
    assert_eq!(client.connections(), 2);
}

#[tokio::test]
async fn a_server_that_takes_fewer_gets_fewer() {
    let client = Client::of(NearEnd::http2, |number, io| never_ending(number, 10, io));
    let mut held = vec![number(&client).await.1];
    for expected in (1..30).map(|index| index / 10) {
        let (number, answer) = number(&client).await;
        assert_eq!(number, expected);
        held.push(answer);
    }
}

#[tokio::test]
async fn those_who_come_together_share_one_connection() {
    let client = Client::of(NearEnd::http2, |number, io| never_ending(number, 250, io));
    let answers = futures::future::join_all((0..64).map(|_| client.get("/watch"))).await;
    assert!(answers.iter().all(Result::is_ok));
    assert_eq!(client.connections(), 1);
}

/// Answers nobody before all have been heard, ten at a time on a connection.
#[tokio::test(start_paused = true)]
async fn a_cold_burst_reaches_a_server_that_takes_ten_at_a_time_every_request_once() {
    const REQUESTS: usize = 100;
    let (seen, all_arrived) = (Arc::new(AtomicUsize::new(0)), Arc::new(Barrier::new(REQUESTS)));
    let counter = Arc::clone(&seen);
    let client = Client::of(NearEnd::http2, move |_, io| {
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
    let answers = tokio::time::timeout(Duration::from_secs(20), burst).await.expect("all arrive");
    let failed: Vec<_> = answers.iter().filter_map(|answer| answer.as_ref().err()).collect();
    assert!(failed.is_empty(), "{failed:?}");
    assert_eq!(seen.load(Ordering::SeqCst), REQUESTS);
    assert_eq!(client.connections(), REQUESTS / 10);
}

#[tokio::test]
async fn a_request_that_was_sent_at_the_last_attempt_is_answered() {
    let client = Client::of(NearEnd::http2, |number, io| async move {
        // The first three are closed before they take a request.
        if number >= 3 {
            never_ending(number, 250, io).await;
        }
    });
    assert_eq!(number(&client).await.0, 3);
}

#[tokio::test]
async fn a_call_that_is_dropped_gives_its_place_back() {
    let client = Client::of(NearEnd::http2, |_, io| async move {
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
async fn a_new_epoch_has_connections_of_its_own() {
    let client = Client::of(NearEnd::http2, |number, io| never_ending(number, 250, io));
    for expected in [0, 0, 1, 1] {
        client.epoch.store(expected, Ordering::SeqCst);
        assert_eq!(number(&client).await.0 as u64, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_nobody_waits_for_any_more_is_made_anew() {
    let attempts = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&attempts);
    let connector = any(tower::service_fn(move |_: Uri| {
        let number = counter.fetch_add(1, Ordering::SeqCst);
        async move {
            if number == 0 {
                std::future::pending::<()>().await;
            }
            let (near, far) = tokio::io::duplex(1 << 16);
            tokio::spawn(never_ending(number, 250, far));
            Ok::<_, BoxError>(NearEnd::http2(near))
        }
    }));
    let client = Client::by([connector.clone(), connector], attempts);
    let gave_up = tokio::time::timeout(Duration::from_secs(20), client.get("/x")).await;
    assert!(gave_up.is_err());
    // Were it the same attempt, its time would be over by now.
    tokio::time::sleep(Duration::from_secs(20)).await;
    client.get("/x").await.unwrap();
    assert_eq!(client.connections(), 2);
}
