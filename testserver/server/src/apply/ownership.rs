//! The managed fields of a write: which manager owns what after it.

use std::cell::OnceCell;

use serde::Deserialize;
use serde_json::Value;

use super::{ManagedFieldsEntry, Update, Versions};
use crate::{
    apply, call::Call, crd::conversion, object::meta, schema::Schema, scheme::Endpoint, storage::Storage,
    webhook::Interruption,
};

/// Where the managed fields of a write come from.
pub(crate) enum Ownership {
    /// Compare the object with the one it replaces.
    FromDiff,
    /// Computed by server-side apply.
    FromApply(Vec<ManagedFieldsEntry>),
}

impl Ownership {
    /// Sets `metadata.managedFields`, as the last change to the object.
    pub(crate) fn record(
        self,
        storage: &Storage,
        call: &Call,
        now: &str,
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
                    now,
                    versions: &ResourceVersions::of(storage, call),
                })?
            }
        };
        let entries: Vec<Value> = entries.into_iter().map(Value::from).collect();
        meta::set(new, "managedFields", if entries.is_empty() { Value::Null } else { entries.into() });
        Ok(())
    }
}

/// The versions of the resource of a call. The other versions are only looked up when a manager wrote in one.
pub(crate) struct ResourceVersions<'a> {
    storage: &'a Storage,
    call: &'a Call,
    all: OnceCell<Vec<Endpoint>>,
}

impl<'a> ResourceVersions<'a> {
    pub(crate) fn of(storage: &'a Storage, call: &'a Call) -> Self {
        Self { storage, call, all: OnceCell::new() }
    }

    fn endpoint(&self, api_version: &str) -> Option<&Endpoint> {
        let own = &self.call.endpoint;
        if own.api_version() == api_version {
            return Some(own);
        }
        let all = self.all.get_or_init(|| match own.resource.custom {
            true => own.resource.all_versions().collect(),
            false => self.storage.scheme.endpoints_of(own.resource.table).cloned().collect(),
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
        Ok(conversion::between_versions(self.storage, responses, from, to, object.clone())?)
    }
}

/// The entries of an object; unreadable ones are skipped, as if the fields had no owner. Of two of one manager, the later one counts.
pub(crate) fn entries(object: &Value) -> Vec<ManagedFieldsEntry> {
    let sent = object["metadata"]["managedFields"].as_array().into_iter().flatten();
    let mut entries: Vec<ManagedFieldsEntry> = Vec::new();
    for entry in sent.filter_map(|entry| ManagedFieldsEntry::deserialize(entry).ok()) {
        entries.retain(|before| !before.same_manager(&entry));
        entries.push(entry);
    }
    entries
}
