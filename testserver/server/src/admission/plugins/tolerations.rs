//! `DefaultTolerationSeconds`: pods stay five minutes on a node that is not ready or not reachable.

use serde_json::{Value, json};

use crate::admission::{Operation, Write};

pub(super) fn mutate(write: &Write<'_>, pod: &mut Value) {
    if !write.writes(&[Operation::Create, Operation::Update], "", "pods") || !pod["spec"].is_object() {
        return;
    }
    let mut tolerations = pod["spec"]["tolerations"].as_array().cloned().unwrap_or_default();
    for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        let tolerated = tolerations.iter().any(|toleration| {
            toleration["effect"].as_str().is_none_or(|effect| matches!(effect, "" | "NoExecute"))
                && toleration["key"]
                    .as_str()
                    .is_none_or(|tolerated_key| tolerated_key.is_empty() || tolerated_key == key)
        });
        if !tolerated {
            tolerations.push(
                json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}),
            );
        }
    }
    pod["spec"]["tolerations"] = tolerations.into();
}
