//! Creates and updates objects on behalf of controllers.

use std::sync::Arc;

use serde_json::Value;

use super::ClusterState;
use crate::{
    object::meta,
    scheme::Resource,
    storage::{Key, Stored, WriteError},
    webhook::Interruption,
    write::{ObjectWrite, Replaced, Writer},
};

const NO_WEBHOOK: &str = "invariant: webhooks review and convert the objects of requests only";

/// What became of an object that a controller creates.
#[derive(Clone, Debug)]
pub(super) enum Created {
    Stored(Arc<Stored>),
    /// It exists already, or its kind is not served.
    Exists,
    /// Its namespace takes no new objects.
    Terminating,
    /// Admission or validation refused it; this is the message.
    Refused(String),
}

impl ClusterState {
    /// Creates an object as a create request would, but nothing of it that is about requests.
    pub(super) fn create(&mut self, group: &str, plural: &str, object: Value) -> Result<Created, WriteError> {
        self.create_by(Writer::Controller, group, plural, object)
    }

    /// Creates an object on behalf of a controller, or one that every cluster has.
    pub(super) fn create_by(
        &mut self,
        writer: Writer<'_>,
        group: &str,
        plural: &str,
        mut object: Value,
    ) -> Result<Created, WriteError> {
        let Some(endpoint) = self.storage.scheme.by_plural(group, plural).cloned() else {
            return Ok(Created::Exists);
        };
        if let Some(base) = meta::text(&object, "generateName").filter(|_| meta::name(&object).is_empty()) {
            let name = self.ids.generated_name(base);
            meta::set(&mut object, "name", name);
        }
        let namespace = meta::text(&object, "namespace").map(str::to_owned);
        let mut write = ObjectWrite::create(writer, &endpoint, namespace.as_deref(), object);
        let key = write.key();
        if self.storage.store.get(endpoint.resource.table, &key).is_some() {
            return Ok(Created::Exists);
        }
        if namespace.as_deref().is_some_and(|namespace| self.is_terminating(namespace)) {
            return Ok(Created::Terminating);
        }
        match write.pass(&self.write_context()) {
            Ok(()) => self.put(&endpoint.resource, key, write.object).map(Created::Stored),
            Err(Interruption::Refused(refusal)) => Ok(Created::Refused(refusal.message)),
            Err(Interruption::NeedsWebhook(_)) => unreachable!("{NO_WEBHOOK}"),
        }
    }

    /// Replaces an object as an update request would, but nothing of it that is about requests. `Err` is the message of a refusal; an
    /// object that is gone is not written.
    pub(super) fn update(
        &mut self,
        resource: &Resource,
        key: &Key,
        object: Value,
    ) -> Result<Result<(), String>, WriteError> {
        let Some(endpoint) = self.storage.scheme.by_plural(&resource.group, &resource.plural).cloned() else {
            return Ok(Ok(()));
        };
        let Some(stored) = self.storage.store.get(resource.table, key).cloned() else { return Ok(Ok(())) };
        let old = stored.value();
        let replaced = Replaced { stored: &stored, object: &old };
        let mut write =
            ObjectWrite::create(Writer::Controller, &endpoint, key.namespace(), object).replacing(replaced);
        match write.pass(&self.write_context()) {
            Ok(()) if write.unchanged().is_some() => Ok(Ok(())),
            Ok(()) => self.put(resource, key.clone(), write.object).map(|_| Ok(())),
            Err(Interruption::Refused(refusal)) => Ok(Err(refusal.message)),
            Err(Interruption::NeedsWebhook(_)) => unreachable!("{NO_WEBHOOK}"),
        }
    }

    /// Creates an object that every cluster has. A refusal is logged.
    pub(super) fn create_or_warn(
        &mut self,
        group: &str,
        plural: &str,
        object: Value,
    ) -> Result<(), WriteError> {
        let name = meta::name(&object).to_owned();
        if let Created::Refused(why) = self.create_by(Writer::Server, group, plural, object)? {
            tracing::warn!("{plural} {name:?} was not created: {why}");
        }
        Ok(())
    }
}
