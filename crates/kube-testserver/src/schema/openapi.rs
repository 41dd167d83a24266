//! `openAPIV3Schema` documents in and out.

use std::sync::Arc;

use serde_json::{Value, json};

use super::model::{Schema, Source};
use super::parse::{self, Extent};
use super::{FieldError, descriptions, structural, types};

/// Path of a schema within its `CustomResourceDefinition` version.
const AT: &str = "openAPIV3Schema";

impl Schema {
    /// Reads the schema of a custom resource, or says which rules of structural schemas it breaks.
    ///
    /// Field paths begin with `openAPIV3Schema`; the caller puts the place of the version in front.
    pub(crate) fn from_openapi(doc: &Value) -> Result<Self, Vec<FieldError>> {
        let errors = structural::check(AT, doc);
        if !errors.is_empty() {
            return Err(errors);
        }
        let root = parse::field(doc, Extent::Resource);
        Ok(Self { root, source: Source::Given(Arc::new(doc.clone())) })
    }

    /// The schema as a document. Built-in types refer to others as `#/components/schemas/NAME`, and say what they are for.
    pub(crate) fn to_openapi(&self) -> Value {
        match &self.source {
            Source::Given(doc) => doc.as_ref().clone(),
            Source::Table { name, text } => {
                let mut schema = published(types::document(text));
                descriptions::describe(name, &mut schema);
                schema
            }
        }
    }
}

/// References spelled in full, as an `allOf` of one so that more may stand beside them; our own marks translated to what the
/// genuine server publishes.
fn published(doc: Value) -> Value {
    match doc {
        Value::Object(map) => {
            let by_value = map.contains_key("x-by-value");
            let members =
                map.into_iter().filter(|(name, _)| name != "x-by-value").map(|(name, value)| match value {
                    Value::String(target) if name == "$ref" => {
                        ("allOf".into(), json!([{"$ref": format!("#/components/schemas/{target}")}]))
                    }
                    value => (name, published(value)),
                });
            let mut out: serde_json::Map<_, _> = members.collect();
            if by_value {
                out.entry("default").or_insert_with(|| Value::Object(Default::default()));
            }
            Value::Object(out)
        }
        Value::Array(list) => Value::Array(list.into_iter().map(published).collect()),
        other => other,
    }
}
