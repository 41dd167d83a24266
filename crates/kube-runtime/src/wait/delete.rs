//! Deleting for good.

use super::{await_condition, conditions::is_deleted};
use kube_client::Api;
use kube_core::{Resource, params::DeleteParams};
use serde::de::DeserializeOwned;
use std::fmt::Debug;

/// Why an object could not be deleted, or its end not be seen.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server answered with an object that has no uid, so it cannot be told from a successor.
    #[error("the deleted object has no metadata.uid, so there is no telling when it is gone")]
    NoUid,
    /// The server did not take the deletion.
    #[error("failed to delete the object: {0}")]
    Delete(#[source] kube_client::Error),
    /// The deletion was taken, but its end could not be waited for.
    #[error("failed to wait until the object is gone: {0}")]
    Await(#[source] super::Error),
}

/// Deletes the object of this name, and waits until it is gone: until all its finalizers are done.
///
/// Waits for ever if a finalizer never goes: put a [`tokio::time::timeout`] around it.
///
/// # Errors
///
/// See [`Error`]. An object that is not there at the start is an [`Error::Delete`].
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_client::{Api, Client};
/// use kube_core::params::{DeleteParams, PostParams};
/// use kube_runtime::wait::delete::delete_and_finalize;
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let maps: Api<ConfigMap> = Api::default_namespaced(Client::new(kube_testserver::ApiServer::new(), "default"));
/// let mut map = ConfigMap::default();
/// map.metadata.name = Some("a".into());
/// maps.create(&PostParams::default(), &map).await?;
/// delete_and_finalize(maps.clone(), "a", &DeleteParams::default()).await?;
/// assert!(maps.get_opt("a").await?.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub async fn delete_and_finalize<K: Clone + Debug + Send + DeserializeOwned + Resource + 'static>(
    api: Api<K>,
    name: &str,
    delete_params: &DeleteParams,
) -> Result<(), Error> {
    let answer = api.delete(name, delete_params).await.map_err(Error::Delete)?;
    let uid = answer.either(
        |object| object.meta().uid.clone(),
        // A status: the object is gone already, and named here by its uid.
        |status| status.details.map(|details| details.uid).filter(|uid| !uid.is_empty()),
    );
    let uid = uid.ok_or(Error::NoUid)?;
    await_condition(api, name, is_deleted(&uid)).await.map(drop).map_err(Error::Await)
}
