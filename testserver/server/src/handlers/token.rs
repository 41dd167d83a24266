//! `POST .../serviceaccounts/{name}/token`: a time-limited service account token.

use http::StatusCode;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::{
    admission,
    call::{ApiResponse, Call, Content},
    cluster::ClusterState,
    ids,
    object::meta,
    route::WriteOptions,
    schema::FieldError,
    status_error::StatusError,
    storage::Key,
    webhook::Interruption,
    write::body,
};

const MIN_SECONDS: i64 = 600;
const MAX_SECONDS: i64 = 1 << 32;

pub(super) fn request(cluster: &ClusterState, call: &Call) -> Result<ApiResponse, Interruption> {
    let mut request = body::posted(call, "TokenRequest")?;
    let options = WriteOptions::parse(&call.query, "CreateOptions")?;
    let mut warnings = Vec::new();
    admission::admit_posted(cluster.admission_context(), call, &mut request, options.dry_run, &mut warnings)?;
    let spec = request["spec"].clone();
    if !spec.is_object() && !spec.is_null() {
        let why = "TokenRequest in version \"v1\" cannot be handled as a TokenRequest: json: cannot unmarshal field spec: \
                   expected an object";
        return Err(StatusError::bad_request(why).into());
    }
    let account =
        cluster.store().get(call.endpoint.resource.table, &call.key()).ok_or_else(|| call.not_found())?;
    let seconds = spec["expirationSeconds"].as_i64().unwrap_or(3600);
    check(seconds)?;
    let namespace = call.namespace.as_deref().unwrap_or_default();
    let bound = bound_reference(cluster, call, namespace, &spec["boundObjectRef"])?;
    let issuer = cluster.access.token_signer.issuer();
    let audiences = match spec["audiences"].as_array() {
        Some(list) if !list.is_empty() => spec["audiences"].clone(),
        _ => json!([issuer]),
    };
    let now = cluster.clock.timestamp();
    let end = now.checked_add(SignedDuration::from_secs(seconds)).unwrap_or(Timestamp::MAX);
    let mut about = json!({
        "namespace": namespace,
        "serviceaccount": {"name": call.object_name(), "uid": &*account.uid},
    });
    if let Some((kind, reference)) = bound {
        about[kind] = reference;
    }
    let claims = json!({
        "aud": audiences, "exp": end.as_second(), "iat": now.as_second(), "nbf": now.as_second(), "iss": issuer,
        "jti": ids::uid(), "kubernetes.io": about,
        "sub": format!("system:serviceaccount:{namespace}:{}", call.object_name()),
    });
    request["apiVersion"] = "authentication.k8s.io/v1".into();
    request["kind"] = "TokenRequest".into();
    meta::set(&mut request, "name", call.object_name());
    meta::set(&mut request, "namespace", namespace);
    meta::set(&mut request, "creationTimestamp", cluster.now());
    request["spec"]["audiences"] = audiences;
    // Go prints it even if it is not set.
    request["spec"]["boundObjectRef"] = spec["boundObjectRef"].clone();
    request["spec"]["expirationSeconds"] = seconds.into();
    let end = end.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    request["status"] =
        json!({"token": cluster.access.token_signer.sign(&claims), "expirationTimestamp": end});
    Ok(ApiResponse { code: StatusCode::CREATED, content: Content::Document(request), warnings })
}

fn check(seconds: i64) -> Result<(), StatusError> {
    let why = match seconds {
        ..MIN_SECONDS => "may not specify a duration less than 10 minutes",
        MIN_SECONDS..=MAX_SECONDS => return Ok(()),
        _ => "may not specify a duration larger than 2^32 seconds",
    };
    let error = FieldError::invalid("spec.expirationSeconds", seconds, why);
    Err(StatusError::invalid("authentication.k8s.io", "TokenRequest", "", &[error]))
}

/// The object that the token is bound to, as a claim.
fn bound_reference(
    cluster: &ClusterState,
    call: &Call,
    namespace: &str,
    reference: &Value,
) -> Result<Option<(&'static str, Value)>, StatusError> {
    if !reference.is_object() {
        return Ok(None);
    }
    let name = reference["name"].as_str().unwrap_or_default();
    let (claim, plural) = match reference["kind"].as_str() {
        Some("Pod") => ("pod", "pods"),
        Some("Secret") => ("secret", "secrets"),
        other => {
            let version = reference["apiVersion"].as_str().unwrap_or_default();
            let version = if version.contains('/') { version.to_owned() } else { format!("/{version}") };
            return Err(StatusError::bad_request(format!(
                "cannot bind token to object of type {version}, Kind={}",
                other.unwrap_or_default()
            )));
        }
    };
    let table = cluster.scheme().by_plural("", plural).map(|endpoint| endpoint.resource.table);
    let bound = table.and_then(|table| cluster.store().get(table, &Key::new(Some(namespace), name)));
    let bound = bound.ok_or_else(|| StatusError::not_found("", plural, name))?;
    let account = call.object_name();
    // A pod without an account runs as `default`.
    let of_pod = |pod: &Value| pod["spec"]["serviceAccountName"].as_str().unwrap_or("default") == account;
    if plural == "pods" && !of_pod(&bound.value()) {
        return Err(StatusError::bad_request(format!(
            "cannot bind token for serviceaccount {account:?} to pod running with different serviceaccount name."
        )));
    }
    match reference["uid"].as_str() {
        Some(uid) if !uid.is_empty() && uid != &*bound.uid => {
            let why = format!(
                "the UID in the bound object reference ({uid}) does not match the UID in record. \
                The object might have been deleted and then recreated"
            );
            Err(StatusError::conflict("", plural, name, &why))
        }
        _ => Ok(Some((claim, json!({"name": name, "uid": &*bound.uid})))),
    }
}
