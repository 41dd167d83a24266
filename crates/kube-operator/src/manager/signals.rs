//! SIGINT and SIGTERM.

use std::future::pending;

/// The signals that stop a process.
pub(super) struct Signals {
    #[cfg(unix)]
    signals: Option<[tokio::signal::unix::Signal; 2]>,
}

impl Signals {
    /// From now on, these signals do not terminate the process by default.
    pub(super) fn new() -> Self {
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            let signals = signal(SignalKind::interrupt())
                .and_then(|interrupt| Ok([interrupt, signal(SignalKind::terminate())?]))
                .inspect_err(|error| tracing::error!(%error, "cannot listen for signals: the manager will not stop on them"));
            Self { signals: signals.ok() }
        }
        #[cfg(not(unix))]
        Self {}
    }

    /// The name of the next signal.
    pub(super) async fn next(&mut self) -> &'static str {
        #[cfg(unix)]
        match &mut self.signals {
            Some([interrupt, terminate]) => tokio::select! {
                _ = interrupt.recv() => "SIGINT",
                _ = terminate.recv() => "SIGTERM",
            },
            None => pending().await,
        }
        #[cfg(not(unix))]
        match tokio::signal::ctrl_c().await {
            Ok(()) => "Ctrl-C",
            Err(error) => {
                tracing::error!(%error, "cannot listen for signals: the manager will not stop on them");
                pending().await
            }
        }
    }
}
