//! Table columns of built-in kinds.

use http::Method;

use crate::{
    case::{Case, core},
    check::{Outcome, equal},
    context::Context,
};

const TABLE: &str = "application/json;as=Table;g=meta.k8s.io;v=v1";

/// Names of columns, with `:type` unless string, and `*` for `-o wide` only.
type Columns = &'static str;

const DESIRED: Columns =
    "Name, Desired:integer, Current:integer, Ready:integer, Age, Containers*, Images*, Selector*";
const EVENTS: Columns =
    "Last Seen, Type, Reason, Object, Subobject*, Source*, Message, First Seen*, Count*, Name*";
const ROLES: Columns = "Name, Created At:date";
const BINDINGS: Columns = "Name, Role, Age, Users*, Groups*, ServiceAccounts*";
const HOOKS: Columns = "Name, Webhooks:integer, Age";

/// Id, path, columns; and the minor version since which the columns differ.
type Row = (&'static str, &'static str, Columns, Option<(u32, Columns)>);

// One row per kind.
#[rustfmt::skip]
const ROWS: &[Row] = &[
    ("pods", "api/v1/pods", "Name, Ready, Status, Restarts:integer, Age, IP*, Node*, Nominated Node*, Readiness Gates*",
        Some((22, "Name, Ready, Status, Restarts, Age, IP*, Node*, Nominated Node*, Readiness Gates*"))),
    ("namespaces", "api/v1/namespaces", "Name, Status, Age", None),
    ("configmaps", "api/v1/configmaps", "Name, Data, Age", None),
    ("secrets", "api/v1/secrets", "Name, Type, Data, Age", None),
    ("serviceaccounts", "api/v1/serviceaccounts", "Name, Secrets, Age", None),
    ("services", "api/v1/services", "Name, Type, Cluster-IP, External-IP, Port(s), Age, Selector*", None),
    ("endpoints", "api/v1/endpoints", "Name, Endpoints, Age", None),
    ("podtemplates", "api/v1/podtemplates", "Name, Containers, Images, Pod Labels", None),
    ("nodes", "api/v1/nodes", "Name, Status, Roles, Age, Version, Internal-IP*, External-IP*, OS-Image*, Kernel-Version*, Container-Runtime*", None),
    ("limitranges", "api/v1/limitranges", "Name, Created At:date", None),
    ("resourcequotas", "api/v1/resourcequotas", "Name, Age, Request, Limit", None),
    ("events", "api/v1/events", EVENTS, None),
    ("events-of-their-group", "apis/events.k8s.io/v1/events", EVENTS, None),
    ("replicationcontrollers", "api/v1/replicationcontrollers", DESIRED, None),
    ("persistentvolumes", "api/v1/persistentvolumes", "Name, Capacity, Access Modes, Reclaim Policy, Status, Claim, StorageClass, Reason, Age, VolumeMode*",
        Some((29, "Name, Capacity, Access Modes, Reclaim Policy, Status, Claim, StorageClass, VolumeAttributesClass, Reason, Age, VolumeMode*"))),
    ("persistentvolumeclaims", "api/v1/persistentvolumeclaims", "Name, Status, Volume, Capacity, Access Modes, StorageClass, Age, VolumeMode*",
        Some((29, "Name, Status, Volume, Capacity, Access Modes, StorageClass, VolumeAttributesClass, Age, VolumeMode*"))),
    ("deployments", "apis/apps/v1/deployments", "Name, Ready, Up-to-date, Available, Age, Containers*, Images*, Selector*", None),
    ("replicasets", "apis/apps/v1/replicasets", DESIRED, None),
    ("statefulsets", "apis/apps/v1/statefulsets", "Name, Ready, Age, Containers*, Images*", None),
    ("daemonsets", "apis/apps/v1/daemonsets", "Name, Desired:integer, Current:integer, Ready:integer, Up-to-date:integer, Available:integer, Node Selector, Age, Containers*, Images*, Selector*", None),
    ("controllerrevisions", "apis/apps/v1/controllerrevisions", "Name, Controller, Revision, Age", None),
    ("jobs", "apis/batch/v1/jobs", "Name, Completions, Duration, Age, Containers*, Images*, Selector*",
        Some((31, "Name, Status, Completions, Duration, Age, Containers*, Images*, Selector*"))),
    ("horizontalpodautoscalers", "apis/autoscaling/v1/horizontalpodautoscalers", "Name, Reference, Targets, MinPods, MaxPods, Replicas, Age", None),
    ("ingresses", "apis/networking.k8s.io/v1/ingresses", "Name, Class, Hosts, Address, Ports, Age", None),
    ("ingressclasses", "apis/networking.k8s.io/v1/ingressclasses", "Name, Controller, Parameters, Age", None),
    ("networkpolicies", "apis/networking.k8s.io/v1/networkpolicies", "Name, Pod-Selector, Age", None),
    ("leases", "apis/coordination.k8s.io/v1/leases", "Name, Holder, Age", None),
    ("runtimeclasses", "apis/node.k8s.io/v1/runtimeclasses", "Name, Handler, Age", None),
    ("priorityclasses", "apis/scheduling.k8s.io/v1/priorityclasses", "Name, Value:integer, Global-Default:boolean, Age", None),
    ("storageclasses", "apis/storage.k8s.io/v1/storageclasses", "Name, Provisioner, ReclaimPolicy, VolumeBindingMode, AllowVolumeExpansion, Age", None),
    ("csinodes", "apis/storage.k8s.io/v1/csinodes", "Name, Drivers:integer, Age", None),
    ("volumeattachments", "apis/storage.k8s.io/v1/volumeattachments", "Name, Attacher, PV, Node, Attached:boolean, Age", None),
    ("roles", "apis/rbac.authorization.k8s.io/v1/roles", ROLES, None),
    ("clusterroles", "apis/rbac.authorization.k8s.io/v1/clusterroles", ROLES, None),
    ("rolebindings", "apis/rbac.authorization.k8s.io/v1/rolebindings", BINDINGS, None),
    ("clusterrolebindings", "apis/rbac.authorization.k8s.io/v1/clusterrolebindings", BINDINGS, None),
    ("validatingwebhooks", "apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", HOOKS, None),
    ("mutatingwebhooks", "apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", HOOKS, None),
];

pub(crate) fn cases() -> Vec<Case> {
    let case = |&(id, path, old, later): &'static Row| {
        let rule = format!("the columns of {path}");
        core(&format!("representation/columns-{id}"), &rule, move |cx| columns(cx, path, old, later))
    };
    ROWS.iter().flat_map(case).collect()
}

async fn columns(cx: Context, path: &str, old: Columns, later: Option<(u32, Columns)>) -> Outcome {
    let want = later.map_or(old, |(minor, new)| cx.by_version(old, minor, new));
    let table = cx.call(Method::GET, format!("/{path}?limit=1")).accept(TABLE).send().await?;
    let definitions = table.is(200)?.body["columnDefinitions"].as_array().cloned().unwrap_or_default();
    let shown: Vec<String> = definitions
        .iter()
        .map(|column| {
            let kind = column["type"].as_str().unwrap_or_default();
            let kind = if kind == "string" { String::new() } else { format!(":{kind}") };
            let wide = if column["priority"] == 0 { "" } else { "*" };
            format!("{}{kind}{wide}", column["name"].as_str().unwrap_or_default())
        })
        .collect();
    equal("columns", want, shown.join(", "))
}
