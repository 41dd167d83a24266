//! Which schemas have the shape of a type of k8s-openapi.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};

/// A type of k8s-openapi.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Known {
    Condition,
    IntOrString,
    LabelSelector,
    ObjectReference,
    Quantity,
    Time,
}

/// The pattern that controller-gen writes for `resource.Quantity`.
const QUANTITY: &str = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$";

impl Known {
    /// The type of a field with this schema. An object has exactly the fields of the type, of the same types and as required; what limits
    /// their values (`maxLength`, `pattern`, `enum`) does not count, because it stays in the schema.
    pub(super) fn of(schema: &JSONSchemaProps) -> Option<Self> {
        if schema.x_kubernetes_int_or_string == Some(true) {
            let quantity = schema.pattern.as_deref() == Some(QUANTITY);
            return Some(if quantity { Self::Quantity } else { Self::IntOrString });
        }
        if is_time(schema) {
            return Some(Self::Time);
        }
        let text = |field: &JSONSchemaProps| is_plain(field, "string") && field.format.is_none();
        if has_fields(
            schema,
            &[
                ("lastTransitionTime", true, &is_time),
                ("message", true, &text),
                ("observedGeneration", false, &is_long),
                ("reason", true, &text),
                ("status", true, &text),
                ("type", true, &text),
            ],
        ) {
            return Some(Self::Condition);
        }
        let texts = |field: &JSONSchemaProps| items(field).is_some_and(text);
        let requirement = |field: &JSONSchemaProps| {
            has_fields(field, &[("key", true, &text), ("operator", true, &text), ("values", false, &texts)])
        };
        let requirements = |field: &JSONSchemaProps| items(field).is_some_and(requirement);
        let labels = |field: &JSONSchemaProps| values(field).is_some_and(text);
        if has_fields(schema, &[("matchExpressions", false, &requirements), ("matchLabels", false, &labels)])
        {
            return Some(Self::LabelSelector);
        }
        let reference: Vec<Expected<'_>> =
            ["apiVersion", "fieldPath", "kind", "name", "namespace", "resourceVersion", "uid"]
                .map(|name| -> Expected<'_> { (name, false, &text) })
                .into();
        has_fields(schema, &reference).then_some(Self::ObjectReference)
    }
}

/// The name of a field, whether it is required, and what its schema has to be.
type Expected<'a> = (&'a str, bool, &'a dyn Fn(&JSONSchemaProps) -> bool);

fn has_fields(schema: &JSONSchemaProps, expected: &[Expected<'_>]) -> bool {
    let Some(properties) = &schema.properties else { return false };
    let required = |name: &str| schema.required.iter().flatten().any(|required| required == name);
    is_plain(schema, "object")
        && properties.len() == expected.len()
        && expected.iter().all(|(name, needed, is)| {
            required(name) == *needed
                && properties.get(*name).is_some_and(|field| !nullable(field) && is(field))
        })
}

fn is_time(schema: &JSONSchemaProps) -> bool {
    is_plain(schema, "string") && schema.format.as_deref() == Some("date-time")
}

fn is_long(schema: &JSONSchemaProps) -> bool {
    is_plain(schema, "integer") && schema.format.as_deref() == Some("int64")
}

/// Whether the schema has this type, and no field that the type would not have.
fn is_plain(schema: &JSONSchemaProps, type_: &str) -> bool {
    schema.type_.as_deref() == Some(type_)
        && schema.x_kubernetes_preserve_unknown_fields != Some(true)
        && schema.x_kubernetes_embedded_resource != Some(true)
        && schema.x_kubernetes_int_or_string != Some(true)
}

fn nullable(schema: &JSONSchemaProps) -> bool {
    schema.nullable == Some(true)
}

/// The schema of the items of a list that may not be null.
fn items(schema: &JSONSchemaProps) -> Option<&JSONSchemaProps> {
    match &schema.items {
        Some(JSONSchemaPropsOrArray::Schema(items)) if is_plain(schema, "array") && !nullable(items) => {
            Some(items)
        }
        _ => None,
    }
}

/// The schema of the values of a map that may not be null.
fn values(schema: &JSONSchemaProps) -> Option<&JSONSchemaProps> {
    match &schema.additional_properties {
        Some(JSONSchemaPropsOrBool::Schema(values)) if is_plain(schema, "object") && !nullable(values) => {
            Some(values)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn of(schema: &Value) -> Option<Known> {
        Known::of(&serde_json::from_value(schema.clone()).unwrap())
    }

    #[test]
    fn a_field_more_or_less_or_of_another_type_is_another_shape() {
        let selector = json!({ "type": "object", "x-kubernetes-map-type": "atomic", "properties": {
            "matchLabels": { "type": "object", "additionalProperties": { "type": "string" } },
            "matchExpressions": { "type": "array", "items": { "type": "object", "required": ["key", "operator"], "properties": {
                "key": { "type": "string" }, "operator": { "type": "string" },
                "values": { "type": "array", "items": { "type": "string" } },
            } } },
        } });
        assert_eq!(of(&selector), Some(Known::LabelSelector));
        for (pointer, value) in [
            ("/properties/more", json!({ "type": "string" })),
            ("/required", json!(["matchLabels"])),
            ("/properties/matchLabels/nullable", json!(true)),
            ("/properties/matchLabels/additionalProperties/nullable", json!(true)),
            ("/properties/matchExpressions/items/required", json!(["key"])),
            ("/properties/matchExpressions/items/properties/values/items/type", json!("integer")),
            ("/x-kubernetes-preserve-unknown-fields", json!(true)),
        ] {
            let mut other = selector.clone();
            let (parent, name) = pointer.rsplit_once('/').unwrap();
            other.pointer_mut(parent).unwrap()[name] = value;
            assert_eq!(of(&other), None, "{pointer}");
        }
    }

    #[test]
    fn limits_of_values_do_not_change_the_shape() {
        let text = json!({ "type": "string", "maxLength": 5, "pattern": "a" });
        let condition = json!({ "type": "object", "required": ["lastTransitionTime", "message", "reason", "status", "type"], "properties": {
            "lastTransitionTime": { "type": "string", "format": "date-time" },
            "message": text, "reason": text, "type": text, "status": { "type": "string", "enum": ["True", "False", "Unknown"] },
            "observedGeneration": { "type": "integer", "format": "int64", "minimum": 0.0 },
        } });
        assert_eq!(of(&condition), Some(Known::Condition));
        let reference: serde_json::Map<String, Value> =
            ["apiVersion", "fieldPath", "kind", "name", "namespace", "resourceVersion", "uid"]
                .map(|name| (name.to_owned(), text.clone()))
                .into_iter()
                .collect();
        assert_eq!(of(&json!({ "type": "object", "properties": reference })), Some(Known::ObjectReference));
        assert_eq!(of(&json!({ "x-kubernetes-int-or-string": true })), Some(Known::IntOrString));
        assert_eq!(
            of(&json!({ "x-kubernetes-int-or-string": true, "pattern": QUANTITY })),
            Some(Known::Quantity)
        );
        assert_eq!(of(&json!({ "type": "string" })), None);
    }
}
