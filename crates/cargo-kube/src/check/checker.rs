//! [`Checker`]: sends objects to an embedded server with the new definition.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube_client::api::{Patch, PatchParams, PostParams};
use kube_client::{Api, Client, Error};
use kube_core::response::StatusCause;
use kube_core::{ApiResource, DynamicObject, GroupVersionKind, Status, TypeMeta};
use kube_testserver::{ApiServer, BuiltInController};
use serde_json::{Value, json};

use super::lost::lost;
use super::probe::{Probe, probes};
use super::verdict::{Outcome, Verdict};

/// Why objects could not be checked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckError {
    /// The server refuses the new definition.
    #[error("{crd}: the server refuses the new definition: {reason}")]
    Definition {
        /// The name of the definition.
        crd: String,
        /// The message of the server.
        reason: String,
    },
    /// An object cannot be stored: it has no name, or is not of the kind of the definition.
    #[error("{0}")]
    Object(String),
    /// A request to the server in this process failed for another reason.
    #[error("the server in this process failed")]
    Server(#[source] Error),
}

/// The resourceVersion of the first object.
const FIRST_VERSION: usize = 1_000_000;

/// Checks objects of one definition. See the [module](super).
#[derive(Debug)]
pub struct Checker {
    name: String,
    /// The new definition, without what is not there or not wanted here: conversion webhooks, and the subresource that hides the status
    /// from writes.
    plain: Value,
    kind: String,
    plural: String,
    group: String,
    is_namespaced: bool,
    served: Vec<String>,
    /// The version for objects whose own is not served; `None` if a webhook would have to convert them.
    fallback: Option<String>,
    /// A server for new objects. Nothing is stored in it.
    fresh: Client,
}

impl Checker {
    /// For objects of the definition `new`. If the definition that it replaces is given, with the versions in which objects are stored, the
    /// server also checks that one may replace the other.
    ///
    /// # Errors
    /// [`CheckError::Definition`] if the server refuses `new`.
    pub async fn new(
        new: &CustomResourceDefinition,
        old: Option<(&CustomResourceDefinition, &[String])>,
    ) -> Result<Self, CheckError> {
        let name = new.metadata.name.clone().unwrap_or_default();
        let refused = |reason: String| CheckError::Definition { crd: name.clone(), reason };
        if let Some((old, stored)) = old {
            replace(old, stored, new).await.map_err(refused)?;
        }
        let converts = new.spec.conversion.as_ref().is_some_and(|conversion| conversion.strategy != "None");
        let mut plain = new.clone();
        plain.spec.conversion = None;
        plain.spec.versions.iter_mut().for_each(|version| version.subresources = None);
        let fresh = server([&plain]).map_err(refused)?;
        let plain: CustomResourceDefinition =
            Api::all(fresh.clone()).get(&name).await.map_err(CheckError::Server)?;
        let spec = &new.spec;
        let served = || spec.versions.iter().filter(|version| version.served);
        let fallback = served().find(|version| version.storage).or_else(|| served().next());
        Ok(Self {
            plain: json!(plain),
            kind: spec.names.kind.clone(),
            plural: spec.names.plural.clone(),
            group: spec.group.clone(),
            is_namespaced: spec.scope == "Namespaced",
            served: served().map(|version| version.name.clone()).collect(),
            fallback: fallback.filter(|_| !converts).map(|version| version.name.clone()),
            fresh,
            name,
        })
    }

    /// Whether an object is of the kind of the definition, in any version.
    #[must_use]
    pub fn is_for(&self, object: &DynamicObject) -> bool {
        let Some(types) = &object.types else { return false };
        let group = types.api_version.split_once('/').map_or("", |(group, _)| group);
        group == self.group && types.kind == self.kind
    }

    /// Checks `objects`, in memory all at once, and returns a verdict for each, in their order. Namespaced objects without a namespace are
    /// in `default`.
    ///
    /// # Errors
    /// [`CheckError::Object`] for the first that cannot be checked.
    pub async fn check(
        &self,
        objects: impl IntoIterator<Item = DynamicObject>,
    ) -> Result<Vec<Verdict>, CheckError> {
        let objects = objects.into_iter().enumerate().map(|(at, object)| self.stored(at, object));
        let objects = objects.collect::<Result<Vec<_>, _>>()?;
        let state = std::iter::once(self.plain.clone()).chain(objects.iter().map(|object| json!(object)));
        let server = ApiServer::builder().without(BuiltInController::GarbageCollection).service();
        let server = server.map_err(|err| CheckError::Object(err.to_string()))?;
        server.restore(state.collect::<Vec<_>>()).map_err(|err| CheckError::Object(err.to_string()))?;
        let client = Client::new(server, "default");
        let mut verdicts = Vec::new();
        for object in objects {
            let (outcome, lost) = self.outcome(&client, &object).await?;
            verdicts.push(Verdict {
                definition: self.name.clone(),
                outcome,
                lost,
                namespace: object.metadata.namespace,
                name: object.metadata.name.unwrap_or_default(),
            });
        }
        Ok(verdicts)
    }

    /// The object as a server would have stored it.
    fn stored(&self, at: usize, mut object: DynamicObject) -> Result<DynamicObject, CheckError> {
        if !self.is_for(&object) {
            let found = object.types.map(|types| format!("{} of {}", types.kind, types.api_version));
            let found = found.unwrap_or_else(|| "no kind".to_owned());
            let message = format!("expected a {} of {}, found {found}", self.kind, self.group);
            return Err(CheckError::Object(message));
        }
        let metadata = &mut object.metadata;
        if metadata.name.is_none() {
            let message = format!("metadata.name: expected the name of a stored {}, found none", self.kind);
            return Err(CheckError::Object(message));
        }
        let namespace = metadata.namespace.take().unwrap_or_else(|| "default".to_owned());
        metadata.namespace = self.is_namespaced.then_some(namespace);
        metadata.uid.get_or_insert_with(|| format!("00000000-0000-4000-8000-{at:012}"));
        metadata.generation.get_or_insert(1);
        // The server of this process has versions of its own, behind those of the definition, and must not end a deletion.
        metadata.resource_version = Some((FIRST_VERSION + at).to_string());
        metadata.deletion_timestamp = None;
        metadata.deletion_grace_period_seconds = None;
        Ok(object)
    }

    /// What becomes of the object, and the fields that it loses.
    async fn outcome(
        &self,
        client: &Client,
        object: &DynamicObject,
    ) -> Result<(Outcome, Vec<String>), CheckError> {
        let own = object.types.as_ref().and_then(|types| types.api_version.split_once('/'));
        let own = own.map(|(_, version)| version).unwrap_or_default();
        let Some(version) = self.served.iter().find(|served| *served == own).or(self.fallback.as_ref())
        else {
            let message =
                format!("the definition does not serve {own}, and its conversion webhook is not called here");
            return Ok((Outcome::Refused(message), Vec::new()));
        };
        let gvk = GroupVersionKind::gvk(&self.group, version, &self.kind);
        let kind = ApiResource::from_gvk_with_plural(&gvk, &self.plural);
        let stored = api(client, &kind, object.metadata.namespace.as_deref());
        let name = object.metadata.name.as_deref().unwrap_or_default();
        let read = stored.get(name).await.map_err(CheckError::Server)?;
        let lost = lost(&object.data, &read.data);
        let dry_run = PostParams { dry_run: true, ..PostParams::default() };
        let mut touched = read.clone();
        let annotations = touched.metadata.annotations.get_or_insert_default();
        annotations.insert("cargo-kube/checked".to_owned(), String::new());
        for object in [&read, &touched] {
            if let Some(status) = refusal(stored.replace(name, &dry_run, object).await)? {
                return Ok((Outcome::Refused(status.message), lost));
            }
        }
        let fresh = api(&self.fresh, &kind, self.is_namespaced.then_some("default"));
        if let Some(status) = refusal(fresh.create(&dry_run, &as_new(object, &kind)).await)? {
            return Ok((invalid(&stored, &read, *status).await?, lost));
        }
        let outcome = if lost.is_empty() { Outcome::Accepted } else { Outcome::Lost(lost.clone()) };
        Ok((outcome, lost))
    }
}

/// What becomes of the object `read`, which would be refused with `status` if it were new.
async fn invalid(
    stored: &Api<DynamicObject>,
    read: &DynamicObject,
    status: Status,
) -> Result<Outcome, CheckError> {
    let dry_run = PostParams { dry_run: true, ..PostParams::default() };
    let name = read.metadata.name.as_deref().unwrap_or_default();
    for cause in causes(&status) {
        for Probe { below, changed, data } in probes(&read.data, &cause.field) {
            let changed_object = DynamicObject { data, ..read.clone() };
            let Some(refused) = refusal(stored.replace(name, &dry_run, &changed_object).await)? else {
                continue;
            };
            // The new value may be wrong too, in its own field.
            let is_same = |other: &StatusCause| other.field == cause.field && other.reason == cause.reason;
            if causes(&refused).any(is_same) {
                let message = &status.message;
                return Ok(Outcome::Refused(format!(
                    "every change below {below}, as of {changed}: {message}"
                )));
            }
        }
    }
    Ok(Outcome::Tolerated(status.message))
}

fn causes(status: &Status) -> impl Iterator<Item = &StatusCause> {
    status.details.iter().flat_map(|details| &details.causes)
}

/// The status with which the server refused the request.
fn refusal(result: Result<DynamicObject, Error>) -> Result<Option<Box<Status>>, CheckError> {
    match result {
        Ok(_) => Ok(None),
        Err(Error::Api(status)) => Ok(Some(status)),
        Err(error) => Err(CheckError::Server(error)),
    }
}

/// The object as a client would create it.
fn as_new(object: &DynamicObject, kind: &ApiResource) -> DynamicObject {
    let mut new = object.clone();
    new.types = Some(TypeMeta { api_version: kind.api_version.clone(), kind: kind.kind.clone() });
    let metadata = &mut new.metadata;
    metadata.namespace = metadata.namespace.as_ref().map(|_| "default".to_owned());
    (metadata.uid, metadata.creation_timestamp, metadata.managed_fields) = (None, None, None);
    metadata.resource_version = None;
    new
}

fn api(client: &Client, kind: &ApiResource, namespace: Option<&str>) -> Api<DynamicObject> {
    match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, kind),
        None => Api::all_with(client.clone(), kind),
    }
}

fn server<const N: usize>(crds: [&CustomResourceDefinition; N]) -> Result<Client, String> {
    let server = ApiServer::builder().with_crds(crds).service();
    // The cause has the message of the server.
    let server = server.map_err(|err| kube_client::error::ErrorChain(&err).to_string())?;
    Ok(Client::new(server, "default"))
}

/// Replaces the old definition by the new one, on a server of its own.
async fn replace(
    old: &CustomResourceDefinition,
    stored: &[String],
    new: &CustomResourceDefinition,
) -> Result<(), String> {
    let name = new.metadata.name.as_deref().unwrap_or_default();
    let definitions: Api<CustomResourceDefinition> = Api::all(server([old])?);
    let status = Patch::Merge(json!({ "status": { "storedVersions": stored } }));
    let current = definitions.patch_status(name, &PatchParams::default(), &status).await;
    let current = current.map_err(|err| err.to_string())?;
    let mut new = new.clone();
    new.metadata.resource_version = current.metadata.resource_version;
    definitions.replace(name, &PostParams::default(), &new).await.map(drop).map_err(|err| err.to_string())
}
