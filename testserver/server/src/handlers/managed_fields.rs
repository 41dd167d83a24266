use std::cell::OnceCell;

use serde_json::Value;

use super::Call;
use crate::{
    apply::{self, ManagedFieldsEntry, Update, Versions},
    cluster::ClusterState,
    conversion, meta,
    schema::Schema,
    scheme::Endpoint,
    webhook::Interruption,
};

/// Where the managed fields of a write come from.
pub(super) enum Ownership {
    /// Compare the object with the one it replaces.
    FromDiff,
    /// Computed by server-side apply.
    FromApply(Vec<ManagedFieldsEntry>),
}

impl Ownership {
    /// Sets `metadata.managedFields`, as the last change to the object.
    pub(super) fn record(
        self,
        cluster: &ClusterState,
        call: &Call,
        old: Option<&Value>,
        new: &mut Value,
    ) -> Result<(), Interruption> {
        let entries = match self {
            Self::FromApply(entries) => entries,
            Self::FromDiff => {
                let managers = apply::requested(new, &old.map(entries).unwrap_or_default());
                let subresource = call.subresource.as_deref().unwrap_or_default();
                apply::update(Update {
                    schema: call.endpoint.schema(),
                    old,
                    new,
                    managers: &managers,
                    manager: &call.manager(),
                    api_version: &call.endpoint.api_version(),
                    subresource,
                    now: &cluster.now(),
                    versions: &ResourceVersions::of(cluster, call),
                })?
            }
        };
        let entries: Vec<Value> =
            entries.iter().filter_map(|entry| serde_json::to_value(entry).ok()).collect();
        meta::set(new, "managedFields", if entries.is_empty() { Value::Null } else { entries.into() });
        Ok(())
    }
}

/// The versions of the resource of a call. The other versions are only looked up when a manager wrote in one.
pub(super) struct ResourceVersions<'a> {
    cluster: &'a ClusterState,
    call: &'a Call,
    all: OnceCell<Vec<Endpoint>>,
}

impl<'a> ResourceVersions<'a> {
    pub(super) fn of(cluster: &'a ClusterState, call: &'a Call) -> Self {
        Self { cluster, call, all: OnceCell::new() }
    }

    fn endpoint(&self, api_version: &str) -> Option<&Endpoint> {
        let own = &self.call.endpoint;
        if own.api_version() == api_version {
            return Some(own);
        }
        let all = self.all.get_or_init(|| match own.resource.custom {
            true => own.resource.all_versions().collect(),
            false => self.cluster.scheme().endpoints_of(own.resource.table).cloned().collect(),
        });
        all.iter().find(|endpoint| endpoint.api_version() == api_version)
    }
}

impl Versions for ResourceVersions<'_> {
    fn schema(&self, api_version: &str) -> Option<&Schema> {
        self.endpoint(api_version).map(Endpoint::schema)
    }

    fn convert(&self, object: &Value, to: &str) -> Result<Value, Interruption> {
        let from = self.endpoint(object["apiVersion"].as_str().unwrap_or_default());
        let (Some(from), Some(to)) = (from, self.endpoint(to)) else { return Ok(object.clone()) };
        let responses = &self.call.webhook_responses;
        conversion::between_versions(self.cluster, responses, from, to, object.clone())
    }
}

/// The entries of an object; unreadable ones are skipped, as if the fields had no owner.
pub(super) fn entries(object: &Value) -> Vec<ManagedFieldsEntry> {
    let entries = object["metadata"]["managedFields"].as_array().into_iter().flatten();
    entries.filter_map(|entry| serde_json::from_value(entry.clone()).ok()).collect()
}
