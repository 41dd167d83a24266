//! Serves what CustomResourceDefinitions define, and stops when they are deleted.

use std::sync::Arc;

use serde_json::Value;

use super::{compile, is_established};
use crate::{
    scheme::Resource,
    storage::{Change, EventType, Storage},
};

/// Serves what a changed definition defines.
pub(crate) fn observe(storage: &mut Storage, resource: &Resource, change: &Change) {
    if !resource.is_definition() {
        return;
    }
    let definition = change.object.value();
    if change.object.event == EventType::Deleted {
        if let Some(resource) = storage.defined_by(&definition).cloned() {
            storage.stop_serving(resource);
        }
        return;
    }
    serve(storage, &definition);
    let versions = |definition: &Value| definition["spec"]["versions"].clone();
    if change.previous.as_ref().is_some_and(|before| versions(&before.value()) != versions(&definition)) {
        reapply_schema(storage, &definition);
    }
}

/// Serves the resource of an established definition; an existing table is kept.
pub(crate) fn serve(storage: &mut Storage, definition: &Value) {
    let table = storage.defined_by(definition).map(|resource| resource.table);
    if !is_established(definition) {
        return;
    }
    let table = table.unwrap_or_else(|| storage.store.add_table());
    let resource = compile(definition, table);
    let resource = resource.expect("invariant: a CRD was compiled before it was written");
    storage.scheme.insert(Arc::new(resource));
}

/// Prunes and defaults what reads see by the new schemas. What was written stays, also in its version: fields that a schema drops come back
/// with a later schema, and a new storage version applies to later writes.
fn reapply_schema(storage: &mut Storage, definition: &Value) {
    if let Some(resource) = storage.defined_by(definition).cloned() {
        storage.store.change_views(resource.table, |object| resource.as_read(object));
    }
}
