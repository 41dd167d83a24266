//! Keepalive pings of a connection, and the end of connections that are not in use.

use std::future::pending;
use std::time::Duration;

use h2::{Ping, PingPong};
use tokio::time::{sleep, timeout};

use super::streams::{Closed, Streams};

const PING_INTERVAL: Duration = Duration::from_secs(30);
const PING_TIMEOUT: Duration = Duration::from_secs(15);
/// An idle connection is closed after this many pings.
const IDLE_PINGS: u32 = 3;

/// The longest time until a dead connection is detected.
pub(super) const DETECTION_TIME: Duration = PING_INTERVAL.saturating_add(PING_TIMEOUT);

/// Pings the server, also while no request is in flight. Returns with closed `streams` when a ping is not acknowledged or when the
/// connection has been idle: the caller then drops the connection.
pub(super) async fn run_keepalive(mut pings: PingPong, streams: &Streams) {
    for number in 1_u32.. {
        sleep(PING_INTERVAL).await;
        match timeout(PING_TIMEOUT, pings.ping(Ping::opaque())).await {
            Ok(Ok(_)) => {}
            // The connection is closing, and its own future reports the reason.
            Ok(Err(_)) => break,
            Err(_) => return streams.close(Closed::Unresponsive),
        }
        if number.is_multiple_of(IDLE_PINGS) && streams.close_if_idle() {
            return;
        }
    }
    pending().await
}
