//! What admission reads of a server: its objects, its access control, and what is configured.

use serde_json::Value;

use super::{AdmissionControl, Objects, Write, plugins};
use crate::{ids::Ids, rbac::Access, status_error::StatusError, storage::Storage};

/// The parts of the cluster's state that admission reads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AdmissionContext<'a> {
    pub(crate) storage: &'a Storage,
    pub(crate) access: &'a Access,
    pub(crate) control: &'a AdmissionControl,
    /// Names new objects and what plugins add to them.
    pub(crate) ids: &'a Ids,
}

impl<'a> AdmissionContext<'a> {
    /// Lets the built-in plugins change an object before it is validated. `new_volume` generates the name of a volume that they add.
    pub(crate) fn mutate_by_plugins(
        &self,
        write: &Write<'_>,
        new_volume: &dyn Fn(&str) -> String,
        object: &mut Value,
    ) -> Result<(), StatusError> {
        plugins::mutate(&self.control.plugins, self.objects(), new_volume, write, object)
    }

    /// Lets the built-in plugins check an object before it is stored.
    pub(crate) fn validate_by_plugins(&self, write: &Write<'_>, object: &Value) -> Result<(), StatusError> {
        plugins::validate(&self.control.plugins, self.objects(), write, object)
    }

    /// Checks what an object uses of the quotas of its namespace.
    pub(crate) fn validate_usage(&self, write: &Write<'_>, object: &Value) -> Result<(), StatusError> {
        plugins::validate_usage(&self.control.plugins, self.objects(), write, object)
    }

    fn objects(&self) -> Objects<'a> {
        self.control.objects(self.storage)
    }
}
