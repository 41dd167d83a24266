//! Without the feature `tables`, a request for a table gets the next representation that it accepts.

use serde_json::Value;

use crate::scheme::Endpoint;

/// Whether clients can request tables.
pub(super) const SERVED: bool = false;

pub(super) enum Columns {}

impl Columns {
    pub(super) fn of(_: &Endpoint) -> Option<Self> {
        None
    }

    pub(super) fn definitions(&self) -> &Value {
        match *self {}
    }

    pub(super) fn cells(&self, _: &Value, _: &str) -> Value {
        match *self {}
    }
}
