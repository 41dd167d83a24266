//! The port of the operator's debug page: whether another program has it, and when the operator serves it.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use tokio::net::TcpStream;

/// Between two attempts to reach the page.
const PAUSE: Duration = Duration::from_millis(100);

/// Whether a program listens there, before the operator is started.
pub(super) fn is_taken(address: SocketAddr) -> bool {
    TcpListener::bind(address).is_err_and(|err| err.kind() == ErrorKind::AddrInUse)
}

/// What the user can do about it.
pub(super) fn advice(address: SocketAddr) -> String {
    format!(
        "another program listens on {address}, so the operator cannot serve its metrics there: \
         end that one, or choose another port: cargo kube dev -- --metrics 127.0.0.1:9090"
    )
}

/// Waits until a program listens there: for ever, if none does.
///
/// # Cancellation
/// Nothing is left.
pub(super) async fn answers(address: SocketAddr) -> SocketAddr {
    while TcpStream::connect(address).await.is_err() {
        tokio::time::sleep(PAUSE).await;
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_taken_while_a_program_listens() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        assert!(is_taken(address));
        drop(listener);
        assert!(!is_taken(address));
    }
}
