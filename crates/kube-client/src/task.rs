//! Starts tasks. tokio's task and its channels are generic in the future and the output: here they are compiled once, and not for each type
//! of object.

use std::any::Any;

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

pub(crate) fn spawn(runtime: &Handle, future: BoxFuture<'static, ()>) -> JoinHandle<()> {
    runtime.spawn(future)
}

/// What a task computes. `None` if it ended early.
pub(crate) type Output = BoxFuture<'static, Option<Box<dyn Any + Send>>>;

/// Computes something. Returns early, with `None`, if the function that it is passed says that the output was dropped.
pub(crate) type Work = Box<dyn FnOnce(&dyn Fn() -> bool) -> Option<Box<dyn Any + Send>> + Send>;

/// Runs `work` in a task.
pub(crate) fn spawn_work(runtime: &Handle, work: Work) -> Output {
    let (sender, output) = oneshot::channel();
    let task = async move {
        if let Some(output) = work(&|| sender.is_closed()) {
            // Fails if the output is not awaited any more.
            let _ = sender.send(output);
        }
    };
    spawn(runtime, task.boxed());
    async { output.await.ok() }.boxed()
}
