//! Restarting workloads.

use kube_core::Resource;
use kube_core::util::Restart;
use serde::de::DeserializeOwned;

use crate::api::Api;
use crate::error::Error;

impl<K> Api<K>
where
    K: Restart + Resource + DeserializeOwned,
{
    /// Has the pods of the workload `name` replaced, by a change to its pod template, as `kubectl rollout restart` does.
    ///
    /// # Errors
    /// As [`Api::patch`].
    pub async fn restart(&self, name: &str) -> Result<K, Error> {
        self.call("restart", self.request.restart(name)).await
    }
}
