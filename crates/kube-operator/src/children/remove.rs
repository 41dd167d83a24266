//! Deletes objects of a set.

use super::{
    observe::{CONCURRENCY, api},
    status::{RemovalState, RemovedChild},
};
use futures::{StreamExt, stream};
use kube_client::{Client, error::ErrorClass};
use kube_core::{
    ApiResource, DynamicObject,
    params::{DeleteParams, Preconditions},
};
use kube_tools::kind_order::position;
use std::collections::BTreeMap;

/// Deletes one object, and says whether it is gone, with its dependents where it may have some: a Deployment is gone when its pods are.
pub(super) async fn delete(
    client: Client,
    resource: &ApiResource,
    object: &DynamicObject,
    dry_run: bool,
) -> RemovalState {
    if object.metadata.deletion_timestamp.is_some() {
        return RemovalState::Deleting;
    }
    let params = DeleteParams {
        dry_run,
        // Not another object that was given the same name since, nor one that someone has changed since it was listed: to keep it, or
        // because another program wants it.
        preconditions: Some(Preconditions {
            uid: object.metadata.uid.clone(),
            resource_version: object.metadata.resource_version.clone(),
        }),
        ..match has_dependents(resource) {
            true => DeleteParams::foreground(),
            false => DeleteParams::background(),
        }
    };
    let name = object.metadata.name.as_deref().unwrap_or_default();
    match api(client, resource, object.metadata.namespace.as_deref()).delete(name, &params).await {
        Ok(either) => match either.left() {
            Some(object) if !dry_run && object.metadata.deletion_timestamp.is_some() => {
                RemovalState::Deleting
            }
            _ => RemovalState::Gone,
        },
        // A path that is not served says nothing of its objects.
        Err(error) if ErrorClass::of(&error) == ErrorClass::NotFound => RemovalState::Gone,
        Err(error) if error.is_conflict() => RemovalState::Changed(error),
        Err(error) => RemovalState::Failed(error),
    }
}

/// Whether objects of a kind may own others that do something: workloads own pods, and objects of a custom kind whatever their operator
/// makes. In the foreground, the deletion of what owns nothing only takes a moment longer.
fn has_dependents(resource: &ApiResource) -> bool {
    let is_custom = resource.group.contains('.') && !resource.group.ends_with(".k8s.io");
    is_custom || matches!(&*resource.group, "apps" | "batch") || resource.kind == "ReplicationController"
}

/// Deletes objects that the program does not know any more, in the reverse order of their kinds: workloads before what their pods use.
pub(super) async fn delete_by_kind(
    client: &Client,
    objects: Vec<(ApiResource, DynamicObject)>,
    dry_run: bool,
) -> Vec<RemovedChild> {
    let mut stages: BTreeMap<usize, Vec<(ApiResource, DynamicObject)>> = BTreeMap::new();
    for (resource, object) in objects {
        stages.entry(position(&resource.group, &resource.kind)).or_default().push((resource, object));
    }
    let mut removed: Vec<RemovedChild> = Vec::new();
    while let Some((_, stage)) = stages.pop_last() {
        let left: Vec<String> =
            removed.iter().filter(|it| !it.is_gone()).map(|it| it.object.clone()).collect();
        if !left.is_empty() {
            let waiting = |(resource, object)| RemovedChild {
                object: title(&resource, &object),
                state: RemovalState::Waiting(left.clone()),
            };
            removed.extend(stage.into_iter().map(waiting));
            continue;
        }
        let deletions = stage.into_iter().map(|(resource, object)| {
            let client = client.clone();
            async move {
                let state = delete(client, &resource, &object, dry_run).await;
                RemovedChild { object: title(&resource, &object), state }
            }
        });
        removed.extend(stream::iter(deletions).buffered(CONCURRENCY).collect::<Vec<_>>().await);
    }
    removed
}

impl RemovedChild {
    pub(super) fn is_gone(&self) -> bool {
        matches!(self.state, RemovalState::Gone)
    }
}

/// An object in messages.
pub(super) fn title(resource: &ApiResource, object: &DynamicObject) -> String {
    let name = object.metadata.name.as_deref().unwrap_or_default();
    match &object.metadata.namespace {
        Some(namespace) => format!("{} {name} in namespace {namespace}", resource.kind),
        None => format!("{} {name}", resource.kind),
    }
}
