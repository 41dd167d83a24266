//! When to stop.

use futures::{
    FutureExt,
    future::{self, BoxFuture},
};

/// What a controller waits for besides its work.
pub(super) struct Shutdown {
    /// Start nothing new, wait for what runs.
    pub(super) graceful: BoxFuture<'static, ()>,
    /// Wait for nothing.
    pub(super) forceful: BoxFuture<'static, ()>,
}

impl Default for Shutdown {
    fn default() -> Self {
        Self { graceful: future::pending().boxed(), forceful: future::pending().boxed() }
    }
}

impl Shutdown {
    /// Also stops gracefully on `trigger`.
    pub(super) fn or_on(self, trigger: impl Future<Output = ()> + Send + 'static) -> Self {
        Self { graceful: either(self.graceful, trigger), ..self }
    }

    /// Also stops gracefully on the first SIGINT or SIGTERM, and at once on the second.
    pub(super) fn or_on_signal(self) -> Self {
        Self { graceful: either(self.graceful, signals(1)), forceful: either(self.forceful, signals(2)) }
    }
}

fn either(
    one: BoxFuture<'static, ()>,
    other: impl Future<Output = ()> + Send + 'static,
) -> BoxFuture<'static, ()> {
    future::select(one, other.boxed()).map(drop).boxed()
}

/// Done at the `count`th signal that asks the process to end. Counting starts when this is first polled; from then on
/// these signals no longer end the process by themselves.
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
