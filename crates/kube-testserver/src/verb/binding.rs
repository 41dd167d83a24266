use http::StatusCode;
use serde_json::{Value, json};

use super::{
    Answer, Call, Content,
    admission::{self, Attributes, Operation},
    body, write,
};
use crate::{failure::Failure, meta, route::WriteOptions, world::World};

/// `POST .../pods/{name}/binding`, as schedulers do: puts the pod on a node, once.
pub(super) fn bind(world: &mut World, call: &Call) -> Result<Answer, Failure> {
    let options = WriteOptions::parse(&call.query, "CreateOptions")?;
    let mut binding = body::typed(call, "Binding")?;
    let kind = binding["kind"].as_str().unwrap_or("Binding");
    if kind != "Binding" {
        return Err(Failure::bad_request(format!("{kind} in version \"v1\" cannot be handled as a Binding")));
    }
    let mut warnings = Vec::new();
    let write =
        Attributes { operation: Operation::Create, call, object: None, old: None, dry_run: options.dry_run };
    admission::mutate(world, write, Some(&mut binding), &mut warnings)?;
    admission::validate(world, &Attributes { object: Some(&binding), ..write }, &mut warnings)?;
    let node = binding["target"]["name"].as_str().unwrap_or_default();
    if node.is_empty() {
        // The genuine server hands the bare rule on, without a reason.
        return Err(Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "", "target.name: Required value"));
    }
    let stored =
        world.store.get(call.endpoint.resource.table, &call.key()).ok_or_else(|| call.not_found())?;
    let mut pod = stored.value();
    check_free(call, &pod)?;
    assign(&mut pod, node, &binding, &world.now());
    write::commit(world, &call.endpoint, call.key(), pod, options.dry_run);
    let status =
        json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
    Ok(Answer { code: StatusCode::CREATED, content: Content::Document(status), warnings })
}

fn check_free(call: &Call, pod: &Value) -> Result<(), Failure> {
    let name = call.object_name();
    let refused = |why: String| Err(Failure::conflict("", "pods/binding", name, &why));
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
