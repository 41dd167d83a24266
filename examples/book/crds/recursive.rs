//! Limits of structural schemas: recursive types, and types that no schema describes exactly.

use k8s_openapi::apimachinery::pkg::runtime::RawExtension;

// ANCHOR: all
use kube::core::schema::structural_schema;
use schemars::JsonSchema;

#[derive(JsonSchema)]
struct Endless {
    children: Vec<Endless>,
}

#[derive(JsonSchema)]
struct Tree {
    name: String,
    /// The schema ends here: the server keeps everything below, unchecked.
    #[schemars(with = "Vec<serde_json::Value>")]
    children: Vec<Tree>,
}

#[test]
fn a_recursive_type_needs_an_end() {
    let error = structural_schema::<Endless>().unwrap_err();
    assert!(error.to_string().contains("`Endless` contains itself at `.children[*]`"));
    assert!(structural_schema::<Tree>().is_ok());
}
// ANCHOR_END: all

#[derive(JsonSchema)]
enum Mixed {
    Always,
    Every { minutes: u32 },
}

#[derive(JsonSchema)]
struct Limited {
    big: u64,
    mixed: Mixed,
    raw: RawExtension,
}

#[test]
fn what_no_structural_schema_describes_is_unchecked() {
    let schema = serde_json::to_value(structural_schema::<Limited>().unwrap()).unwrap();
    let fields = &schema["properties"];
    assert_eq!(fields["big"]["format"], "int64");
    for unchecked in ["mixed", "raw"] {
        assert_eq!(fields[unchecked]["x-kubernetes-preserve-unknown-fields"], true);
    }
}
