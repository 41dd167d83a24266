//! Background tasks of connections.

use std::sync::Arc;

use futures::future::BoxFuture;
use hyper::rt::Executor;

/// Spawns the task that drives a connection.
pub(crate) type Spawn = Arc<dyn Fn(BoxFuture<'static, ()>) + Send + Sync>;

/// [`Spawn`] as an executor for hyper.
#[derive(Clone)]
pub(super) struct SpawnExecutor(pub(super) Spawn);

impl Executor<BoxFuture<'static, ()>> for SpawnExecutor {
    fn execute(&self, task: BoxFuture<'static, ()>) {
        (self.0)(task);
    }
}
