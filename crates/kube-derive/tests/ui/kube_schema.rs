use std::collections::BTreeMap;

use kube_derive::KubeSchema;

#[derive(KubeSchema)]
struct Tuple(u8);

#[derive(KubeSchema)]
enum Enum {
    A { a: u8 },
}

#[derive(KubeSchema)]
#[x_kube(validations = "self.a", merge_strategy = ListMerge::Set)]
struct Misspelt {
    #[x_kube(merge_strategy = "set")]
    a: u8,
    #[x_kube(validation = 3, rule = "self")]
    b: u8,
    #[schemars(flatten)]
    #[x_kube(validation = "self")]
    c: BTreeMap<String, String>,
    #[schemars(skip)]
    #[x_kube(merge_strategy = ListMerge::Set)]
    d: Vec<u8>,
    #[schemars(skip_deserializing)]
    #[x_kube(validation = "self > 0")]
    e: u8,
}

#[derive(KubeSchema)]
#[x_kube(crates(schemas = other), cel = "perhaps")]
union Union {
    a: u8,
}

fn main() {}
