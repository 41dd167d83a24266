//! A kind that a cluster may lack: where there is the vertical pod autoscaler, it recommends resources for the pods of a page.

use k8s_openapi::api::autoscaling::v1::CrossVersionObjectReference;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Of the spec of that project, the fields that are written here.
#[derive(CustomResource, Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "autoscaling.k8s.io",
    version = "v1",
    kind = "VerticalPodAutoscaler",
    namespaced,
    derive = "Default"
)]
#[serde(rename_all = "camelCase")]
pub struct VerticalPodAutoscalerSpec {
    /// Whose pods.
    pub target_ref: CrossVersionObjectReference,
    /// With `updateMode: Off`, nothing but a recommendation.
    pub update_policy: BTreeMap<String, String>,
}
