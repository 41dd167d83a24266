//! When a controller stops.

use crate::unwind::pending_after_panic;
use futures::{
    FutureExt,
    future::{self, BoxFuture},
};

/// The triggers that stop a controller.
pub(super) struct Shutdown {
    /// Start no reconcile any more; wait for the running ones.
    pub(super) graceful: BoxFuture<'static, ()>,
    /// Stop at once.
    pub(super) forceful: BoxFuture<'static, ()>,
}

impl Default for Shutdown {
    fn default() -> Self {
        Self { graceful: future::pending().boxed(), forceful: future::pending().boxed() }
    }
}

impl Shutdown {
    /// Also stops gracefully when `trigger` completes.
    pub(super) fn or_on(self, trigger: impl Future<Output = ()> + Send + 'static) -> Self {
        let consequence = "the future of graceful_shutdown_on panicked: it will not stop the controller";
        let trigger = pending_after_panic(trigger, consequence);
        Self { graceful: either(self.graceful, trigger), ..self }
    }

    /// Also stops gracefully on the first SIGINT or SIGTERM, and at once on the second.
    pub(super) fn or_on_signal(self) -> Self {
        Self { graceful: either(self.graceful, signals(1)), forceful: either(self.forceful, signals(2)) }
    }
}

fn either(
    first: BoxFuture<'static, ()>,
    second: impl Future<Output = ()> + Send + 'static,
) -> BoxFuture<'static, ()> {
    future::select(first, second.boxed()).map(drop).boxed()
}

/// Completes at the `count`th SIGINT or SIGTERM. Counting starts at the first poll; from then on these signals no longer
/// terminate the process by default.
#[cfg(unix)]
async fn signals(count: usize) {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut interrupt, mut terminate) =
        match (signal(SignalKind::interrupt()), signal(SignalKind::terminate())) {
            (Ok(interrupt), Ok(terminate)) => (interrupt, terminate),
            (Err(error), _) | (_, Err(error)) => {
                tracing::error!(%error, "cannot listen for signals: the controller will not stop on them");
                return future::pending().await;
            }
        };
    for _ in 0..count {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    }
}

#[cfg(not(unix))]
async fn signals(count: usize) {
    for _ in 0..count {
        if let Err(error) = tokio::signal::ctrl_c().await {
            tracing::error!(%error, "cannot listen for signals: the controller will not stop on them");
            return future::pending().await;
        }
    }
}
