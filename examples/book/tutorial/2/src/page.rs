//! The custom resource `Page`: its fields, status and versions.

pub mod reconcile;

pub use v1::{Page, PageSpec};

use k8s_openapi::{
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    apimachinery::pkg::apis::meta::v1::Condition,
};
use kube::{
    CustomResourceExt,
    core::crd::{MergeError, merge_crds},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the operator reports, the same in all versions.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PageStatus {
    /// The generation of the spec that this status describes.
    pub observed_generation: Option<i64>,
    /// `Ready` says whether the spec is in effect. Each writer owns its own condition.
    #[serde(default)]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
}

pub mod v1 {
    //! Version `v1`.

    use super::PageStatus;
    use kube::CustomResource;
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    // ANCHOR: spec
    /// A page of a website.
    #[derive(CustomResource, Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
    #[kube(group = "example.com", version = "v1")]
    #[kube(kind = "Page", namespaced)]
    #[kube(status = "PageStatus", derive = "PartialEq")]
    #[kube(printcolumn(name = "Title", type_ = "string", json_path = ".spec.title"))]
    #[serde(rename_all = "camelCase")]
    pub struct PageSpec {
        /// The headline.
        #[schemars(length(min = 1, max = 100))]
        pub title: String,
        /// The text below it.
        #[serde(default)]
        pub paragraphs: Vec<String>,
    }
    // ANCHOR_END: spec
}

/// The version in which objects are stored. A new one is served in one release and stored in a
/// later one: during the roll-out, replicas of the release before cannot convert it.
pub const STORED: &str = "v1";

/// The definition with all versions.
pub fn crd() -> Result<CustomResourceDefinition, MergeError> {
    let versions = vec![v1::Page::crd()];
    merge_crds(versions, STORED)
}

// ANCHOR: sample
/// An object to try.
pub fn sample() -> Page {
    let spec = PageSpec {
        title: "Hello".to_owned(),
        paragraphs: vec!["Good morning.".to_owned()],
    };
    Page::new("page-sample", spec)
}
// ANCHOR_END: sample
