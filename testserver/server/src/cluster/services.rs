//! Addresses of services.

use serde_json::Value;

use super::ClusterState;
use crate::{schema::FieldError, storage::Key};

impl ClusterState {
    /// Allocates cluster IP and node ports of a service; `requested` is its spec as the client sent it.
    pub(crate) fn allocate_addresses(
        &self,
        key: &Key,
        requested: &Value,
        service: &mut Value,
    ) -> Vec<FieldError> {
        self.services.allocate(key, requested, service)
    }
}
