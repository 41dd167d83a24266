//! Binds a pod to a node, by the subresource or the collection `bindings`.

use http::StatusCode;
use serde_json::{Value, json};

use crate::{
    admission,
    call::{ApiResponse, Call, Content},
    cluster::ClusterState,
    object::meta,
    route::WriteOptions,
    scheme::Endpoint,
    status_error::StatusError,
    storage::Key,
    webhook::Interruption,
    write::body,
};

/// `POST .../pods/{name}/binding`: assigns the pod to a node, once.
pub(super) fn bind(cluster: &mut ClusterState, call: &Call) -> Result<ApiResponse, Interruption> {
    let binding = body::posted(call, "Binding")?;
    body::check_posted_name(call, &binding, "Binding")?;
    bind_pod(cluster, call, &call.endpoint.clone(), call.key(), binding)
}

/// `POST .../bindings`: the same for the pod that the body names.
pub(super) fn bind_named(cluster: &mut ClusterState, call: &Call) -> Result<ApiResponse, Interruption> {
    let binding = body::posted(call, "Binding")?;
    let pods = cluster.scheme().by_plural("", "pods").cloned().ok_or_else(StatusError::no_such_path)?;
    let key = Key::new(call.namespace.as_deref(), meta::name(&binding));
    bind_pod(cluster, call, &pods, key, binding)
}

fn bind_pod(
    cluster: &mut ClusterState,
    call: &Call,
    pods: &Endpoint,
    key: Key,
    mut binding: Value,
) -> Result<ApiResponse, Interruption> {
    let options = WriteOptions::parse(&call.query, "CreateOptions")?;
    let mut warnings = Vec::new();
    admission::admit_posted(cluster.admission_context(), call, &mut binding, options.dry_run, &mut warnings)?;
    let node = target(&binding)?;
    let stored = cluster.store().get(pods.resource.table, &key);
    let mut pod = stored.ok_or_else(|| StatusError::not_found("", "pods", key.name()))?.value();
    check_unbound(&pod)?;
    assign(&mut pod, node, &binding, &cluster.now());
    cluster.store_or_preview(pods, key, pod, options.dry_run)?;
    let status =
        json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
    Ok(ApiResponse { code: StatusCode::CREATED, content: Content::Document(status), warnings })
}

/// The node of a binding. The genuine server returns these errors without a reason.
fn target(binding: &Value) -> Result<&str, StatusError> {
    let error = |why: String| Err(StatusError::new(StatusCode::INTERNAL_SERVER_ERROR, "", why));
    let text = |field: &str| binding["target"][field].as_str().unwrap_or_default();
    match (text("kind"), text("name")) {
        ("" | "Node", "") => error("target.name: Required value".into()),
        ("" | "Node", node) => Ok(node),
        (kind, _) => error(format!(
            "target.kind: Unsupported value: {kind:?}: supported values: \"Node\", \"<empty>\""
        )),
    }
}

fn check_unbound(pod: &Value) -> Result<(), StatusError> {
    let name = meta::name(pod);
    let refused = |why: String| Err(StatusError::conflict("", "pods/binding", name, &why));
    if meta::is_deleting(pod) {
        return refused(format!("pod {name} is being deleted, cannot be assigned to a host"));
    }
    match pod["spec"]["nodeName"].as_str() {
        Some(node) if !node.is_empty() => refused(format!("pod {name} is already assigned to node {node:?}")),
        _ => Ok(()),
    }
}

fn assign(pod: &mut Value, node: &str, binding: &Value, now: &str) {
    pod["spec"]["nodeName"] = node.into();
    for (key, value) in binding["metadata"]["annotations"].as_object().into_iter().flatten() {
        pod["metadata"]["annotations"][key.as_str()] = value.clone();
    }
    let scheduled = json!({"type": "PodScheduled", "status": "True", "lastTransitionTime": now});
    let mut conditions = pod["status"]["conditions"].as_array().cloned().unwrap_or_default();
    conditions.retain(|condition| condition["type"] != "PodScheduled");
    conditions.push(scheduled);
    pod["status"]["conditions"] = conditions.into();
}
