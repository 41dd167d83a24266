//! Records Events about what the scheduler, the kubelet and the workload controllers do.

use serde_json::Value;

use super::{BuiltInController, ClusterState, owners::ObjectId};
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
        let (identity, now) = (note.identity(about), self.now());
        let former = self.events.get(identity).and_then(|key| self.storage.store.get(resource.table, key));
        if let Some(event) = former.cloned() {
            return self.put(&resource, event.key.clone(), repeated(&event.value(), &now)).map(drop);
        }
        let event = note.event(about, field, component, (self.event_number(), &now));
        self.events.remember(identity, Key::new(meta::text(&event, "namespace"), meta::name(&event)));
        self.create("", "events", event).map(drop)
    }

    pub(super) fn expire_event(&mut self, (table, key): &ObjectId) -> Result<(), WriteError> {
        if let Some(resource) = self.storage.scheme.by_table(*table).cloned() {
            self.remove(&resource, key)?;
        }
        Ok(())
    }

    /// A number for the name of an Event: by time and, within a second, by the order of writes.
    fn event_number(&self) -> u64 {
        let seconds = u64::try_from(self.clock.timestamp().as_second()).unwrap_or(0);
        (seconds << 30) | (self.storage.store.revision() & ((1 << 30) - 1))
    }
}
