use kube_derive::CustomResource;

#[derive(CustomResource)]
#[kube(group = "clux.dev", kind = "Foo", namespace)]
#[kube(printcolumn(name = "Age", typ = "date", json_path = ".metadata.creationTimestamp"))]
#[kube(label("only-a-key"), storage = "no", scale = "{}", derive = "not a path", attr = "derive(Eq)")]
struct FooSpec {
    foo: String,
}

fn main() {}
