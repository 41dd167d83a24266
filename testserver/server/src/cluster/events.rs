//! Records Events about what the scheduler, the kubelet and the workload controllers do.

use std::collections::HashMap;

use serde_json::Value;

use super::{BuiltInController, ClusterState};
use crate::{
    object::{
        event::{Note, repeated},
        meta,
    },
    storage::{Key, WriteError},
};

/// As many Events are known by their notes; a repetition of an older one is a new Event.
const REMEMBERED: usize = 4096;

/// The Events that were recorded, by the identity of their notes.
#[derive(Debug, Default)]
pub(super) struct RecordedEvents(HashMap<u64, Key>);

impl RecordedEvents {
    fn remember(&mut self, identity: u64, event: Key) {
        if self.0.len() >= REMEMBERED {
            self.0.clear();
        }
        self.0.insert(identity, event);
    }
}

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
        let known = self.events.0.get(&identity).cloned();
        let known = known.and_then(|key| Some((self.storage.store.get(resource.table, &key)?.value(), key)));
        if let Some((event, key)) = known {
            return self.put(&resource, key, repeated(&event, &now)).map(drop);
        }
        let event = note.event(about, field, component, (self.event_number(), &now));
        self.events.remember(identity, Key::new(meta::text(&event, "namespace"), meta::name(&event)));
        self.create("", "events", event).map(drop)
    }

    /// A number for the name of an Event: by time and, within a second, by the order of writes.
    fn event_number(&self) -> u64 {
        let seconds = u64::try_from(self.clock.timestamp().as_second()).unwrap_or(0);
        (seconds << 30) | (self.storage.store.revision() & ((1 << 30) - 1))
    }
}
