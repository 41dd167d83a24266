//! The `scale` subresource: the number of replicas.

use std::fmt::Debug;

use k8s_openapi::api::autoscaling::v1::Scale;
use kube_core::params::{Patch, PatchParams, PostParams};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Result;
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
    pub async fn get_scale(&self, name: &str) -> Result<Scale> {
        self.call("get_scale", self.request.get_subresource("scale", name)).await
    }

    /// Patches the scale of the object `name`: the patch is of a `Scale`.
    ///
    /// ```
    /// use k8s_openapi::api::apps::v1::Deployment;
    /// use kube_client::api::{Patch, PatchParams};
    /// use kube_client::{Api, Client};
    /// use serde_json::json;
    #[doc = include_str!("../../doc/deployment.txt")]
    ///
    /// let deployments: Api<Deployment> = Api::default_namespaced(client);
    /// let three = Patch::Merge(json!({ "spec": { "replicas": 3 } }));
    /// deployments.patch_scale("web", &PatchParams::default(), &three).await?;
    /// let scale = deployments.get_scale("web").await?;
    /// assert_eq!(scale.spec.and_then(|spec| spec.replicas), Some(3));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Api::patch`].
    pub async fn patch_scale<P: Serialize + Debug>(
        &self,
        name: &str,
        pp: &PatchParams,
        patch: &Patch<P>,
    ) -> Result<Scale> {
        self.call("patch_scale", self.request.patch_subresource("scale", name, pp, patch)).await
    }

    /// Replaces the scale of the object `name`.
    ///
    /// # Errors
    /// As [`Api::replace`].
    pub async fn replace_scale(&self, name: &str, pp: &PostParams, data: &Scale) -> Result<Scale> {
        let body = serde_json::to_vec(data).map_err(Error::SerdeError)?;
        self.call("replace_scale", self.request.replace_subresource("scale", name, pp, body)).await
    }
}
