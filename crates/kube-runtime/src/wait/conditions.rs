//! Conditions of well-known kinds to wait for.
//!
//! The functions here, and [`Condition`] with its combinators, are for [`await_condition`](super::await_condition).

pub use super::condition::*;

use k8s_openapi::{
    api::{
        apps::v1::Deployment,
        batch::v1::Job,
        core::v1::{Pod, Service},
        networking::v1::Ingress,
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube_core::Resource;
use serde::Serialize;

/// The object does not exist, or was recreated: its uid is not `uid`.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kube_runtime::{conditions::is_deleted, wait::Condition};
///
/// let mut pod = Pod::default();
/// pod.metadata.uid = Some("1".into());
/// assert!(!is_deleted("1").matches_object(Some(&pod)));
/// assert!(is_deleted("0").matches_object(Some(&pod)), "a recreated object");
/// assert!(is_deleted::<Pod>("1").matches_object(None));
/// ```
#[must_use]
pub fn is_deleted<K: Resource>(uid: &str) -> impl Condition<K> + '_ {
    move |object: Option<&K>| object.is_none_or(|object| object.meta().uid.as_deref() != Some(uid))
}

/// The object exists.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kube_runtime::{conditions::is_created, wait::Condition};
///
/// assert!(is_created().matches_object(Some(&Pod::default())));
/// assert!(!is_created::<Pod>().matches_object(None));
/// ```
#[must_use]
pub fn is_created<K: Resource>() -> impl Condition<K> {
    |object: Option<&K>| object.is_some()
}

/// The API server serves the kind of this definition: its condition `Established` is true, and where Kubernetes tells
/// (1.35 and newer), it is of the current generation.
///
/// ```
/// use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
/// use kube_runtime::{conditions::is_crd_established, wait::Condition};
///
/// let object: CustomResourceDefinition = serde_json::from_value(serde_json::json!({
///     "metadata": { "name": "foos.example.com" },
///     "spec": { "group": "example.com", "names": { "kind": "Foo", "plural": "foos" }, "scope": "Cluster", "versions": [] },
///     "status": { "conditions": [{ "type": "Established", "status": "True" }] },
/// }))?;
/// assert!(is_crd_established().matches_object(Some(&object)));
/// assert!(!is_crd_established().matches_object(None));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[must_use]
pub fn is_crd_established() -> impl Condition<CustomResourceDefinition> {
    |crd: Option<&CustomResourceDefinition>| {
        let Some((crd, status)) = crd.and_then(|crd| Some((crd, crd.status.as_ref()?))) else { return false };
        let generation = crd.metadata.generation;
        let mut conditions = status.conditions.iter().flatten();
        is_of_generation(status, generation)
            && conditions.any(|it| {
                it.type_ == "Established" && it.status == "True" && is_of_generation(it, generation)
            })
    }
}

/// Whether a status or a condition is about this generation of its object, as far as it tells: the types of Kubernetes 1.34 and older do
/// not have the field.
fn is_of_generation(part: &impl Serialize, generation: Option<i64>) -> bool {
    let json = serde_json::to_value(part).unwrap_or_default();
    json["observedGeneration"].as_i64().zip(generation).is_none_or(|(observed, current)| observed >= current)
}

/// The pod's phase is `Running`. Its containers need not be ready, and a change of its spec need not have been observed.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kube_runtime::{conditions::is_pod_running, wait::Condition};
///
/// let object: Pod = serde_json::from_value(serde_json::json!({ "status": { "phase": "Running" } }))?;
/// assert!(is_pod_running().matches_object(Some(&object)));
/// assert!(!is_pod_running().matches_object(None));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[must_use]
pub fn is_pod_running() -> impl Condition<Pod> {
    |pod: Option<&Pod>| {
        let phase = pod.and_then(|pod| pod.status.as_ref()?.phase.as_deref());
        phase == Some("Running")
    }
}

/// The job has completed successfully: its condition `Complete` is true.
///
/// ```
/// use k8s_openapi::api::batch::v1::Job;
/// use kube_runtime::{conditions::is_job_completed, wait::Condition};
///
/// let object: Job = serde_json::from_value(serde_json::json!({
///     "status": { "conditions": [{ "type": "Complete", "status": "True" }] },
/// }))?;
/// assert!(is_job_completed().matches_object(Some(&object)));
/// assert!(!is_job_completed().matches_object(None));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[must_use]
pub fn is_job_completed() -> impl Condition<Job> {
    |job: Option<&Job>| {
        let conditions = job.and_then(|job| job.status.as_ref()?.conditions.as_ref());
        conditions.into_iter().flatten().any(|it| it.type_ == "Complete" && it.status == "True")
    }
}

/// The rollout of the deployment's current spec has finished.
///
/// The deployment controller has observed the current generation, and its condition `Progressing` is true with the
/// reason `NewReplicaSetAvailable`.
///
/// ```
/// use k8s_openapi::api::apps::v1::Deployment;
/// use kube_runtime::{conditions::is_deployment_completed, wait::Condition};
///
/// let object: Deployment = serde_json::from_value(serde_json::json!({
///     "metadata": { "generation": 3 },
///     "status": {
///         "observedGeneration": 3,
///         "conditions": [{ "type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable" }],
///     },
/// }))?;
/// assert!(is_deployment_completed().matches_object(Some(&object)));
/// assert!(!is_deployment_completed().matches_object(None));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[must_use]
pub fn is_deployment_completed() -> impl Condition<Deployment> {
    |deployment: Option<&Deployment>| {
        let Some((deployment, status)) = deployment.and_then(|it| Some((it, it.status.as_ref()?))) else {
            return false;
        };
        let observed = status.observed_generation >= deployment.metadata.generation;
        let conditions = status.conditions.iter().flatten();
        observed
            && conditions.into_iter().any(|it| {
                it.type_.is("Progressing") && it.status.is("True") && it.reason.is("NewReplicaSetAvailable")
            })
    }
}

/// A string field, which is optional in some versions of Kubernetes.
trait StringField {
    fn is(&self, value: &str) -> bool;
}

impl StringField for String {
    fn is(&self, value: &str) -> bool {
        self == value
    }
}

impl StringField for Option<String> {
    fn is(&self, value: &str) -> bool {
        self.as_deref() == Some(value)
    }
}

/// The service has an address from its load balancer. Holds at once for services of other types, and for those with
/// `externalIPs`, which need none.
///
/// ```
/// use k8s_openapi::api::core::v1::Service;
/// use kube_runtime::{conditions::is_service_loadbalancer_provisioned, wait::Condition};
///
/// let object: Service = serde_json::from_value(serde_json::json!({
///     "spec": { "type": "LoadBalancer" },
///     "status": { "loadBalancer": { "ingress": [{ "ip": "192.0.2.1" }] } },
/// }))?;
/// assert!(is_service_loadbalancer_provisioned().matches_object(Some(&object)));
/// assert!(!is_service_loadbalancer_provisioned().matches_object(None));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[must_use]
pub fn is_service_loadbalancer_provisioned() -> impl Condition<Service> {
    |service: Option<&Service>| {
        let Some(service) = service else { return false };
        let Some(spec) = &service.spec else { return true };
        let has_external_ips = spec.external_ips.as_ref().is_some_and(|addresses| !addresses.is_empty());
        if spec.type_.as_deref() != Some("LoadBalancer") || has_external_ips {
            return true;
        }
        let load_balancer = service.status.as_ref().and_then(|status| status.load_balancer.as_ref());
        let addresses =
            load_balancer.into_iter().flat_map(|load_balancer| load_balancer.ingress.iter().flatten());
        addresses.into_iter().any(|it| it.ip.is_some() || it.hostname.is_some())
    }
}

/// The ingress has an address from its load balancer.
///
/// ```
/// use k8s_openapi::api::networking::v1::Ingress;
/// use kube_runtime::{conditions::is_ingress_provisioned, wait::Condition};
///
/// let object: Ingress = serde_json::from_value(serde_json::json!({
///     "status": { "loadBalancer": { "ingress": [{ "hostname": "web.example.com" }] } },
/// }))?;
/// assert!(is_ingress_provisioned().matches_object(Some(&object)));
/// assert!(!is_ingress_provisioned().matches_object(None));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[must_use]
pub fn is_ingress_provisioned() -> impl Condition<Ingress> {
    |ingress: Option<&Ingress>| {
        let load_balancer = ingress.and_then(|ingress| ingress.status.as_ref()?.load_balancer.as_ref());
        let addresses =
            load_balancer.into_iter().flat_map(|load_balancer| load_balancer.ingress.iter().flatten());
        addresses.into_iter().any(|it| it.ip.is_some() || it.hostname.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::de::DeserializeOwned;
    use serde_json::{Value, json};

    #[track_caller]
    fn check<K: DeserializeOwned>(condition: impl Condition<K>, matching: Value, others: &[Value]) {
        let matches =
            |value: &Value| condition.matches_object(Some(&serde_json::from_value(value.clone()).unwrap()));
        assert!(matches(&matching), "{matching}");
        for other in others {
            assert!(!matches(other), "{other}");
        }
    }

    fn conditions(type_: &str, status: &str) -> Value {
        json!([{ "type": type_, "status": status, "reason": "NewReplicaSetAvailable" }])
    }

    #[test]
    fn created_and_deleted_follow_existence_and_uid() {
        let object = json!({ "metadata": { "name": "a", "uid": "1" } });
        let pod: Pod = serde_json::from_value(object).unwrap();
        assert!(
            is_created().matches_object(Some(&pod)) && !Condition::<Pod>::matches_object(&is_created(), None)
        );
        assert!(is_deleted("2").matches_object(Some(&pod)) && !is_deleted("1").matches_object(Some(&pod)));
        assert!(Condition::<Pod>::matches_object(&is_deleted("1"), None));
    }

    #[test]
    fn a_crd_is_established_by_its_condition() {
        let names = json!({ "kind": "Foo", "plural": "foos" });
        let spec = json!({ "group": "a.b", "names": names, "scope": "Namespaced", "versions": [] });
        let with = |status: &str| json!({ "metadata": {}, "spec": spec, "status": { "conditions": conditions("Established", status) } });
        check(is_crd_established(), with("True"), &[with("False"), json!({ "metadata": {}, "spec": spec })]);
        // Right after a change of its names or versions, it has the conditions of before.
        let at = |status: i64, condition: i64| {
            let mut conditions = conditions("Established", "True");
            conditions[0]["observedGeneration"] = condition.into();
            let status = json!({ "observedGeneration": status, "conditions": conditions });
            json!({ "metadata": { "generation": 2 }, "spec": spec, "status": status })
        };
        check(is_crd_established(), at(2, 2), &[at(1, 2), at(2, 1)]);
    }

    #[test]
    fn pods_run_by_phase_and_jobs_complete_by_condition() {
        let phase = |phase: &str| json!({ "status": { "phase": phase } });
        check(is_pod_running(), phase("Running"), &[phase("Pending"), json!({})]);
        let job = |type_: &str| json!({ "status": { "conditions": conditions(type_, "True") } });
        check(is_job_completed(), job("Complete"), &[job("Failed"), json!({})]);
    }

    #[test]
    fn a_deployment_is_completed_only_for_its_current_generation() {
        let at = |observed: i64, status: &str| {
            let conditions = conditions("Progressing", status);
            json!({
                "metadata": { "generation": 2 },
                "status": { "observedGeneration": observed, "conditions": conditions },
            })
        };
        check(is_deployment_completed(), at(2, "True"), &[at(1, "True"), at(2, "False"), json!({})]);
    }

    #[test]
    fn load_balancers_are_provisioned_when_they_have_an_address() {
        let ready = json!({ "loadBalancer": { "ingress": [{ "ip": "10.0.0.1" }] } });
        let service = |type_: &str, status: &Value| json!({ "spec": { "type": type_ }, "status": status });
        check(
            is_service_loadbalancer_provisioned(),
            service("LoadBalancer", &ready),
            &[service("LoadBalancer", &json!({}))],
        );
        check(is_service_loadbalancer_provisioned(), service("ClusterIP", &json!({})), &[]);
        let external = json!({ "spec": { "type": "LoadBalancer", "externalIPs": ["192.0.2.1"] } });
        check(is_service_loadbalancer_provisioned(), external, &[]);
        check(is_ingress_provisioned(), json!({ "status": ready }), &[json!({ "status": {} }), json!({})]);
    }
}
