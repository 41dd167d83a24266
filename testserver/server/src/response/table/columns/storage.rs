//! Columns of volumes, claims, storage classes and drivers.

use serde_json::Value;

use super::{
    column::{AGE, CREATED_AT, NAME, TableColumn, boolean, integer, text, wide},
    values::{UNSET, count, items, text_or},
};

pub(super) fn columns(group: &str, plural: &str) -> Option<&'static [TableColumn]> {
    Some(match (group, plural) {
        ("", "persistentvolumes") => VOLUMES,
        ("", "persistentvolumeclaims") => CLAIMS,
        ("storage.k8s.io", "storageclasses") => STORAGE_CLASSES,
        ("storage.k8s.io", "volumeattributesclasses") => {
            const { &[NAME, text("DriverName", |o| o["driverName"].clone()), AGE] }
        }
        ("storage.k8s.io", "csistoragecapacities") => const { &[NAME, CREATED_AT] },
        ("storage.k8s.io", "csidrivers") => DRIVERS,
        ("storage.k8s.io", "csinodes") => {
            const { &[NAME, integer("Drivers", |o| count(&o["spec"]["drivers"]).into()), AGE] }
        }
        ("storage.k8s.io", "volumeattachments") => ATTACHMENTS,
        _ => return None,
    })
}

const VOLUMES: &[TableColumn] = &[
    NAME,
    text("Capacity", |o| text_or(&o["spec"]["capacity"]["storage"], "")),
    text("Access Modes", |o| modes(&o["spec"]["accessModes"])),
    text("Reclaim Policy", |o| text_or(&o["spec"]["persistentVolumeReclaimPolicy"], "")),
    text("Status", phase),
    text("Claim", claim),
    text("StorageClass", |o| text_or(&o["spec"]["storageClassName"], "")),
    ATTRIBUTES,
    text("Reason", |o| text_or(&o["status"]["reason"], "")),
    AGE,
    MODE,
];

const CLAIMS: &[TableColumn] = &[
    NAME,
    text("Status", phase),
    text("Volume", |o| text_or(&o["spec"]["volumeName"], "")),
    text("Capacity", |o| bound(o, |o| text_or(&o["status"]["capacity"]["storage"], ""))),
    text("Access Modes", |o| bound(o, |o| modes(&o["status"]["accessModes"]))),
    text("StorageClass", |o| text_or(&o["spec"]["storageClassName"], "")),
    ATTRIBUTES,
    AGE,
    MODE,
];

const STORAGE_CLASSES: &[TableColumn] = &[
    TableColumn { format: "name", ..text("Name", class_name) },
    text("Provisioner", |o| o["provisioner"].clone()),
    text("ReclaimPolicy", |o| text_or(&o["reclaimPolicy"], "Delete")),
    text("VolumeBindingMode", |o| text_or(&o["volumeBindingMode"], "Immediate")),
    text("AllowVolumeExpansion", |o| is(&o["allowVolumeExpansion"])),
    AGE,
];

const DRIVERS: &[TableColumn] = &[
    NAME,
    boolean("AttachRequired", |o| (o["spec"]["attachRequired"] != false).into()),
    boolean("PodInfoOnMount", |o| is(&o["spec"]["podInfoOnMount"])),
    boolean("StorageCapacity", |o| is(&o["spec"]["storageCapacity"])),
    text("TokenRequests", |o| {
        let audiences = items(&o["spec"]["tokenRequests"]).filter_map(|r| r["audience"].as_str());
        text_or(&audiences.collect::<Vec<_>>().join(",").into(), UNSET)
    }),
    boolean("RequiresRepublish", |o| is(&o["spec"]["requiresRepublish"])),
    text("Modes", |o| {
        let modes = items(&o["spec"]["volumeLifecycleModes"]).filter_map(Value::as_str);
        text_or(&modes.collect::<Vec<_>>().join(",").into(), "<none>")
    }),
    AGE,
];

const ATTACHMENTS: &[TableColumn] = &[
    NAME,
    text("Attacher", |o| o["spec"]["attacher"].clone()),
    text("PV", |o| text_or(&o["spec"]["source"]["persistentVolumeName"], "")),
    text("Node", |o| o["spec"]["nodeName"].clone()),
    boolean("Attached", |o| is(&o["status"]["attached"])),
    AGE,
];

const ATTRIBUTES: TableColumn =
    text("VolumeAttributesClass", |o| text_or(&o["spec"]["volumeAttributesClassName"], UNSET));
const MODE: TableColumn = wide(text("VolumeMode", |o| text_or(&o["spec"]["volumeMode"], UNSET)));

fn is(value: &Value) -> Value {
    (*value == true).into()
}

fn phase(object: &Value) -> Value {
    match object["metadata"]["deletionTimestamp"].is_string() {
        true => "Terminating".into(),
        false => object["status"]["phase"].clone(),
    }
}

/// A field that a claim has only once it is bound.
fn bound(claim: &Value, content: fn(&Value) -> Value) -> Value {
    match text_or(&claim["spec"]["volumeName"], "") == "" {
        true => "".into(),
        false => content(claim),
    }
}

fn modes(modes: &Value) -> Value {
    let short = |mode: &Value| match mode.as_str() {
        Some("ReadWriteOnce") => "RWO",
        Some("ReadOnlyMany") => "ROX",
        Some("ReadWriteMany") => "RWX",
        Some("ReadWriteOncePod") => "RWOP",
        _ => "",
    };
    // In fixed order, without duplicates.
    let provided: Vec<&str> = items(modes).map(short).collect();
    let all = ["RWO", "ROX", "RWX", "RWOP"].into_iter().filter(|mode| provided.contains(mode));
    all.collect::<Vec<_>>().join(",").into()
}

fn claim(volume: &Value) -> Value {
    let claim = &volume["spec"]["claimRef"];
    match (claim["namespace"].as_str(), claim["name"].as_str()) {
        (Some(namespace), Some(name)) => format!("{namespace}/{name}").into(),
        _ => "".into(),
    }
}

fn class_name(class: &Value) -> Value {
    let annotations = &class["metadata"]["annotations"];
    let name = class["metadata"]["name"].as_str().unwrap_or_default();
    let default =
        ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"]
            .iter()
            .any(|key| annotations[key] == "true");
    if default { format!("{name} (default)").into() } else { name.into() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_claim_shows_its_size_once_it_is_bound() {
        let mut claim = json!({"spec": {}, "status": {"phase": "Bound", "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteMany", "ReadWriteOnce", "ReadWriteOnce"]}});
        let capacity = |claim: &Value| bound(claim, |o| text_or(&o["status"]["capacity"]["storage"], ""));
        assert_eq!(capacity(&claim), "");
        claim["spec"]["volumeName"] = "v".into();
        assert_eq!(
            (capacity(&claim), modes(&claim["status"]["accessModes"])),
            ("1Gi".into(), "RWO,RWX".into())
        );
    }

    #[test]
    fn the_default_class_is_marked() {
        let key = "storageclass.kubernetes.io/is-default-class";
        assert_eq!(
            class_name(&json!({"metadata": {"name": "a", "annotations": {key: "true"}}})),
            "a (default)"
        );
        assert_eq!(class_name(&json!({"metadata": {"name": "a"}})), "a");
    }
}
