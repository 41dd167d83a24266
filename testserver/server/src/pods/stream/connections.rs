//! The upgraded connections of a server, which end with it.

use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};

/// The tasks of upgraded connections. They end when the client disconnects, with [`end`](Self::end), or when this is dropped.
#[derive(Debug)]
pub(crate) struct StreamConnections {
    tasks: TaskTracker,
    cut: CancellationToken,
    _cut_on_drop: DropGuard,
}

impl StreamConnections {
    pub(crate) fn new() -> Self {
        let cut = CancellationToken::new();
        Self { tasks: TaskTracker::new(), _cut_on_drop: cut.clone().drop_guard(), cut }
    }

    pub(crate) fn spawn(&self, session: impl Future<Output = ()> + Send + 'static) {
        let cut = self.cut.clone();
        self.tasks.spawn(async move { cut.run_until_cancelled_owned(session).await });
    }

    /// Ends all connections and returns when their tasks have ended. Later ones end at once.
    pub(crate) async fn end(&self) {
        self.cut.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// Starts the end of all connections.
    pub(crate) fn cut(&self) {
        self.cut.cancel();
    }
}
