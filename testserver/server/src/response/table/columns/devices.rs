//! Columns of the kinds of dynamic resource allocation.

use serde_json::Value;

use super::{
    column::{AGE, NAME, TableColumn, text, timed},
    values::{count, since, text_or},
};

pub(super) fn columns(group: &str, plural: &str) -> Option<&'static [TableColumn]> {
    if group != "resource.k8s.io" {
        return None;
    }
    Some(match plural {
        "resourceclaims" => const { &[NAME, text("State", state), AGE] },
        "resourceslices" => RESOURCE_SLICES,
        "devicetaintrules" => TAINT_RULES,
        _ => return None,
    })
}

const RESOURCE_SLICES: &[TableColumn] = &[
    NAME,
    text("Node", |o| text_or(&o["spec"]["nodeName"], "")),
    text("Driver", |o| o["spec"]["driver"].clone()),
    text("Pool", |o| o["spec"]["pool"]["name"].clone()),
    AGE,
];

const TAINT_RULES: &[TableColumn] = &[
    NAME,
    text("Key", |o| o["spec"]["taint"]["key"].clone()),
    text("Value", |o| text_or(&o["spec"]["taint"]["value"], "")),
    text("Effect", |o| o["spec"]["taint"]["effect"].clone()),
    timed("TimeAdded", |o, now| since(&o["spec"]["taint"]["timeAdded"], now, "")),
    AGE,
];

fn state(claim: &Value) -> Value {
    let status = &claim["status"];
    let words = [
        (claim["metadata"]["deletionTimestamp"].is_string(), "deleted"),
        (!status["allocation"].is_null(), "allocated"),
        (count(&status["reservedFor"]) > 0, "reserved"),
    ];
    let words: Vec<&str> = words.into_iter().filter(|(holds, _)| *holds).map(|(_, word)| word).collect();
    if words.is_empty() { "pending".into() } else { words.join(",").into() }
}
