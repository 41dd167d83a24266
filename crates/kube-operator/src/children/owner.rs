//! The owner as the server has it, and the record of the set on it.

use super::{error::ChildrenError, observe::api, record::Record, set::ChildSet};
use crate::apply::Owner;
use kube_client::{Api, Client, error::ErrorClass};
use kube_core::{
    ApiResource, DynamicObject, ObjectMeta,
    params::{Patch, PatchParams},
};
use parking_lot::Mutex;
use serde_json::json;
use std::collections::BTreeMap;

/// How often the record is written at most if others write the owner at the same time.
const ATTEMPTS: usize = 8;

/// Why an owner that does not exist where the children are has none.
const NOT_THERE: &str =
    "it was deleted, or is an object of another cluster, whose children the garbage collector would delete";

/// Reads and writes the record on an owner.
#[derive(Debug)]
pub(super) struct OwnerObject {
    set: ChildSet,
    api: Api<DynamicObject>,
    resource: ApiResource,
    title: String,
    name: String,
    uid: String,
    /// That of the object that the reconcile works with, or of the last own write.
    known: Mutex<ObjectMeta>,
}

impl OwnerObject {
    pub(super) fn new(
        client: Client,
        set: ChildSet,
        owner: &Owner,
        resource: ApiResource,
        known: ObjectMeta,
    ) -> Self {
        Self {
            set,
            api: api(client, &resource, owner.namespace()),
            resource,
            title: owner.title(),
            name: owner.name().to_owned(),
            uid: owner.uid().to_owned(),
            known: Mutex::new(known),
        }
    }

    /// Its metadata; `None` if it is gone, or was replaced by another object.
    pub(super) async fn read(&self) -> Result<Option<ObjectMeta>, ChildrenError> {
        let read = ErrorClass::absent_as_none(self.api.get_metadata(&self.name).await);
        let metadata = read.map_err(|source| self.failed("read", source))?.map(|object| object.metadata);
        Ok(metadata.filter(|metadata| metadata.uid.as_deref() == Some(&self.uid)))
    }

    /// Its metadata. An error if it is not the one that the reconcile works with any more: what is created or deleted would be what an
    /// older state wants.
    pub(super) async fn current(&self) -> Result<ObjectMeta, ChildrenError> {
        let outdated = |what: String| ChildrenError::Outdated { owner: self.title.clone(), what };
        let Some(metadata) = self.read().await? else { return Err(outdated(NOT_THERE.into())) };
        if metadata.deletion_timestamp.is_some() {
            return Err(outdated("it is being deleted".into()));
        }
        match change(&self.set, &self.known.lock(), &metadata) {
            Some(what) => Err(outdated(what)),
            None => Ok(metadata),
        }
    }

    /// Writes what `change` makes of the record, if it is not `None`. Returns the record as it is then, and whether it was written.
    pub(super) async fn update(
        &self,
        change: impl Fn(&Record) -> Option<Record>,
    ) -> Result<Record, ChildrenError> {
        for attempt in 1.. {
            let metadata = self.current().await?;
            let record = Record::read(&self.set, &metadata);
            let Some(changed) = change(&record) else { return Ok(record) };
            match self.write(&changed, metadata.resource_version.as_deref()).await {
                Ok(written) => {
                    *self.known.lock() = written;
                    return Ok(changed);
                }
                Err(kube_client::Error::Api(status)) if status.is_conflict() && attempt < ATTEMPTS => {}
                Err(source) => return Err(self.failed("write the record of children of", source)),
            }
        }
        unreachable!("invariant: the last attempt returns")
    }

    /// Refused by the server if the owner has changed since `version`. Returns its metadata after the write.
    async fn write(&self, record: &Record, version: Option<&str>) -> kube_client::Result<ObjectMeta> {
        let metadata = json!({
            "name": self.name,
            "namespace": self.api.namespace(),
            "uid": self.uid,
            "resourceVersion": version,
            "annotations": record.annotations(&self.set),
        });
        let patch = json!({ "apiVersion": self.resource.api_version, "kind": self.resource.kind, "metadata": metadata });
        // Not the manager of the children: the program may apply fields of the owner as that one.
        let params = PatchParams::apply(&format!("{}-children", self.set.manager())).force();
        self.api.patch_metadata(&self.name, &params, &Patch::Apply(patch)).await.map(|object| object.metadata)
    }

    fn failed(&self, action: &'static str, source: kube_client::Error) -> ChildrenError {
        ChildrenError::Owner { action, owner: self.title.clone(), source }
    }
}

/// What of an owner is different from what a reconcile knows, in words; `None` if it wants the same children as far as its metadata say so.
///
/// The generation counts the changes of the spec, of kinds that have one. What else may be an input has no number: labels and annotations
/// are compared, but for the record of children. Of a kind without a generation, every other version is another owner.
fn change(set: &ChildSet, known: &ObjectMeta, now: &ObjectMeta) -> Option<String> {
    let version = |of: &ObjectMeta| of.resource_version.clone().unwrap_or_default();
    if known.resource_version.is_none() || version(known) == version(now) {
        return None;
    }
    let is_record = |key: &String| *key == set.places_key() || *key == set.release_key();
    let pairs = |of: &Option<BTreeMap<String, String>>| -> BTreeMap<String, String> {
        of.iter()
            .flatten()
            .filter(|(key, _)| !is_record(key))
            .map(|(key, it)| (key.clone(), it.clone()))
            .collect()
    };
    match (known.generation, now.generation) {
        (Some(known), Some(now)) if known != now => {
            Some(format!("its generation is {now}, and this reconcile works with {known}"))
        }
        (Some(_), Some(_)) if pairs(&known.labels) != pairs(&now.labels) => {
            Some("its labels are others".into())
        }
        (Some(_), Some(_)) if pairs(&known.annotations) != pairs(&now.annotations) => {
            Some("its annotations are others".into())
        }
        (Some(_), Some(_)) => None,
        _ => Some(format!(
            "its resourceVersion is {}, and this reconcile works with {}",
            version(now),
            version(known)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn an_owner_is_another_one_if_it_may_want_other_children() {
        let set = ChildSet::new("site-operator", "1.0.0");
        let meta = |json: Value| -> ObjectMeta { serde_json::from_value(json).unwrap() };
        let of = |known: Value, now: Value| change(&set, &meta(known), &meta(now));
        let known = || json!({ "resourceVersion": "1", "generation": 1, "labels": { "a": "1" } });
        assert_eq!(of(known(), known()), None);
        let status = json!({ "resourceVersion": "2", "generation": 1, "labels": { "a": "1" } });
        assert_eq!(of(known(), status), None, "as after a write of the status");
        let record = json!({ "resourceVersion": "2", "generation": 1, "labels": { "a": "1" },
            "annotations": { "site-operator/children": "Secret/a", "site-operator/release": "1.0.0" } });
        assert_eq!(of(known(), record), None);
        let spec = json!({ "resourceVersion": "2", "generation": 2, "labels": { "a": "1" } });
        assert_eq!(of(known(), spec).unwrap(), "its generation is 2, and this reconcile works with 1");
        let label = json!({ "resourceVersion": "2", "generation": 1 });
        assert_eq!(of(known(), label).unwrap(), "its labels are others");
        let annotation = json!({ "resourceVersion": "2", "generation": 1, "labels": { "a": "1" }, "annotations": { "paused": "" } });
        assert_eq!(of(known(), annotation).unwrap(), "its annotations are others");
        // Without a generation.
        let version = |number: &str| json!({ "resourceVersion": number });
        assert_eq!(of(version("1"), version("1")), None);
        assert_eq!(
            of(version("1"), version("2")).unwrap(),
            "its resourceVersion is 2, and this reconcile works with 1"
        );
        assert_eq!(of(json!({}), version("2")), None, "the program has removed the version");
    }
}
