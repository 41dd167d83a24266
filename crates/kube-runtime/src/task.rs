//! A spawned task that is aborted when its handle is dropped.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};
use tokio::{runtime::Handle, task::JoinHandle};

/// A spawned task that is aborted when this handle is dropped.
///
/// # Panics
///
/// Awaiting the handle resumes a panic of the task.
#[derive(Debug)]
pub struct CancelableJoinHandle<T> {
    inner: JoinHandle<T>,
}

impl<T> CancelableJoinHandle<T>
where
    T: Send + 'static,
{
    /// Spawns `future` on `runtime`.
    pub fn spawn(future: impl Future<Output = T> + Send + 'static, runtime: &Handle) -> Self {
        Self { inner: runtime.spawn(future) }
    }
}

impl<T> Future for CancelableJoinHandle<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match Pin::new(&mut self.inner).poll(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Ok(output)) => Poll::Ready(output),
            Poll::Ready(Err(error)) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // The task was cancelled because the runtime shuts down, so this future is not polled again.
                Err(_cancelled) => Poll::Pending,
            },
        }
    }
}

impl<T> Drop for CancelableJoinHandle<T> {
    fn drop(&mut self) {
        self.inner.abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{sync::Arc, time::Duration};
    use tokio::{sync::Notify, time::timeout};

    #[tokio::test(start_paused = true)]
    async fn awaiting_returns_the_output_and_dropping_aborts_the_task() {
        assert_eq!(CancelableJoinHandle::spawn(async { 7 }, &Handle::current()).await, 7);
        let held = Arc::new(Notify::new());
        let inside = Arc::clone(&held);
        let handle = CancelableJoinHandle::spawn(async move { inside.notified().await }, &Handle::current());
        tokio::task::yield_now().await;
        drop(handle);
        let released = async {
            while Arc::strong_count(&held) > 1 {
                tokio::task::yield_now().await;
            }
        };
        timeout(Duration::from_secs(1), released).await.expect("the task is aborted");
    }
}
