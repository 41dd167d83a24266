//! Asking the server for its groups, and for the versions of a group one by one.

use futures::future::join_all;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{APIGroupList, APIVersions};
use kube_core::discovery::v2::APIGroupDiscovery;
use kube_core::gvk::GroupVersion;

use super::group::{ApiGroup, VersionResources};
use super::plain::version_resources;
use crate::client::{Advertised, Client};
use crate::error::Error;

/// What the server lists of a group before anything is known of its resources.
#[derive(Clone, Debug)]
pub(super) struct Listed {
    pub(super) name: String,
    pub(super) preferred: Option<String>,
    pub(super) versions: Vec<String>,
}

/// Groups, with their resources or without.
pub(super) enum Known {
    Aggregated(Vec<APIGroupDiscovery>),
    Listed(Vec<Listed>),
}

/// The core group in the best form that the server has.
pub(super) async fn core(client: &Client) -> Result<Known, Error> {
    Ok(match client.get_advertised::<APIVersions>("/api").await? {
        Advertised::Aggregated(list) => Known::Aggregated(list.items),
        Advertised::Plain(versions) => Known::Listed(vec![listed_core(versions)]),
    })
}

/// All other groups in the best form that the server has.
pub(super) async fn others(client: &Client) -> Result<Known, Error> {
    Ok(match client.get_advertised::<APIGroupList>("/apis").await? {
        Advertised::Aggregated(list) => Known::Aggregated(list.items),
        Advertised::Plain(groups) => Known::Listed(listed(groups)),
    })
}

/// The names of a group other than the core group, if the server has it.
pub(super) async fn find(client: &Client, name: &str) -> Result<Option<Listed>, Error> {
    Ok(listed(client.list_api_groups().await?).into_iter().find(|listed| listed.name == name))
}

/// The core group, which is listed on its own.
pub(super) async fn list_core(client: &Client) -> Result<Listed, Error> {
    Ok(listed_core(client.list_core_api_versions().await?))
}

fn listed_core(versions: APIVersions) -> Listed {
    let versions = versions.versions;
    Listed { name: ApiGroup::CORE_GROUP.to_owned(), preferred: versions.first().cloned(), versions }
}

fn listed(groups: APIGroupList) -> Vec<Listed> {
    let listed = groups.groups.into_iter().map(|group| Listed {
        name: group.name,
        preferred: group.preferred_version.map(|preferred| preferred.version),
        versions: group.versions.into_iter().map(|version| version.version).collect(),
    });
    listed.collect()
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
