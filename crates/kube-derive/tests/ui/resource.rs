use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_derive::Resource;

#[derive(Resource)]
struct NoInherit {
    metadata: ObjectMeta,
}

#[derive(Resource)]
#[resource(inherit = ConfigMap, inherits = ConfigMap)]
struct NoMetadata {
    data: u8,
}

#[derive(Resource)]
#[resource(inherit = "ConfigMap")]
enum OneWithout {
    A { metadata: ObjectMeta },
    B,
    C(ObjectMeta),
}

#[derive(Resource)]
#[resource(inherit = "no path!", crates(kube = other))]
enum Empty {}

fn main() {}
