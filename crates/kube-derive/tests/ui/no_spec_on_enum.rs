use kube_derive::CustomResource;

#[derive(CustomResource)]
#[kube(group = "clux.dev", version = "v1", kind = "Foo", no_spec)]
enum FooSpec {
    A,
}

#[derive(CustomResource)]
#[kube(group = "clux.dev", version = "v1", kind = "Bar", no_spec)]
struct BarSpec(u8);

fn main() {}
