//! Server-side apply as a request: creates the object, or merges the configuration into it.

use http::StatusCode;
use serde_json::{Map, Value};

use super::{create, update};
use crate::{
    apply::{self, Applied, Apply, ApplyError, Ownership, ownership},
    call::{ApiResponse, Call},
    cluster::ClusterState,
    object::meta,
    route::{FieldValidation, WriteOptions},
    schema::{FieldError, golang},
    status_error::{Cause, Details, StatusError},
    strategy,
    webhook::Interruption,
    write::{body, check_versioned, decode, strict, wrong_embedded},
};

/// Server-side apply: creates the object, or merges the manager's configuration into it.
pub(super) fn apply(cluster: &mut ClusterState, call: &Call) -> Result<ApiResponse, Interruption> {
    let options = WriteOptions::parse(&call.query, "PatchOptions")?;
    let manager = manager(&options)?;
    let mut config = configuration(call)?;
    check_applied_type((&call.endpoint.api_version(), call.endpoint.kind()), &config)?;

    apply::complete_keys(&call.endpoint, &mut config);
    let stored = cluster.store().get(call.endpoint.resource.table, &call.key()).cloned();
    check_identity(call, &config, stored.is_some())?;
    let live = stored.as_ref().map(|stored| call.read(cluster.storage(), stored)).transpose()?;
    let applied = apply::apply(Apply {
        schema: call.endpoint.schema(),
        live: live.as_ref(),
        managers: &live.as_ref().map(ownership::entries).unwrap_or_default(),
        config: &config,
        manager,
        api_version: &call.endpoint.api_version(),
        subresource: call.subresource.as_deref().unwrap_or_default(),
        ignored: fixed_members(call),
        force: options.force.unwrap_or(false),
        now: &cluster.now(),
        versions: &ownership::ResourceVersions::of(cluster.storage(), call),
    });
    let Applied { mut object, managers } = applied.map_err(refused)?;
    // Its schema takes each text for a time.
    if let Some(error) =
        wrong_embedded(call.endpoint.schema(), &object).filter(|_| call.endpoint.resource.custom)
    {
        let (group, kind) = (call.endpoint.group(), call.endpoint.kind());
        return Err(StatusError::invalid(group, kind, call.object_name(), &[error]).into());
    }
    if manager == "kubectl" {
        note_last_applied(&mut object, &config);
    }
    meta::set(&mut object, "name", call.name.clone());
    decode::set_namespace(call, &mut object)?;
    for precondition in ["resourceVersion", "uid"] {
        meta::copy(&mut object, &config, precondition);
    }
    let warnings = duplicate_warnings(call, options.validation)?;
    // Apply has already refused unknown fields.
    let options = WriteOptions { validation: FieldValidation::Ignore, ..options };
    let ownership = Ownership::FromApply(managers);
    let mut response = match stored {
        Some(_) => update::change(cluster, call, &options, object, ownership),
        None if meta::text(&object, "resourceVersion").is_some() => Err(call.stale().into()),
        None => create::insert_by_name(cluster, call, &options, object, ownership),
    }?;
    response.warnings.splice(0..0, warnings);
    Ok(response)
}

/// The name, namespace, version and uid of a configuration have to be those of the object.
fn check_identity(call: &Call, config: &Value, exists: bool) -> Result<(), StatusError> {
    // The configuration is applied as sent; its name and namespace are only checked. An existing object has the name already.
    let mut named = config.clone();
    if exists && (named["metadata"].is_null() || named["metadata"].get("name").is_none()) {
        meta::set(&mut named, "name", call.name.clone());
    }
    decode::set_identity(call, &mut named)?;
    if exists {
        let versioned = meta::text(config, "resourceVersion").is_some();
        return if versioned { check_versioned(call, config) } else { Ok(()) };
    }
    if call.subresource.is_some() {
        return Err(call.not_found());
    }
    let Some(uid) = meta::text(config, "uid") else { return Ok(()) };
    let why =
        format!("uid mismatch: the provided object specified uid {uid}, and no existing object was found");
    let endpoint = &call.endpoint;
    Err(StatusError::conflict(endpoint.group(), endpoint.plural(), call.object_name(), &why))
}

/// Warnings about duplicate fields, which strict validation refuses.
pub(super) fn duplicate_warnings(
    call: &Call,
    validation: FieldValidation,
) -> Result<Vec<String>, StatusError> {
    let duplicates = strict::duplicates(call, validation);
    match validation {
        FieldValidation::Strict if !duplicates.is_empty() => {
            let duplicates = duplicates.join("");
            let why = format!("error strict decoding patch: error converting YAML to JSON: {duplicates}");
            Err(StatusError::bad_request(why))
        }
        FieldValidation::Warn => Ok(strict::once(duplicates)),
        _ => Ok(Vec::new()),
    }
}

/// An applied object must have `apiVersion` and `kind`, those of the endpoint.
pub(super) fn check_applied_type((version, kind): (&str, &str), object: &Value) -> Result<(), StatusError> {
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    if (text("apiVersion"), text("kind")) == (version, kind) {
        return Ok(());
    }
    let (group, version) = text("apiVersion").rsplit_once('/').unwrap_or(("", text("apiVersion")));
    let why = format!("invalid object type: {group}/{version}, Kind={}", text("kind"));
    Err(StatusError::bad_request(why))
}

/// The field manager, which an apply must have.
pub(super) fn manager(options: &WriteOptions) -> Result<&str, StatusError> {
    options.manager.as_deref().ok_or_else(|| {
        let error = FieldError::required("fieldManager", "is required for apply patch");
        StatusError::invalid_option("PatchOptions", &[error])
    })
}

/// The applied configuration; without a text it has no members.
pub(super) fn configuration(call: &Call) -> Result<Value, StatusError> {
    let why = match body::yaml(&call.body) {
        Ok(Value::Null) => return Ok(Value::Object(Map::new())),
        Ok(config) if config.is_object() => return Ok(config),
        Ok(other) => {
            let json = golang::json_type(&other);
            format!(
                "unmarshaling JSON: while decoding JSON: json: cannot unmarshal {json} into Go value of type map[string]interface {{}}"
            )
        }
        Err(why) => format!("converting YAML to JSON: {why}"),
    };
    Err(StatusError::bad_request(format!("error decoding patch: error {why}")))
}

/// Keeps the `last-applied-configuration` annotation up to date, for clients that alternate between client-side and server-side apply.
fn note_last_applied(object: &mut Value, config: &Value) {
    const NAME: &str = "kubectl.kubernetes.io/last-applied-configuration";
    let Some(annotation) = object.pointer_mut("/metadata/annotations").and_then(|all| all.get_mut(NAME))
    else {
        return;
    };
    let mut config = config.clone();
    if let Some(annotations) = config.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        annotations.remove(NAME);
    }
    let text = format!("{config}\n");
    // Larger than the limit of all annotations.
    *annotation = if text.len() > 256 * 1024 { "".into() } else { text.into() };
}

/// Fields that this write cannot change: `strategy::prepare_update` restores them.
fn fixed_members(call: &Call) -> &'static [&'static str] {
    match call.part() {
        strategy::WritePart::Main if call.endpoint.has_status() => &["status"],
        strategy::WritePart::Main => &[],
        strategy::WritePart::Status if !strategy::status_has_metadata(&call.endpoint) => {
            &["spec", "metadata"]
        }
        strategy::WritePart::Status | strategy::WritePart::Approval => &["spec"],
        strategy::WritePart::Finalize
        | strategy::WritePart::EphemeralContainers
        | strategy::WritePart::Resize => &["status", "metadata"],
    }
}

pub(super) fn refused(error: ApplyError) -> Interruption {
    let message = error.to_string();
    let refusal = match error {
        ApplyError::Conversion(interruption) => return interruption,
        ApplyError::BringsManagedFields => StatusError::bad_request(message),
        ApplyError::Invalid(_) => StatusError::new(StatusCode::INTERNAL_SERVER_ERROR, "", message),
        ApplyError::Conflicts(conflicts) => {
            let causes = conflicts.iter().map(|conflict| Cause {
                reason: "FieldManagerConflict".into(),
                message: conflict.message(),
                field: conflict.field.to_string(),
            });
            let details = Details { causes: causes.collect(), ..Details::default() };
            StatusError::new(StatusCode::CONFLICT, "Conflict", message).about(details)
        }
    };
    refusal.into()
}
