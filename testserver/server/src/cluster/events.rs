//! Records Events about what the scheduler, the kubelet and the workload controllers do.

use serde_json::Value;

use super::{BuiltInController, ClusterState};
use crate::{
    object::{
        event::{Note, repeated},
        meta,
    },
    storage::{Key, WriteError},
};

impl ClusterState {
    /// Records a note of a component about an object, or a field of it. A repetition is counted.
    pub(super) fn record_by(
        &mut self,
        component: &str,
        about: &Value,
        field: Option<&str>,
        note: &Note,
    ) -> Result<(), WriteError> {
        if !self.work.is_enabled(BuiltInController::Events) {
            return Ok(());
        }
        let Some(resource) = self.storage.resource("", "events") else { return Ok(()) };
        let (event, now) = (note.event(about, field, component, &self.now()), self.now());
        let key = Key::new(meta::text(&event, "namespace"), meta::name(&event));
        match self.storage.store.get(resource.table, &key).map(|known| known.value()) {
            Some(known) => self.put(&resource, key, repeated(&known, &now)).map(drop),
            None => self.create("", "events", event).map(drop),
        }
    }
}
