//! The steps shared by create, update and patch.

use std::{
    collections::HashSet,
    sync::{Arc, LazyLock},
};

use http::Method;
use serde_json::Value;

use crate::{
    admission::{self, Attributes},
    apply::Ownership,
    call::{ApiResponse, Call},
    cluster::{ClusterState, Written},
    crd,
    object::meta,
    rbac::RoleWrite,
    route::{FieldValidation, WriteOptions},
    schema::{
        self, Schema,
        types::{self, OBJECT_META},
        undecodable_metadata,
    },
    scheme::Endpoint,
    status_error::StatusError,
    storage::{Key, Stored},
    strategy, validation,
    webhook::Interruption,
};

/// Refuses a custom resource with metadata that cannot be decoded; null is none. Patches refuse the same in their own way.
fn decode_metadata(call: &Call, object: &mut Value) -> Result<(), StatusError> {
    let endpoint = &call.endpoint;
    if !endpoint.resource.custom || call.method == Method::PATCH {
        return Ok(());
    }
    if let Some(why) = undecodable_metadata(&object["metadata"]) {
        let (kind, version) = (endpoint.kind(), &endpoint.version().name);
        let message = format!("{kind} in version {version:?} cannot be handled as a {kind}: {why}");
        return Err(StatusError::bad_request(message));
    }
    if object["metadata"].is_null()
        && let Value::Object(members) = object
    {
        members.remove("metadata");
    }
    // A null in a map of texts is an empty text.
    for map in ["/metadata/labels", "/metadata/annotations"] {
        let members = object.pointer_mut(map).and_then(Value::as_object_mut);
        members
            .into_iter()
            .flat_map(|map| map.values_mut())
            .filter(|value| value.is_null())
            .for_each(|value| *value = "".into());
    }
    Ok(())
}

/// Sets the namespace of the path. The name in the path of a custom resource is ignored on create.
pub(super) fn set_namespace(call: &Call, object: &mut Value) -> Result<(), StatusError> {
    decode_metadata(call, object)?;
    if meta::map_mut(object).is_none() {
        return Err(StatusError::bad_request("metadata must be an object"));
    }
    let provided = meta::text(object, "namespace").unwrap_or_default();
    let wanted = call.namespace.as_deref().unwrap_or_default();
    if !provided.is_empty() && provided != wanted {
        let message = "the namespace of the provided object does not match the namespace sent on the request";
        return Err(StatusError::bad_request(message));
    }
    meta::set(object, "namespace", call.namespace.clone());
    Ok(())
}

/// Sets the namespace of the path; a body without the name of the path is refused.
pub(super) fn set_identity(call: &Call, object: &mut Value) -> Result<(), StatusError> {
    decode_metadata(call, object)?;
    let Some(wanted) = call.name.as_deref() else { return set_namespace(call, object) };
    match meta::name(object) {
        "" => Err(StatusError::nameless(wanted)),
        name if name != wanted => Err(StatusError::bad_request(format!(
            "the name of the object ({name}) does not match the name on the URL ({wanted})"
        ))),
        _ => set_namespace(call, object),
    }
}

/// Prunes unknown fields, sets defaults and refuses values of a wrong type. Returns warnings about pruned fields. Applied objects keep their nulls, which validation reports.
pub(super) fn normalize(
    endpoint: &Endpoint,
    options: &WriteOptions,
    ownership: &Ownership,
    object: &mut Value,
) -> Result<Vec<String>, StatusError> {
    let schema = endpoint.schema();
    let unknown = schema.prune(object);
    endpoint.decode(object).map_err(|why| undecodable(endpoint, &why))?;
    schema.default(object);
    strategy::default(endpoint, object);
    let typed = endpoint.go_type().is_some();
    if !typed && (matches!(ownership, Ownership::FromDiff) || !endpoint.resource.custom) {
        schema.drop_nulls(object);
    }
    endpoint.encode(object);
    meta::drop_empty(object);
    if !typed {
        check_types(endpoint, object)?;
    }
    let problems = unstrict_fields(endpoint, options, unknown);
    match options.validation {
        FieldValidation::Strict if !problems.is_empty() => {
            let (kind, version) = (endpoint.kind(), &endpoint.version().name);
            let fields = problems.join(", ");
            Err(StatusError::bad_request(format!(
                "{kind} in version {version:?} cannot be handled as a {kind}: strict decoding error: {fields}"
            )))
        }
        FieldValidation::Warn => Ok(once(problems)),
        FieldValidation::Strict | FieldValidation::Ignore => Ok(Vec::new()),
    }
}

/// The response or the refusal of a write, with its warnings. What reviews requests has added them to its own refusals already.
pub(super) fn with_warnings(
    written: Result<ApiResponse, Interruption>,
    warnings: Vec<String>,
) -> Result<ApiResponse, Interruption> {
    match written {
        Ok(response) => Ok(ApiResponse { warnings, ..response }),
        Err(Interruption::Refused(refusal)) if refusal.warnings.is_empty() => {
            Err(Interruption::Refused(refusal.warning(&warnings)))
        }
        Err(interruption) => Err(interruption),
    }
}

/// Runs the built-in plugins, then the mutating policies and webhooks, and normalizes what the webhooks return.
pub(super) fn mutate(
    cluster: &ClusterState,
    write: Attributes<'_>,
    ownership: &Ownership,
    object: &mut Value,
    warnings: &mut Vec<String>,
) -> Result<(), Interruption> {
    cluster
        .admission_context()
        .mutate_by_plugins(&write.write(), object)
        .map_err(|failure| failure.warning(warnings))?;
    if !cluster.admission.reviews_every_request()
        || !admission::mutate(cluster.admission_context(), write, Some(object), warnings)?
    {
        return Ok(());
    }
    let options = WriteOptions { validation: FieldValidation::Ignore, ..WriteOptions::default() };
    normalize(&write.call.endpoint, &options, ownership, object)
        .map_err(|failure| StatusError::internal(failure.message))?;
    Ok(())
}

/// The spec of a service before the server completes it.
pub(super) fn requested_service_spec(endpoint: &Endpoint, object: &Value) -> Option<Value> {
    endpoint.is_core("services").then(|| object["spec"].clone())
}

/// Allocates cluster IP and node ports of a service.
pub(super) fn allocate_addresses(
    cluster: &ClusterState,
    call: &Call,
    requested: Option<&Value>,
    object: &mut Value,
) -> Result<(), StatusError> {
    let Some(requested) = requested else { return Ok(()) };
    let key = Key::new(call.namespace.as_deref(), meta::name(object));
    let errors = cluster.allocate_addresses(&key, requested, object);
    if errors.is_empty() {
        return Ok(());
    }
    Err(StatusError::invalid(call.endpoint.group(), call.endpoint.kind(), meta::name(object), &errors))
}

/// Warnings without those that were given before.
pub(super) fn once(warnings: Vec<String>) -> Vec<String> {
    let mut seen = HashSet::new();
    warnings.into_iter().filter(|warning| seen.insert(warning.clone())).collect()
}

/// Unknown and duplicate fields: errors under strict validation, warnings under `Warn`.
pub(super) fn unstrict_fields(
    endpoint: &Endpoint,
    options: &WriteOptions,
    mut unknown: Vec<String>,
) -> Vec<String> {
    if let Some(text) = options.text.as_ref().filter(|_| !unknown.is_empty()) {
        return schema::problems_in_order(text, &unknown);
    }
    unknown.sort();
    if endpoint.resource.custom {
        // Metadata is decoded before the rest.
        unknown.sort_by_key(|path| !path.starts_with("metadata."));
    }
    let unknown = unknown.iter().map(|path| format!("unknown field {path:?}"));
    options.duplicates.iter().cloned().chain(unknown).collect()
}

/// The last steps before an object is stored: managed fields and validation. Returns warnings about violations that the old object had as well.
pub(super) fn finish(
    cluster: &ClusterState,
    call: &Call,
    old: Option<&Value>,
    object: &mut Value,
    ownership: Ownership,
) -> Result<Vec<String>, Interruption> {
    let endpoint = &call.endpoint;
    let defines = validation::is_definition(endpoint);
    if defines {
        crd::complete(object);
    }
    ownership.record(cluster.storage(), call, &cluster.now(), old, object)?;
    let warnings = validation::validate(endpoint, call.part(), object, old)?;
    let write = RoleWrite { user: &call.user, endpoint, namespace: call.namespace.as_deref(), object, old };
    write.check(&cluster.access, cluster.storage())?;
    if defines {
        // The CRD is served as soon as it is stored.
        crd::accept(object, cluster.scheme(), &cluster.now());
    }
    Ok(warnings)
}

/// Refuses values of a wrong type, which genuine servers cannot decode into Go types.
fn check_types(endpoint: &Endpoint, object: &Value) -> Result<(), StatusError> {
    let embedded = || if endpoint.resource.custom { wrong_embedded(endpoint, object) } else { None };
    wrong_type(endpoint, object).or_else(embedded).map_or(Ok(()), |why| Err(undecodable(endpoint, &why)))
}

fn undecodable(endpoint: &Endpoint, why: &str) -> StatusError {
    let (kind, version) = (endpoint.kind(), &endpoint.version().name);
    StatusError::bad_request(format!("{kind} in version {version:?} cannot be handled as a {kind}: {why}"))
}

/// The first value of a wrong type.
pub(super) fn wrong_type(endpoint: &Endpoint, object: &Value) -> Option<String> {
    if endpoint.go_type().is_some() {
        return endpoint.decode(&mut object.clone()).err();
    }
    if endpoint.resource.custom {
        return undecodable_metadata(&object["metadata"]);
    }
    let errors = endpoint.schema().validate(object);
    let error = errors.iter().find(|error| error.reason == "FieldValueTypeInvalid")?;
    Some(format!("json: cannot unmarshal field {}: {}", error.field, error.message))
}

/// The first embedded object whose identity has a wrong type.
fn wrong_embedded(endpoint: &Endpoint, object: &Value) -> Option<String> {
    endpoint.schema().embedded(object).into_iter().find_map(|(path, embedded)| {
        for name in ["apiVersion", "kind"] {
            let value = &embedded[name];
            if !value.is_null() && !value.is_string() {
                return Some(format!("{path}.{name}: Invalid value: {value}: must be a string"));
            }
        }
        let metadata = embedded.get("metadata")?;
        let errors = metadata_schema().validate(metadata);
        let error = errors.iter().find(|error| error.reason == "FieldValueTypeInvalid")?;
        let inner = format!("json: cannot unmarshal field {}: {}", error.field, error.message);
        Some(format!("{path}.metadata: Invalid value: {metadata}: {inner}"))
    })
}

fn metadata_schema() -> &'static Schema {
    static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
        types::by_name(OBJECT_META).expect("invariant: metadata is in the table of built-in types")
    });
    &SCHEMA
}

/// Stores the object in the storage version and runs the tasks that follow; a dry run only returns it.
pub(super) fn commit(
    cluster: &mut ClusterState,
    endpoint: &Endpoint,
    key: Key,
    mut object: Value,
    dry_run: bool,
) -> Result<Arc<Stored>, StatusError> {
    if endpoint.resource.equivalent.is_none() {
        object["apiVersion"] = endpoint.resource.storage().api_version().into();
    }
    if dry_run {
        // As after a write, seen through the schema of the storage version.
        let object = endpoint.resource.as_read(&object).unwrap_or(object);
        return Ok(Arc::new(Stored::preview(key, &object)));
    }
    // When the write ends a deletion, the response shows what was written, and the event the version before.
    let last = meta::is_deleting(&object).then(|| Arc::new(Stored::preview(key.clone(), &object)));
    let written = cluster.put_or_remove(&endpoint.resource, key, object)?;
    cluster.run_tasks();
    Ok(match written {
        Written::Stored(stored) => stored,
        Written::Removed(before) => last.unwrap_or(before),
    })
}
