//! `DefaultStorageClass`: claims that name no class get the newest default class.

use std::cmp::Reverse;

use serde_json::Value;

use crate::{
    admission::{Objects, Operation, Write},
    object::meta,
};

const ANNOTATIONS: [&str; 2] =
    ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"];
/// The class of a claim before it became a field.
const CLASS: &str = "volume.beta.kubernetes.io/storage-class";

pub(super) fn mutate(objects: Objects<'_>, write: &Write<'_>, claim: &mut Value) {
    if !write.writes(&[Operation::Create], "", "persistentvolumeclaims")
        || !claim["spec"].is_object()
        || !claim["spec"]["storageClassName"].is_null()
        || !claim["metadata"]["annotations"][CLASS].is_null()
    {
        return;
    }
    let all = objects.list("storage.k8s.io", "storageclasses", None).filter(is_default);
    // The newest is the default; of two of one second, the first by name.
    let newest = |class: &Value| {
        let created = meta::text(class, "creationTimestamp").unwrap_or_default().to_owned();
        (created, Reverse(meta::name(class).to_owned()))
    };
    if let Some(class) = all.max_by_key(newest) {
        claim["spec"]["storageClassName"] = meta::name(&class).into();
    }
}

fn is_default(class: &Value) -> bool {
    ANNOTATIONS.iter().any(|name| class["metadata"]["annotations"][name] == "true")
}
