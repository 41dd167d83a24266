//! The built-in admission plugins of this server.

use serde_json::Value;

use super::{ClusterState, state::IN_MEMORY};
use crate::{
    admission::{self, Objects, SYSTEM_CLASSES, Write, system_class},
    journal::WriteError,
    status_error::StatusError,
};

impl ClusterState {
    /// Changes an object before it is validated.
    pub(crate) fn mutate_by_plugins(&self, write: &Write<'_>, object: &mut Value) -> Result<(), StatusError> {
        admission::mutate(&self.admission.disabled_plugins, self.objects(), write, object)
    }

    /// Checks an object before it is stored.
    pub(crate) fn validate_by_plugins(&self, write: &Write<'_>, object: &Value) -> Result<(), StatusError> {
        admission::validate(&self.admission.disabled_plugins, self.objects(), write, object)
    }

    /// Checks what an object uses of the quotas of its namespace.
    pub(crate) fn validate_usage(&self, write: &Write<'_>, object: &Value) -> Result<(), StatusError> {
        admission::validate_usage(&self.admission.disabled_plugins, self.objects(), write, object)
    }

    fn objects(&self) -> Objects<'_> {
        self.admission.objects(&self.storage)
    }

    /// Creates the priority classes of the system where they are missing.
    pub(super) fn ensure_priority_classes(&mut self) -> Result<(), WriteError> {
        for class in SYSTEM_CLASSES {
            self.create_or_warn("scheduling.k8s.io", "priorityclasses", system_class(class))?;
        }
        Ok(())
    }

    /// Creates the priority classes of a new cluster.
    pub(super) fn bootstrap_priority_classes(&mut self) {
        self.ensure_priority_classes().expect(IN_MEMORY);
    }
}
