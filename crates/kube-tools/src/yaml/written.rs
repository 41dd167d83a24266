//! [`Written`]: what was done with one object.

use kube_core::DynamicObject;

use super::result::ObjectOutcome;

/// What was done, with the object before and after.
pub(super) struct Written {
    pub(super) outcome: ObjectOutcome,
    pub(super) before: Option<DynamicObject>,
    pub(super) after: Option<DynamicObject>,
}

impl Written {
    pub(super) fn without_object(outcome: ObjectOutcome) -> Self {
        Self { outcome, before: None, after: None }
    }
}
