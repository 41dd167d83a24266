//! What `#[derive(CustomResource)]` tells about the kind it makes.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use crate::discovery::ApiResource;

/// What a custom resource type knows about its definition; `#[derive(CustomResource)]` implements it.
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
