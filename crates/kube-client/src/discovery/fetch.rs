//! The requests of discovery: the list of groups, and each version of a group.

use futures::future::join_all;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{APIGroupList, APIVersions};
use kube_core::discovery::v2::APIGroupDiscovery;
use kube_core::gvk::GroupVersion;

use super::group::{ApiGroup, VersionResources};
use super::unaggregated::version_resources;
use crate::client::{Client, GroupsResponse};
use crate::error::Error;

/// A group without its resources, as the server lists it.
#[derive(Clone, Debug)]
pub(super) struct ListedGroup {
    pub(super) name: String,
    pub(super) preferred: Option<String>,
    pub(super) versions: Vec<String>,
}

/// Groups, with or without their resources.
pub(super) enum Groups {
    Aggregated(Vec<APIGroupDiscovery>),
    Unaggregated(Vec<ListedGroup>),
}

impl Groups {
    /// Whether a group of this name is among them.
    pub(super) fn has(&self, name: &str) -> bool {
        match self {
            Self::Aggregated(groups) => groups
                .iter()
                .any(|group| group.metadata.as_ref().is_some_and(|meta| meta.name.as_deref() == Some(name))),
            Self::Unaggregated(groups) => groups.iter().any(|group| group.name == name),
        }
    }
}

/// The core group, aggregated if the server supports that.
pub(super) async fn core(client: &Client) -> Result<Groups, Error> {
    Ok(match client.get_groups::<APIVersions>("/api").await? {
        GroupsResponse::Aggregated(list) => Groups::Aggregated(list.items),
        GroupsResponse::Unaggregated(versions) => Groups::Unaggregated(vec![listed_core(versions)]),
    })
}

/// All other groups, aggregated if the server supports that.
pub(super) async fn others(client: &Client) -> Result<Groups, Error> {
    Ok(match client.get_groups::<APIGroupList>("/apis").await? {
        GroupsResponse::Aggregated(list) => Groups::Aggregated(list.items),
        GroupsResponse::Unaggregated(groups) => Groups::Unaggregated(listed(groups)),
    })
}

/// The group `name`, which is not the core group, if the server has it.
pub(super) async fn find(client: &Client, name: &str) -> Result<Option<ListedGroup>, Error> {
    Ok(listed(client.list_api_groups().await?).into_iter().find(|listed| listed.name == name))
}

/// The core group, which has its own list.
pub(super) async fn list_core(client: &Client) -> Result<ListedGroup, Error> {
    Ok(listed_core(client.list_core_api_versions().await?))
}

fn listed_core(versions: APIVersions) -> ListedGroup {
    let versions = versions.versions;
    ListedGroup { name: ApiGroup::CORE_GROUP.to_owned(), preferred: versions.first().cloned(), versions }
}

fn listed(groups: APIGroupList) -> Vec<ListedGroup> {
    let listed = groups.groups.into_iter().map(|group| ListedGroup {
        name: group.name,
        preferred: group.preferred_version.map(|preferred| preferred.version),
        versions: group.versions.into_iter().map(|version| version.version).collect(),
    });
    listed.collect()
}

/// Fetches all versions of a group. Returns the group with those that succeeded, and the errors of the others.
pub(super) async fn versions(client: &Client, group: ListedGroup) -> (Option<ApiGroup>, Vec<Error>) {
    let requests = group.versions.iter().map(|name| version(client, GroupVersion::gv(&group.name, name)));
    let (mut fetched, mut errors) = (Vec::new(), Vec::new());
    for result in join_all(requests).await {
        match result {
            Ok(version) => fetched.push(version),
            Err(err) => errors.push(err),
        }
    }
    // A preferred version that could not be fetched is not preferred.
    let preferred = group.preferred.filter(|name| fetched.iter().any(|version| version.version == *name));
    (ApiGroup::new(group.name, preferred, fetched), errors)
}

/// The resources of one version.
pub(super) async fn version(client: &Client, gv: GroupVersion) -> Result<VersionResources, Error> {
    let list = match gv.group.as_str() {
        ApiGroup::CORE_GROUP => client.list_core_api_resources(&gv.version).await?,
        _ => client.list_api_group_resources(&gv.api_version()).await?,
    };
    version_resources(&list)
}
