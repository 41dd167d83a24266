use kube_derive::CustomResource;

#[derive(CustomResource)]
#[kube(group = "clux.dev", version = "v1", kind = "Foo", no_spec)]
#[allow(non_snake_case)]
struct FooSpec {
    metadata: String,
    fine: u8,
    apiVersion: String,
    r#kind: String,
}

fn main() {}
