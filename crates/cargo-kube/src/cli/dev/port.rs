//! The ports of the operator: whether another program has one, and when the operator serves its debug page.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};

use super::listens::{Listens, option};

/// Between two attempts to reach the page.
const PAUSE: Duration = Duration::from_millis(100);

/// Until when an operator that has a page serves it.
const LIMIT: Duration = Duration::from_secs(60);

/// Whether a program listens there, before the operator is started.
pub(super) fn is_taken(address: SocketAddr) -> bool {
    TcpListener::bind(address).is_err_and(|err| err.kind() == ErrorKind::AddrInUse)
}

/// What the user can do about the ports that are taken.
pub(super) fn advice(listens: &Listens) -> impl Iterator<Item = String> {
    listens.all().filter(|(_, address)| is_taken(*address)).map(|(name, address)| {
        let advice = option(name).map(|option| {
            let ip = address.ip();
            let other = if ip.is_ipv6() { format!("[{ip}]") } else { ip.to_string() };
            format!("; a program that `new` writes takes another one by `-- {option} {other}:PORT`")
        });
        format!(
            "another program listens on {address}, so the operator cannot serve its port {name} there: \
             end that one{}",
            advice.unwrap_or_default()
        )
    })
}

/// Waits until a program listens there, for a minute. Returns whether one does.
///
/// # Cancellation
/// Nothing is left.
pub(super) async fn answers(address: SocketAddr) -> bool {
    in_time(|| async move { TcpStream::connect(address).await.is_ok() }).await
}

async fn in_time<Asked: Future<Output = bool>>(is_there: impl Fn() -> Asked) -> bool {
    let until = Instant::now() + LIMIT;
    while !is_there().await {
        if Instant::now() >= until {
            return false;
        }
        sleep(PAUSE).await;
    }
    true
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

    #[tokio::test(start_paused = true)]
    async fn an_operator_that_serves_no_page_is_not_asked_for_ever() {
        let begun = Instant::now();
        assert!(!in_time(|| async { false }).await);
        assert_eq!(begun.elapsed(), LIMIT);
        assert!(in_time(|| async move { begun.elapsed() > LIMIT + PAUSE }).await);
        assert_eq!(begun.elapsed(), LIMIT + 2 * PAUSE);
    }
}
