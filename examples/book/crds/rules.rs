//! Validation rules in CEL.

// ANCHOR: all
use kube::{CustomResource, CustomResourceExt, KubeSchema};
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Clone, Debug, Serialize, Deserialize, KubeSchema)]
#[kube(group = "example.com", version = "v1", kind = "Pool")]
#[kube(validation = ("self.metadata.name.size() < 20", "the name becomes part of host names"))]
#[x_kube(validation = ("self.min <= self.max", "min is above max"))]
pub struct PoolSpec {
    #[x_kube(validation = "self >= 0")]
    min: i32,
    max: i32,
    #[x_kube(validation = Rule::new("self == oldSelf").message("cannot be moved").reason(Reason::FieldValueForbidden))]
    zone: String,
}

#[test]
fn the_definition_has_the_rules() {
    let crd = serde_json::to_value(Pool::crd()).unwrap();
    let spec = crd.pointer("/spec/versions/0/schema/openAPIV3Schema/properties/spec").unwrap();
    assert_eq!(spec["x-kubernetes-validations"][0]["message"], "min is above max");
    assert_eq!(spec["properties"]["zone"]["x-kubernetes-validations"][0]["reason"], "FieldValueForbidden");
}
// ANCHOR_END: all
