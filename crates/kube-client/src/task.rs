//! Starts tasks. tokio's task is generic in its future: here it is compiled once, and not for each future and type of object.

use futures::future::BoxFuture;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

pub(crate) fn spawn(runtime: &Handle, future: BoxFuture<'static, ()>) -> JoinHandle<()> {
    runtime.spawn(future)
}
