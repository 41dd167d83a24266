use kube_derive::{CustomResource, Resource};

#[derive(CustomResource)]
#[kube(group = "clux.dev", version = "v1", kind = "Foo")]
union FooSpec {
    foo: u32,
}

#[derive(Resource)]
#[resource(inherit = Foo)]
union Other {
    metadata: u32,
}

fn main() {}
