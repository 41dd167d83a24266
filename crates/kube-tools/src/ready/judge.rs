//! Which rule judges an object.

use kube_core::{DynamicObject, Resource};
use serde::Serialize;

use super::readiness::Readiness;
use super::view::View;
use super::{conditions, kinds, pods, rollout};

impl Readiness {
    /// Judges an object of any kind, by its JSON form.
    ///
    /// # Errors
    /// If the object cannot be serialized to the form of a Kubernetes object.
    pub fn of<K: Resource + Serialize>(object: &K) -> Result<Self, serde_json::Error> {
        let object: DynamicObject = serde_json::from_value(serde_json::to_value(object)?)?;
        Ok(Self::of_dynamic(&object))
    }

    /// Judges an object whose kind is known at run time. Without [`types`](DynamicObject::types), the rules for other kinds are used.
    #[must_use]
    pub fn of_dynamic(object: &DynamicObject) -> Self {
        let object = View::new(object);
        if object.meta.deletion_timestamp.is_some() {
            return Self::terminating(object);
        }
        match (object.group, object.kind) {
            ("apps", "Deployment") => rollout::deployment(object),
            ("apps", "StatefulSet") => rollout::stateful_set(object),
            ("apps", "DaemonSet") => rollout::daemon_set(object),
            ("apps", "ReplicaSet") | ("", "ReplicationController") => rollout::replica_set(object),
            ("", "Pod") => pods::pod(object),
            ("batch", "Job") => pods::job(object),
            ("", "PersistentVolumeClaim") => kinds::claim(object),
            ("", "PersistentVolume") => kinds::volume(object),
            ("", "Service") => kinds::service(object),
            ("", "Namespace") => kinds::namespace(object),
            ("apiextensions.k8s.io", "CustomResourceDefinition") => kinds::definition(object),
            ("apiregistration.k8s.io", "APIService") => kinds::api_service(object),
            _ => conditions::any_kind(object),
        }
    }
}
