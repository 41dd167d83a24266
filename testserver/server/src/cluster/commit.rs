//! The last stage of a client's write: stores the object, or shows what would be stored.

use std::sync::Arc;

use serde_json::Value;

use super::{ClusterState, Written};
use crate::{
    object::meta,
    scheme::Endpoint,
    status_error::StatusError,
    storage::{Key, Stored},
    webhook::Interruption,
    write::{ObjectWrite, WriteContext},
};

impl ClusterState {
    /// What the stages of a write read.
    pub(super) fn write_context(&self) -> WriteContext<'_> {
        WriteContext { admission: self.admission_context(), services: &self.services, now: self.now() }
    }

    /// Takes a write of a client through all stages. Returns the stored version, and warnings, which a refusal has too.
    pub(crate) fn write(
        &mut self,
        mut write: ObjectWrite<'_>,
    ) -> Result<(Arc<Stored>, Vec<String>), Interruption> {
        let mut context = self.write_context();
        if let Some(call) = write.call() {
            context.now = call.write_time(context.now);
        }
        let passed = write.pass(&context);
        match passed.and_then(|()| self.commit(&mut write)) {
            Ok(stored) => Ok((stored, write.warnings)),
            // What reviews requests has added them to its own refusals already.
            Err(Interruption::Refused(refusal)) if refusal.warnings.is_empty() => {
                Err(refusal.warning(&write.warnings).into())
            }
            Err(interruption) => Err(interruption),
        }
    }

    fn commit(&mut self, write: &mut ObjectWrite<'_>) -> Result<Arc<Stored>, Interruption> {
        let key = write.key();
        if let Some(stored) = write.unchanged() {
            return Ok(stored);
        }
        if write.creates() {
            self.check_new(write, &key)?;
        }
        let object = write.take_stored_form(&self.storage)?;
        Ok(self.store_or_preview(write.endpoint, key, object, write.is_dry_run())?)
    }

    /// As on genuine servers, the storage refuses a version, and not for a dry run.
    fn check_new(&self, write: &ObjectWrite<'_>, key: &Key) -> Result<(), StatusError> {
        if write.has_version && !write.is_dry_run() {
            let message = "resourceVersion should not be set on objects to be created";
            return Err(StatusError::new(http::StatusCode::INTERNAL_SERVER_ERROR, "", message));
        }
        let endpoint = write.endpoint;
        let Some(taken) = self.storage.store.get(endpoint.resource.table, key) else { return Ok(()) };
        let refusal = StatusError::already_exists(endpoint.group(), endpoint.plural(), key.name());
        Err(if taken.deleting { refusal.while_deleting() } else { refusal })
    }

    /// Stores an object in the storage version and runs the tasks that follow; a dry run only returns it.
    pub(crate) fn store_or_preview(
        &mut self,
        endpoint: &Endpoint,
        key: Key,
        mut object: Value,
        dry_run: bool,
    ) -> Result<Arc<Stored>, StatusError> {
        if endpoint.resource.equivalent.is_none() {
            object["apiVersion"] = endpoint.resource.storage().api_version().into();
        }
        if dry_run {
            // As after a write, seen through the schema of the storage version.
            let object = endpoint.resource.as_read(&object).unwrap_or(object);
            return Ok(Arc::new(Stored::preview(key, &object)));
        }
        // When the write ends a deletion, the response shows what was written, and the event the version before.
        let last = meta::is_deleting(&object).then(|| Arc::new(Stored::preview(key.clone(), &object)));
        let written = self.put_or_remove(&endpoint.resource, key, object)?;
        self.run_tasks();
        Ok(match written {
            Written::Stored(stored) => stored,
            Written::Removed(before) => last.unwrap_or(before),
        })
    }
}
