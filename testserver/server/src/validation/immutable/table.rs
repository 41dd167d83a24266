//! The table: kind, path and the genuine server's message. Fields that a declarative tag makes immutable are in `data/tags.txt`.

use serde_json::Value;

use super::{claims, jobs, nodes, pods, roles, services, values::IMMUTABLE};
use crate::schema::ErrorList;

/// Finds changes that depend on more than one value.
pub(super) type Check = fn(old: &Value, new: &Value, errors: &mut ErrorList);

/// An immutable field of a kind.
pub(super) struct Row {
    pub(super) group: &'static str,
    pub(super) plural: &'static str,
    pub(super) path: &'static str,
    /// The field in the error, which is not always the path.
    pub(super) field: &'static str,
    pub(super) rule: Rule,
}

/// When a change is refused, and the message.
pub(super) enum Rule {
    /// Any change; the error shows the new value.
    Invalid(&'static str),
    /// Any change.
    Forbidden(&'static str),
    /// A change of a value that is set; the error shows the new value.
    OnceSet(&'static str),
    /// A change of an object with `immutable: true`.
    WhileImmutable(&'static str),
    /// A change of any member except these.
    Except(&'static [&'static str], &'static str),
    /// What the function refuses.
    Checked(Check),
}

const fn row(group: &'static str, plural: &'static str, path: &'static str, rule: Rule) -> Row {
    Row { group, plural, path, field: path, rule }
}

const fn named(
    group: &'static str,
    plural: &'static str,
    path: &'static str,
    field: &'static str,
    rule: Rule,
) -> Row {
    Row { group, plural, path, field, rule }
}

const SEALED: Rule = Rule::WhileImmutable("field is immutable when `immutable` is set");
const FIXED: Rule = Rule::Invalid(IMMUTABLE);
const ROLE: Rule = Rule::Checked(roles::check);
const RBAC: &str = "rbac.authorization.k8s.io";
const STORAGE: &str = "storage.k8s.io";
const CRD: &str = "customresourcedefinitions";
const API_EXTENSIONS: &str = "apiextensions.k8s.io";

/// Members of a volume's spec besides its source. The secret for expansion may be added later.
const NOT_OF_SOURCE: &[&str] = &[
    "capacity",
    "accessModes",
    "claimRef",
    "persistentVolumeReclaimPolicy",
    "storageClassName",
    "mountOptions",
    "volumeMode",
    "nodeAffinity",
    "volumeAttributesClassName",
];

// One row per line.
#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("", "configmaps", "immutable", SEALED),
    row("", "configmaps", "data", SEALED),
    row("", "configmaps", "binaryData", SEALED),
    row("", "secrets", "type", FIXED),
    row("", "secrets", "immutable", SEALED),
    row("", "secrets", "data", SEALED),
    row("", "persistentvolumeclaims", "spec", Rule::Checked(claims::check)),
    named("", "persistentvolumeclaims", "spec.volumeMode", "volumeMode", FIXED),
    named("", "persistentvolumes", "spec", "spec.persistentvolumesource", Rule::Except(NOT_OF_SOURCE, "spec.persistentvolumesource is immutable after creation")),
    named("", "persistentvolumes", "spec.volumeMode", "volumeMode", FIXED),
    named("", "persistentvolumes", "spec.nodeAffinity", "nodeAffinity", Rule::OnceSet("field is immutable, except for updating from beta label to GA")),
    row("", "pods", "spec", Rule::Checked(pods::check)),
    row("", "services", "spec", Rule::Checked(services::check)),
    row("", "nodes", "spec", Rule::Checked(nodes::check)),
    row("", "resourcequotas", "spec.scopes", FIXED),
    row("apps", "deployments", "spec.selector", FIXED),
    row("apps", "replicasets", "spec.selector", FIXED),
    row("apps", "daemonsets", "spec.selector", FIXED),
    row("apps", "statefulsets", "spec.selector", FIXED),
    row("apps", "statefulsets", "spec.volumeClaimTemplates", FIXED),
    row("apps", "statefulsets", "spec.serviceName", FIXED),
    row("apps", "statefulsets", "spec.podManagementPolicy", FIXED),
    row("apps", "controllerrevisions", "data", FIXED),
    row("batch", "jobs", "spec.completions", Rule::Checked(jobs::completions)),
    row("batch", "jobs", "spec.selector", FIXED),
    row("batch", "jobs", "spec.template", Rule::Checked(jobs::template)),
    row("batch", "jobs", "spec.completionMode", FIXED),
    row("batch", "jobs", "spec.podFailurePolicy", FIXED),
    row("batch", "jobs", "spec.backoffLimitPerIndex", FIXED),
    row("batch", "jobs", "spec.managedBy", FIXED),
    row("batch", "jobs", "spec.successPolicy", FIXED),
    row("networking.k8s.io", "ingressclasses", "spec.controller", FIXED),
    row("scheduling.k8s.io", "priorityclasses", "value", Rule::Forbidden("may not be changed in an update.")),
    row("scheduling.k8s.io", "priorityclasses", "preemptionPolicy", FIXED),
    row(STORAGE, "volumeattributesclasses", "driverName", Rule::Forbidden("updates to driverName are forbidden.")),
    row(STORAGE, "volumeattributesclasses", "parameters", Rule::Forbidden("updates to parameters are forbidden.")),
    named(STORAGE, "csidrivers", "spec.attachRequired", "spec.attachedRequired", FIXED),
    row(STORAGE, "csidrivers", "spec.volumeLifecycleModes", FIXED),
    row(STORAGE, "csinodes", "spec.drivers", Rule::Checked(nodes::drivers)),
    row(STORAGE, "csistoragecapacities", "nodeTopology", FIXED),
    row(STORAGE, "csistoragecapacities", "storageClassName", FIXED),
    row("resource.k8s.io", "resourceclaimtemplates", "spec", FIXED),
    row("resource.k8s.io", "resourceslices", "spec.driver", FIXED),
    row("resource.k8s.io", "resourceslices", "spec.nodeName", FIXED),
    row("resource.k8s.io", "resourceslices", "spec.pool.name", FIXED),
    row(RBAC, "rolebindings", "roleRef", ROLE),
    row(RBAC, "clusterrolebindings", "roleRef", ROLE),
    row(API_EXTENSIONS, CRD, "spec.group", FIXED),
    row(API_EXTENSIONS, CRD, "spec.scope", FIXED),
    row(API_EXTENSIONS, CRD, "spec.names.kind", FIXED),
    row(API_EXTENSIONS, CRD, "spec.names.plural", FIXED),
];
