//! Keeping new pods off a node.

use crate::{
    params::{Patch, PatchParams},
    request::{Error, Request},
};

impl Request {
    /// Marks a node as unschedulable: running pods stay, no new ones come. A merge patch of `spec.unschedulable`.
    ///
    /// # Errors
    ///
    /// [`Error::Validation`] for a name that no encoding makes safe.
    ///
    /// ```
    /// use kube_core::Request;
    /// let nodes = Request::new("/api/v1/nodes");
    /// assert_eq!(nodes.cordon("n1")?.body(), br#"{"spec":{"unschedulable":true}}"#);
    /// assert_eq!(nodes.uncordon("n1")?.body(), br#"{"spec":{"unschedulable":false}}"#);
    /// # Ok::<(), kube_core::request::Error>(())
    /// ```
    pub fn cordon(&self, name: &str) -> Result<http::Request<Vec<u8>>, Error> {
        self.set_unschedulable(name, true)
    }

    /// Marks a node as schedulable again; the reverse of [`cordon`](Self::cordon).
    ///
    /// # Errors
    ///
    /// As [`cordon`](Self::cordon).
    pub fn uncordon(&self, name: &str) -> Result<http::Request<Vec<u8>>, Error> {
        self.set_unschedulable(name, false)
    }

    fn set_unschedulable(&self, name: &str, value: bool) -> Result<http::Request<Vec<u8>>, Error> {
        let patch = Patch::Merge(serde_json::json!({ "spec": { "unschedulable": value } }));
        self.patch(name, &PatchParams::default(), &patch)
    }
}
