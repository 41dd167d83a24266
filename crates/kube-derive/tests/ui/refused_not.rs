use kube_derive::{CustomResource, KubeSchema};

#[derive(CustomResource, schemars::JsonSchema)]
#[kube(group = "clux.dev", version = "v1", kind = "Foo")]
#[schemars(extend("not" = { "properties": { "a": { "type": "integer" }, "c": { "enum": ["x"] } } }))]
struct FooSpec {
    a: String,
    #[schemars(extend("not" = { "nullable": true, "minLength": 3 }))]
    b: Option<String>,
}

#[derive(KubeSchema)]
#[schemars(extend(
    "oneOf" = [{ "not": { "anyOf": [{ "required": ["a"] }, { "$ref": "#/$defs/B" }] } }, { "required": ["a"] }],
    "x-kubernetes-preserve-unknown-fields" = true,
    "not" = ["a"],
))]
struct Bar {
    #[schemars(extend("not" = { "items": { "x-kubernetes-int-or-string": true } }))]
    a: Vec<u8>,
}

/// Accepted, as far as the attribute shows.
#[derive(KubeSchema)]
#[schemars(rename_all = "camelCase")]
#[schemars(extend("not" = { "properties": { "aB": { "enum": ["x"], "type": "string" } }, "required": ["aB"], "type": "object" }))]
struct Good {
    a_b: String,
}

fn main() {}
