//! The requests for the parent of a set.

use kube_client::Client;
use kube_client::api::Api;
use kube_client::error::Error;
use kube_core::params::{Patch, PatchParams, PostParams};
use kube_core::{ApiResource, DynamicObject, ObjectMeta};

use super::error::ApplySetError;
use super::members::Members;
use super::plan;
use super::set::ApplySet;

impl ApplySet {
    pub(super) fn parents(&self, client: &Client) -> Api<DynamicObject> {
        api(client, &self.resource, self.namespace.as_deref())
    }

    /// The parent; `None` if it does not exist.
    pub(super) async fn read_parent(
        &self,
        parents: &Api<DynamicObject>,
    ) -> Result<Option<ObjectMeta>, ApplySetError> {
        let parent = parents.get_metadata_opt(&self.name).await;
        Ok(parent.map_err(|err| self.request_error("get", err))?.map(|parent| parent.metadata))
    }

    /// Makes the parent; `None` if another program has made it meanwhile, whose record an apply would overwrite. No run is recorded: what
    /// is not applied stays when another tool applies the parent.
    pub(super) async fn create_parent(
        &self,
        parents: &Api<DynamicObject>,
        members: &Members,
    ) -> Result<Option<ObjectMeta>, ApplySetError> {
        let params = PostParams { dry_run: self.dry_run, field_manager: Some(self.field_manager()) };
        match parents.create(&params, &plan::parent_patch(self, members, None, None)).await {
            Ok(parent) => Ok(Some(parent.metadata)),
            Err(Error::Api(status)) if status.is_already_exists() => Ok(None),
            Err(err) => Err(self.request_error("apply", err)),
        }
    }

    /// Writes the parent, with force: its fields are those of this manager, whoever has edited them. `None` if it has another version.
    pub(super) async fn write_parent(
        &self,
        parents: &Api<DynamicObject>,
        members: &Members,
        run: Option<&str>,
        version: Option<String>,
    ) -> Result<Option<ObjectMeta>, ApplySetError> {
        let params =
            PatchParams { dry_run: self.dry_run, ..PatchParams::apply(&self.field_manager()).force() };
        let parent = plan::parent_patch(self, members, run, version);
        match parents.patch_metadata(&self.name, &params, &Patch::Apply(parent)).await {
            Ok(parent) => Ok(Some(parent.metadata)),
            Err(Error::Api(status)) if status.is_conflict() => Ok(None),
            Err(err) => Err(self.request_error("apply", err)),
        }
    }

    pub(super) fn request_error(&self, verb: &str, source: Error) -> ApplySetError {
        ApplySetError::Request {
            context: format!("cannot {verb} {self}, the parent of the apply set"),
            source,
        }
    }
}

pub(super) fn api(client: &Client, resource: &ApiResource, namespace: Option<&str>) -> Api<DynamicObject> {
    match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, resource),
        None => Api::all_with(client.clone(), resource),
    }
}
