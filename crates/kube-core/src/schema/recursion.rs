//! Finds the place at which a type contains itself.

use serde_json::Value;

use super::{Node, refs};

/// The reference that leads back to a type which is being described, and the path to it.
#[derive(Debug, PartialEq)]
pub(super) struct Recursion {
    /// The target as it is written: `#/components/schemas/Tree`, or `#`.
    pub(super) target: String,
    pub(super) path: String,
}

/// The first recursion in a schema document, fields in the order of their names.
pub(super) fn find(root: &Value) -> Option<Recursion> {
    Search { root, inside: vec!["#"] }.value(root, "")
}

struct Search<'a> {
    root: &'a Value,
    /// The definitions that the search is inside of.
    inside: Vec<&'a str>,
}

impl<'a> Search<'a> {
    fn value(&mut self, schema: &'a Value, path: &str) -> Option<Recursion> {
        let node = schema.as_object()?;
        self.reference(node, path).or_else(|| self.children(node, path))
    }

    fn reference(&mut self, node: &'a Node, path: &str) -> Option<Recursion> {
        let target = node.get("$ref")?.as_str()?;
        let definition = refs::resolve(self.root, target)?;
        // schemars inlines a type and refers to it from within: then the first reference is where it comes again.
        if self.inside.contains(&target) || refs::reaches(self.root, definition, target) {
            return Some(Recursion { target: target.to_owned(), path: path.to_owned() });
        }
        self.inside.push(target);
        let found = self.value(definition, path);
        self.inside.pop();
        found
    }

    fn children(&mut self, node: &'a Node, path: &str) -> Option<Recursion> {
        node.iter().find_map(|(key, value)| match (key.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                properties.iter().find_map(|(name, property)| self.value(property, &format!("{path}.{name}")))
            }
            ("patternProperties", Value::Object(properties)) => {
                properties.values().find_map(|property| self.value(property, &format!("{path}[*]")))
            }
            ("allOf" | "anyOf" | "oneOf", Value::Array(branches)) => {
                branches.iter().find_map(|branch| self.value(branch, path))
            }
            ("items" | "prefixItems", Value::Array(items)) => {
                items.iter().find_map(|item| self.value(item, &format!("{path}[*]")))
            }
            ("items" | "additionalItems" | "additionalProperties" | "contains", _) => {
                self.value(value, &format!("{path}[*]"))
            }
            ("not" | "if" | "then" | "else" | "unevaluatedProperties", _) => self.value(value, path),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Recursion, find};

    fn found(root: Value) -> Option<(String, String)> {
        find(&root).map(|Recursion { target, path }| (target, path))
    }

    #[test]
    fn the_place_is_named() {
        let tree = json!({ "properties": { "children": { "items": { "$ref": "#/$defs/Tree" } } } });
        let by_reference =
            json!({ "properties": { "a": { "$ref": "#/$defs/Tree" } }, "$defs": { "Tree": tree } });
        assert_eq!(found(by_reference), Some(("#/$defs/Tree".into(), ".a".into())));
        let inlined = json!({ "properties": { "a": tree }, "$defs": { "Tree": tree } });
        assert_eq!(found(inlined), Some(("#/$defs/Tree".into(), ".a.children[*]".into())));
        let itself = json!({ "anyOf": [{ "additionalProperties": { "$ref": "#" } }] });
        assert_eq!(found(itself), Some(("#".into(), "[*]".into())));
    }

    #[test]
    fn twice_is_not_within() {
        let plain = json!({ "type": "object" });
        let root = json!({
            "properties": { "a": { "$ref": "#/$defs/A" }, "b": { "$ref": "#/$defs/A" }, "c": { "$ref": "#/$defs/none" } },
            "$defs": { "A": plain, "Unused": { "items": { "$ref": "#/$defs/Unused" } } },
        });
        assert_eq!(found(root), None);
    }

    #[test]
    fn data_is_not_searched() {
        let root = json!({ "default": { "$ref": "#" }, "enum": [{ "$ref": "#" }], "properties": { "$ref": { "const": "#" } } });
        assert_eq!(found(root), None);
    }
}
