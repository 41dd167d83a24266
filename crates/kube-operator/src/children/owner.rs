//! The owner as the server has it, and the record of the set on it.

use super::{error::ChildrenError, observe::api, record::Record, set::ChildSet};
use crate::apply::Owner;
use kube_client::{Api, Client};
use kube_core::{
    ApiResource, DynamicObject, ObjectMeta,
    params::{Patch, PatchParams},
};
use serde_json::json;

/// How often the record is written at most if others write the owner at the same time.
const ATTEMPTS: usize = 8;

/// Reads and writes the record on an owner.
#[derive(Debug)]
pub(super) struct OwnerObject {
    set: ChildSet,
    api: Api<DynamicObject>,
    resource: ApiResource,
    title: String,
    name: String,
    uid: String,
    /// That of the object that the reconcile works with.
    generation: Option<i64>,
}

impl OwnerObject {
    pub(super) fn new(
        client: Client,
        set: ChildSet,
        owner: &Owner,
        resource: ApiResource,
        generation: Option<i64>,
    ) -> Self {
        Self {
            set,
            api: api(client, &resource, owner.namespace()),
            resource,
            title: owner.title(),
            name: owner.name().to_owned(),
            uid: owner.uid().to_owned(),
            generation,
        }
    }

    /// Its metadata; `None` if it is gone, or was replaced by another object.
    pub(super) async fn read(&self) -> Result<Option<ObjectMeta>, ChildrenError> {
        let read = self.api.get_metadata_opt(&self.name).await;
        let metadata = read.map_err(|source| self.failed("read", source))?.map(|object| object.metadata);
        Ok(metadata.filter(|metadata| metadata.uid.as_deref() == Some(&self.uid)))
    }

    /// Its metadata. An error if it is not the one that the reconcile works with any more: what is created or deleted would be what an
    /// older state wants.
    pub(super) async fn current(&self) -> Result<ObjectMeta, ChildrenError> {
        let outdated = |what: String| ChildrenError::Outdated { owner: self.title.clone(), what };
        let Some(metadata) = self.read().await? else { return Err(outdated("it was deleted".into())) };
        if metadata.deletion_timestamp.is_some() {
            return Err(outdated("it is being deleted".into()));
        }
        match (self.generation, metadata.generation) {
            (Some(known), Some(now)) if known != now => {
                Err(outdated(format!("its generation is {now}, and this reconcile works with {known}")))
            }
            _ => Ok(metadata),
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
                Ok(()) => return Ok(changed),
                Err(kube_client::Error::Api(status)) if status.is_conflict() && attempt < ATTEMPTS => {}
                Err(source) => return Err(self.failed("write the record of children of", source)),
            }
        }
        unreachable!("invariant: the last attempt returns")
    }

    /// Refused by the server if the owner has changed since `version`.
    async fn write(&self, record: &Record, version: Option<&str>) -> kube_client::Result<()> {
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
        self.api.patch_metadata(&self.name, &params, &Patch::Apply(patch)).await.map(drop)
    }

    fn failed(&self, action: &'static str, source: kube_client::Error) -> ChildrenError {
        ChildrenError::Owner { action, owner: self.title.clone(), source }
    }
}
