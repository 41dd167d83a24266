use kube_derive::CustomResource;

#[derive(CustomResource)]
#[kube(group = "clux.dev", version = "v1", kind = "Foo")]
struct Foo {
    foo: String,
}

#[derive(CustomResource)]
#[kube(group = "clux.dev", version = "v1", kind = "my-kind")]
struct BarSpec {
    foo: String,
}

fn main() {}
