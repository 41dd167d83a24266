//! Reads and writes the replicas of an object.

use serde_json::{Value, json};

use super::{
    applied,
    sent::{self, Sent},
    shown::scale_of,
};
use crate::{
    admission::{self, Attributes, Operation},
    call::{ApiResponse, Call, Content},
    cluster::ClusterState,
    handlers::update,
    object::meta,
    route::{FieldValidation, WriteOptions},
    schema::{FieldError, nested},
    scheme::ScalePaths,
    status_error::StatusError,
    storage::Stored,
    webhook::Interruption,
    write::{body, check_versioned, decode, wrong_uid},
};

const APPLY: &str = "application/apply-patch+yaml";

pub(crate) fn perform(cluster: &mut ClusterState, call: &Call) -> Result<ApiResponse, Interruption> {
    let paths = call.endpoint.version().scale.clone().ok_or_else(StatusError::no_such_path)?;
    // A body is read before its object.
    let replaced = if call.verb() == "update" { Some(sent::replaced(call)?) } else { None };
    let stored = cluster.store().get(call.endpoint.resource.table, &call.key());
    let stored = stored.ok_or_else(|| call.not_found())?.clone();
    let live = call.read(cluster.storage(), &stored)?;
    let scale = scale_of(call, &live, &paths)?;
    let (sent, ownership) = match (call.verb(), replaced) {
        (_, Some(sent)) => (sent, applied::updated(call, &live)),
        ("patch", _) if body::media_type(&call.content_type) == APPLY => {
            applied::applied(cluster, call, (&live, &scale))?
        }
        ("patch", _) => (sent::patched(call, &scale)?, applied::updated(call, &live)),
        _ => return read(call, &live, scale, &paths),
    };
    let Sent { scale: mut changed, options, mut warnings } = sent;
    decode::set_identity(call, &mut changed)?;
    review(cluster, call, (&scale, &mut changed), options.dry_run, &mut warnings)?;
    check(call, &changed, &stored, &paths)?;
    let mut object = live;
    set_at(&mut object, &paths.spec, replicas(&changed).into()).map_err(StatusError::unexplained)?;
    for precondition in ["resourceVersion", "uid"] {
        meta::copy(&mut object, &changed, precondition);
    }
    // The Scale has no unknown fields any more.
    let options = WriteOptions { validation: FieldValidation::Ignore, ..options };
    let mut written = object.clone();
    let response = update::change(cluster, call, &options, object, ownership)?;
    match response.content {
        Content::Object(stored) => {
            written["metadata"] = stored.value()["metadata"].take();
            let scale = scale_of(call, &written, &paths)?;
            Ok(ApiResponse { warnings, ..ApiResponse::ok(Content::Document(scale)) })
        }
        content => Ok(ApiResponse { content, ..response }),
    }
}

fn read(call: &Call, live: &Value, scale: Value, paths: &ScalePaths) -> Result<ApiResponse, Interruption> {
    let given = nested::at(live, &paths.spec).map_err(StatusError::unexplained)?;
    if given.is_none() && call.endpoint.resource.custom {
        let why = format!("the spec replicas field {:?} does not exist", paths.spec);
        return Err(StatusError::internal(why).into());
    }
    Ok(ApiResponse::ok(Content::Document(scale)))
}

fn review(
    cluster: &ClusterState,
    call: &Call,
    (scale, changed): (&Value, &mut Value),
    dry_run: bool,
    warnings: &mut Vec<String>,
) -> Result<(), Interruption> {
    let write = Attributes { operation: Operation::Update, call, object: None, old: Some(scale), dry_run };
    admission::mutate(cluster.admission_context(), write, Some(changed), warnings)?;
    let reviewed = Attributes { object: Some(changed), ..write };
    admission::validate(cluster.admission_context(), &reviewed, warnings)
}

fn check(call: &Call, changed: &Value, stored: &Stored, paths: &ScalePaths) -> Result<(), StatusError> {
    check_uid(call, changed, stored)?;
    if call.endpoint.resource.custom {
        check_version(call, changed)?;
        check_given(changed, paths)
    } else {
        check_replicas(call, changed)?;
        check_version(call, changed)
    }
}

fn replicas(scale: &Value) -> i64 {
    scale["spec"]["replicas"].as_i64().unwrap_or(0)
}

/// Refuses replicas that an object with a Go type cannot have. Those of a custom resource are checked with it.
fn check_replicas(call: &Call, scale: &Value) -> Result<(), StatusError> {
    let number = replicas(scale);
    if number >= 0 {
        return Ok(());
    }
    let error = FieldError::invalid("spec.replicas", number, "must be greater than or equal to 0");
    Err(StatusError::invalid("autoscaling", "Scale", call.object_name(), &[error]))
}

/// Refuses the number by which a genuine server knows that a Scale has none.
fn check_given(scale: &Value, paths: &ScalePaths) -> Result<(), StatusError> {
    if replicas(scale) != i64::from(i32::MIN) {
        return Ok(());
    }
    Err(StatusError::bad_request(format!("the spec replicas field {:?} cannot be empty", paths.spec)))
}

/// A uid is a precondition, which a custom resource checks in a replacement only.
fn check_uid(call: &Call, scale: &Value, stored: &Stored) -> Result<(), StatusError> {
    match meta::text(scale, "uid").filter(|uid| **uid != *stored.uid) {
        Some(uid) if call.verb() == "update" || !call.endpoint.resource.custom => {
            Err(wrong_uid(call, uid, &stored.uid))
        }
        _ => Ok(()),
    }
}

/// A Scale needs no resourceVersion, but `0` is refused where the object needs one.
fn check_version(call: &Call, scale: &Value) -> Result<(), StatusError> {
    match meta::text(scale, "resourceVersion") {
        None => Ok(()),
        Some("0") => check_versioned(call, scale),
        Some(version) if version.parse::<u64>().is_err() => {
            let why = format!("strconv.ParseUint: parsing {version:?}: invalid syntax");
            Err(StatusError::unexplained(why))
        }
        Some(_) => Ok(()),
    }
}

fn set_at(object: &mut Value, path: &str, value: Value) -> Result<(), String> {
    let mut target = object;
    let mut read = String::new();
    for name in path.split('.').filter(|name| !name.is_empty()) {
        if !target.is_object() {
            return Err(format!("value cannot be set because {read} is not a map[string]interface{{}}"));
        }
        read = format!("{read}.{name}");
        if target.get(name).is_none() {
            target[name] = json!({});
        }
        target = &mut target[name];
    }
    *target = value;
    Ok(())
}
