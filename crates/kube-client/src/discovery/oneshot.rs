//! Fetches one group or one kind with few requests.

use kube_core::discovery::{ApiCapabilities, ApiResource};
use kube_core::gvk::{GroupVersion, GroupVersionKind};

use super::fetch;
use super::group::ApiGroup;
use crate::client::Client;
use crate::error::{DiscoveryError, Error};

/// Fetches the group `apigroup` with all its versions (`""` for the core group): one request, and one for each version.
///
/// ```
/// use kube_client::{Client, discovery};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
///
/// let apps = discovery::group(&client, "apps").await?;
/// let Some((deployment, _)) = apps.recommended_kind("Deployment") else { return Err("not found".into()) };
/// assert_eq!(deployment.plural, "deployments");
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`DiscoveryError::MissingApiGroup`] if the server has no such group, [`DiscoveryError::EmptyApiGroup`] if it has no versions, or the
/// error of the first version that cannot be fetched.
pub async fn group(client: &Client, apigroup: &str) -> crate::Result<ApiGroup> {
    let listed = match apigroup {
        ApiGroup::CORE_GROUP => fetch::list_core(client).await?,
        _ => fetch::find(client, apigroup)
            .await?
            .ok_or_else(|| Error::Discovery(DiscoveryError::MissingApiGroup(apigroup.to_owned())))?,
    };
    let (group, errors) = fetch::versions(client, listed).await;
    match errors.into_iter().next() {
        Some(err) => Err(err),
        None => group.ok_or_else(|| Error::Discovery(DiscoveryError::EmptyApiGroup(apigroup.to_owned()))),
    }
}

/// Fetches one version of a group: one request.
///
/// # Errors
/// [`Error::Api`] with code 404 if the server has no such version.
pub async fn pinned_group(client: &Client, gv: &GroupVersion) -> crate::Result<ApiGroup> {
    let version = fetch::version(client, gv.clone()).await?;
    ApiGroup::new(gv.group.clone(), Some(gv.version.clone()), vec![version])
        .ok_or_else(|| Error::Discovery(DiscoveryError::EmptyApiGroup(gv.group.clone())))
}

/// Fetches one kind of one version: one request.
///
/// ```
/// use kube_client::api::GroupVersionKind;
/// use kube_client::{Client, discovery};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
///
/// let deployment = GroupVersionKind::gvk("apps", "v1", "Deployment");
/// let (resource, capabilities) = discovery::pinned_kind(&client, &deployment).await?;
/// assert_eq!(resource.plural, "deployments");
/// assert!(capabilities.subresources.iter().any(|(subresource, _)| subresource.plural == "scale"));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`DiscoveryError::MissingKind`] if the version has no such kind, [`Error::Api`] with code 404 if there is no such version.
pub async fn pinned_kind(
    client: &Client,
    gvk: &GroupVersionKind,
) -> crate::Result<(ApiResource, ApiCapabilities)> {
    let group = pinned_group(client, &GroupVersion::gv(&gvk.group, &gvk.version)).await?;
    group.kind_in_version(&gvk.version, &gvk.kind).ok_or_else(|| {
        let missing = format!("{}/{}", gvk.api_version(), gvk.kind);
        Error::Discovery(DiscoveryError::MissingKind(missing))
    })
}
