use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[kube(group = "example.com", version = "v1", kind = "A", crates(kube_core = kube_core))]
struct ASpec {
    #[x_kube(validation = "self > 0")]
    a: u8,
}

fn main() {}
