//! [`ReceivedBytes`]: counts the bytes of responses.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// Counts the bytes of response bodies as they are read, after decompression.
///
/// As an extension of requests, for example of all requests of one watch. Clones share one counter, which never decreases.
///
/// ```
/// use http::Request;
/// use kube_client::{Client, client::ReceivedBytes};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
///
/// let received = ReceivedBytes::default();
/// let mut request = Request::get("/readyz").body(Vec::new())?;
/// request.extensions_mut().insert(received.clone());
/// assert_eq!(client.request_text(request).await?, "ok");
/// assert_eq!(received.get(), 2);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct ReceivedBytes(Arc<AtomicU64>);

impl ReceivedBytes {
    /// The bytes so far.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn add(&self, bytes: usize) {
        self.0.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}
