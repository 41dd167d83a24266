//! [`FieldConflict`]: a field that another manager owns, so that an apply was refused.

use std::fmt;

use kube_core::Status;

/// A field that another field manager owns.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FieldConflict {
    /// The manager as the server describes it: its name in quotation marks, and possibly subresource, API version and time.
    pub manager: String,
    /// The path of the field, such as `.spec.replicas`.
    pub field: String,
}

impl FieldConflict {
    /// The conflicts in a response; none if it is another error, such as a wrong uid.
    pub(super) fn of(status: &Status) -> Vec<Self> {
        let causes = status.details.iter().flat_map(|details| &details.causes);
        let causes = causes.filter(|cause| cause.reason == "FieldManagerConflict");
        let conflicts = causes.map(|cause| Self {
            manager: cause.message.strip_prefix("conflict with ").unwrap_or(&cause.message).to_owned(),
            field: cause.field.clone(),
        });
        conflicts.collect()
    }
}

impl fmt::Display for FieldConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.field, self.manager)
    }
}
