//! Merge strategies of lists.

// ANCHOR: all
use kube::{CustomResource, CustomResourceExt, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Clone, Debug, Serialize, Deserialize, KubeSchema)]
#[kube(group = "example.com", version = "v1", kind = "Gate")]
pub struct GateSpec {
    #[x_kube(merge_strategy = ListMerge::Map(vec!["port".into()]))]
    listeners: Vec<Listener>,
    #[x_kube(merge_strategy = ListMerge::Set)]
    hosts: Vec<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Listener {
    port: u16,
    name: Option<String>,
}

#[test]
fn the_definition_has_the_merge_strategies() {
    let crd = serde_json::to_value(Gate::crd()).unwrap();
    let fields = crd.pointer("/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties").unwrap();
    assert_eq!(fields["listeners"]["x-kubernetes-list-map-keys"][0], "port");
    assert_eq!(fields["hosts"]["x-kubernetes-list-type"], "set");
}
// ANCHOR_END: all
