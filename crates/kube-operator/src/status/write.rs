//! Writing a status.

use crate::apply::{Comparison, compare};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use kube_client::Api;
use kube_core::{
    Resource, ResourceExt,
    apply::managed_fields::{Owned, is_made_by},
    params::{Patch, PatchParams},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use std::fmt::Debug;

/// Whether a status was written.
#[derive(Debug, Clone, PartialEq)]
pub enum StatusWrite<K> {
    /// The cached object shows this status already. No request was sent.
    Unchanged,
    /// The object as the server returned it: for [`Action::after_write`](kube_runtime::controller::Action::after_write).
    Written(Box<K>),
}

impl<K> StatusWrite<K> {
    /// The written object.
    #[must_use]
    pub fn written(&self) -> Option<&K> {
        match self {
            Self::Unchanged => None,
            Self::Written(object) => Some(object),
        }
    }
}

/// Why a status was not written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StatusError {
    /// The object has no name, so it is not from the server.
    #[error("the {kind} whose status is to be written has no metadata.name")]
    NoName {
        /// The kind of the object.
        kind: String,
    },
    /// The status, or the object, cannot be serialized.
    #[error("the status of {object} cannot be serialized: {error}")]
    NotSerializable {
        /// Kind and name of the object.
        object: String,
        /// The reason.
        #[source]
        error: serde_json::Error,
    },
    /// The server refused the status, or could not be reached.
    #[error("failed to write the status of {object}: {error}")]
    Write {
        /// Kind and name of the object.
        object: String,
        /// The cause.
        #[source]
        error: kube_client::Error,
    },
}

/// Writes `status` to the subresource `status` of `object` by server-side apply, unless `object`, from the cache, shows it already.
///
/// Write the whole status that this controller is responsible for: fields that it wrote before and that are missing now are removed.
/// Fields of other managers stay, but a field that both write is taken over, because one controller is responsible for the status of a
/// kind. Of a list of conditions with the key `type`, conditions that another manager wrote and that `status` only repeats are left out,
/// so that several controllers can each [set their own](super::Conditions) in a copy of the cached list. Where the list has no key, or none
/// is known, it is replaced as a whole: then a condition that another controller has set since `object` was cached is not overwritten, but
/// an error with code 409, after which the reconciler is called again. (`Vec<Condition>` in a derived CRD has the key.)
///
/// `field_manager` is a name for the controller, the same in all versions and replicas of it. `api` must be in the object's namespace.
///
/// # Cost
///
/// No request if nothing changes and this manager has applied the status before: values that another manager, or this one by another kind
/// of request, has written are applied once, so that they stay when the other takes them away. Otherwise one, or three where a list of
/// conditions without a key meets a newer object. The comparison uses `metadata.managedFields` and serializes the object: O(its size).
/// Without managed fields, the status is written unless it equals the cached one in all fields, including those of other managers.
///
/// A status that only seems to differ, because the cache lags or the server stores a value in another form, is written in vain: the
/// `resourceVersion` of the object does not change, so no watch has an event.
///
/// # Permissions
///
/// `patch` of the subresource `status`, and `get` of the object where the conditions have no key.
///
/// # Errors
///
/// See [`StatusError`]. An object that was deleted meanwhile is an error with code 404.
///
/// ```
/// use k8s_openapi::api::core::v1::{Namespace, NamespaceStatus};
/// use kube_client::{Api, Client};
/// use kube_operator::status::apply_status;
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
///
/// let namespaces: Api<Namespace> = Api::all(client);
/// let cached = namespaces.get("default").await?;
/// let status = serde_json::json!({ "conditions": [{ "type": "Audited", "status": "True" }] });
/// let written = apply_status(&namespaces, "auditor.example.com", &cached, &status).await?;
/// let cached = written.written().cloned().ok_or("it was written")?;
/// let again = apply_status(&namespaces, "auditor.example.com", &cached, &status).await?;
/// assert!(again.written().is_none(), "no request");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub async fn apply_status<K, S>(
    api: &Api<K>,
    field_manager: &str,
    object: &K,
    status: &S,
) -> Result<StatusWrite<K>, StatusError>
where
    K: Resource<DynamicType: Default> + Serialize + DeserializeOwned + Clone + Debug,
    S: Serialize + ?Sized,
{
    apply_status_with(api, field_manager, object, &K::DynamicType::default(), status).await
}

/// Like [`apply_status`], for kinds known only at run time.
///
/// # Errors
///
/// As [`apply_status`].
pub async fn apply_status_with<K, S>(
    api: &Api<K>,
    field_manager: &str,
    object: &K,
    dyntype: &K::DynamicType,
    status: &S,
) -> Result<StatusWrite<K>, StatusError>
where
    K: Resource + Serialize + DeserializeOwned + Clone + Debug,
    S: Serialize + ?Sized,
{
    let kind = K::kind(dyntype);
    let Some(name) = object.meta().name.as_deref() else {
        return Err(StatusError::NoName { kind: kind.into_owned() });
    };
    let title = match object.namespace() {
        Some(namespace) => format!("{kind} {name} in namespace {namespace}"),
        None => format!("{kind} {name}"),
    };
    let json = serde_json::to_value(object).and_then(|object| Ok((object, serde_json::to_value(status)?)));
    let (current, status) = match json {
        Ok(json) => json,
        Err(error) => return Err(StatusError::NotSerializable { object: title, error }),
    };
    let mut patch = json!({
        "apiVersion": K::api_version(dyntype),
        "kind": kind,
        "metadata": { "name": name },
        "status": status,
    });
    if is_shown(&current, object.managed_fields(), &mut patch, field_manager) {
        return Ok(StatusWrite::Unchanged);
    }
    // Some servers check it: an object that replaced the cached one meanwhile has another status.
    if let Some(uid) = object.uid() {
        patch["metadata"]["uid"] = json!(uid);
    }
    let replaces = patch["status"]["conditions"].is_array() && !has_condition_key(object.managed_fields());
    if replaces && let Some(version) = object.resource_version() {
        patch["metadata"]["resourceVersion"] = json!(version);
    }
    match send(api, name, patch, field_manager, &current).await {
        Ok(written) => Ok(StatusWrite::Written(Box::new(written))),
        Err(error) => Err(StatusError::Write { object: title, error }),
    }
}

/// Sends the patch. If it is for an older version of the object, it is sent once more for the present one, unless a condition would be
/// lost.
async fn send<K>(
    api: &Api<K>,
    name: &str,
    mut patch: Value,
    field_manager: &str,
    cached: &Value,
) -> Result<K, kube_client::Error>
where
    K: Resource + Serialize + DeserializeOwned + Clone + Debug,
{
    let params = PatchParams::apply(field_manager).force();
    let conflict = match api.patch_status(name, &params, &Patch::Apply(&patch)).await {
        Err(error) if error.is_conflict() && !patch["metadata"]["resourceVersion"].is_null() => error,
        other => return other,
    };
    let present = api.get(name).await?;
    if has_condition_key(present.managed_fields()) {
        patch["metadata"].as_object_mut().map(|metadata| metadata.remove("resourceVersion"));
    } else if loses_condition(&serde_json::to_value(&present).unwrap_or_default(), cached, &patch) {
        return Err(conflict);
    } else {
        patch["metadata"]["resourceVersion"] = json!(present.resource_version());
    }
    api.patch_status(name, &params, &Patch::Apply(&patch)).await
}

/// Whether the managers own the conditions one by one.
fn has_condition_key(managed: &[ManagedFieldsEntry]) -> bool {
    conditions_of(managed).key_names().is_some()
}

/// What these managers own of the conditions.
fn conditions_of<'a>(managed: impl IntoIterator<Item = &'a ManagedFieldsEntry>) -> Owned<'a> {
    Owned::of(managed).field("status").field("conditions")
}

/// Whether the object has a condition now that its cached form does not have, and that the patch does not set to the same.
fn loses_condition(present: &Value, cached: &Value, patch: &Value) -> bool {
    let list = |object: &Value| object["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let (cached, patch) = (list(cached), list(patch));
    list(present).iter().any(|condition| !cached.contains(condition) && !patch.contains(condition))
}

/// Whether `current` shows the status of `patch`. Removes conditions from the patch that other managers own and that do not change.
fn is_shown(current: &Value, managed: &[ManagedFieldsEntry], patch: &mut Value, manager: &str) -> bool {
    // Without managed fields it is not known who owns them.
    if managed.is_empty() && !patch["status"].is_null() && current["status"] == patch["status"] {
        return true;
    }
    leave_foreign_conditions(current, managed, patch, manager);
    compare(current, managed, patch, manager, Some("status")) == Comparison::Unchanged
}

fn leave_foreign_conditions(
    current: &Value,
    managed: &[ManagedFieldsEntry],
    patch: &mut Value,
    manager: &str,
) {
    let mine = conditions_of(managed.iter().filter(|entry| is_made_by(entry, manager, "Apply")));
    // What this manager wrote by other requests, it has to apply once to own it.
    let others = managed.iter().filter(|entry| entry.manager.as_deref() != Some(manager));
    let others = conditions_of(others);
    let is_foreign = |condition: &Value| {
        let repeated =
            current["status"]["conditions"].as_array().is_some_and(|list| list.contains(condition));
        repeated && !others.item(condition).is_empty() && mine.item(condition).is_empty()
    };
    if let Some(Value::Array(conditions)) = patch.pointer_mut("/status/conditions") {
        conditions.retain(|condition| !is_foreign(condition));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::FieldsV1;

    fn entry(manager: &str, types: &[&str]) -> ManagedFieldsEntry {
        let item = |type_: &&str| {
            (format!("k:{{\"type\":\"{type_}\"}}"), json!({ ".": {}, "f:type": {}, "f:status": {} }))
        };
        let conditions: serde_json::Map<String, Value> = types.iter().map(item).collect();
        ManagedFieldsEntry {
            manager: Some(manager.into()),
            operation: Some("Apply".into()),
            subresource: Some("status".into()),
            api_version: Some("example.com/v1".into()),
            fields_v1: Some(FieldsV1(json!({ "f:status": { "f:conditions": conditions } }))),
            ..Default::default()
        }
    }

    fn conditions(list: &[(&str, &str)]) -> Value {
        let items: Vec<Value> =
            list.iter().map(|(type_, status)| json!({ "type": type_, "status": status })).collect();
        json!({ "apiVersion": "example.com/v1", "status": { "conditions": items } })
    }

    /// Whether the patch is shown, and the types that would be applied.
    fn shown(current: &Value, managed: &[ManagedFieldsEntry], mut patch: Value) -> (bool, Vec<String>) {
        let shown = is_shown(current, managed, &mut patch, "me");
        let types = patch["status"]["conditions"].as_array().unwrap().iter();
        (shown, types.map(|it| it["type"].as_str().unwrap().to_owned()).collect())
    }

    #[test]
    fn an_equal_status_is_shown_with_and_without_managed_fields() {
        let current = conditions(&[("A", "True")]);
        assert!(shown(&current, &[], current.clone()).0);
        assert!(shown(&current, &[entry("me", &["A"])], current.clone()).0);
        assert!(!shown(&current, &[], conditions(&[("A", "False")])).0);
    }

    /// Else the value goes when the other manager takes it away.
    #[test]
    fn values_that_another_manager_has_written_are_applied_to_own_them() {
        let status = json!({ "apiVersion": "example.com/v1", "status": { "phase": "Ready" } });
        let mut other = entry("they", &[]);
        other.fields_v1 = Some(FieldsV1(json!({ "f:status": { "f:phase": {} } })));
        let shown = |managed: &[ManagedFieldsEntry]| is_shown(&status, managed, &mut status.clone(), "me");
        assert!(!shown(&[other.clone()]));
        let mine = ManagedFieldsEntry { manager: Some("me".into()), ..other.clone() };
        assert!(shown(&[other, mine.clone()]));
        // Its own writes by replace or patch are no apply.
        assert!(!shown(&[ManagedFieldsEntry { operation: Some("Update".into()), ..mine }]));
        let current = conditions(&[("A", "True")]);
        let update = ManagedFieldsEntry { operation: Some("Update".into()), ..entry("me", &["A"]) };
        let mut patch = current.clone();
        assert!(!is_shown(&current, &[update], &mut patch, "me"));
        assert_eq!(patch, current, "none is left out");
    }

    #[test]
    fn foreign_conditions_are_not_applied() {
        let current = conditions(&[("Theirs", "True"), ("Mine", "True")]);
        let managed = [entry("me", &["Mine"]), entry("they", &["Theirs"])];
        assert_eq!(shown(&current, &managed, conditions(&[("Mine", "True")])), (true, vec!["Mine".into()]));
        let changed = conditions(&[("Theirs", "True"), ("Mine", "False")]);
        assert_eq!(
            shown(&current, &managed, changed),
            (false, vec!["Mine".into()]),
            "theirs is only repeated"
        );
        let both = conditions(&[("Theirs", "False"), ("Mine", "True")]);
        assert_eq!(shown(&current, &managed, both).1, ["Theirs", "Mine"], "theirs is changed on purpose");
    }

    #[test]
    fn a_condition_that_is_missing_now_has_to_be_removed() {
        let current = conditions(&[("Theirs", "True"), ("Old", "True"), ("Mine", "True")]);
        let managed = [entry("me", &["Mine", "Old"]), entry("they", &["Theirs"])];
        let (is_shown, applied) =
            shown(&current, &managed, conditions(&[("Theirs", "True"), ("Mine", "True")]));
        assert_eq!((is_shown, applied), (false, vec!["Mine".into()]));
    }
}
