//! Attributes that change the schema of a field.

// ANCHOR: all
use kube::core::schema::structural_schema;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::json;

#[derive(JsonSchema)]
struct Settings {
    /// Bounds, lengths and patterns.
    #[schemars(range(min = 1, max = 100))]
    percent: u8,
    #[schemars(length(max = 63), regex(pattern = "^[a-z]+$"))]
    name: String,
    /// The schema of another type.
    #[schemars(with = "String")]
    address: std::net::SocketAddr,
    /// An additional keyword: unknown fields are kept.
    #[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
    labels: Labels,
    /// A schema written by hand.
    #[schemars(schema_with = "object")]
    template: serde_json::Value,
}

#[derive(JsonSchema)]
struct Labels {
    tier: String,
}

/// A Kubernetes object, validated as such by the server.
fn object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "x-kubernetes-embedded-resource": true,
        "x-kubernetes-preserve-unknown-fields": true,
    })
}

#[test]
fn the_schema_has_the_overrides() {
    let schema = serde_json::to_value(structural_schema::<Settings>().unwrap()).unwrap();
    let fields = &schema["properties"];
    assert_eq!(fields["percent"]["maximum"], json!(100.0));
    assert_eq!(fields["name"]["pattern"], "^[a-z]+$");
    assert_eq!(fields["address"]["type"], "string");
    assert_eq!(fields["labels"]["x-kubernetes-preserve-unknown-fields"], true);
    assert_eq!(fields["template"]["x-kubernetes-embedded-resource"], true);
}
// ANCHOR_END: all
