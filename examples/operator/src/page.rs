//! The custom resource `Page`: its two versions, the conversion between them, and the validation.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{Resource, core::admission::AdmissionRequest, operator::webhook::Denial};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// More replicas than a page can use.
const MAX_REPLICAS: i32 = 10;

/// What the operator reports, the same in both versions.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PageStatus {
    /// The generation of the spec that this status describes: an older one is not reconciled yet.
    pub observed_generation: Option<i64>,
    /// `Available` and `Ready`.
    // In the schema a list with the key `type`, so that server-side apply merges it by condition.
    #[serde(default)]
    pub conditions: Vec<Condition>,
}

/// The old version, which clients still use. The text is one string.
pub mod v1 {
    use super::{Deserialize, JsonSchema, PageStatus, Serialize, one};
    use kube::CustomResource;

    /// What the user wants.
    #[derive(CustomResource, Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
    #[kube(
        group = "example.com",
        version = "v1",
        kind = "Page",
        namespaced,
        status = "PageStatus",
        derive = "PartialEq"
    )]
    pub struct PageSpec {
        /// The headline: one line.
        pub title: String,
        /// Paragraphs, separated by empty lines.
        // Without a default: Kubernetes 1.20 refuses the default "".
        pub text: String,
        /// How many pods serve the page.
        #[serde(default = "one")]
        pub replicas: i32,
    }
}

/// The stored version, which the operator reconciles. The text is a list of paragraphs.
pub mod v2 {
    use super::{Deserialize, JsonSchema, PageStatus, Serialize, one};
    use kube::CustomResource;

    /// What the user wants.
    #[derive(CustomResource, Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
    #[kube(
        group = "example.com",
        version = "v2",
        kind = "Page",
        namespaced,
        status = "PageStatus",
        derive = "PartialEq"
    )]
    #[kube(printcolumn(name = "Replicas", type_ = "integer", json_path = ".spec.replicas"))]
    #[kube(printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status"
    ))]
    pub struct PageSpec {
        /// The headline: one line.
        pub title: String,
        /// The text below it.
        #[serde(default)]
        pub paragraphs: Vec<String>,
        /// How many pods serve the page.
        #[serde(default = "one")]
        pub replicas: i32,
    }
}

fn one() -> i32 {
    1
}

// ANCHOR: conversion
impl From<v1::Page> for v2::Page {
    fn from(page: v1::Page) -> Self {
        let v1::PageSpec { title, text, replicas } = page.spec;
        let paragraphs = match text.is_empty() {
            true => Vec::new(), // and not one empty paragraph
            false => text.split("\n\n").map(Into::into).collect(),
        };
        Self {
            metadata: page.metadata,
            spec: v2::PageSpec { title, paragraphs, replicas },
            status: page.status,
        }
    }
}

impl From<v2::Page> for v1::Page {
    fn from(page: v2::Page) -> Self {
        let v2::PageSpec { title, paragraphs, replicas } = page.spec;
        let text = paragraphs.join("\n\n");
        Self { metadata: page.metadata, spec: v1::PageSpec { title, text, replicas }, status: page.status }
    }
}
// ANCHOR_END: conversion

/// The validating webhook, for either version. Denials name the fields of v2.
pub async fn check<P: Resource + Into<v2::Page>>(request: AdmissionRequest<P>) -> Result<(), Denial> {
    let Some(page) = request.object.map(Into::into) else {
        return Ok(()); // a deletion
    };
    if page.metadata.deletion_timestamp.is_some() {
        return Ok(()); // or else an invalid page, made before there was a webhook, could never lose its finalizer
    }
    problems(&page.spec).map_or(Ok(()), Err)
}

/// Everything that is wrong, so that the user need not find it one by one.
fn problems(spec: &v2::PageSpec) -> Option<Denial> {
    let mut found = Vec::new();
    if spec.title.trim().is_empty() || spec.title.contains('\n') {
        found.push(("spec.title".to_owned(), "must be one line of text".to_owned()));
    }
    for (index, paragraph) in spec.paragraphs.iter().enumerate() {
        // A v1 client would read another list of paragraphs, and write that back.
        if paragraph.is_empty() || paragraph.contains("\n\n") {
            let field = format!("spec.paragraphs[{index}]");
            found.push((field, "must not be empty or contain an empty line".to_owned()));
        }
    }
    if !(0..=MAX_REPLICAS).contains(&spec.replicas) {
        let expected = format!("must be between 0 and {MAX_REPLICAS}, but is {}", spec.replicas);
        found.push(("spec.replicas".to_owned(), expected));
    }
    let mut found = found.into_iter();
    let (field, problem) = found.next()?;
    Some(found.fold(Denial::invalid(field, problem), |denial, (field, problem)| denial.and(field, problem)))
}
