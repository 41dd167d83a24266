//! Fields of one schema that another one lacks: their values would be lost at the next write. Pure.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinitionVersion as Version, CustomResourceValidation, JSONSchemaProps,
    JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};

/// What is added to a schema.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Add {
    Fields,
    /// Fields, and values of enumerations.
    FieldsAndValues,
}

/// Adds to the schema of `version` what `other` has more, and returns the paths of the fields, such as `v1 spec.color`. Only what both have
/// is compared further: keywords of two schemas cannot be mixed freely.
pub(super) fn add(version: &mut Version, other: Option<CustomResourceValidation>, what: Add) -> Vec<String> {
    let mut fields = Vec::new();
    let other = other.and_then(|schema| schema.open_api_v3_schema);
    if let Some((schema, other)) = version.schema.as_mut().zip(other) {
        add_schema(schema.open_api_v3_schema.get_or_insert_default(), other, what, "", &mut fields);
    }
    fields.into_iter().map(|field| format!("{} {field}", version.name)).collect()
}

fn add_schema(
    schema: &mut JSONSchemaProps,
    other: JSONSchemaProps,
    what: Add,
    path: &str,
    fields: &mut Vec<String>,
) {
    let prunes_unnamed = prunes(schema);
    if let Some(keywords) = keep_unnamed(schema, &other) {
        fields.push(format!("{path} {keywords}").trim_start().to_owned());
    }
    for (name, other) in other.properties.into_iter().flatten() {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        // Below a named field, the server prunes also where it keeps fields without a name beside it.
        match schema.properties.as_mut().and_then(|properties| properties.get_mut(&name)) {
            Some(schema) => add_schema(schema, other, what, &path, fields),
            None if prunes_unnamed => {
                schema.properties.get_or_insert_default().insert(name, other);
                fields.push(path);
            }
            None => {}
        }
    }
    let below = format!("{path}[]");
    if let (Some(JSONSchemaPropsOrArray::Schema(schema)), Some(JSONSchemaPropsOrArray::Schema(other))) =
        (&mut schema.items, other.items)
    {
        add_schema(schema, *other, what, &below, fields);
    }
    // A schema has named properties or any.
    let may_have_any = prunes(schema) && schema.properties.is_none();
    match (&mut schema.additional_properties, other.additional_properties) {
        (Some(JSONSchemaPropsOrBool::Schema(schema)), Some(JSONSchemaPropsOrBool::Schema(other))) => {
            add_schema(schema, *other, what, &below, fields);
        }
        (any @ None, Some(other)) if may_have_any => {
            *any = Some(other);
            fields.push(below);
        }
        _ => {}
    }
    if let (Some(values), Some(others), Add::FieldsAndValues) = (&mut schema.enum_, other.enum_, what) {
        let new: Vec<_> = others.into_iter().filter(|value| !values.contains(value)).collect();
        values.extend(new);
    }
}

/// Keeps fields without a name in the schema that `other` keeps, by its keywords. A schema has named properties or any, so beside
/// properties a map is kept as unknown fields.
fn keep_unnamed(schema: &mut JSONSchemaProps, other: &JSONSchemaProps) -> Option<&'static str> {
    if !prunes(schema) {
        return None;
    }
    let is_map = other.additional_properties.is_some() && schema.properties.is_some();
    if other.x_kubernetes_preserve_unknown_fields == Some(true) || is_map {
        schema.x_kubernetes_preserve_unknown_fields = Some(true);
        return Some("x-kubernetes-preserve-unknown-fields");
    }
    let is_embedded = |schema: &JSONSchemaProps| schema.x_kubernetes_embedded_resource == Some(true);
    (is_embedded(other) && !is_embedded(schema)).then(|| {
        schema.x_kubernetes_embedded_resource = Some(true);
        "x-kubernetes-embedded-resource"
    })
}

/// Whether the server removes fields that the schema does not name.
fn prunes(schema: &JSONSchemaProps) -> bool {
    schema.type_.as_deref() == Some("object")
        && schema.additional_properties.is_none()
        && schema.x_kubernetes_preserve_unknown_fields != Some(true)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn version(schema: Value) -> Version {
        let json =
            json!({ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } });
        serde_json::from_value(json).unwrap()
    }

    /// The schema with the fields of the other one, and their paths.
    fn added(schema: Value, other: Value) -> (Value, Vec<String>) {
        let mut version = version(schema);
        let fields = add(&mut version, self::version(other).schema, Add::Fields);
        (serde_json::to_value(version.schema.unwrap().open_api_v3_schema).unwrap(), fields)
    }

    fn object(properties: Value) -> Value {
        json!({ "type": "object", "properties": properties })
    }

    #[test]
    fn fields_are_added_where_the_schema_would_prune_them() {
        let text = json!({ "type": "string" });
        let short = json!({ "type": "string", "maxLength": 3 });
        let spec = |properties: Value| object(json!({ "spec": object(properties) }));
        let (schema, fields) =
            added(spec(json!({ "title": short })), spec(json!({ "title": text, "color": text })));
        assert_eq!(schema, spec(json!({ "title": short, "color": text })));
        assert_eq!(fields, ["v1 spec.color"]);
        assert!(added(schema.clone(), schema).1.is_empty());

        let list = |of: &Value| object(json!({ "list": { "type": "array", "items": of } }));
        let of_texts = object(json!({ "a": text }));
        let empty = json!({ "type": "object" });
        assert_eq!(added(list(&empty), list(&of_texts)), (list(&of_texts), vec!["v1 list[].a".to_owned()]));
        let map = json!({ "type": "object", "additionalProperties": text });
        assert_eq!(added(empty, map.clone()), (map.clone(), vec!["v1 []".to_owned()]));
        // So are keywords that keep fields without a name.
        let with = |keyword: &str| {
            let mut schema = of_texts.clone();
            schema[keyword] = json!(true);
            schema
        };
        let preserve = "x-kubernetes-preserve-unknown-fields";
        for (other, keyword) in [
            (with(preserve), preserve),
            (map.clone(), preserve),
            (with("x-kubernetes-embedded-resource"), "x-kubernetes-embedded-resource"),
        ] {
            assert_eq!(added(of_texts.clone(), other), (with(keyword), vec![format!("v1 {keyword}")]));
        }
        // Also beside such a keyword, below a field that both name.
        let open = |properties: Value| json!({ "type": "object", preserve: true, "properties": properties });
        let of = |names: &[&str]| json!({ "template": object(names.iter().map(|name| ((*name).to_owned(), text.clone())).collect()) });
        for schema in [object(of(&["a"])), open(of(&["a"]))] {
            let (schema, fields) = added(schema, open(of(&["a", "b"])));
            assert_eq!(schema, open(of(&["a", "b"])));
            assert_eq!(fields.last().unwrap(), "v1 template.b");
        }
        // What does not prune loses nothing.
        let open = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
        for schema in [open, map] {
            assert_eq!(added(schema.clone(), of_texts.clone()), (schema, Vec::new()));
        }
    }

    #[test]
    fn values_of_enumerations_are_added_only_if_asked() {
        let values = |values: &[&str]| version(json!({ "type": "string", "enum": values }));
        for (what, expected) in [(Add::Fields, &["x"][..]), (Add::FieldsAndValues, &["x", "y"])] {
            let mut schema = values(&["x"]);
            assert!(add(&mut schema, values(&["x", "y"]).schema, what).is_empty());
            assert_eq!(schema, values(expected));
        }
    }
}
