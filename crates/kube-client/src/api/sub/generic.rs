//! Any subresource, by its name.

use std::fmt::Debug;

use kube_core::params::{Patch, PatchParams, PostParams};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Result;
use crate::api::Api;
use crate::error::Error;

impl<K> Api<K>
where
    K: Clone + DeserializeOwned + Debug,
{
    /// Reads a subresource that has the form of the whole object, such as `status`, of the object `name`.
    ///
    /// ```
    /// use k8s_openapi::api::apps::v1::Deployment;
    /// use kube_client::{Api, Client, ResourceExt};
    #[doc = include_str!("../../doc/deployment.txt")]
    ///
    /// let deployments: Api<Deployment> = Api::default_namespaced(client);
    /// assert_eq!(deployments.get_subresource("status", "web").await?.name_any(), "web");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Api::get`].
    pub async fn get_subresource(&self, subresource_name: &str, name: &str) -> Result<K> {
        self.call("get_subresource", self.request.get_subresource(subresource_name, name)).await
    }

    /// Posts `data` to a subresource of the object `name`.
    ///
    /// # Errors
    /// As [`Api::create`].
    pub async fn create_subresource<I, T>(
        &self,
        subresource_name: &str,
        name: &str,
        pp: &PostParams,
        data: &I,
    ) -> Result<T>
    where
        I: Serialize,
        T: DeserializeOwned,
    {
        let body = serde_json::to_vec(data).map_err(Error::SerdeError)?;
        let request = self.request.create_subresource(subresource_name, name, pp, body);
        self.call("create_subresource", request).await
    }

    /// Patches a subresource of the object `name`.
    ///
    /// # Errors
    /// As [`Api::patch`].
    pub async fn patch_subresource<P: Serialize + Debug>(
        &self,
        subresource_name: &str,
        name: &str,
        pp: &PatchParams,
        patch: &Patch<P>,
    ) -> Result<K> {
        let request = self.request.patch_subresource(subresource_name, name, pp, patch);
        self.call("patch_subresource", request).await
    }

    /// Replaces a subresource of the object `name`.
    ///
    /// # Errors
    /// As [`Api::replace`].
    pub async fn replace_subresource<I>(
        &self,
        subresource_name: &str,
        name: &str,
        pp: &PostParams,
        data: &I,
    ) -> Result<K>
    where
        I: Serialize,
    {
        let body = serde_json::to_vec(data).map_err(Error::SerdeError)?;
        let request = self.request.replace_subresource(subresource_name, name, pp, body);
        self.call("replace_subresource", request).await
    }
}
