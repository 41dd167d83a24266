//! References inside of one schema document, and types that contain themselves. Recursive, like the schemas.

use serde_json::Value;

use super::node::Node;

/// The target of a `$ref` into `root`.
pub(super) fn resolve<'a>(root: &'a Value, target: &str) -> Option<&'a Value> {
    target.strip_prefix('#').and_then(|pointer| root.pointer(pointer))
}

/// Whether a schema contains a reference to `target`, at any depth.
pub(super) fn reaches(root: &Value, schema: &Value, target: &str) -> bool {
    Reachability { root, target, seen: Vec::new() }.reaches(schema)
}

struct Reachability<'a> {
    root: &'a Value,
    target: &'a str,
    seen: Vec<&'a str>,
}

impl<'a> Reachability<'a> {
    fn reaches(&mut self, schema: &'a Value) -> bool {
        match schema {
            Value::Object(node) => {
                node.get("$ref").and_then(Value::as_str).is_some_and(|next| self.follow(next))
                    || node.values().any(|value| self.reaches(value))
            }
            Value::Array(values) => values.iter().any(|value| self.reaches(value)),
            _ => false,
        }
    }

    fn follow(&mut self, next: &'a str) -> bool {
        if next == self.target {
            return true;
        }
        if self.seen.contains(&next) {
            return false;
        }
        self.seen.push(next);
        resolve(self.root, next).is_some_and(|definition| self.reaches(definition))
    }
}

/// A reference to an enclosing type, and the path to it.
#[derive(Debug, PartialEq)]
pub(super) struct Recursion {
    /// The target of the reference: `#/components/schemas/Tree`, or `#`.
    pub(super) target: String,
    pub(super) path: String,
}

/// The first recursion in a schema document, by alphabetical order of the fields.
pub(super) fn find_recursion(root: &Value) -> Option<Recursion> {
    RecursionSearch { root, enclosing: vec!["#"] }.value(root, "")
}

struct RecursionSearch<'a> {
    root: &'a Value,
    /// The enclosing definitions.
    enclosing: Vec<&'a str>,
}

impl<'a> RecursionSearch<'a> {
    fn value(&mut self, schema: &'a Value, path: &str) -> Option<Recursion> {
        let node = schema.as_object()?;
        self.reference(node, path).or_else(|| self.children(node, path))
    }

    fn reference(&mut self, node: &'a Node, path: &str) -> Option<Recursion> {
        let target = node.get("$ref")?.as_str()?;
        let definition = resolve(self.root, target)?;
        // schemars inlines a type and references it from inside: then the first reference is already the recursion.
        if self.enclosing.contains(&target) || reaches(self.root, definition, target) {
            return Some(Recursion { target: target.to_owned(), path: path.to_owned() });
        }
        self.enclosing.push(target);
        let found = self.value(definition, path);
        self.enclosing.pop();
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

    use super::{Recursion, find_recursion};

    fn found(root: Value) -> Option<(String, String)> {
        find_recursion(&root).map(|Recursion { target, path }| (target, path))
    }

    #[test]
    fn a_recursion_is_found_with_its_path() {
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
    fn two_uses_of_a_type_are_no_recursion() {
        let plain = json!({ "type": "object" });
        let root = json!({
            "properties": { "a": { "$ref": "#/$defs/A" }, "b": { "$ref": "#/$defs/A" }, "c": { "$ref": "#/$defs/none" } },
            "$defs": { "A": plain, "Unused": { "items": { "$ref": "#/$defs/Unused" } } },
        });
        assert_eq!(found(root), None);
    }

    #[test]
    fn defaults_and_enum_values_are_not_searched() {
        let root = json!({ "default": { "$ref": "#" }, "enum": [{ "$ref": "#" }], "properties": { "$ref": { "const": "#" } } });
        assert_eq!(found(root), None);
    }
}
