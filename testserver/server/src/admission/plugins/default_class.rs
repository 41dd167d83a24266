//! `DefaultStorageClass` and `DefaultIngressClass`: claims and ingresses that name no class get the newest default class.

use std::cmp::Reverse;

use serde_json::Value;

use crate::{
    admission::{Objects, Operation, Write},
    object::meta,
};

/// A kind that has a class, and the kind of its classes.
struct Classes {
    /// Group and plural.
    of: (&'static str, &'static str),
    classes: (&'static str, &'static str),
    /// The field of the spec that names the class.
    field: &'static str,
    /// The annotation that named the class before there was a field.
    annotation: &'static str,
    /// The annotations that make a class the default.
    marks: &'static [&'static str],
}

const STORAGE: Classes = Classes {
    of: ("", "persistentvolumeclaims"),
    classes: ("storage.k8s.io", "storageclasses"),
    field: "storageClassName",
    annotation: "volume.beta.kubernetes.io/storage-class",
    marks: &[
        "storageclass.kubernetes.io/is-default-class",
        "storageclass.beta.kubernetes.io/is-default-class",
    ],
};

const INGRESS: Classes = Classes {
    of: ("networking.k8s.io", "ingresses"),
    classes: ("networking.k8s.io", "ingressclasses"),
    field: "ingressClassName",
    annotation: "kubernetes.io/ingress.class",
    marks: &["ingressclass.kubernetes.io/is-default-class"],
};

/// Sets the class of a new claim.
pub(super) fn mutate_claim(objects: Objects<'_>, write: &Write<'_>, claim: &mut Value) {
    mutate(&STORAGE, objects, write, claim);
}

/// Sets the class of a new ingress.
pub(super) fn mutate_ingress(objects: Objects<'_>, write: &Write<'_>, ingress: &mut Value) {
    mutate(&INGRESS, objects, write, ingress);
}

fn mutate(kind: &Classes, objects: Objects<'_>, write: &Write<'_>, object: &mut Value) {
    if !write.writes(&[Operation::Create], kind.of.0, kind.of.1)
        || !object["spec"].is_object()
        || !object["spec"][kind.field].is_null()
        || !object["metadata"]["annotations"][kind.annotation].is_null()
    {
        return;
    }
    let all = objects.list(kind.classes.0, kind.classes.1, None);
    let defaults =
        all.filter(|class| kind.marks.iter().any(|mark| class["metadata"]["annotations"][mark] == "true"));
    // The newest is the default; of two of one second, the first by name.
    let newest = |class: &Value| {
        let created = meta::text(class, "creationTimestamp").unwrap_or_default().to_owned();
        (created, Reverse(meta::name(class).to_owned()))
    };
    if let Some(class) = defaults.max_by_key(newest) {
        object["spec"][kind.field] = meta::name(&class).into();
    }
}
