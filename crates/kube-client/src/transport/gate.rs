//! Paces connection attempts while nothing answers.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Mutex as AsyncMutex;
use tokio::time::{Instant, sleep_until, timeout};
use tower::BoxError;

use super::error::ConnectFailed;
use super::executor::SharedExecutor;
use crate::task::in_task;

/// The least time between the starts of two attempts after one has failed.
const PAUSE: Duration = Duration::from_secs(1);
/// The longest turn. An attempt that takes longer goes on without it, so that a peer that accepts a connection and is then silent does not
/// keep others from trying.
const TURN: Duration = Duration::from_secs(5);

/// Lets attempts to connect to one server pass as they come, until one fails. From then on they take turns, and there is one attempt a
/// second: all requests that wait meanwhile share its failure, and all connect when it succeeds.
///
/// So a thousand watches together cost an unreachable server one attempt a second, and none of them has to wait longer than that for a
/// server that is back. Dropping the future of an attempt lets the next one that waits go on in its place.
#[derive(Debug, Default)]
pub(super) struct ConnectGate {
    outage: Mutex<Option<Outage>>,
    /// Held during an attempt while nothing answers, for [`TURN`] at most.
    turn: AsyncMutex<()>,
}

/// Attempts have failed, and none has succeeded since.
#[derive(Debug, Clone)]
struct Outage {
    failures: u64,
    last: ConnectFailed,
    next_attempt: Instant,
}

impl ConnectGate {
    /// Runs `connecting` when it is its turn, or returns the failure of another attempt that it has waited for.
    ///
    /// A task of `executor` does so, because a future that is not polled would keep its turn. The task starts with the first poll of the
    /// returned future, and ends when that is dropped.
    pub(super) async fn attempt<T: Send + 'static>(
        self: Arc<Self>,
        executor: SharedExecutor,
        connecting: impl Future<Output = Result<T, BoxError>> + Send + 'static,
    ) -> Result<T, ConnectFailed> {
        let attempt = async move { self.take_turn(connecting).await };
        let ended_early = || Err(ConnectFailed::new("the task that connects ended early".into()));
        in_task(executor, attempt).await.unwrap_or_else(ended_early)
    }

    async fn take_turn<T>(
        &self,
        connecting: impl Future<Output = Result<T, BoxError>>,
    ) -> Result<T, ConnectFailed> {
        let Some(known) = self.outage() else { return self.run(connecting).await };
        let turn = self.turn.lock().await;
        match self.outage() {
            None => {
                drop(turn);
                self.run(connecting).await
            }
            Some(outage) if outage.failures > known.failures => Err(outage.last),
            Some(outage) => {
                sleep_until(outage.next_attempt).await;
                let mut running = pin!(self.run(connecting));
                if let Ok(result) = timeout(TURN, &mut running).await {
                    return result;
                }
                drop(turn);
                running.await
            }
        }
    }

    async fn run<T>(
        &self,
        connecting: impl Future<Output = Result<T, BoxError>>,
    ) -> Result<T, ConnectFailed> {
        let next_attempt = Instant::now() + PAUSE;
        if let Some(outage) = &mut *self.outage.lock() {
            outage.next_attempt = next_attempt; // also if this attempt is dropped
        }
        let result = connecting.await.map_err(ConnectFailed::new);
        let mut outage = self.outage.lock();
        *outage = result.as_ref().err().map(|failed| Outage {
            failures: outage.as_ref().map_or(0, |outage| outage.failures) + 1,
            last: failed.clone(),
            next_attempt,
        });
        result
    }

    fn outage(&self) -> Option<Outage> {
        self.outage.lock().clone()
    }
}
