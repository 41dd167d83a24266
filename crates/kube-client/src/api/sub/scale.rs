//! How many replicas there should be, of any kind that has them.

use std::fmt::Debug;

use k8s_openapi::api::autoscaling::v1::Scale;
use kube_core::params::{Patch, PatchParams, PostParams};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::api::Api;
use crate::error::Error;

impl<K> Api<K>
where
    K: Clone + DeserializeOwned,
{
    /// The scale of the object `name`.
    ///
    /// # Errors
    /// As [`Api::get`]; also code 404 if the kind has no scale.
    pub async fn get_scale(&self, name: &str) -> Result<Scale, Error> {
        self.call("get_scale", self.request.get_subresource("scale", name)).await
    }

    /// Changes the scale of the object `name`: the patch is of a `Scale`.
    ///
    /// # Errors
    /// As [`Api::patch`].
    pub async fn patch_scale<P: Serialize + Debug>(
        &self,
        name: &str,
        pp: &PatchParams,
        patch: &Patch<P>,
    ) -> Result<Scale, Error> {
        self.call("patch_scale", self.request.patch_subresource("scale", name, pp, patch)).await
    }

    /// Replaces the scale of the object `name`.
    ///
    /// # Errors
    /// As [`Api::replace`].
    pub async fn replace_scale(&self, name: &str, pp: &PostParams, data: &Scale) -> Result<Scale, Error> {
        let body = serde_json::to_vec(data).map_err(Error::SerdeError)?;
        self.call("replace_scale", self.request.replace_subresource("scale", name, pp, body)).await
    }
}
