//! Reads of files that may be on a slow volume, on a blocking thread and for a limited time.

use std::io;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// A read of a volume whose server is down may block for ever.
const READ_TIMEOUT: Duration = Duration::from_secs(5);

/// Reads one file or several, one read at a time.
#[derive(Debug)]
pub(crate) struct BlockingRead<T> {
    /// A blocked read that has timed out. It cannot be cancelled, so no other read starts until it ends.
    overdue: Mutex<Option<JoinHandle<T>>>,
}

impl<T> Default for BlockingRead<T> {
    fn default() -> Self {
        Self { overdue: Mutex::default() }
    }
}

impl<T: Send + 'static> BlockingRead<T> {
    /// Reads on a blocking thread.
    ///
    /// # Errors
    /// After [`READ_TIMEOUT`]. Later calls are an error immediately until that read has ended, and then return its result.
    pub(crate) async fn read(&self, read: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
        let mut overdue = self.overdue.lock().await;
        let limit = if overdue.is_some() { Duration::ZERO } else { READ_TIMEOUT };
        let reading = overdue.get_or_insert_with(|| tokio::task::spawn_blocking(read));
        let Ok(result) = timeout(limit, reading).await else {
            let text =
                format!("the file could not be read within {READ_TIMEOUT:?}: is its volume available?");
            return Err(io::Error::new(io::ErrorKind::TimedOut, text));
        };
        *overdue = None;
        result.map_err(io::Error::from)
    }
}
