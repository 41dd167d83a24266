//! Two versions of one kind in one CRD.

// ANCHOR: all
use kube::core::crd::merge_crds;
use kube::{CustomResource, CustomResourceExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod v1alpha1 {
    use super::*;

    #[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
    #[kube(group = "example.com", version = "v1alpha1", kind = "Document", deprecated = "use v1")]
    pub struct DocumentSpec {
        pub title: String,
    }
}

mod v1 {
    use super::*;

    #[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
    #[kube(group = "example.com", version = "v1", kind = "Document")]
    pub struct DocumentSpec {
        pub title: String,
        pub tags: Option<Vec<String>>,
    }
}

#[test]
fn the_definition_has_both_versions() {
    let crd = merge_crds(vec![v1alpha1::Document::crd(), v1::Document::crd()], "v1").unwrap();
    let versions: Vec<_> =
        crd.spec.versions.iter().map(|version| (version.name.as_str(), version.storage)).collect();
    assert_eq!(versions, [("v1alpha1", false), ("v1", true)]);
}
// ANCHOR_END: all
