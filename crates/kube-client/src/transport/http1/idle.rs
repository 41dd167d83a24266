//! Connections without a request, and requests that wait for one.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures::FutureExt;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use super::connection::Http1Connection;
use crate::transport::spawn::Spawn;

/// A connection that is idle for this long closes. Servers and load balancers mostly wait longer.
const IDLE_TIMEOUT: Duration = Duration::from_secs(90);

/// The connections of a client that carry no request. They close when it is dropped.
pub(super) struct IdleConnections<B> {
    state: Mutex<State<B>>,
    spawn: Spawn,
    /// Ends the task that closes connections after [`IDLE_TIMEOUT`].
    _dropped: oneshot::Sender<Infallible>,
}

struct State<B> {
    /// The one that was used last is the last.
    idle: Vec<Idle<B>>,
    waiting: VecDeque<oneshot::Sender<Http1Connection<B>>>,
    /// Given to the task that closes connections, while there is none.
    task: Option<oneshot::Receiver<Infallible>>,
}

struct Idle<B> {
    connection: Http1Connection<B>,
    until: Instant,
}

impl<B: Send + 'static> IdleConnections<B> {
    pub(super) fn new(spawn: Spawn) -> Self {
        let (dropped, task) = oneshot::channel();
        let state = State { idle: Vec::new(), waiting: VecDeque::new(), task: Some(task) };
        Self { state: Mutex::new(state), spawn, _dropped: dropped }
    }

    /// The connection that was used last, so that those which the load does not need become old and close.
    pub(super) fn take(&self) -> Option<Http1Connection<B>> {
        let mut state = self.state();
        loop {
            let connection = state.idle.pop()?.connection;
            if connection.is_ready() {
                return Some(connection);
            }
        }
    }

    /// Receives the next connection that becomes idle.
    pub(super) fn wait(&self) -> oneshot::Receiver<Http1Connection<B>> {
        let (waiting, receiver) = oneshot::channel();
        let mut state = self.state();
        state.waiting.retain(|waiting| !waiting.is_closed());
        state.waiting.push_back(waiting);
        receiver
    }

    /// Gives the connection to the request that waits longest, or keeps it.
    pub(super) fn put(self: &Arc<Self>, mut connection: Http1Connection<B>) {
        let mut state = self.state();
        while let Some(waiting) = state.waiting.pop_front() {
            match waiting.send(connection) {
                Ok(()) => return,
                Err(unwanted) => connection = unwanted,
            }
        }
        state.idle.push(Idle { connection, until: Instant::now() + IDLE_TIMEOUT });
        if let Some(dropped) = state.task.take() {
            (self.spawn)(close_old(Arc::downgrade(self), dropped).boxed());
        }
    }

    /// Closes connections that have been idle for too long. Returns when the next one will have been; without any, the task ends and
    /// `dropped` waits for the next one.
    fn close_old(
        &self,
        dropped: oneshot::Receiver<Infallible>,
    ) -> Option<(Instant, oneshot::Receiver<Infallible>)> {
        let now = Instant::now();
        let mut state = self.state();
        state.idle.retain(|idle| idle.until > now && !idle.connection.is_closed());
        match state.idle.first() {
            Some(oldest) => Some((oldest.until, dropped)),
            None => {
                state.task = Some(dropped);
                None
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State<B>> {
        // No update leaves the state inconsistent, so it stays usable after a panic.
        self.state.lock()
    }
}

/// Runs while there are idle connections.
async fn close_old<B: Send + 'static>(
    connections: Weak<IdleConnections<B>>,
    mut dropped: oneshot::Receiver<Infallible>,
) {
    loop {
        let next = connections.upgrade().and_then(|connections| connections.close_old(dropped));
        let Some((until, still_needed)) = next else { return };
        dropped = still_needed;
        if timeout_at(until, &mut dropped).await.is_ok() {
            return;
        }
    }
}
