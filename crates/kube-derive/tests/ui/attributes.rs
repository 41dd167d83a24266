use kube_derive::{CustomResource, KubeSchema, Resource};

#[derive(CustomResource)]
#[kube = "example.com"]
#[kube("group", version = "v1")]
struct ASpec {
    a: u8,
}

#[derive(CustomResource)]
#[kube(group = "example.com" version = "v1", kind = "B")]
struct BSpec {
    b: u8,
}

#[derive(CustomResource)]
#[kube(group = "example.com", version = "v1", version = "v2", kind = "C", status = Status<u8>)]
#[kube(printcolumn(name = "a", type = "date", json_path = ".a", priority = "high"), scale(..))]
#[kube(crates, no_spec = 1, singular, other::plural = "cs", plural("cs"), shortname = )]
struct CSpec {
    c: u8,
}

#[derive(CustomResource)]
#[kube(group = "example.com", version = "v1", kind = "DSpec", root = 3, finalizer = "d", cel = "no")]
struct DSpec {
    d: u8,
}

#[derive(KubeSchema)]
#[x_kube(crates(kube_core = "not a path", serde = 3), cel(true))]
struct E {
    #[x_kube(merge_strategy, merge_strategy = ListMerge::Set)]
    e: Vec<u8>,
    #[x_kube = "self > 0"]
    f: u8,
}

#[derive(Resource)]
#[resource(inherit, crates = kube_core)]
struct F {
    metadata: ObjectMeta,
}

fn main() {}
