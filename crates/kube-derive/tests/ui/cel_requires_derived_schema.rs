use kube_derive::CustomResource;

#[derive(CustomResource)]
#[kube(group = "clux.dev", version = "v1", kind = "Foo", schema = "manual", cel)]
struct FooSpec {
    foo: String,
}

#[derive(CustomResource)]
#[kube(group = "clux.dev", version = "v1", kind = "Bar", schema = "disabled", cel = true)]
struct BarSpec {
    foo: String,
}

fn main() {}
