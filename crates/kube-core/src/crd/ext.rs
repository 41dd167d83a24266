//! What `#[derive(CustomResource)]` tells about the kind it makes.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use crate::discovery::ApiResource;

/// What a custom resource type knows about its definition; `#[derive(CustomResource)]` implements it.
///
/// ```
/// use kube_core::CustomResourceExt;
///
/// /// Says in one line what a kind is called.
/// fn describe<K: CustomResourceExt>() -> String {
///     let versions = K::crd().spec.versions.len();
///     let short = K::shortnames().join(", ");
///     format!("{} ({short}) is defined by {} in {versions} version(s)", K::api_resource().kind, K::crd_name())
/// }
/// ```
pub trait CustomResourceExt {
    /// The definition, ready to be applied to a server.
    fn crd() -> CustomResourceDefinition;

    /// The name of the definition: `plural.group`.
    fn crd_name() -> &'static str;

    /// The kind as data.
    fn api_resource() -> ApiResource;

    /// Short names that kubectl accepts in place of the plural.
    fn shortnames() -> &'static [&'static str];
}
