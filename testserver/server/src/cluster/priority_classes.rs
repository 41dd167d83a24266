//! The priority classes of the system.

use super::{ClusterState, state::IN_MEMORY};
use crate::{admission::system_class, storage::WriteError, strategy::SYSTEM_CLASSES};

impl ClusterState {
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
