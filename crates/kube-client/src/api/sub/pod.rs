//! Subresources that change a running pod: eviction, resources, ephemeral containers.

use k8s_openapi::api::core::v1::Pod;
use kube_core::Status;
use kube_core::params::{Patch, PatchParams, PostParams};
use kube_core::subresource::EvictParams;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Result;
use crate::api::Api;
use crate::error::Error;

/// Kinds that can be evicted.
pub trait Evict {}
impl Evict for Pod {}

impl<K> Api<K>
where
    K: DeserializeOwned + Evict,
{
    /// Evicts the pod `name`: deletes it if its disruption budgets allow that.
    ///
    /// While a disruption budget does not allow it, the server responds with 429 and `Retry-After`; a client with default retries retries
    /// for up to 45 s.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kube_client::api::EvictParams;
    /// use kube_client::{Api, Client};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
    /// # let pod: Pod = serde_json::from_str(r#"{"metadata":{"name":"web"},"spec":{"nodeName":"node","containers":[{"name":"main","image":"i"}]}}"#)?;
    /// # Api::default_namespaced(client.clone()).create(&Default::default(), &pod).await?;
    ///
    /// let pods: Api<Pod> = Api::default_namespaced(client);
    /// assert!(pods.evict("web", &EvictParams::default()).await?.is_success());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Api`] with code 429 while a disruption budget does not allow it, 404 if the pod does not exist.
    pub async fn evict(&self, name: &str, ep: &EvictParams) -> Result<Status> {
        self.call("evict", self.request.evict(name, ep)).await
    }
}

/// Kinds whose resources can be changed while they run.
pub trait Resize {}
impl Resize for Pod {}

impl<K> Api<K>
where
    K: Clone + DeserializeOwned + Resize,
{
    /// Reads the `resize` subresource of the pod `name`.
    ///
    /// # Errors
    /// As [`Api::get`].
    pub async fn get_resize(&self, name: &str) -> Result<K> {
        self.call("get_resize", self.request.get_subresource("resize", name)).await
    }

    /// Patches the resources of the pod `name`; the server ignores or refuses other changes.
    ///
    /// # Errors
    /// As [`Api::patch`].
    pub async fn patch_resize<P: Serialize>(
        &self,
        name: &str,
        pp: &PatchParams,
        patch: &Patch<P>,
    ) -> Result<K> {
        self.call("patch_resize", self.request.patch_subresource("resize", name, pp, patch)).await
    }

    /// Replaces the resources of the pod `name` with those in `data`.
    ///
    /// # Errors
    /// As [`Api::replace`].
    pub async fn replace_resize(&self, name: &str, pp: &PostParams, data: &K) -> Result<K>
    where
        K: Serialize,
    {
        let body = serde_json::to_vec(data).map_err(Error::SerdeError)?;
        self.call("replace_resize", self.request.replace_subresource("resize", name, pp, body)).await
    }
}

/// Kinds to which containers can be added while they run.
#[cfg(feature = "ws")]
pub trait Ephemeral {}
#[cfg(feature = "ws")]
impl Ephemeral for Pod {}

#[cfg(feature = "ws")]
impl<K> Api<K>
where
    K: Clone + DeserializeOwned + Ephemeral,
{
    /// Reads the `ephemeralcontainers` subresource of the pod `name`.
    ///
    /// # Errors
    /// As [`Api::get`].
    pub async fn get_ephemeral_containers(&self, name: &str) -> Result<K> {
        self.call("get_ephemeral_containers", self.request.get_subresource("ephemeralcontainers", name)).await
    }

    /// Patches the ephemeral containers of the pod `name`; the server ignores or refuses other changes.
    ///
    /// # Errors
    /// As [`Api::patch`].
    pub async fn patch_ephemeral_containers<P: Serialize>(
        &self,
        name: &str,
        pp: &PatchParams,
        patch: &Patch<P>,
    ) -> Result<K> {
        self.call(
            "patch_ephemeral_containers",
            self.request.patch_subresource("ephemeralcontainers", name, pp, patch),
        )
        .await
    }

    /// Replaces the ephemeral containers of the pod `name` with those in `data`; containers can only be added.
    ///
    /// # Errors
    /// As [`Api::replace`].
    pub async fn replace_ephemeral_containers(&self, name: &str, pp: &PostParams, data: &K) -> Result<K>
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
