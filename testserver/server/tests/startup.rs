//! How long a server takes to start. Alone in its process, because other tests would be measured too; nextest runs it alone as well
//! (`.config/nextest.toml`).

// Test code only.
#![allow(clippy::unwrap_used)]

use std::time::{Duration, Instant};

use kube_testserver::TestServer;

/// The documented bound.
const BOUND: Duration = Duration::from_millis(50);
/// Another program may delay any single start, but hardly each of these.
const ATTEMPTS: usize = 20;

/// A server per test is cheap, even in a debug build.
#[tokio::test]
async fn it_starts_within_50_ms() {
    let mut best = Duration::MAX;
    for _ in 0..ATTEMPTS {
        let start = Instant::now();
        let server = TestServer::start().await.unwrap();
        best = best.min(start.elapsed());
        server.shutdown().await;
        if best < BOUND {
            return;
        }
    }
    panic!("{ATTEMPTS} starts took {best:?} and more");
}
