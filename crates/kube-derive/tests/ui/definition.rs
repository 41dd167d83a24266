use kube_derive::CustomResource;

#[derive(CustomResource)]
#[kube(group = "example.com", version = "v1", kind = "A", status = Status)]
#[kube(printcolumn(name = "", type_ = "object", json_path = "spec.a", format = "email"))]
#[kube(printcolumn = r#"{ "name": "a", "type": "String", "jsonPath": "$.spec.a" }"#)]
#[kube(scale(
    spec_replicas_path = ".status.replicas",
    status_replicas_path = "status.replicas",
    label_selector_path = ".selector"
))]
#[kube(selectable = "spec.a", selectable = ".spec.list[0]", selectable = ".metadata.name")]
struct ASpec {
    a: u8,
}

#[derive(CustomResource)]
#[kube(group = "example.com", version = "v1", kind = "B")]
#[kube(scale(spec_replicas_path = ".spec.replicas", status_replicas_path = ".status.replicas"))]
struct BSpec {
    replicas: u8,
}

#[derive(CustomResource, serde::Serialize)]
#[kube(group = "example.com", version = "v1", kind = "C", no_spec)]
struct CSpec {
    #[serde(rename = "status")]
    phase: String,
    #[serde(rename(serialize = "kind", deserialize = "type"))]
    of: String,
    #[serde(rename = "state")]
    status: String,
}

struct Status;

fn main() {}
