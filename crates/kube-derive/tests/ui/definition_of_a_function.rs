use kube_derive::CustomResource;

#[derive(CustomResource, Clone, Debug, serde::Serialize, serde::Deserialize)]
#[kube(group = "clux.dev", version = "v1", kind = "Foo", definition = "foo", served = false)]
#[kube(printcolumn(name = "A", type_ = "string", json_path = ".spec.foo"))]
struct FooSpec {
    foo: String,
}

#[derive(CustomResource, Clone, Debug, serde::Serialize, serde::Deserialize)]
#[kube(group = "clux.dev", version = "v1", kind = "Bar", definition = 1)]
struct BarSpec {
    foo: String,
}

fn main() {}
