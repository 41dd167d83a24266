//! Work that a task does for a future.

use std::future::Future;
use std::pin::Pin;

use hyper::rt::Executor;
use hyper_util::rt::TokioExecutor;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tracing::Instrument;

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Does `work` in a task, so that it makes progress, and passes on locks and turns, also while the returned future is not polled.
///
/// The task starts with the first poll of the future, and ends when that is dropped. `None` if the task ended early: the work has
/// panicked, or the runtime shuts down.
pub(crate) async fn in_task<T, W>(executor: impl Executor<Task>, work: W) -> Option<T>
where
    T: Send + 'static,
    W: Future<Output = T> + Send + 'static,
{
    let (mut sender, result) = oneshot::channel();
    let task = async move {
        tokio::select! {
            biased;
            () = sender.closed() => {}
            // Fails if the future was dropped.
            result = work => drop(sender.send(result)),
        }
    };
    executor.execute(Box::pin(task.in_current_span()));
    result.await.ok()
}

/// The same in a task of the present runtime. Without one the future does the work itself.
pub(crate) async fn in_task_of_runtime<T, W>(work: W) -> Option<T>
where
    T: Send + 'static,
    W: Future<Output = T> + Send + 'static,
{
    match Handle::try_current() {
        Ok(_) => in_task(TokioExecutor::new(), work).await,
        Err(_) => Some(work.await),
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::sync::Arc;
    use std::task::Poll;

    use futures::{FutureExt, poll};
    use tokio::task::yield_now;

    use super::*;

    #[tokio::test]
    async fn work_goes_on_while_its_future_is_not_polled_and_ends_with_it() {
        let lock = Arc::new(tokio::sync::Mutex::new(()));
        let with_lock = |end: bool| {
            let lock = Arc::clone(&lock);
            in_task(TokioExecutor::new(), async move {
                let _locked = lock.lock().await;
                if !end {
                    pending::<()>().await;
                }
                5
            })
        };
        let mut unpolled = Box::pin(with_lock(true));
        assert_eq!(poll!(&mut unpolled), Poll::Pending);
        assert_eq!(with_lock(true).await, Some(5), "the first one has released the lock");
        let mut endless = Box::pin(with_lock(false));
        assert_eq!(poll!(&mut endless), Poll::Pending);
        yield_now().await;
        assert!(lock.try_lock().is_err());
        drop(endless);
        assert_eq!(with_lock(true).await, Some(5), "its task was ended");
        assert_eq!(unpolled.await, Some(5));
    }

    #[test]
    fn without_a_runtime_the_future_does_the_work() {
        assert_eq!(in_task_of_runtime(async { 5 }).now_or_never(), Some(Some(5)));
    }

    #[tokio::test]
    async fn work_that_panics_is_no_result() {
        assert_eq!(in_task(TokioExecutor::new(), async { panic!("of a test") }).await, None::<()>);
    }
}
