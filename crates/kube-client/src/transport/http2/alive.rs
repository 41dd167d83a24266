//! Whether a connection lives, and whether it is still needed.

use std::future::pending;
use std::time::Duration;

use h2::{Ping, PingPong};
use tokio::time::{sleep, timeout};

use super::line::Line;

const INTERVAL: Duration = Duration::from_secs(30);
const ANSWER: Duration = Duration::from_secs(15);
/// A connection that nobody uses is given up after so many pings.
const UNUSED: u32 = 3;

/// How long a dead connection may go unnoticed.
pub(super) const NOTICED: Duration = INTERVAL.saturating_add(ANSWER);

/// Pings the server, also while nobody waits for it. Ends when a ping is not answered, or when the connection is not used any more:
/// then it is to be dropped. The line has been closed.
pub(super) async fn until_useless(mut pings: PingPong, line: &Line) {
    for number in 1_u32.. {
        sleep(INTERVAL).await;
        match timeout(ANSWER, pings.ping(Ping::opaque())).await {
            Ok(Ok(_)) => {}
            // It is ending; the connection itself knows why.
            Ok(Err(_)) => break,
            Err(_) => return line.fall_silent(),
        }
        if number.is_multiple_of(UNUSED) && line.close_if_unused() {
            return;
        }
    }
    pending().await
}
