//! Records Events of the workload controllers.

use serde_json::Value;

use crate::{cluster::ClusterState, object::event::Note, storage::WriteError};

impl ClusterState {
    /// Records notes of the controller of an object.
    pub(super) fn record(
        &mut self,
        about: &Value,
        notes: impl IntoIterator<Item = Note>,
    ) -> Result<(), WriteError> {
        let component = match about["kind"].as_str() {
            Some("ReplicationController") => "replication-controller".to_owned(),
            kind => format!("{}-controller", kind.unwrap_or_default().to_lowercase()),
        };
        notes.into_iter().try_for_each(|note| self.record_by(&component, about, None, &note))
    }
}
