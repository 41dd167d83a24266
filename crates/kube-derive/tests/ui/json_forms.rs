use kube_derive::CustomResource;

#[derive(CustomResource)]
#[kube(group = "clux.dev", version = "v1", kind = "Foo")]
#[kube(printcolumn = r#"{"name":"Age","type":"date","jsonpath":".metadata.creationTimestamp"}"#)]
#[kube(printcolumn = r#"{"name":"Age","type":"date","jsonPath":"."}"#, printcolumn = "{")]
#[kube(printcolumn = r#"{"name":7,"type":"date","jsonPath":".","priority":"high"}"#)]
#[kube(printcolumn(name = "a", name = "b", type_ = "string", json_path = "."))]
#[kube(scale = r#"{"specReplicasPath":".a","statusReplicasPath":".b","labelSelectorPath":[]}"#)]
struct FooSpec {
    foo: String,
}

#[derive(CustomResource)]
#[kube(group = "clux.dev", version = "v1", kind = "Bar", scale(spec_replicas_path = "."), validation)]
#[kube(deprecated = 3, status = "not a path!", selectable = 1, annotation = "x", validation = 7)]
struct BarSpec {
    foo: String,
}

#[derive(CustomResource)]
#[kube(group = "clux.dev", version = "v1", kind = "Baz", printcolumn, scale = 3, deprecated(yes))]
#[kube(printcolumn = "[]", annotation("a", 1), crates(kube_cor = other), validation("a"))]
struct BazSpec {
    foo: String,
}

fn main() {}
