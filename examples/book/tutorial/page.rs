//! The custom resource of the tutorial: a page with a title and paragraphs.

// ANCHOR: all
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A page of a website.
#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "example.com", version = "v1", kind = "Page", namespaced, status = "PageStatus")]
#[kube(printcolumn(name = "Title", type_ = "string", json_path = ".spec.title"))]
pub struct PageSpec {
    /// The headline.
    pub title: String,
    /// The text below it.
    #[serde(default)]
    pub paragraphs: Vec<String>,
}

/// What the controller reports.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct PageStatus {
    /// `Ready` says whether the page is published.
    #[serde(default)]
    pub conditions: Vec<Condition>,
}
// ANCHOR_END: all
