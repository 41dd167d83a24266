//! `openAPIV3Schema` documents in and out.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    ErrorList, descriptions,
    model::{Schema, Source},
    parse::{self, Extent},
    structural,
};

impl Schema {
    /// Parses the schema of a custom resource.
    ///
    /// Violations of the rules of structural schemas; field paths start with `place`, the path of the schema in its definition.
    pub(crate) fn from_openapi(place: &str, doc: &Value) -> Result<Self, ErrorList> {
        let errors = structural::check(&format!("{place}.openAPIV3Schema"), doc);
        if !errors.is_empty() {
            return Err(errors);
        }
        let root = parse::field(doc, Extent::Resource);
        Ok(Self { root, source: Source::Given(Arc::new(doc.clone())) })
    }

    /// The schema as a document with descriptions. Built-in types reference others as `#/components/schemas/NAME`.
    pub(crate) fn to_openapi(&self) -> Value {
        match &self.source {
            Source::Given(doc) => doc.as_ref().clone(),
            Source::Table { name, text } => {
                let mut schema = published(parse::document(text));
                descriptions::describe(name, &mut schema);
                schema
            }
        }
    }
}

/// Expands references to an `allOf` with one element, so that other keywords may stand beside them, and translates our own keywords to
/// those of genuine servers.
fn published(doc: Value) -> Value {
    match doc {
        Value::Object(map) => {
            let by_value = map.contains_key("x-by-value");
            let members =
                map.into_iter().filter(|(name, _)| name != "x-by-value").map(|(name, value)| match value {
                    Value::String(target) if name == "$ref" => {
                        ("allOf".into(), json!([{"$ref": format!("#/components/schemas/{target}")}]))
                    }
                    value if name == "x-enum" => ("enum".into(), value),
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
