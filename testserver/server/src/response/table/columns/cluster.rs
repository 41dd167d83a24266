//! Columns of cluster-wide kinds: priority and runtime classes, CRDs, API services, migrations, flow control, leases.

use serde_json::Value;

use super::{
    column::{AGE, CREATED_AT, NAME, TableColumn, boolean, integer, text, wide},
    values::{NONE, condition, items, or_none, text_or},
};

pub(super) fn columns(group: &str, plural: &str) -> Option<&'static [TableColumn]> {
    Some(match (group, plural) {
        ("coordination.k8s.io", "leases") => {
            const { &[NAME, text("Holder", |o| text_or(&o["spec"]["holderIdentity"], "")), AGE] }
        }
        ("scheduling.k8s.io", "priorityclasses") => PRIORITY_CLASSES,
        ("node.k8s.io", "runtimeclasses") => {
            const { &[NAME, text("Handler", |o| o["handler"].clone()), AGE] }
        }
        ("apiextensions.k8s.io", "customresourcedefinitions") => DEFINITIONS,
        ("apiregistration.k8s.io", "apiservices") => {
            const { &[NAME, text("Service", service), text("Available", available), AGE] }
        }
        ("storagemigration.k8s.io", "storageversionmigrations") => {
            const { &[NAME, text("Resource", migrated), text("Status", migration)] }
        }
        ("flowcontrol.apiserver.k8s.io", "flowschemas") => FLOW_SCHEMAS,
        ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations") => PRIORITY_LEVELS,
        _ => return None,
    })
}

const PRIORITY_CLASSES: &[TableColumn] = &[
    NAME,
    integer("Value", |o| o["value"].clone()),
    boolean("Global-Default", |o| (o["globalDefault"] == true).into()),
    AGE,
    text("PreemptionPolicy", |o| text_or(&o["preemptionPolicy"], "")),
];

const DEFINITIONS: &[TableColumn] = &[
    NAME,
    text("Scope", |o| o["spec"]["scope"].clone()),
    text("Versions", versions),
    CREATED_AT,
    wide(text("Group", |o| o["spec"]["group"].clone())),
    wide(text("Kind", |o| o["spec"]["names"]["kind"].clone())),
    wide(text("ShortNames", |o| {
        let names = items(&o["spec"]["names"]["shortNames"]).filter_map(Value::as_str);
        names.collect::<Vec<_>>().join(",").into()
    })),
    wide(boolean("Established", |o| (condition(o, "Established") == "True").into())),
];

const FLOW_SCHEMAS: &[TableColumn] = &[
    NAME,
    text("PriorityLevel", |o| o["spec"]["priorityLevelConfiguration"]["name"].clone()),
    text("MatchingPrecedence", |o| o["spec"]["matchingPrecedence"].clone()),
    text("DistinguisherMethod", |o| or_none(&o["spec"]["distinguisherMethod"]["type"])),
    AGE,
    text("MissingPL", |o| {
        let dangling = condition(o, "Dangling");
        if dangling.is_empty() { "?".into() } else { dangling.into() }
    }),
];

const PRIORITY_LEVELS: &[TableColumn] = &[
    NAME,
    text("Type", |o| o["spec"]["type"].clone()),
    text("NominalConcurrencyShares", |o| {
        let limited = &o["spec"]["limited"]["nominalConcurrencyShares"];
        let exempt = &o["spec"]["exempt"]["nominalConcurrencyShares"];
        let shares = if limited.is_null() { exempt } else { limited };
        if shares.is_null() { NONE.into() } else { shares.clone() }
    }),
    text("Queues", |o| queuing(o, "queues")),
    text("HandSize", |o| queuing(o, "handSize")),
    text("QueueLengthLimit", |o| queuing(o, "queueLengthLimit")),
    AGE,
];

fn queuing(level: &Value, field: &str) -> Value {
    let value = &level["spec"]["limited"]["limitResponse"]["queuing"][field];
    if value.is_null() { NONE.into() } else { value.clone() }
}

/// The served versions of a definition, with the one that is stored.
fn versions(definition: &Value) -> Value {
    let served = items(&definition["spec"]["versions"]).filter(|version| version["served"] == true);
    let names = served.map(|version| {
        let stored = if version["storage"] == true { "(storage)" } else { "" };
        format!("{}{stored}", version["name"].as_str().unwrap_or_default())
    });
    names.collect::<Vec<_>>().join(",").into()
}

fn service(api: &Value) -> Value {
    let service = &api["spec"]["service"];
    let part = |field: &str| service[field].as_str().unwrap_or_default();
    if service.is_null() { "Local".into() } else { format!("{}/{}", part("namespace"), part("name")).into() }
}

fn available(api: &Value) -> Value {
    let condition = items(&api["status"]["conditions"]).find(|condition| condition["type"] == "Available");
    let Some(condition) = condition else { return "Unknown".into() };
    let part = |field: &str| condition[field].as_str().unwrap_or_default();
    if part("status") == "True" {
        "True".into()
    } else {
        format!("{} ({})", part("status"), part("reason")).into()
    }
}

fn migrated(migration: &Value) -> Value {
    let part = |field: &str| migration["spec"]["resource"][field].as_str().unwrap_or_default();
    format!("{}.{}", part("resource"), part("group")).trim_end_matches('.').into()
}

/// The condition of a migration that holds.
fn migration(migration: &Value) -> Value {
    let states = ["Succeeded", "Failed", "Running"];
    states.into_iter().find(|state| condition(migration, state) == "True").unwrap_or("Unknown").into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_definition_shows_its_served_versions() {
        let version = |name: &str, served: bool, storage: bool| json!({"name": name, "served": served, "storage": storage});
        let all =
            [version("v1", true, true), version("v1beta1", true, false), version("v1alpha1", false, false)];
        assert_eq!(versions(&json!({"spec": {"versions": all}})), "v1(storage),v1beta1");
    }
}
