//! The asynchronous part of a subcommand.

use std::io;

use anyhow::{Context as _, Result, bail};

/// Runs to the end, or until SIGINT or SIGTERM: then everything that was started is dropped, and child processes with it.
pub(super) fn run<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut signals = Signals::new().context("no signals")?;
        tokio::select! {
            result = work => result,
            name = signals.next() => bail!("ended by {name}"),
        }
    })
}

/// The signals that ask this process to end. Registered when it is made, so that none is missed.
pub(super) struct Signals {
    #[cfg(unix)]
    signals: [tokio::signal::unix::Signal; 2],
}

impl Signals {
    pub(super) fn new() -> io::Result<Self> {
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            Ok(Self { signals: [signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?] })
        }
        #[cfg(not(unix))]
        Ok(Self {})
    }

    /// The name of the next one.
    pub(super) async fn next(&mut self) -> &'static str {
        #[cfg(unix)]
        {
            let [interrupt, terminate] = &mut self.signals;
            tokio::select! {
                _ = interrupt.recv() => "SIGINT",
                _ = terminate.recv() => "SIGTERM",
            }
        }
        #[cfg(not(unix))]
        match tokio::signal::ctrl_c().await {
            Ok(()) => "Ctrl-C",
            Err(_) => std::future::pending().await,
        }
    }
}
