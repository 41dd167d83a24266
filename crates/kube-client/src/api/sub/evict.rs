//! Evictions: deletions that respect disruption budgets.

use kube_core::Status;
use kube_core::subresource::EvictParams;
use serde::de::DeserializeOwned;

use super::Evict;
use crate::api::Api;
use crate::error::Error;

impl<K> Api<K>
where
    K: DeserializeOwned + Evict,
{
    /// Evicts the pod `name`.
    ///
    /// While a disruption budget does not allow it, the server asks to try again later; a client with the default retries does so for up
    /// to 45 s.
    ///
    /// # Errors
    /// [`Error::Api`] with code 429 while a disruption budget does not allow it, 404 if the pod is not there.
    pub async fn evict(&self, name: &str, ep: &EvictParams) -> Result<Status, Error> {
        self.call("evict", self.request.evict(name, ep)).await
    }
}
