//! Adding containers to a running pod, to look into it.

use kube_core::params::{Patch, PatchParams, PostParams};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Ephemeral;
use crate::api::Api;
use crate::error::Error;

impl<K> Api<K>
where
    K: Clone + DeserializeOwned + Ephemeral,
{
    /// The pod `name`, by way of its ephemeralcontainers subresource.
    ///
    /// # Errors
    /// As [`Api::get`].
    pub async fn get_ephemeral_containers(&self, name: &str) -> Result<K, Error> {
        self.call("get_ephemeral_containers", self.request.get_subresource("ephemeralcontainers", name)).await
    }

    /// Changes the ephemeral containers of the pod `name`; all else in the patch is ignored or refused.
    ///
    /// # Errors
    /// As [`Api::patch`].
    pub async fn patch_ephemeral_containers<P: Serialize>(
        &self,
        name: &str,
        pp: &PatchParams,
        patch: &Patch<P>,
    ) -> Result<K, Error> {
        self.call(
            "patch_ephemeral_containers",
            self.request.patch_subresource("ephemeralcontainers", name, pp, patch),
        )
        .await
    }

    /// Replaces the ephemeral containers of the pod `name` by those in `data`; they can only become more.
    ///
    /// # Errors
    /// As [`Api::replace`].
    pub async fn replace_ephemeral_containers(
        &self,
        name: &str,
        pp: &PostParams,
        data: &K,
    ) -> Result<K, Error>
    where
        K: Serialize,
    {
        let body = serde_json::to_vec(data).map_err(Error::SerdeError)?;
        self.call(
            "replace_ephemeral_containers",
            self.request.replace_subresource("ephemeralcontainers", name, pp, body),
        )
        .await
    }
}
