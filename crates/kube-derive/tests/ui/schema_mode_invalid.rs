use kube_derive::CustomResource;

#[derive(CustomResource)]
#[kube(group = "clux.dev", version = "v1", kind = "Foo", schema = "Disabled")]
struct FooSpec {
    foo: String,
}

fn main() {}
