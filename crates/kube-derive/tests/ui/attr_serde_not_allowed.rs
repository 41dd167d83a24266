use kube_derive::CustomResource;

#[derive(CustomResource)]
#[kube(group = "clux.dev", version = "v1", kind = "Foo")]
#[kube(attr = "serde(deny_unknown_fields)", attr = "schemars(inline)", attr = "#[allow(deprecated)]")]
struct FooSpec {
    foo: String,
}

fn main() {}
