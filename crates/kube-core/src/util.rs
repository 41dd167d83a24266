//! Marker traits of the subresource-like verbs.

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};

/// Kinds whose pods can be restarted by a change to their pod template, see
/// [`Request::restart`](crate::Request::restart).
pub trait Restart {}

impl Restart for DaemonSet {}
impl Restart for Deployment {}
impl Restart for ReplicaSet {}
impl Restart for StatefulSet {}
