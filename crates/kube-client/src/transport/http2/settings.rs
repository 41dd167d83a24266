//! Notices when the server's SETTINGS have arrived.

use std::future::Future;
use std::sync::Arc;
use std::task::Waker;

use futures::task::AtomicWaker;
use hyper::rt::Executor;

use crate::transport::executor::SharedExecutor;

/// Runs the tasks of a connection, and wakes whoever waits for its SETTINGS after each of their steps.
///
/// hyper tells the server's limit on streams when it is asked ([`Connection::current_max_send_streams`]), and wakes nobody when the limit
/// arrives. The task that reads the connection has made a step then.
///
/// [`Connection::current_max_send_streams`]: hyper::client::conn::http2::Connection::current_max_send_streams
#[derive(Clone)]
pub(super) struct ConnectionExecutor {
    executor: SharedExecutor,
    waiting: Arc<AtomicWaker>,
}

impl ConnectionExecutor {
    pub(super) fn new(executor: SharedExecutor) -> Self {
        Self { executor, waiting: Arc::default() }
    }

    /// Wakes `waker` after the next step. To be called before the limit is read, so that no arrival is missed.
    pub(super) fn wake_after_step(&self, waker: &Waker) {
        self.waiting.register(waker);
    }
}

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for ConnectionExecutor {
    fn execute(&self, task: F) {
        let (mut task, waiting) = (Box::pin(task), Arc::clone(&self.waiting));
        self.executor.execute(std::future::poll_fn(move |cx| {
            let polled = task.as_mut().poll(cx);
            waiting.wake();
            polled
        }));
    }
}
