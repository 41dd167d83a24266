//! Waiting for one object: until it is ready, or until a condition holds.

use std::time::Duration;

use futures::Stream;
use kube_core::params::{Patch, PatchParams};
use kube_core::util::Restart;
use kube_core::{DynamicObject, Resource};
use serde::de::DeserializeOwned;
use serde_json::json;

use super::Api;
use crate::error::Error;
use crate::ready::Readiness;
use crate::wait::{self, WaitError, WaitFor, WaitTarget};

impl<K> Api<K>
where
    K: Resource + Clone + DeserializeOwned,
{
    /// Waits until the object `name` is ready, and returns it in that state. [`Readiness`] says what ready means.
    ///
    /// The object is watched, not polled; expired versions and broken connections are survived. With a timeout of zero, the present state
    /// is looked at once; [`Duration::MAX`] waits without limit.
    ///
    /// ```
    /// use std::time::Duration;
    /// use k8s_openapi::api::core::v1::Namespace;
    /// use kube_client::{Api, Client};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
    ///
    /// let namespaces: Api<Namespace> = Api::all(client);
    /// let default = namespaces.wait_ready("default", Duration::from_secs(60)).await?;
    /// assert_eq!(default.metadata.name.as_deref(), Some("default"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`WaitError`]: the object does not exist, is deleted, has failed, is not ready in time, or cannot be watched.
    ///
    /// # Cancellation
    /// Dropping the future ends the watch.
    pub async fn wait_ready(&self, name: &str, timeout: Duration) -> Result<K, WaitError> {
        let target = self.target(name);
        let object = wait::until_object_ready(self.client.clone(), &target, timeout).await?;
        typed(&target, *object)
    }

    /// The readiness of the object `name`, at first and after each change of its message.
    ///
    /// The stream ends after the first state that is not [`InProgress`](crate::ready::ReadyState::InProgress), or after an error: the object
    /// does not exist, was deleted, or cannot be watched.
    ///
    /// # Cancellation
    /// It has no time limit: dropping it ends the watch.
    pub fn watch_readiness(
        &self,
        name: &str,
    ) -> impl Stream<Item = Result<Readiness, WaitError>> + Send + use<K> {
        wait::progress(self.client.clone(), self.target(name))
    }

    /// Waits until `condition` holds for the object `name`, as `kubectl wait --for` does, and returns it in that state; `None` if it does
    /// not exist then, as after [`WaitFor::Delete`].
    ///
    /// For a deletion, a new object of the same name counts as well. The timeout is that of [`wait_ready`](Self::wait_ready).
    ///
    /// ```
    /// use std::time::Duration;
    /// use k8s_openapi::api::core::v1::Namespace;
    /// use kube_client::{Api, Client};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
    ///
    /// let namespaces: Api<Namespace> = Api::all(client);
    /// let active = "jsonpath={.status.phase}=Active".parse()?;
    /// assert!(namespaces.wait_for("default", &active, Duration::from_secs(60)).await?.is_some());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`WaitError`], as for [`wait_ready`](Self::wait_ready); also if a JSON path leads to what cannot be compared. While it waits for
    /// [`WaitFor::Create`] or [`WaitFor::Delete`], an object that does not exist is no error.
    ///
    /// # Cancellation
    /// Dropping the future ends the watch.
    pub async fn wait_for(
        &self,
        name: &str,
        condition: &WaitFor,
        timeout: Duration,
    ) -> Result<Option<K>, WaitError> {
        let target = self.target(name);
        let object = wait::until(self.client.clone(), &target, condition, timeout).await?;
        object.map(|object| typed(&target, *object)).transpose()
    }

    /// Sets the number of replicas of the object `name`, and waits until it is ready.
    ///
    /// # Errors
    /// As [`Api::patch_scale`], in [`WaitError::Request`], then as [`Api::wait_ready`].
    ///
    /// # Cancellation
    /// Dropping the future ends the waiting, not the change.
    pub async fn scale_and_wait(&self, name: &str, replicas: u32, timeout: Duration) -> Result<K, WaitError> {
        let scale = Patch::Merge(json!({ "spec": { "replicas": replicas } }));
        let result = self.patch_scale(name, &PatchParams::default(), &scale).await;
        result.map_err(|source| WaitError::Request { object: self.target(name), source })?;
        self.wait_ready(name, timeout).await
    }
}

/// Rollouts.
impl<K> Api<K>
where
    K: Restart + Resource + Clone + DeserializeOwned,
{
    /// The progress of the rollout of the workload `name`, with the texts of `kubectl rollout status`: [`Api::watch_readiness`] for kinds that
    /// have rollouts.
    ///
    /// ```
    /// use futures::TryStreamExt;
    /// use k8s_openapi::api::apps::v1::Deployment;
    /// use kube_client::{Api, Client};
    #[doc = include_str!("../doc/deployment.txt")]
    /// # let seen = serde_json::json!({ "status": { "observedGeneration": 1 } });
    /// # let deployments: Api<Deployment> = Api::default_namespaced(client.clone());
    /// # deployments.patch_status("web", &Default::default(), &kube_client::api::Patch::Merge(seen)).await?;
    ///
    /// let deployments: Api<Deployment> = Api::default_namespaced(client);
    /// let mut progress = std::pin::pin!(deployments.rollout_status("web"));
    /// while let Some(status) = progress.try_next().await? {
    ///     println!("{status}"); // deployment "web" successfully rolled out
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Unlike kubectl, it also judges workloads with the strategy `OnDelete`, by their availability.
    pub fn rollout_status(
        &self,
        name: &str,
    ) -> impl Stream<Item = Result<Readiness, WaitError>> + Send + use<K> {
        self.watch_readiness(name)
    }

    /// Replaces the pods of the workload `name`, as [`Api::restart`] does, and waits until the new ones are ready.
    ///
    /// # Errors
    /// As [`Api::restart`], in [`WaitError::Request`], then as [`Api::wait_ready`].
    ///
    /// # Cancellation
    /// Dropping the future ends the waiting, not the restart.
    pub async fn restart_and_wait(&self, name: &str, timeout: Duration) -> Result<K, WaitError> {
        let result = self.restart(name).await;
        result.map_err(|source| WaitError::Request { object: self.target(name), source })?;
        self.wait_ready(name, timeout).await
    }
}

impl<K> Api<K> {
    fn target(&self, name: &str) -> WaitTarget {
        WaitTarget::in_collection(&self.request.url_path, name)
    }
}

fn typed<K: DeserializeOwned>(target: &WaitTarget, object: DynamicObject) -> Result<K, WaitError> {
    let result = serde_json::to_value(object).and_then(serde_json::from_value);
    result.map_err(|err| WaitError::Request { object: target.clone(), source: Error::SerdeError(err) })
}
