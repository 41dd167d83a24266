//! Marker traits of the subresource-like verbs.

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};

/// Kinds whose pods can be restarted by a change to their pod template, see
/// [`Request::restart`](crate::Request::restart).
///
/// ```
/// use k8s_openapi::api::apps::v1::Deployment;
/// use kube_core::{Request, Resource, util::Restart};
///
/// fn restart<K: Restart + Resource<DynamicType = ()>>(namespace: &str, name: &str) -> http::Request<Vec<u8>> {
///     Request::new(K::url_path(&(), Some(namespace))).restart(name).expect("a valid name")
/// }
/// assert_eq!(restart::<Deployment>("web", "front").method(), "PATCH");
/// ```
pub trait Restart {}

impl Restart for DaemonSet {}
impl Restart for Deployment {}
impl Restart for ReplicaSet {}
impl Restart for StatefulSet {}
