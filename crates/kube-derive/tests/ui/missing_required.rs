use kube_derive::CustomResource;

#[derive(CustomResource)]
#[kube(namespaced)]
struct FooSpec {
    foo: String,
}

fn main() {}
