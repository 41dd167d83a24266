use kube_derive::CustomResource;

#[derive(CustomResource)]
#[kube(group = "clux.dev", version = "v1", kind = "Foo", attr = "derive(PartialEq)")]
struct FooSpec {
    foo: String,
}

fn main() {}
