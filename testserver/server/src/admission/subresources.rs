//! Admission of objects posted to subresources and of connections.

use serde_json::{Value, json};

use super::{AdmissionContext, Attributes, Operation, mutate, validate};
use crate::{call::Call, webhook::Interruption};

/// Calls all webhooks for an object posted to a subresource.
pub(crate) fn admit_posted(
    context: AdmissionContext<'_>,
    call: &Call,
    object: &mut Value,
    dry_run: bool,
    warnings: &mut Vec<String>,
) -> Result<(), Interruption> {
    // Webhooks see metadata also when the body has none.
    if object["metadata"].is_null() {
        object["metadata"] = json!({});
    }
    admit(
        context,
        Attributes { operation: Operation::Create, call, object: None, old: None, dry_run },
        object,
        warnings,
    )
}

/// Calls all webhooks for a connection into a pod. Their patches are ignored: the query has the options.
pub(crate) fn admit_connection(context: AdmissionContext<'_>, call: &Call) -> Result<(), Interruption> {
    if !context.control.reviews_every_request() {
        return Ok(());
    }
    let write = Attributes { operation: Operation::Connect, call, object: None, old: None, dry_run: false };
    admit(context, write, &mut options(call), &mut Vec::new())
}

fn admit(
    context: AdmissionContext<'_>,
    write: Attributes<'_>,
    object: &mut Value,
    warnings: &mut Vec<String>,
) -> Result<(), Interruption> {
    mutate(context, write, Some(object), warnings)?;
    validate(context, &Attributes { object: Some(object), ..write }, warnings)
}

/// The query as an options object.
fn options(call: &Call) -> Value {
    let query = &call.query;
    let kind = match call.subresource.as_deref() {
        Some("attach") => "PodAttachOptions",
        Some("portforward") => "PodPortForwardOptions",
        _ => "PodExecOptions",
    };
    let mut options = json!({"kind": kind, "apiVersion": "v1"});
    for flag in ["stdin", "stdout", "stderr", "tty"].into_iter().filter(|flag| query.flag(flag)) {
        options[flag] = true.into();
    }
    if let Some(container) = query.get("container") {
        options["container"] = container.into();
    }
    let command: Vec<&str> = query.all("command").collect();
    if !command.is_empty() {
        options["command"] = json!(command);
    }
    let ports: Vec<u32> = query.all("ports").filter_map(|port| port.parse().ok()).collect();
    if !ports.is_empty() {
        options["ports"] = json!(ports);
    }
    options
}
