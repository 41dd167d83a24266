//! Changing the resources of a running pod.

use kube_core::params::{Patch, PatchParams, PostParams};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Resize;
use crate::api::Api;
use crate::error::Error;

impl<K> Api<K>
where
    K: Clone + DeserializeOwned + Resize,
{
    /// The pod `name`, by way of its resize subresource.
    ///
    /// # Errors
    /// As [`Api::get`].
    pub async fn get_resize(&self, name: &str) -> Result<K, Error> {
        self.call("get_resize", self.request.get_subresource("resize", name)).await
    }

    /// Changes the resources of the pod `name`; all else in the patch is ignored or refused.
    ///
    /// # Errors
    /// As [`Api::patch`].
    pub async fn patch_resize<P: Serialize>(
        &self,
        name: &str,
        pp: &PatchParams,
        patch: &Patch<P>,
    ) -> Result<K, Error> {
        self.call("patch_resize", self.request.patch_subresource("resize", name, pp, patch)).await
    }

    /// Replaces the resources of the pod `name` by those in `data`.
    ///
    /// # Errors
    /// As [`Api::replace`].
    pub async fn replace_resize(&self, name: &str, pp: &PostParams, data: &K) -> Result<K, Error>
    where
        K: Serialize,
    {
        let body = serde_json::to_vec(data).map_err(Error::SerdeError)?;
        self.call("replace_resize", self.request.replace_subresource("resize", name, pp, body)).await
    }
}
