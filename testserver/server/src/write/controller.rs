//! What admission policies see of the writes of controllers: a request of the service account that the controller has on a cluster.

use std::sync::Arc;

use http::Method;
use serde_json::Value;

use super::{ObjectWrite, WriteContext, object_write::Writer};
use crate::{
    call::Call, object::meta, rbac::User, route::Query, scheme::Endpoint, webhook::WebhookResponses,
};

impl ObjectWrite<'_> {
    /// The write of a controller as a request, if a policy may review it. No webhook does.
    pub(super) fn as_request(&self, context: &WriteContext<'_>) -> Option<Call> {
        if !matches!(self.writer, Writer::Controller) || context.admission.control.policies.is_empty() {
            return None;
        }
        let name = (!self.creates()).then(|| meta::name(&self.object).to_owned());
        Some(Call {
            method: if self.creates() { Method::POST } else { Method::PUT },
            endpoint: self.endpoint.clone(),
            namespace: self.namespace.map(Into::into),
            name,
            subresource: None,
            query: Query::parse(""),
            content_type: "application/json".into(),
            user_agent: "kube-controller-manager".into(),
            body: Default::default(),
            user: Arc::new(user(self.endpoint, &self.object, self.old())),
            webhook_responses: WebhookResponses::disabled(),
            identity: Default::default(),
            stale: None,
        })
    }
}

/// The user who writes an object: the controller of its owner, of its former owner, or of its kind.
fn user(endpoint: &Endpoint, object: &Value, old: Option<&Value>) -> User {
    let account = match (endpoint.plural(), controlling_kind(object).or_else(|| controlling_kind(old?))) {
        ("nodes", _) => return node(meta::name(object)),
        ("events", _) => match object["source"]["component"].as_str().unwrap_or_default() {
            "kubelet" => return node(object["source"]["host"].as_str().unwrap_or_default()),
            "default-scheduler" => return User::new("system:kube-scheduler").with_implicit_group(),
            "daemonset-controller" => "daemon-set-controller".to_owned(),
            component => component.to_owned(),
        },
        (_, Some("ReplicationController")) => "replication-controller".into(),
        (_, Some("DaemonSet")) => "daemon-set-controller".into(),
        (_, Some("Service")) => "endpointslice-controller".into(),
        (_, Some("Endpoints")) => "endpointslicemirroring-controller".into(),
        ("configmaps", None) => "root-ca-cert-publisher".into(),
        ("endpoints", None) => "endpoint-controller".into(),
        ("persistentvolumeclaims", None) => "statefulset-controller".into(),
        // That of a Deployment writes the Deployment too.
        (_, None) => format!("{}-controller", endpoint.kind().to_lowercase()),
        (_, Some(kind)) => format!("{}-controller", kind.to_lowercase()),
    };
    User::of_service_account("kube-system", &account).with_implicit_group()
}

fn node(name: &str) -> User {
    User::new(format!("system:node:{name}")).group("system:nodes").with_implicit_group()
}

/// The kind of the owner that controls an object.
fn controlling_kind(object: &Value) -> Option<&str> {
    let owners = object["metadata"]["ownerReferences"].as_array()?;
    owners.iter().find(|owner| owner["controller"] == true)?["kind"].as_str()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::scheme::Scheme;

    /// Users of Kubernetes 1.37.
    #[test]
    fn each_controller_has_a_service_account() {
        let scheme = Scheme::with_built_in();
        let by = |group: &str, plural: &str, object: Value, old: Option<&Value>| {
            let user = user(scheme.by_plural(group, plural).unwrap(), &object, old);
            assert!(user.groups.contains(&"system:authenticated".to_owned()));
            user.name
        };
        let owned =
            |kind: &str| json!({"metadata": {"ownerReferences": [{"kind": kind, "controller": true}]}});
        for (group, plural, owner, account) in [
            ("", "pods", "ReplicaSet", "replicaset-controller"),
            ("", "pods", "ReplicationController", "replication-controller"),
            ("", "pods", "StatefulSet", "statefulset-controller"),
            ("", "pods", "DaemonSet", "daemon-set-controller"),
            ("", "pods", "Job", "job-controller"),
            ("batch", "jobs", "CronJob", "cronjob-controller"),
            ("apps", "replicasets", "Deployment", "deployment-controller"),
            ("apps", "controllerrevisions", "StatefulSet", "statefulset-controller"),
            ("discovery.k8s.io", "endpointslices", "Service", "endpointslice-controller"),
            ("discovery.k8s.io", "endpointslices", "Endpoints", "endpointslicemirroring-controller"),
            ("", "configmaps", "", "root-ca-cert-publisher"),
            ("", "endpoints", "", "endpoint-controller"),
            ("", "persistentvolumeclaims", "", "statefulset-controller"),
            ("apps", "deployments", "", "deployment-controller"),
        ] {
            let object = if owner.is_empty() { json!({}) } else { owned(owner) };
            let expected = format!("system:serviceaccount:kube-system:{account}");
            assert_eq!(by(group, plural, object, None), expected, "{plural} of {owner}");
        }
        let released = by("", "pods", json!({}), Some(&owned("ReplicaSet")));
        assert_eq!(released, "system:serviceaccount:kube-system:replicaset-controller");
        let event = |component: &str| json!({"source": {"component": component, "host": "n"}});
        for (component, user) in [
            ("replicaset-controller", "system:serviceaccount:kube-system:replicaset-controller"),
            ("daemonset-controller", "system:serviceaccount:kube-system:daemon-set-controller"),
            ("default-scheduler", "system:kube-scheduler"),
            ("kubelet", "system:node:n"),
        ] {
            assert_eq!(by("", "events", event(component), None), user);
        }
    }
}
