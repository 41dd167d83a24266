use kube_derive::{CustomResource, KubeSchema};

#[derive(CustomResource)]
#[kube(group = "clux.dev", version = "v1", kind = "Foo")]
struct FooSpec<T> {
    foo: T,
}

#[derive(KubeSchema)]
struct Bar<'a> {
    bar: &'a str,
}

fn main() {}
