//! Which rule judges an object.

use std::time::Duration;

use kube_core::{DynamicObject, Resource};
use serde::Serialize;

use super::readiness::{Readiness, in_progress};
use super::terminating::{conditions as conditions_of_deletion, terminating};
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
            return terminating(object);
        }
        // For every kind: until its controller has seen the spec, the status is about an earlier one.
        if !object.is_observed() {
            return in_progress(rollout::unobserved(object.group, object.kind));
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

    /// Judges an object that is gone: this was its last state, or `unseen` says for how long its states were not seen after this one.
    /// `None` if its end says nothing: it was deleted.
    ///
    /// A [Job](https://kubernetes.io/docs/concepts/workloads/controllers/ttlafterfinished/) with `ttlSecondsAfterFinished` is deleted when
    /// it has finished, with 0 at once.
    pub(crate) fn of_gone(last: &DynamicObject, unseen: Option<Duration>) -> Option<Self> {
        pods::gone_job(View::new(last), unseen)
    }

    /// Whether [`of_gone`](Self::of_gone) may judge it.
    pub(crate) fn tells_its_end(object: &DynamicObject) -> bool {
        Self::of_gone(object, Some(Duration::MAX)).is_some()
    }

    /// Why a restart of this workload replaces no pod by itself.
    pub(crate) fn no_restart(object: &DynamicObject) -> Option<&'static str> {
        rollout::no_restart(View::new(object))
    }

    /// What the conditions of an object say that its deletion waits for.
    pub(crate) fn deletion_conditions(object: &DynamicObject) -> Vec<String> {
        conditions_of_deletion(View::new(object))
    }
}
