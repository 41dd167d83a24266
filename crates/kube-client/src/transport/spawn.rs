//! Background tasks of connections.

use std::sync::Arc;

use futures::future::BoxFuture;

/// Spawns the task that drives a connection.
pub(crate) type Spawn = Arc<dyn Fn(BoxFuture<'static, ()>) + Send + Sync>;
