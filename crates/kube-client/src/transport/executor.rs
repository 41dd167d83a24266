//! The executor of the caller, which runs the tasks of connections.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use hyper::rt::Executor;

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// An executor of any type. Clones are the same executor.
#[derive(Clone)]
pub(crate) struct SharedExecutor(Arc<dyn Executor<Task> + Send + Sync>);

impl SharedExecutor {
    pub(crate) fn new(executor: impl Executor<Task> + Send + Sync + 'static) -> Self {
        Self(Arc::new(executor))
    }
}

impl<F> Executor<F> for SharedExecutor
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, task: F) {
        self.0.execute(Box::pin(task));
    }
}
