use std::{io, net::SocketAddr, time::Duration};

use tokio::net::{TcpListener, TcpStream};

const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Accepts the next connection. A peer that gave up while queued is skipped; when the process is out of
/// descriptors or memory, tries again after a pause that doubles up to a second, so it never spins.
pub(super) async fn accept(tcp: &TcpListener) -> (TcpStream, SocketAddr) {
    let mut pause = FIRST_PAUSE;
    loop {
        match tcp.accept().await {
            Ok(accepted) => return accepted,
            Err(error) if is_the_peers(&error) => {
                tracing::debug!(%error, "connection was gone before it was accepted")
            }
            Err(error) => {
                tracing::warn!(%error, ?pause, "accepting connections failed, trying again after a pause");
                tokio::time::sleep(pause).await;
                pause = next_pause(pause);
            }
        }
    }
}

pub(super) fn next_pause(pause: Duration) -> Duration {
    (pause * 2).min(LONGEST_PAUSE)
}

fn is_the_peers(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}
