//! From an object to the place on the server where it is written.

use futures::future::join_all;
use kube_client::api::Api;
use kube_client::discovery::{ApiResource, RestMapperError};
use kube_core::DynamicObject;

use super::id::{ObjectId, kind_of};
use super::objects::Entry;
use super::report::{IncompleteRun, Report};
use super::result::{ObjectError, ObjectOutcome, ObjectResult};
use super::settings::Settings;

/// An object with its namespace, and the interface to its kind.
pub(super) struct Target {
    pub(super) api: Api<DynamicObject>,
    pub(super) object: DynamicObject,
    pub(super) id: ObjectId,
    pub(super) resource: ApiResource,
}

impl Target {
    /// The name on the server.
    pub(super) fn name(&self) -> Result<&str, ObjectError> {
        let name = self.object.metadata.name.as_deref().filter(|name| !name.is_empty());
        name.ok_or(ObjectError::NoName)
    }
}

/// Finds the kind, and sets the namespace: the default one if the object has none, and none if the kind is cluster-scoped.
pub(super) async fn resolve(settings: &Settings, entry: &Entry) -> Result<Target, RestMapperError> {
    let mapping = settings.mapper.kind(&kind_of(&entry.object)).await?;
    let mut object = entry.object.clone();
    let namespace = object.metadata.namespace.take().filter(|namespace| !namespace.is_empty());
    let mut api = Api::dynamic(settings.client.clone(), &mapping.resource, &mapping.capabilities.scope);
    if mapping.is_namespaced() {
        let namespace = namespace.unwrap_or_else(|| settings.namespace.clone());
        api = api.constrain(&namespace);
        object.metadata.namespace = Some(namespace);
    }
    Ok(Target { api, id: ObjectId::of(&object), object, resource: mapping.resource })
}

/// All objects with their kinds.
///
/// # Errors
/// All those whose kind is not found.
pub(super) async fn resolve_all(
    settings: &Settings,
    entries: &[Entry],
) -> Result<Vec<(ApiResource, DynamicObject)>, IncompleteRun> {
    let targets = join_all(entries.iter().map(|entry| resolve(settings, entry))).await;
    let (mut resolved, mut failed) = (Vec::new(), Vec::new());
    for (entry, target) in entries.iter().zip(targets) {
        match target {
            Ok(target) => resolved.push((target.resource, target.object)),
            Err(err) => failed.push(ObjectResult {
                id: ObjectId::of(&entry.object),
                resource: None,
                source: entry.source.clone(),
                outcome: ObjectOutcome::Failed(ObjectError::Kind(err)),
                dry_run: true,
                before: None,
                after: None,
            }),
        }
    }
    if failed.is_empty() { Ok(resolved) } else { Err(IncompleteRun(Report::new(failed))) }
}
