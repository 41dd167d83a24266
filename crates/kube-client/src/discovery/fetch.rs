//! Asking the server for the versions of a group, one by one.

use futures::future::join_all;
use kube_core::gvk::GroupVersion;

use super::group::{ApiGroup, VersionResources};
use super::plain::version_resources;
use crate::client::Client;
use crate::error::Error;

/// What the server lists of a group before anything is known of its resources.
#[derive(Clone, Debug)]
pub(super) struct Listed {
    pub(super) name: String,
    pub(super) preferred: Option<String>,
    pub(super) versions: Vec<String>,
}

/// The core group and all others.
pub(super) async fn list(client: &Client) -> Result<Vec<Listed>, Error> {
    let mut listed = vec![list_core(client).await?];
    let groups = client.list_api_groups().await?;
    listed.extend(groups.groups.into_iter().map(|group| Listed {
        name: group.name,
        preferred: group.preferred_version.map(|preferred| preferred.version),
        versions: group.versions.into_iter().map(|version| version.version).collect(),
    }));
    Ok(listed)
}

/// The core group, which is listed on its own.
pub(super) async fn list_core(client: &Client) -> Result<Listed, Error> {
    let versions = client.list_core_api_versions().await?.versions;
    Ok(Listed { name: ApiGroup::CORE_GROUP.to_owned(), preferred: versions.first().cloned(), versions })
}

/// All versions of a group. What could be had, and what went wrong with the rest.
pub(super) async fn versions(client: &Client, listed: Listed) -> (Option<ApiGroup>, Vec<Error>) {
    let asked = listed.versions.iter().map(|name| version(client, GroupVersion::gv(&listed.name, name)));
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    for answer in join_all(asked).await {
        match answer {
            Ok(version) => good.push(version),
            Err(err) => bad.push(err),
        }
    }
    // The preferred version is no help if it is the one that is missing.
    let preferred = listed.preferred.filter(|name| good.iter().any(|version| version.version == *name));
    (ApiGroup::new(listed.name, preferred, good), bad)
}

/// The resources of one version.
pub(super) async fn version(client: &Client, gv: GroupVersion) -> Result<VersionResources, Error> {
    let list = match gv.group.as_str() {
        ApiGroup::CORE_GROUP => client.list_core_api_resources(&gv.version).await?,
        _ => client.list_api_group_resources(&gv.api_version()).await?,
    };
    version_resources(&list)
}
