//! What converts the objects of a definition. Pure.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

/// Whether its versions differ by more than their name, so that a webhook converts objects.
pub(super) fn converts(crd: &CustomResourceDefinition) -> bool {
    crd.spec.conversion.as_ref().is_some_and(|conversion| conversion.strategy != "None")
}
