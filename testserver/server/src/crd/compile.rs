//! Completes CustomResourceDefinitions and compiles them to resources.

use std::sync::OnceLock;

use serde_json::{Map, Value, json};

use super::definition::{approval, schema_path, unusable_ca_bundle};
use crate::{
    object::meta,
    schema::{ErrorList, Schema},
    scheme::{Resource, ScalePaths, Scheme, Subresource, TableId, Version},
};

/// The finalizer of a CRD with objects.
pub(crate) const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";
const APPROVAL: &str = "KubernetesAPIApprovalPolicyConformant";
const VERBS: [&str; 8] = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];

/// Sets defaults of a CRD.
pub(crate) fn complete(crd: &mut Value) {
    let Some(spec) = crd.get_mut("spec").and_then(Value::as_object_mut) else { return };
    if let Some(names) = spec.get_mut("names").and_then(Value::as_object_mut) {
        let kind = names.get("kind").and_then(Value::as_str).unwrap_or_default().to_string();
        if !kind.is_empty() {
            fill(names, "singular", &kind.to_lowercase());
            fill(names, "listKind", &format!("{kind}List"));
        }
    }
    if spec.get("conversion").is_none_or(Value::is_null) {
        spec.insert("conversion".into(), json!({"strategy": "None"}));
    }
    // A webhook of which nothing is set is none.
    if let Some(conversion) = spec.get_mut("conversion").and_then(Value::as_object_mut)
        && let Some(webhook) = conversion.get("webhook")
        && webhook["clientConfig"].is_null()
        && list(&webhook["conversionReviewVersions"]).is_empty()
    {
        conversion.remove("webhook");
    }
}

/// Adds the version in which objects are stored to the status, which admission sees before any name is accepted.
pub(crate) fn record_stored_versions(crd: &mut Value) {
    let storage = list(&crd["spec"]["versions"]).iter().find(|version| version["storage"] == true);
    let storage = storage.map(|version| version["name"].clone());
    let stored = &mut crd["status"]["storedVersions"];
    if !stored.is_array() {
        *stored = json!([]);
    }
    if let (Some(name), Some(stored)) = (storage, stored.as_array_mut())
        && !stored.contains(&name)
    {
        stored.push(name);
    }
}

/// Compiles a valid CRD to a resource.
///
/// Violations of the rules of structural schemas.
pub(crate) fn compile(crd: &Value, table: TableId) -> Result<Resource, ErrorList> {
    let spec = &crd["spec"];
    let names = &spec["names"];
    let mut errors = ErrorList::default();
    let versions = compile_versions(crd, &mut errors);
    if !errors.is_empty() {
        return Err(errors);
    }
    Ok(Resource {
        group: text(&spec["group"]).into(),
        plural: text(&names["plural"]).into(),
        singular: text(&names["singular"]).into(),
        kind: text(&names["kind"]).into(),
        list_kind: text(&names["listKind"]).into(),
        short_names: strings(&names["shortNames"]),
        categories: strings(&names["categories"]),
        namespaced: text(&spec["scope"]) == "Namespaced",
        custom: true,
        terminating: meta::is_deleting(crd),
        table,
        equivalent: None,
        conversion: (spec["conversion"]["strategy"] == "Webhook")
            .then(|| spec["conversion"]["webhook"]["clientConfig"].clone()),
        versions,
    })
}

/// Sets the status of a CRD: accepted and established, or a name conflict.
pub(crate) fn accept(crd: &mut Value, scheme: &Scheme, now: &str) {
    let conflict = name_conflict(crd, scheme);
    let condition = |kind: &str, status: bool, reason: &str, message: &str| {
        let status = if status { "True" } else { "False" };
        json!({"type": kind, "status": status, "lastTransitionTime": now, "reason": reason, "message": message})
    };
    let usable = is_established(crd) || unusable_ca_bundle(&crd["spec"]["conversion"]).is_none();
    let accepted_names = condition("NamesAccepted", true, "NoConflicts", "no conflicts found");
    let conditions = match &conflict {
        None if usable => [
            accepted_names,
            condition("Established", true, "InitialNamesAccepted", "the initial names have been accepted"),
        ],
        None => [
            accepted_names,
            condition("Established", false, "InvalidCABundle", "The conversion webhook CABundle is invalid"),
        ],
        Some((reason, message)) => [
            condition("NamesAccepted", false, reason, message),
            condition("Established", false, "NotAccepted", "not all names are accepted"),
        ],
    };
    let accepted =
        if conflict.is_none() { crd["spec"]["names"].clone() } else { json!({"plural": "", "kind": ""}) };
    record_stored_versions(crd);
    let stored = crd["status"]["storedVersions"].take();
    let previous = crd["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let approval =
        approval(crd).map(|(approved, reason, message)| condition(APPROVAL, approved, reason, &message));
    let mut conditions: Vec<Value> =
        conditions.into_iter().chain(approval).map(|new| keep_transition(new, &previous)).collect();
    // Such as `Terminating`.
    let known =
        |other: &Value| matches!(other["type"].as_str(), Some("NamesAccepted" | "Established" | APPROVAL));
    conditions.extend(previous.into_iter().filter(|other| !known(other)));
    crd["status"] = json!({"conditions": conditions, "acceptedNames": accepted, "storedVersions": stored});
}

/// Adds the condition of a CRD whose objects are being deleted.
pub(crate) fn terminate(crd: &mut Value, now: &str) {
    let condition = json!({"type": "Terminating", "status": "True", "lastTransitionTime": now,
        "reason": "InstanceDeletionInProgress", "message": "CustomResource deletion is in progress"});
    if let Some(conditions) = crd["status"]["conditions"].as_array_mut()
        && !conditions.iter().any(|condition| condition["type"] == "Terminating")
    {
        conditions.push(condition);
    }
}

/// Whether the CRD is established, so that it is served.
pub(crate) fn is_established(crd: &Value) -> bool {
    list(&crd["status"]["conditions"]).iter().any(|c| c["type"] == "Established" && c["status"] == "True")
}

fn keep_transition(mut new: Value, previous: &[Value]) -> Value {
    if let Some(old) = previous.iter().find(|c| c["type"] == new["type"] && c["status"] == new["status"]) {
        new["lastTransitionTime"] = old["lastTransitionTime"].clone();
    }
    new
}

fn name_conflict(crd: &Value, scheme: &Scheme) -> Option<(&'static str, String)> {
    let names = &crd["spec"]["names"];
    let group = text(&crd["spec"]["group"]);
    let others: Vec<_> = scheme
        .resources()
        .filter(|r| r.group == group && format!("{}.{}", r.plural, r.group) != meta::name(crd))
        .collect();
    let mut wanted =
        vec![("PluralConflict", text(&names["plural"])), ("SingularConflict", text(&names["singular"]))];
    wanted.extend(list(&names["shortNames"]).iter().map(|s| ("ShortNamesConflict", text(s))));
    for (reason, name) in wanted {
        if others
            .iter()
            .any(|r| r.plural == name || r.singular == name || r.short_names.iter().any(|s| s == name))
        {
            return Some((reason, format!("{name:?} is already in use")));
        }
    }
    for (reason, kind) in
        [("KindConflict", text(&names["kind"])), ("ListKindConflict", text(&names["listKind"]))]
    {
        if others.iter().any(|r| r.kind == kind || r.list_kind == kind) {
            return Some((reason, format!("{kind:?} is already in use")));
        }
    }
    None
}

fn compile_versions(crd: &Value, errors: &mut ErrorList) -> Vec<Version> {
    let mut versions = Vec::new();
    for (i, version) in list(&crd["spec"]["versions"]).iter().enumerate() {
        match compile_version(crd, version, &schema_path(&crd["spec"], i)) {
            Ok(version) => versions.push(version),
            Err(wrong) => errors.extend(wrong),
        }
    }
    versions
}

fn compile_version(crd: &Value, version: &Value, place: &str) -> Result<Version, ErrorList> {
    let schema = Schema::from_openapi(place, &version["schema"]["openAPIV3Schema"])?;
    let (group, kind) = (text(&crd["spec"]["group"]), text(&crd["spec"]["names"]["kind"]));
    let name = text(&version["name"]);
    let below = |sub: &str, group: &str, version: &str, kind: &str| Subresource {
        name: sub.into(),
        group: group.into(),
        version: version.into(),
        kind: kind.into(),
        verbs: ["get", "patch", "update"].map(Into::into).into(),
    };
    let mut subresources = Vec::new();
    let declared = &version["subresources"];
    if declared["status"].is_object() {
        subresources.push(below("status", group, name, kind));
    }
    let scale = declared["scale"].as_object().map(|scale| {
        subresources.push(below("scale", "autoscaling", "v1", "Scale"));
        let path = |key: &str| scale.get(key).and_then(Value::as_str).map(str::to_string);
        ScalePaths {
            spec: path("specReplicasPath").unwrap_or_default(),
            status: path("statusReplicasPath").unwrap_or_default(),
            selector: path("labelSelectorPath"),
        }
    });
    let warning = (version["deprecated"] == true).then(|| {
        let declared = version["deprecationWarning"].as_str();
        declared.map_or_else(|| default_deprecation_warning(crd, name), str::to_string)
    });
    let selectable = list(&version["selectableFields"])
        .iter()
        .map(|f| text(&f["jsonPath"]).trim_start_matches('.').into());
    Ok(Version {
        name: name.into(),
        served: version["served"] == true,
        storage: version["storage"] == true,
        verbs: VERBS.map(Into::into).into(),
        subresources,
        scale,
        #[cfg(feature = "tables")]
        columns: crate::scheme::columns::declared(version),
        warning,
        selectable: selectable.collect(),
        schema: OnceLock::from(schema),
        built_in: None,
        go_type: None,
    })
}

/// Names the newest version that is served and not deprecated, if it is newer than this one.
fn default_deprecation_warning(crd: &Value, deprecated: &str) -> String {
    let spec = &crd["spec"];
    let (group, kind) = (text(&spec["group"]), text(&spec["names"]["kind"]));
    let message = format!("{group}/{deprecated} {kind} is deprecated");
    let priority = |name: &str| kube_core::Version::parse(name).priority();
    let current = list(&spec["versions"]).iter().filter(|v| v["served"] == true && v["deprecated"] != true);
    let newer = current.map(|v| text(&v["name"])).filter(|name| priority(name) > priority(deprecated));
    match newer.max_by_key(|name| priority(name)) {
        Some(newest) => format!("{message}; use {group}/{newest} {kind}"),
        None => message,
    }
}

fn fill(map: &mut Map<String, Value>, key: &str, value: &str) {
    if map.get(key).and_then(Value::as_str).unwrap_or_default().is_empty() {
        map.insert(key.into(), value.into());
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn strings(value: &Value) -> Vec<String> {
    list(value).iter().map(|v| text(v).to_string()).collect()
}
