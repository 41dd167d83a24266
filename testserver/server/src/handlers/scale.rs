//! The `scale` subresource: the replicas of an object as an `autoscaling/v1` Scale.

use http::StatusCode;
use serde_json::{Value, json};

use super::{
    apply,
    patch::{self as patches, Expected},
    update,
};
use crate::{
    admission::{self, Attributes, Operation},
    apply::{Applied, Apply, Ownership, ownership},
    call::{ApiResponse, Call, Content},
    cluster::ClusterState,
    object::meta,
    patch,
    route::WriteOptions,
    schema::{FieldError, golang, nested},
    scheme::ScalePaths,
    status_error::StatusError,
    storage::Stored,
    webhook::Interruption,
    write::{body, check_versioned, decode, wrong_uid},
};

const API_VERSION: &str = "autoscaling/v1";
const APPLY: &str = "application/apply-patch+yaml";

pub(super) fn perform(cluster: &mut ClusterState, call: &Call) -> Result<ApiResponse, Interruption> {
    let paths = call.endpoint.version().scale.clone().ok_or_else(StatusError::no_such_path)?;
    // A body is read before its object.
    let sent = if call.verb() == "update" { Some(replaced(call)?) } else { None };
    let stored = cluster.store().get(call.endpoint.resource.table, &call.key());
    let stored = stored.ok_or_else(|| call.not_found())?.clone();
    let scale = scale_of(call, &stored, &paths)?;
    let live = call.read(cluster.storage(), &stored)?;
    let (mut changed, options, ownership) = match (call.verb(), sent) {
        (_, Some(sent)) => (sent, WriteOptions::parse(&call.query, "UpdateOptions")?, Ownership::FromDiff),
        ("patch", _) if body::media_type(&call.content_type) == APPLY => {
            let options = WriteOptions::parse(&call.query, "PatchOptions")?;
            let (changed, ownership) = applied(cluster, call, &options, &live, &scale, &paths)?;
            (changed, options, ownership)
        }
        ("patch", _) => {
            (patched(call, &scale)?, WriteOptions::parse(&call.query, "PatchOptions")?, Ownership::FromDiff)
        }
        _ if nested::at(&live, &paths.spec).map_err(unreadable)?.is_none()
            && call.endpoint.resource.custom =>
        {
            let why = format!("the spec replicas field {:?} does not exist", paths.spec);
            return Err(StatusError::internal(why).into());
        }
        _ => return Ok(ApiResponse::ok(Content::Document(scale))),
    };
    decode::set_identity(call, &mut changed)?;
    let write = Attributes {
        operation: Operation::Update,
        call,
        object: None,
        old: Some(&scale),
        dry_run: options.dry_run,
    };
    let mut warnings = Vec::new();
    admission::mutate(cluster.admission_context(), write, Some(&mut changed), &mut warnings)?;
    admission::validate(
        cluster.admission_context(),
        &Attributes { object: Some(&changed), ..write },
        &mut warnings,
    )?;
    check_uid(call, &changed, &stored)?;
    if call.endpoint.resource.custom {
        check_version(call, &changed)?;
        check_given(&changed, &paths)?;
    } else {
        check_replicas(call, &changed)?;
        check_version(call, &changed)?;
    }
    let mut object = live;
    set_at(&mut object, &paths.spec, replicas(&changed).into()).map_err(unreadable)?;
    for precondition in ["resourceVersion", "uid"] {
        meta::copy(&mut object, &changed, precondition);
    }
    let response = update::change(cluster, call, &options, object, ownership)?;
    match response.content {
        Content::Object(written) => {
            let scale = scale_of(call, &written, &paths)?;
            Ok(ApiResponse { warnings, ..ApiResponse::ok(Content::Document(scale)) })
        }
        content => Ok(ApiResponse { content, ..response }),
    }
}

/// The Scale of a PUT.
fn replaced(call: &Call) -> Result<Value, StatusError> {
    let mut scale = body::posted(call, "Scale")?;
    match wrong_type(&scale) {
        Some(why) => Err(StatusError::bad_request(format!(
            "Scale in version \"v1\" cannot be handled as a Scale: {why}"
        ))),
        None => {
            decode::set_identity(call, &mut scale)?;
            Ok(scale)
        }
    }
}

fn patched(call: &Call, scale: &Value) -> Result<Value, StatusError> {
    let mut scale = scale.clone();
    let media = body::media_type(&call.content_type);
    let strategic = media == "application/strategic-merge-patch+json" && !call.endpoint.resource.custom;
    if !strategic && !matches!(media, "application/json-patch+json" | "application/merge-patch+json") {
        let accepted =
            "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml";
        return Err(StatusError::unsupported_media_type(accepted));
    }
    let changes = body::json(&call.body).map_err(|why| patches::unreadable(media, &why))?;
    let result = match media {
        "application/json-patch+json" => patch::json::apply(&mut scale, &changes),
        // A Scale has no lists, so a strategic merge patch equals a merge patch.
        _ => patch::merge::apply(&mut scale, &changes),
    };
    result.map_err(patches::refused)?;
    let expected =
        Expected { kind: "Scale", api_version: API_VERSION, name: call.object_name(), has_go_type: true };
    patches::check_decodes(&scale, &expected)?;
    match wrong_type(&scale) {
        Some(why) => Err(patches::undecodable(&scale, &why)),
        None => Ok(scale),
    }
}

/// The Scale of an apply, and the owners of the replicas in the object.
fn applied(
    cluster: &ClusterState,
    call: &Call,
    options: &WriteOptions,
    live: &Value,
    scale: &Value,
    paths: &ScalePaths,
) -> Result<(Value, Ownership), Interruption> {
    let manager = apply::manager(options)?;
    let config = apply::configuration(call)?;
    apply::check_applied_type((API_VERSION, "Scale"), &config)?;
    if let Some(why) = wrong_type(&config) {
        return Err(StatusError::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "",
            format!("failed to create typed patch object: {why}"),
        )
        .into());
    }
    let mut of_object = json!({"apiVersion": call.endpoint.api_version(), "kind": call.endpoint.kind()});
    if !config["spec"]["replicas"].is_null() {
        set_at(&mut of_object, &paths.spec, config["spec"]["replicas"].clone()).map_err(unreadable)?;
    }
    let result = crate::apply::apply(Apply {
        schema: call.endpoint.schema(),
        live: Some(live),
        managers: &ownership::entries(live),
        config: &of_object,
        manager,
        api_version: &call.endpoint.api_version(),
        subresource: "scale",
        ignored: &[],
        force: options.force.unwrap_or(false),
        now: &cluster.now(),
        versions: &ownership::ResourceVersions::of(cluster.storage(), call),
    });
    let Applied { object, managers } = result.map_err(apply::refused)?;
    let mut changed = scale.clone();
    changed["spec"] = json!({"replicas": nested::at(&object, &paths.spec).ok().flatten()});
    // The genuine server cannot convert a changed Scale of a custom resource.
    if call.endpoint.resource.custom && replicas(&changed) != replicas(scale) {
        let name = meta::name(&config);
        let why = format!(
            "failed to convert new object (/{name}; {API_VERSION}, Kind=Scale) to proper version: \
             request to convert CR to an invalid group/version: {API_VERSION}"
        );
        return Err(StatusError::new(StatusCode::INTERNAL_SERVER_ERROR, "", why).into());
    }
    for field in ["name", "namespace", "uid", "resourceVersion"] {
        if !config["metadata"][field].is_null() {
            meta::copy(&mut changed, &config, field);
        }
    }
    Ok((changed, Ownership::FromApply(managers)))
}

fn replicas(scale: &Value) -> i64 {
    scale["spec"]["replicas"].as_i64().unwrap_or(0)
}

/// Why the replicas are not a 32-bit number. Absent ones are 0.
fn wrong_type(scale: &Value) -> Option<String> {
    let value = &scale["spec"]["replicas"];
    let fits = value.as_i64().is_some_and(|number| i32::try_from(number).is_ok());
    if value.is_null() || fits {
        return None;
    }
    let json = golang::json_type(value);
    Some(format!("json: cannot unmarshal {json} into Go struct field ScaleSpec.spec.replicas of type int32"))
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
            Err(StatusError::new(StatusCode::INTERNAL_SERVER_ERROR, "", why))
        }
        Some(_) => Ok(()),
    }
}

/// The Scale of an object. That of a custom resource has values that the schema does not check.
fn scale_of(call: &Call, stored: &Stored, paths: &ScalePaths) -> Result<Value, StatusError> {
    let object = stored.value();
    let metadata = &object["metadata"];
    let count = |path| nested::integer(&object, path).map_err(unreadable);
    let (wanted, current) = if call.endpoint.resource.custom {
        (count(&paths.spec)?, count(&paths.status)?)
    } else {
        (count(&paths.spec).unwrap_or_default(), count(&paths.status).unwrap_or_default())
    };
    let mut scale = json!({
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {
            "name": metadata["name"],
            "namespace": metadata["namespace"],
            "uid": metadata["uid"],
            "resourceVersion": metadata["resourceVersion"],
            "creationTimestamp": metadata["creationTimestamp"],
        },
        "spec": {},
        "status": {"replicas": current.unwrap_or(0)},
    });
    // No replicas are left out.
    if let Some(count) = wanted.filter(|count| *count != 0) {
        scale["spec"]["replicas"] = count.into();
    }
    let selector = match &paths.selector {
        Some(path) if call.endpoint.resource.custom => {
            nested::text(&object, path).map_err(unreadable)?.map(str::to_owned)
        }
        Some(path) => nested::at(&object, path).ok().flatten().map(selector_text),
        None => None,
    };
    if let Some(selector) = selector.filter(|selector| !selector.is_empty()) {
        scale["status"]["selector"] = selector.into();
    }
    Ok(scale)
}

/// A label selector as text.
fn selector_text(selector: &Value) -> String {
    let labels = selector["matchLabels"].as_object().or(selector.as_object());
    let pairs = labels.into_iter().flatten().filter_map(|(k, v)| Some(format!("{k}={}", v.as_str()?)));
    pairs.collect::<Vec<_>>().join(",")
}

fn unreadable(why: String) -> StatusError {
    StatusError::new(StatusCode::INTERNAL_SERVER_ERROR, "", why)
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
