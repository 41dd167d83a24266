//! What becomes of an enum in a structural schema.

// ANCHOR: all
use kube::core::schema::structural_schema;
use schemars::JsonSchema;

#[derive(JsonSchema)]
struct Page {
    source: Option<Source>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
enum Source {
    File { path: String },
    Url(String),
}

#[test]
fn an_enum_becomes_an_object_with_alternatives() {
    let schema = serde_json::to_value(structural_schema::<Page>().unwrap()).unwrap();
    assert_eq!(
        schema["properties"]["source"],
        serde_json::json!({
            "type": "object",
            "nullable": true,
            "properties": {
                "file": { "type": "object", "required": ["path"], "properties": { "path": { "type": "string" } } },
                "url": { "type": "string" },
            },
            "oneOf": [{ "required": ["file"] }, { "required": ["url"] }],
        })
    );
}
// ANCHOR_END: all
