use std::{io, net::SocketAddr, time::Duration};

use tokio::net::{TcpListener, TcpStream};

const MIN_BACKOFF: Duration = Duration::from_millis(5);
const MAX_BACKOFF: Duration = Duration::from_secs(1);

/// Accepts the next connection. A connection that was closed while queued is skipped. When the process is out of
/// descriptors or memory, it retries after a pause that doubles up to a second.
pub(super) async fn accept(tcp: &TcpListener) -> (TcpStream, SocketAddr) {
    let mut pause = MIN_BACKOFF;
    loop {
        match tcp.accept().await {
            Ok(accepted) => return accepted,
            Err(error) if is_the_peers(&error) => {
                tracing::debug!(%error, "connection was closed before it was accepted")
            }
            Err(error) => {
                tracing::warn!(%error, ?pause, "accepting connections failed, retrying after a pause");
                tokio::time::sleep(pause).await;
                pause = next_pause(pause);
            }
        }
    }
}

pub(super) fn next_pause(pause: Duration) -> Duration {
    (pause * 2).min(MAX_BACKOFF)
}

fn is_the_peers(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}
