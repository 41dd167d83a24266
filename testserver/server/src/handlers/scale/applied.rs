//! The Scale of an apply, and who owns the replicas of the object after a write.

use serde_json::Value;

use super::{
    sent::Sent,
    shown::{self, API_VERSION},
};
use crate::{
    apply::{self, Applied, Apply, Ownership, Versions, ownership, path::PathElement},
    call::Call,
    cluster::ClusterState,
    handlers::apply as applies,
    object::meta,
    route::WriteOptions,
    schema::Schema,
    scheme::Endpoint,
    status_error::StatusError,
    webhook::Interruption,
};

/// The genuine server cannot convert the Scale of a custom resource.
const UNCONVERTIBLE: &str = "request to convert CR to an invalid group/version: autoscaling/v1";

/// The Scale with the configuration, and the owners of the fields of the `live` object.
pub(super) fn applied(
    cluster: &ClusterState,
    call: &Call,
    (live, scale): (&Value, &Value),
) -> Result<(Sent, Ownership), Interruption> {
    let options = WriteOptions::parse(&call.query, "PatchOptions")?;
    let manager = applies::manager(&options)?;
    let config = applies::configuration(call)?;
    applies::check_applied_type((API_VERSION, "Scale"), &config)?;
    let owners = ownership::entries(live);
    let path_in = |version: &str| replicas_in(&call.endpoint, version);
    let in_scale = apply::owners_in_scale(&owners, path_in);
    if call.endpoint.resource.custom && in_scale.is_empty() {
        let why = "failed to create manager for existing fields: failed to convert live object";
        return Err(unconvertible(&format!("{why} (/"), UNCONVERTIBLE).into());
    }
    let result = apply::apply(Apply {
        schema: shown::schema(),
        live: Some(scale),
        managers: &in_scale,
        config: &config,
        manager,
        api_version: API_VERSION,
        subresource: "scale",
        ignored: &[],
        force: options.force.unwrap_or(false),
        now: &cluster.now(),
        versions: &OfScale,
    });
    let Applied { object, managers } = result.map_err(applies::refused)?;
    let scale = converted(call, scale, object, &config)?;
    let warnings = applies::duplicate_warnings(call, options.validation)?;
    let owners = apply::owners_in_object(owners, managers, &call.endpoint.api_version(), path_in);
    Ok((Sent { scale, options, warnings }, Ownership::FromApply(owners)))
}

/// The owners after an update. As on genuine servers, it becomes one only where somebody else owned the replicas.
pub(super) fn updated(call: &Call, live: &Value) -> Ownership {
    let owners = ownership::entries(live);
    let in_scale = apply::owners_in_scale(&owners, |version| replicas_in(&call.endpoint, version));
    if in_scale.is_empty() { Ownership::FromApply(owners) } else { Ownership::FromDiff }
}

/// The applied Scale in Go's type, to which that of a custom resource cannot be converted once it has changed.
fn converted(call: &Call, scale: &Value, mut applied: Value, config: &Value) -> Result<Value, StatusError> {
    let namespace = meta::text(config, "namespace").unwrap_or_default();
    let new = format!("failed to convert new object ({namespace}/{}", meta::name(config));
    if call.endpoint.resource.custom && applied != *scale {
        return Err(unconvertible(&new, UNCONVERTIBLE));
    }
    let replicas = &mut applied["spec"]["replicas"];
    if replicas.is_f64() {
        let why = format!(
            "unable to convert unstructured object to {API_VERSION}, Kind=Scale: cannot convert float64 to int32"
        );
        return Err(unconvertible(&new, &why));
    }
    // As Go does, without a check.
    *replicas = Value::from(replicas.as_i64().unwrap_or(0) as i32);
    Ok(applied)
}

fn unconvertible(what: &str, why: &str) -> StatusError {
    StatusError::unexplained(format!("{what}; {API_VERSION}, Kind=Scale) to proper version: {why}"))
}

/// Where the replicas are in a version of the object. `None` if it has no such version.
fn replicas_in(endpoint: &Endpoint, api_version: &str) -> Option<Vec<PathElement>> {
    let version = endpoint.resource.all_versions().find(|version| version.api_version() == api_version)?;
    let path = &version.version().scale.as_ref()?.spec;
    Some(path.split('.').filter(|name| !name.is_empty()).map(PathElement::field).collect())
}

/// A Scale has one version.
struct OfScale;

impl Versions for OfScale {
    fn schema(&self, api_version: &str) -> Option<&Schema> {
        (api_version == API_VERSION).then(shown::schema)
    }

    fn convert(&self, object: &Value, _: &str) -> Result<Value, Interruption> {
        Ok(object.clone())
    }
}
