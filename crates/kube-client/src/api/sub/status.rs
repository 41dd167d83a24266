//! The `status` subresource, which the controller of the object writes.

use std::fmt::Debug;

use kube_core::params::{Patch, PatchParams, PostParams};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Result;
use crate::api::Api;
use crate::error::Error;

impl<K> Api<K>
where
    K: DeserializeOwned,
{
    /// Reads the object `name` through its `status` subresource.
    ///
    /// # Errors
    /// As [`Api::get`]; also code 404 if the kind has no status subresource.
    pub async fn get_status(&self, name: &str) -> Result<K> {
        self.call("get_status", self.request.get_subresource("status", name)).await
    }

    /// Patches the status of the object `name`; the server ignores all other changes.
    ///
    /// The patch is of the whole object: `{"status": {...}}`, and `apiVersion` and `kind` with [`Patch::Apply`].
    ///
    /// ```
    /// use k8s_openapi::api::apps::v1::Deployment;
    /// use kube_client::api::{Patch, PatchParams};
    /// use kube_client::{Api, Client};
    /// use serde_json::json;
    #[doc = include_str!("../../doc/deployment.txt")]
    ///
    /// let deployments: Api<Deployment> = Api::default_namespaced(client);
    /// let seen = Patch::Merge(json!({ "status": { "observedGeneration": 1 } }));
    /// let web = deployments.patch_status("web", &PatchParams::default(), &seen).await?;
    /// assert_eq!(web.status.and_then(|status| status.observed_generation), Some(1));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Api::patch`].
    pub async fn patch_status<P: Serialize + Debug>(
        &self,
        name: &str,
        pp: &PatchParams,
        patch: &Patch<P>,
    ) -> Result<K> {
        self.call("patch_status", self.request.patch_subresource("status", name, pp, patch)).await
    }

    /// Replaces the status of the object `name` with the one in `data`; the server ignores the rest of `data`.
    ///
    /// # Errors
    /// As [`Api::replace`].
    pub async fn replace_status(&self, name: &str, pp: &PostParams, data: &K) -> Result<K>
    where
        K: Serialize,
    {
        let body = serde_json::to_vec(data).map_err(Error::SerdeError)?;
        self.call("replace_status", self.request.replace_subresource("status", name, pp, body)).await
    }
}
