use kube_derive::CustomResource;

#[derive(CustomResource)]
#[kube(group = "clux.dev", version = "v1", kind = "Foo")]
#[kube(printcolumn = r#"{"name":"Age","type":"date","jsonpath":".metadata.creationTimestamp"}"#)]
#[kube(printcolumn = r#"{"name":"Age","type":"date","jsonPath":"."}"#, printcolumn = "{")]
#[kube(printcolumn = r#"{"name":7,"type":"date","jsonPath":".","priority":"high"}"#)]
#[kube(printcolumn(name = "a", name = "b", type_ = "string", json_path = "."))]
struct FooSpec {
    foo: String,
}

#[derive(CustomResource)]
#[kube(group = "clux.dev", version = "v1", kind = "Bar", scale(spec_replicas_path = "."), validation)]
#[kube(deprecated = 3, status = "not a path!", selectable = 1, annotation = "x", validation = 7)]
struct BarSpec {
    foo: String,
}

fn main() {}
