//! What the rules of a kind look at.

use serde_json::Value;

use crate::{scheme::Endpoint, strategy::WritePart};

/// An object of a built-in kind that is written.
#[derive(Clone, Copy)]
pub(in crate::validation) struct Write<'a> {
    pub(in crate::validation) endpoint: &'a Endpoint,
    pub(in crate::validation) part: WritePart,
    pub(in crate::validation) object: &'a Value,
    /// The object that it replaces.
    pub(in crate::validation) old: Option<&'a Value>,
}

impl<'a> Write<'a> {
    pub(super) fn spec(&self) -> &'a Value {
        &self.object["spec"]
    }
}
