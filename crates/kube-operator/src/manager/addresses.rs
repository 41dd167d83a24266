//! The addresses at which the servers of a manager listen.

use std::net::SocketAddr;
use tokio::sync::watch;

/// The bound addresses so far. The sender is dropped when no further one will be bound.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Addresses {
    pub(super) metrics: Option<SocketAddr>,
    pub(super) debug_page: Option<SocketAddr>,
    pub(super) webhooks: Option<SocketAddr>,
}

/// Waits for an address; `None` if it will never be bound.
pub(super) async fn bound(
    mut addresses: watch::Receiver<Addresses>,
    select: impl Fn(&Addresses) -> Option<SocketAddr>,
) -> Option<SocketAddr> {
    let found = addresses.wait_for(|addresses| select(addresses).is_some()).await;
    found.ok().and_then(|addresses| select(&addresses))
}
