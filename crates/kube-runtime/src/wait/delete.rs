//! Deleting an object and waiting until it no longer exists.

use super::{await_condition, conditions::is_deleted};
use kube_client::Api;
use kube_core::{Resource, params::DeleteParams};
use serde::de::DeserializeOwned;
use std::fmt::Debug;

/// Why an object could not be deleted, or its deletion not be waited for.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The deleted object has no uid, so it cannot be distinguished from a recreated object of the same name.
    #[error("deleted object has no UID to wait for")]
    NoUid,
    /// The delete request failed.
    #[error("failed to delete object: {0}")]
    Delete(#[source] kube_client::Error),
    /// The delete request succeeded, but waiting for the deletion failed.
    #[error("failed to wait for object to be deleted: {0}")]
    Await(#[source] super::Error),
}

/// Deletes the object of this name and waits until it no longer exists, which is after all its finalizers are removed.
///
/// With [`dry_run`](DeleteParams), nothing is deleted, so it returns after the request.
///
/// There is no timeout: a finalizer that is never removed blocks for ever. Wrap the call in [`tokio::time::timeout`].
///
/// # Errors
///
/// See [`Error`]. If the object does not exist at the start, that is an [`Error::Delete`].
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
    let response = api.delete(name, delete_params).await.map_err(Error::Delete)?;
    if delete_params.dry_run {
        return Ok(());
    }
    let uid = response.either(
        |object| object.meta().uid.clone(),
        // The object is deleted already; the status carries its uid.
        |status| status.details.map(|details| details.uid).filter(|uid| !uid.is_empty()),
    );
    let uid = uid.ok_or(Error::NoUid)?;
    await_condition(api, name, is_deleted(&uid)).await.map(drop).map_err(Error::Await)
}
