//! Table columns of built-in kinds.

use http::Method;

use crate::{
    case::{Case, core, since},
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

/// Id, path, columns, and the minor version since which a kind has them; 0 if every supported version has.
type Row = (&'static str, &'static str, Columns, u32);

// One row per kind.
#[rustfmt::skip]
const ROWS: &[Row] = &[
    ("pods", "api/v1/pods", "Name, Ready, Status, Restarts, Age, IP*, Node*, Nominated Node*, Readiness Gates*", 22),
    ("namespaces", "api/v1/namespaces", "Name, Status, Age", 0),
    ("configmaps", "api/v1/configmaps", "Name, Data, Age", 0),
    ("secrets", "api/v1/secrets", "Name, Type, Data, Age", 0),
    ("serviceaccounts", "api/v1/serviceaccounts", "Name, Age", 37),
    ("services", "api/v1/services", "Name, Type, Cluster-IP, External-IP, Port(s), Age, Selector*", 0),
    ("endpoints", "api/v1/endpoints", "Name, Endpoints, Age", 0),
    ("podtemplates", "api/v1/podtemplates", "Name, Containers, Images, Pod Labels", 0),
    ("nodes", "api/v1/nodes", "Name, Status, Roles, Age, Version, Internal-IP*, External-IP*, OS-Image*, Kernel-Version*, Container-Runtime*", 0),
    ("limitranges", "api/v1/limitranges", "Name, Created At:date", 0),
    ("resourcequotas", "api/v1/resourcequotas", "Name, Request, Limit, Age", 37),
    ("events", "api/v1/events", EVENTS, 0),
    ("events-of-their-group", "apis/events.k8s.io/v1/events", EVENTS, 0),
    ("replicationcontrollers", "api/v1/replicationcontrollers", DESIRED, 0),
    ("persistentvolumes", "api/v1/persistentvolumes", "Name, Capacity, Access Modes, Reclaim Policy, Status, Claim, StorageClass, VolumeAttributesClass, Reason, Age, VolumeMode*", 29),
    ("persistentvolumeclaims", "api/v1/persistentvolumeclaims", "Name, Status, Volume, Capacity, Access Modes, StorageClass, VolumeAttributesClass, Age, VolumeMode*", 29),
    ("deployments", "apis/apps/v1/deployments", "Name, Ready, Up-to-date, Available, Age, Containers*, Images*, Selector*", 0),
    ("replicasets", "apis/apps/v1/replicasets", DESIRED, 0),
    ("statefulsets", "apis/apps/v1/statefulsets", "Name, Ready, Age, Containers*, Images*", 0),
    ("daemonsets", "apis/apps/v1/daemonsets", "Name, Desired:integer, Current:integer, Ready:integer, Up-to-date:integer, Available:integer, Node Selector, Age, Containers*, Images*, Selector*", 0),
    ("controllerrevisions", "apis/apps/v1/controllerrevisions", "Name, Controller, Revision, Age", 0),
    ("jobs", "apis/batch/v1/jobs", "Name, Status, Completions, Duration, Age, Containers*, Images*, Selector*", 31),
    ("horizontalpodautoscalers", "apis/autoscaling/v1/horizontalpodautoscalers", "Name, Reference, Targets, MinPods, MaxPods, Replicas, Age", 0),
    ("ingresses", "apis/networking.k8s.io/v1/ingresses", "Name, Class, Hosts, Address, Ports, Age", 0),
    ("ingressclasses", "apis/networking.k8s.io/v1/ingressclasses", "Name, Controller, Parameters, Age", 0),
    ("networkpolicies", "apis/networking.k8s.io/v1/networkpolicies", "Name, Pod-Selector, Age", 0),
    ("leases", "apis/coordination.k8s.io/v1/leases", "Name, Holder, Age", 0),
    ("runtimeclasses", "apis/node.k8s.io/v1/runtimeclasses", "Name, Handler, Age", 0),
    ("priorityclasses", "apis/scheduling.k8s.io/v1/priorityclasses", "Name, Value:integer, Global-Default:boolean, Age, PreemptionPolicy", 37),
    ("storageclasses", "apis/storage.k8s.io/v1/storageclasses", "Name, Provisioner, ReclaimPolicy, VolumeBindingMode, AllowVolumeExpansion, Age", 0),
    ("csinodes", "apis/storage.k8s.io/v1/csinodes", "Name, Drivers:integer, Age", 0),
    ("volumeattachments", "apis/storage.k8s.io/v1/volumeattachments", "Name, Attacher, PV, Node, Attached:boolean, Age", 0),
    ("roles", "apis/rbac.authorization.k8s.io/v1/roles", ROLES, 0),
    ("clusterroles", "apis/rbac.authorization.k8s.io/v1/clusterroles", ROLES, 0),
    ("rolebindings", "apis/rbac.authorization.k8s.io/v1/rolebindings", BINDINGS, 0),
    ("clusterrolebindings", "apis/rbac.authorization.k8s.io/v1/clusterrolebindings", BINDINGS, 0),
    ("validatingwebhooks", "apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", HOOKS, 0),
    ("mutatingwebhooks", "apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", HOOKS, 0),
    ("apiservices", "apis/apiregistration.k8s.io/v1/apiservices", "Name, Service, Available, Age", 37),
    ("horizontalpodautoscalers-of-autoscaling", "apis/autoscaling/v2/horizontalpodautoscalers", "Name, Reference, Targets, MinPods, MaxPods, Replicas, Age", 37),
    ("cronjobs", "apis/batch/v1/cronjobs", "Name, Schedule, Timezone, Suspend:boolean, Active:integer, Last Schedule, Age, Containers*, Images*, Selector*", 37),
    ("certificatesigningrequests", "apis/certificates.k8s.io/v1/certificatesigningrequests", "Name, Age, SignerName, Requestor, RequestedDuration, Condition", 37),
    ("clustertrustbundles", "apis/certificates.k8s.io/v1/clustertrustbundles", "Name, SignerName", 37),
    ("podcertificaterequests", "apis/certificates.k8s.io/v1/podcertificaterequests", "Name, PodName, ServiceAccountName, NodeName, SignerName, State, UnverifiedUserAnnotations", 37),
    ("ipaddresses", "apis/networking.k8s.io/v1/ipaddresses", "Name, ParentRef", 37),
    ("servicecidrs", "apis/networking.k8s.io/v1/servicecidrs", "Name, CIDRs, Age", 37),
    ("poddisruptionbudgets", "apis/policy/v1/poddisruptionbudgets", "Name, Min Available, Max Unavailable, Allowed Disruptions:integer, Age", 37),
    ("csidrivers", "apis/storage.k8s.io/v1/csidrivers", "Name, AttachRequired:boolean, PodInfoOnMount:boolean, StorageCapacity:boolean, TokenRequests, RequiresRepublish:boolean, Modes, Age", 37),
    ("csistoragecapacities", "apis/storage.k8s.io/v1/csistoragecapacities", ROLES, 37),
    ("volumeattributesclasses", "apis/storage.k8s.io/v1/volumeattributesclasses", "Name, DriverName, Age", 37),
    ("mutatingadmissionpolicies", "apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies", "Name, Mutations:integer, ParamKind, Age", 37),
    ("mutatingadmissionpolicybindings", "apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings", "Name, PolicyName, ParamRef, Age", 37),
    ("validatingadmissionpolicies", "apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies", "Name, Validations:integer, ParamKind, Age", 37),
    ("validatingadmissionpolicybindings", "apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings", "Name, PolicyName, ParamRef, Age", 37),
    ("customresourcedefinitions", "apis/apiextensions.k8s.io/v1/customresourcedefinitions", "Name, Scope, Versions, Created At:date, Group*, Kind*, ShortNames*, Established:boolean*", 37),
    ("endpointslices", "apis/discovery.k8s.io/v1/endpointslices", "Name, AddressType, Ports, Endpoints, Age", 37),
    ("deviceclasses", "apis/resource.k8s.io/v1/deviceclasses", "Name, Age", 37),
    ("devicetaintrules", "apis/resource.k8s.io/v1/devicetaintrules", "Name, Key, Value, Effect, TimeAdded, Age", 37),
    ("resourceclaims", "apis/resource.k8s.io/v1/resourceclaims", "Name, State, Age", 37),
    ("resourceclaimtemplates", "apis/resource.k8s.io/v1/resourceclaimtemplates", "Name, Age", 37),
    ("resourceslices", "apis/resource.k8s.io/v1/resourceslices", "Name, Node, Driver, Pool, Age", 37),
    ("flowschemas", "apis/flowcontrol.apiserver.k8s.io/v1/flowschemas", "Name, PriorityLevel, MatchingPrecedence, DistinguisherMethod, Age, MissingPL", 37),
    ("prioritylevelconfigurations", "apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations", "Name, Type, NominalConcurrencyShares, Queues, HandSize, QueueLengthLimit, Age", 37),
    ("storageversionmigrations", "apis/storagemigration.k8s.io/v1/storageversionmigrations", "Name, Resource, Status", 37),
];

pub(crate) fn cases() -> Vec<Case> {
    let case = |&(id, path, columns, minor): &'static Row| {
        let rule = format!("the columns of {path}");
        since(minor, core(&format!("representation/columns-{id}"), &rule, move |cx| shown(cx, path, columns)))
    };
    ROWS.iter().flat_map(case).collect()
}

async fn shown(cx: Context, path: &str, want: Columns) -> Outcome {
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
