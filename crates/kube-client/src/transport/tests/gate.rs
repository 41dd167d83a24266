//! The pace of connection attempts while nothing answers.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use futures::poll;
use http::header::UPGRADE;
use http::{Request, Response, Uri, Version};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};
use tower::BoxError;

use super::http1::serve;
use super::{MemoryIo, SendFuture, TestClient, whole};
use crate::transport::boxed;
use crate::transport::is_connect;

const SECOND: Duration = Duration::from_secs(1);

/// A client of a server that can be reached or not.
struct Server {
    client: Arc<TestClient>,
    reachable: Arc<AtomicBool>,
}

impl Server {
    /// It cannot be reached at first: each attempt fails after this time.
    fn away(version: Version, answer: Duration) -> Self {
        let (attempts, reachable) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let (counter, is_reachable) = (Arc::clone(&attempts), Arc::clone(&reachable));
        let connector = boxed(tower::service_fn(move |_: Uri| {
            counter.fetch_add(1, Ordering::SeqCst);
            let is_reachable = Arc::clone(&is_reachable);
            async move {
                if !is_reachable.load(Ordering::SeqCst) {
                    sleep(answer).await;
                    return Err(BoxError::from(io::Error::from(io::ErrorKind::TimedOut)));
                }
                let (near, far) = tokio::io::duplex(1 << 16);
                Ok(if version == Version::HTTP_2 {
                    tokio::spawn(respond(far));
                    MemoryIo::http2(near)
                } else {
                    tokio::spawn(serve(far, 1));
                    MemoryIo::http1(near)
                })
            }
        }));
        let client = Arc::new(TestClient::with_connectors([connector.clone(), connector], attempts));
        Self { client, reachable }
    }

    fn refusing(version: Version) -> Self {
        Self::away(version, Duration::ZERO)
    }

    /// A task that sends requests until one succeeds, and returns when that was. `wait` is between them.
    fn retry(&self, wait: Duration) -> JoinHandle<Instant> {
        let client = Arc::clone(&self.client);
        tokio::spawn(async move {
            while let Err(err) = client.get("/x").await {
                assert!(is_connect(&*err));
                sleep(wait).await;
            }
            Instant::now()
        })
    }

    fn returns(&self) -> Instant {
        self.reachable.store(true, Ordering::SeqCst);
        Instant::now()
    }
}

/// Responds to every request over HTTP/2.
async fn respond(io: tokio::io::DuplexStream) {
    let mut server = h2::server::handshake(io).await.unwrap();
    while let Some(Ok((_, mut respond))) = server.accept().await {
        respond.send_response(Response::new(()), true).unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn many_requests_cost_an_unreachable_server_one_attempt_a_second_and_all_are_sent_when_it_is_back() {
    for version in [Version::HTTP_2, Version::HTTP_11] {
        let server = Server::refusing(version);
        let retrying: Vec<_> = (0..250).map(|i| server.retry(Duration::from_millis(i))).collect();
        sleep(Duration::from_millis(90_500)).await;
        // The first one fails before it is known that nothing answers: there is one for each 100 streams.
        let attempts = server.client.connections();
        assert!((85..=94).contains(&attempts), "{version:?}: {attempts}");
        let back = server.returns();
        for task in retrying {
            let took = task.await.unwrap() - back;
            assert!(took <= SECOND, "{version:?}: {took:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn attempts_that_hang_follow_each_other_without_a_pause() {
    let server = Server::away(Version::HTTP_2, Duration::from_secs(30));
    let retrying = server.retry(Duration::ZERO);
    sleep(Duration::from_secs(59)).await;
    assert_eq!(server.client.connections(), 2);
    retrying.abort();
}

#[tokio::test(start_paused = true)]
async fn a_request_shortly_after_a_failure_waits_for_the_next_attempt() {
    let server = Server::refusing(Version::HTTP_2);
    let started = Instant::now();
    server.client.get("/x").await.err().unwrap();
    assert_eq!(started.elapsed(), Duration::ZERO, "the first failure is reported at once");
    sleep(Duration::from_millis(300)).await;
    server.returns();
    server.client.get("/x").await.unwrap();
    assert_eq!(started.elapsed(), SECOND);
    for _ in 0..3 {
        server.client.epoch.fetch_add(1, Ordering::SeqCst);
        server.client.get("/x").await.unwrap();
    }
    assert_eq!(started.elapsed(), SECOND, "there is no pause while attempts succeed");
    assert_eq!(server.client.connections(), 5);
}

#[tokio::test(start_paused = true)]
async fn a_request_long_after_a_failure_does_not_wait() {
    let server = Server::refusing(Version::HTTP_2);
    server.client.get("/x").await.err().unwrap();
    sleep(SECOND).await;
    server.returns();
    let started = Instant::now();
    server.client.get("/x").await.unwrap();
    assert_eq!(started.elapsed(), Duration::ZERO);
}

/// Requests whose limit is shorter than the pause.
#[tokio::test(start_paused = true)]
async fn requests_that_give_up_early_neither_block_the_others_nor_add_attempts() {
    for version in [Version::HTTP_2, Version::HTTP_11] {
        let server = Server::away(version, Duration::from_secs(30));
        let limited = |millis: u64| timeout(Duration::from_millis(millis), server.client.get("/x"));
        let upgrade = || timeout(Duration::from_millis(30), upgrade(&server));
        server.client.get("/x").await.err().unwrap();
        for _ in 0..100 {
            assert!(limited(70).await.is_err());
            assert!(upgrade().await.is_err());
        }
        let attempts = server.client.connections();
        assert!((9..=12).contains(&attempts), "{version:?}: {attempts} in 10 s");
        server.returns();
        assert!(limited(1_100).await.unwrap().is_ok(), "{version:?}");
    }
}

fn upgrade(server: &Server) -> SendFuture {
    let request = Request::get("https://h/exec").header(UPGRADE, "websocket").body(whole("")).unwrap();
    server.client.send(request)
}

/// As in the other arm of a `select!`.
#[tokio::test(start_paused = true)]
async fn a_request_that_is_not_polled_keeps_nobody_from_connecting() {
    for version in [Version::HTTP_2, Version::HTTP_11] {
        let server = Server::refusing(version);
        server.client.get("/x").await.err().unwrap();
        // Each of them has an attempt of its own: one has the turn, one waits for it.
        let mut unpolled = [Box::pin(upgrade(&server)), Box::pin(upgrade(&server))];
        for request in &mut unpolled {
            assert!(poll!(request).is_pending());
        }
        sleep(Duration::from_millis(500)).await;
        server.returns();
        timeout(SECOND * 5, server.client.get("/x")).await.expect("it is answered").unwrap();
        if version == Version::HTTP_11 {
            for request in unpolled {
                timeout(SECOND * 5, request).await.expect("it is answered").unwrap();
            }
        }
    }
}

/// The server has accepted a connection, and is silent on it.
#[tokio::test(start_paused = true)]
async fn an_attempt_that_hangs_passes_on_its_turn() {
    let server = Server::away(Version::HTTP_11, Duration::from_secs(30));
    server.client.get("/x").await.err().unwrap();
    let hanging = server.retry(Duration::ZERO);
    sleep(SECOND * 2).await;
    server.returns();
    timeout(SECOND * 5, upgrade(&server)).await.expect("it has its turn").unwrap();
    hanging.abort();
}

/// Every request has a connection of its own here.
#[tokio::test(start_paused = true)]
async fn requests_that_wait_for_an_attempt_share_its_failure() {
    let server = Server::refusing(Version::HTTP_11);
    upgrade(&server).await.err().unwrap();
    let failed = futures::future::join_all((0..50).map(|_| upgrade(&server))).await;
    assert!(failed.into_iter().all(|result| is_connect(&*result.err().unwrap())));
    assert_eq!(server.client.connections(), 2);
}
