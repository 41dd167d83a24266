//! What a session replaces in a cluster of the user: what leads to this machine (webhook configurations, Services and their slices), and
//! roles that are there already. At the end, what was not there before is deleted, and what the session has changed is put back.
//!
//! How it was before, and how the session has written it, is in annotations of the object, so that the next session can put back what one
//! that was killed has left. They name the session: one that has lost its Lease puts back nothing of the one that has it.

use anyhow::{Context as _, Result};
use kube_client::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube_client::error::{Error, ErrorClass};
use kube_client::{Api, Client};
use kube_core::params::Preconditions;
use kube_core::{ApiResource, DynamicObject, GroupVersionKind, ResourceExt as _, TypeMeta};
use serde_json::{Value, json};

use super::put_back::{owners, put_back};
use super::say::say;

/// As which a session writes.
pub(super) const FIELD_MANAGER: &str = "cargo-kube-dev";

/// The object as it was before the session, as JSON; empty if there was none.
const BEFORE: &str = "cargo-kube/before-dev";
/// The object as the session has written it, as JSON; empty while that is not known, and then all is put back.
const WRITTEN: &str = "cargo-kube/written-by-dev";
/// The `managedFields` of the object before the session, as JSON.
const OWNERS: &str = "cargo-kube/owners-before-dev";
/// The session.
const SESSION: &str = "cargo-kube/dev-session";
/// The operator of the session, by namespace and name.
const OPERATOR: &str = "cargo-kube/dev-of";
const NOTES: [&str; 5] = [BEFORE, WRITTEN, OWNERS, SESSION, OPERATOR];
/// The label by which a later session finds it.
const LABEL: &str = "cargo-kube/dev";
/// How often an object that others change meanwhile is put back anew.
const ATTEMPTS: usize = 5;

const WEBHOOKS: &str = "admissionregistration.k8s.io/v1";
const ROLES: &str = "rbac.authorization.k8s.io/v1";
/// All kinds that a session replaces.
const KINDS: [(&str, &str); 8] = [
    (WEBHOOKS, "ValidatingWebhookConfiguration"),
    (WEBHOOKS, "MutatingWebhookConfiguration"),
    ("v1", "Service"),
    ("discovery.k8s.io/v1", "EndpointSlice"),
    (ROLES, "Role"),
    (ROLES, "RoleBinding"),
    (ROLES, "ClusterRole"),
    (ROLES, "ClusterRoleBinding"),
];

/// Whether an object leads calls to where the operator is.
pub(super) fn leads_to_operator(object: &Value) -> bool {
    replaced_kind(object).is_some_and(|(api_version, _)| api_version != ROLES)
}

/// The kind of an object that a session replaces.
fn replaced_kind(object: &Value) -> Option<(&'static str, &'static str)> {
    KINDS
        .into_iter()
        .find(|(api_version, kind)| object["apiVersion"] == *api_version && object["kind"] == *kind)
}

/// An object that a session has replaced.
#[derive(Clone)]
pub(super) struct Detour {
    api: Api<DynamicObject>,
    name: String,
    /// Whose notes it has.
    session: Option<String>,
    /// For messages.
    text: String,
}

impl Detour {
    fn of(client: &Client, object: &Value, session: Option<String>) -> Result<Self> {
        let types: TypeMeta = serde_json::from_value(object.clone())?;
        let resource = ApiResource::from_gvk(&GroupVersionKind::try_from(types)?);
        let metadata = &object["metadata"];
        let name = metadata["name"].as_str().context("an object has no name")?.to_owned();
        let text = format!("{} {name}", resource.kind);
        let api = match metadata["namespace"].as_str() {
            Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
            None => Api::all_with(client.clone(), &resource),
        };
        Ok(Self { api, name, session, text })
    }

    /// Notes in an object that will be applied how it is now, unless an earlier application of this operator has noted it. `None` for what
    /// is not replaced: other kinds, and roles that are not there.
    pub(super) async fn begin(
        client: &Client,
        operator: &str,
        session: &str,
        object: &mut Value,
    ) -> Result<Option<Self>> {
        if replaced_kind(object).is_none() {
            return Ok(None);
        }
        let detour = Self::of(client, object, Some(session.to_owned()))?;
        let (before, owners) = match detour.read().await.with_context(|| detour.text.clone())? {
            None if leads_to_operator(object) => (String::new(), None),
            None => return Ok(None),
            Some(live) => match live.annotations().get(BEFORE) {
                Some(before) => (before.clone(), live.annotations().get(OWNERS).cloned()),
                None => {
                    let owners = serde_json::to_string(&live.metadata.managed_fields)?;
                    (content(live)?.to_string(), Some(owners))
                }
            },
        };
        let metadata = &mut object["metadata"];
        metadata["annotations"][BEFORE] = json!(before);
        metadata["annotations"][WRITTEN] = json!(""); // not known until it is read again
        metadata["annotations"][SESSION] = json!(session);
        metadata["annotations"][OPERATOR] = json!(operator);
        if let Some(owners) = owners {
            metadata["annotations"][OWNERS] = json!(owners);
        }
        metadata["labels"][LABEL] = json!("true");
        Ok(Some(detour))
    }

    /// Notes how the object was written. Until then, a change of others cannot be told from the session's.
    pub(super) async fn written(&self) -> Result<()> {
        let written = async {
            let live = self.api.get(&self.name).await?;
            let annotations =
                json!({ "metadata": { "annotations": { WRITTEN: content(live)?.to_string() } } });
            let params =
                PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
            self.api.patch(&self.name, &params, &Patch::Merge(annotations)).await.map(drop)
        };
        written.await.with_context(|| self.text.clone())
    }

    /// What an earlier session of this operator has left, which was killed.
    pub(super) async fn left(client: &Client, operator: &str) -> Result<Vec<Self>> {
        let mut left = Vec::new();
        for (api_version, kind) in KINDS {
            let types = TypeMeta { api_version: api_version.into(), kind: kind.into() };
            let resource = ApiResource::from_gvk(&GroupVersionKind::try_from(types.clone())?);
            let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
            let objects = match api.list(&ListParams::default().labels(LABEL)).await {
                Err(error) if ErrorClass::of(&error) == ErrorClass::Forbidden => {
                    say(&format!(
                        "{kind} objects that a killed session may have left are not looked for: {error}"
                    ));
                    continue;
                }
                objects => objects.with_context(|| kind.to_owned())?,
            };
            for mut object in objects.items {
                if object.annotations().get(OPERATOR).is_some_and(|of| of == operator) {
                    object.types = Some(types.clone());
                    let session = object.annotations().get(SESSION).cloned();
                    left.push(Self::of(client, &serde_json::to_value(object)?, session)?);
                }
            }
        }
        Ok(left)
    }

    /// Puts back what was there, with those who owned its fields. An object that somebody else has deleted or created again stays as it is,
    /// and so do fields that somebody else has changed, and what another session has replaced since.
    pub(super) async fn end(&self) -> Result<()> {
        for _ in 1..ATTEMPTS {
            match self.put_back().await {
                Err(Error::Api(status)) if status.is_conflict() => {}
                result => return result.with_context(|| self.text.clone()),
            }
        }
        self.put_back().await.with_context(|| self.text.clone())
    }

    async fn put_back(&self) -> Result<(), Error> {
        let Some(live) = self.read().await? else { return Ok(()) };
        let note = |key: &str| live.annotations().get(key).cloned();
        let Some(before) = note(BEFORE) else { return Ok(()) };
        if note(SESSION) != self.session {
            say(&format!("{} is of another session now, and stays so", self.text));
            return Ok(());
        }
        let owned_by = note(OWNERS);
        let version = live.resource_version();
        let preconditions = Preconditions { uid: live.uid(), resource_version: version.clone() };
        let now = content(live.clone())?;
        let written = note(WRITTEN).filter(|text| !text.is_empty());
        let written = written.map_or(Ok(now.clone()), |text| serde_json::from_str(&text));
        let written = written.map_err(Error::SerdeError)?;
        let (mut object, changed_by_others) = if before.is_empty() {
            if is_as_written(&now, &written) {
                let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
                return self.api.delete(&self.name, &params).await.map(drop);
            }
            (now, vec!["all".to_owned()])
        } else {
            let before = serde_json::from_str(&before).map_err(Error::SerdeError)?;
            put_back(now, &written, &before)
        };
        if !changed_by_others.is_empty() {
            let fields = changed_by_others.join(", ");
            say(&format!("{} was changed by others meanwhile, and stays so: {fields}", self.text));
        }
        object["metadata"]["resourceVersion"] = json!(version);
        let object: DynamicObject = serde_json::from_value(object).map_err(Error::SerdeError)?;
        self.api.replace(&self.name, &written_by_session(), &object).await?;
        match owned_by {
            Some(owned_by) => self.give_back(&owned_by).await,
            None => Ok(()), // written by an older release
        }
    }

    /// Gives the fields back to those who owned them. By a write of its own, because one that changes fields owns them. Others may write
    /// meanwhile.
    async fn give_back(&self, owned_by: &str) -> Result<(), Error> {
        let before: Vec<Value> =
            serde_json::from_str::<Option<_>>(owned_by).map_err(Error::SerdeError)?.unwrap_or_default();
        for attempt in 1.. {
            let Some(live) = self.read().await? else { return Ok(()) };
            let mut object = serde_json::to_value(live).map_err(Error::SerdeError)?;
            let now = object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
            object["metadata"]["managedFields"] = json!(owners(&before, now, FIELD_MANAGER));
            let object: DynamicObject = serde_json::from_value(object).map_err(Error::SerdeError)?;
            match self.api.replace(&self.name, &written_by_session(), &object).await {
                Err(Error::Api(status)) if status.is_conflict() && attempt < ATTEMPTS => {}
                Err(Error::Api(status)) if status.is_not_found() => break,
                given => return given.map(drop),
            }
        }
        Ok(())
    }

    /// `None` only if it does not exist.
    async fn read(&self) -> Result<Option<DynamicObject>, Error> {
        ErrorClass::absent_as_none(self.api.get(&self.name).await)
    }
}

fn written_by_session() -> PostParams {
    PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() }
}

/// Whether nobody else has changed more than metadata of the object, and the CA that is injected into webhooks.
fn is_as_written(now: &Value, written: &Value) -> bool {
    let fields = |object: &Value| {
        let mut object = object.clone();
        object["metadata"].take();
        for webhook in object["webhooks"].as_array_mut().into_iter().flatten() {
            webhook["clientConfig"].as_object_mut().map(|config| config.remove("caBundle"));
        }
        object
    };
    fields(now) == fields(written)
}

/// The object without what the server sets and what a session has noted.
fn content(mut object: DynamicObject) -> Result<Value, Error> {
    let metadata = &mut object.metadata;
    (metadata.managed_fields, metadata.resource_version, metadata.uid) = (None, None, None);
    (metadata.creation_timestamp, metadata.generation) = (None, None);
    if let Some(annotations) = &mut metadata.annotations {
        annotations.retain(|key, _| !NOTES.contains(&key.as_str()));
    }
    metadata.annotations = metadata.annotations.take().filter(|annotations| !annotations.is_empty());
    if let Some(labels) = &mut metadata.labels {
        labels.remove(LABEL);
    }
    metadata.labels = metadata.labels.take().filter(|labels| !labels.is_empty());
    if let Some(fields) = object.data.as_object_mut() {
        fields.remove("status");
    }
    serde_json::to_value(object).map_err(Error::SerdeError)
}
