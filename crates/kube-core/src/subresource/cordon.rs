//! Keeping new pods off a node.

use crate::{
    params::{Patch, PatchParams},
    request::{Error, Request},
};

impl Request {
    /// Marks a node as unschedulable: running pods stay, no new ones come.
    pub fn cordon(&self, name: &str) -> Result<http::Request<Vec<u8>>, Error> {
        self.set_unschedulable(name, true)
    }

    /// Marks a node as schedulable again.
    pub fn uncordon(&self, name: &str) -> Result<http::Request<Vec<u8>>, Error> {
        self.set_unschedulable(name, false)
    }

    fn set_unschedulable(&self, name: &str, value: bool) -> Result<http::Request<Vec<u8>>, Error> {
        let patch = Patch::Merge(serde_json::json!({ "spec": { "unschedulable": value } }));
        self.patch(name, &PatchParams::default(), &patch)
    }
}
