use kube_derive::CustomResource;

#[derive(CustomResource)]
#[kube(group = "clux.dev", version = "v1", kind = "Foo", definition = "foo", served = false)]
struct FooSpec {
    foo: String,
}

fn main() {}
