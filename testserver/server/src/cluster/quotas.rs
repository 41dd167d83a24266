//! The status of ResourceQuotas.

use super::ClusterState;
use crate::storage::{Key, WriteError};

impl ClusterState {
    /// Writes the status of a quota, if it changed.
    pub(super) fn write_quota_status(&mut self, key: &Key) -> Result<(), WriteError> {
        let namespace = key.namespace().unwrap_or_default();
        let Some(status) = self.admission.quotas.status(namespace, key.name()) else { return Ok(()) };
        let Some(table) = self.storage.table("", "resourcequotas") else { return Ok(()) };
        let Some((resource, quota)) = self.storage.read(table, key) else { return Ok(()) };
        self.write_status(&resource, key, &quota, status)
    }
}
