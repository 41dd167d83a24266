//! [`Facts`]: what a migration needs to know of a definition.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube_core::{ApiResource, GroupVersionKind};

use super::error::MigrateError;

/// What a migration needs to know of a definition, as it was read.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Facts {
    pub(super) uid: String,
    /// Changes with every change of the spec, and not with those of the status.
    pub(super) generation: i64,
    pub(super) resource_version: String,
    /// The version in which the server stores objects.
    pub(super) storage: String,
    /// The versions in which objects may be stored.
    pub(super) stored: Vec<String>,
    /// The kind in the version of the requests.
    pub(super) kind: ApiResource,
}

impl Facts {
    pub(super) fn of(crd: &CustomResourceDefinition) -> Result<Self, MigrateError> {
        let (metadata, spec) = (&crd.metadata, &crd.spec);
        let fault = |reason: &str| MigrateError::Definition {
            crd: metadata.name.clone().unwrap_or_default(),
            reason: reason.to_owned(),
        };
        if metadata.deletion_timestamp.is_some() {
            return Err(fault("it is being deleted, with all of its objects"));
        }
        let storage = spec.versions.iter().find(|version| version.storage);
        let storage = storage.ok_or_else(|| fault("expected a storage version, found none"))?;
        // Requests in the storage version need no conversion by the server. It need not be served.
        let served = Some(storage).filter(|version| version.served);
        let served = served.or_else(|| spec.versions.iter().find(|version| version.served));
        let served = served.ok_or_else(|| fault("expected a version that is served, found none"))?;
        let stored = crd.status.as_ref().and_then(|status| status.stored_versions.clone());
        let gvk = GroupVersionKind::gvk(&spec.group, &served.name, &spec.names.kind);
        Ok(Self {
            uid: metadata.uid.clone().unwrap_or_default(),
            generation: metadata.generation.unwrap_or_default(),
            resource_version: metadata.resource_version.clone().unwrap_or_default(),
            storage: storage.name.clone(),
            stored: stored.unwrap_or_default(),
            kind: ApiResource::from_gvk_with_plural(&gvk, &spec.names.plural),
        })
    }

    /// Whether no object is stored in another version.
    pub(super) fn is_migrated(&self) -> bool {
        self.stored == [self.storage.as_str()]
    }

    /// Whether nothing of the spec was changed since `other` was read.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.uid == other.uid && self.generation == other.generation
    }
}
