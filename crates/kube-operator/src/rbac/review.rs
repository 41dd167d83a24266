//! Asks the server which of some requests this program may not make.

use super::{
    access::{Access, ResourceAccess, Target},
    permissions::Permissions,
};
use futures::{StreamExt, TryStreamExt, stream};
use http::{HeaderMap, Method, Uri};
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use kube_client::{Api, Client, Error, api::PostParams};
use std::collections::BTreeSet;

/// How many questions are asked at the same time.
const CONCURRENT: usize = 8;

/// The permissions for these requests that the credentials of `client` do not have. One request for each permission.
///
/// # Errors
///
/// The first question that the server did not answer.
pub(crate) async fn missing_permissions(
    client: &Client,
    requests: impl IntoIterator<Item = (Method, Uri)>,
) -> Result<Permissions, Error> {
    let reviews: Api<SelfSubjectAccessReview> = Api::all(client.clone());
    let answers = stream::iter(accesses(requests)).map(|access| {
        let reviews = reviews.clone();
        async move {
            let allowed = match &access {
                Access::Resource(resource) => is_allowed(&reviews, resource).await?,
                Access::Path { .. } => true, // no object
            };
            Ok::<_, Error>((!allowed).then_some(access))
        }
    });
    let missing = answers.buffer_unordered(CONCURRENT).try_collect::<Vec<_>>().await?;
    Ok(Permissions::new(missing.into_iter().flatten().collect()))
}

/// The permissions for these requests.
pub(crate) fn permissions_for(requests: impl IntoIterator<Item = (Method, Uri)>) -> Permissions {
    Permissions::new(accesses(requests))
}

fn accesses(requests: impl IntoIterator<Item = (Method, Uri)>) -> BTreeSet<Access> {
    let accesses = |(method, uri)| {
        let target = Target::of(&method, &uri, &HeaderMap::new());
        target.accesses().cloned().collect::<Vec<_>>()
    };
    requests.into_iter().flat_map(accesses).collect()
}

async fn is_allowed(reviews: &Api<SelfSubjectAccessReview>, access: &ResourceAccess) -> Result<bool, Error> {
    let (resource, subresource) = match access.resource.split_once('/') {
        Some((resource, subresource)) => (resource.to_owned(), Some(subresource.to_owned())),
        None => (access.resource.clone(), None),
    };
    let attributes = ResourceAttributes {
        namespace: access.namespace.clone(),
        group: Some(access.group.clone()),
        resource: Some(resource),
        subresource,
        name: access.name.clone(),
        verb: Some(access.verb.to_owned()),
        ..ResourceAttributes::default()
    };
    let spec = SelfSubjectAccessReviewSpec { resource_attributes: Some(attributes), ..Default::default() };
    let review = SelfSubjectAccessReview { spec, ..SelfSubjectAccessReview::default() };
    let answer = reviews.create(&PostParams::default(), &review).await?;
    Ok(answer.status.is_some_and(|status| status.allowed))
}
