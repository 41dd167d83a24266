//! References inside of one schema document.

use serde_json::Value;

/// What a `$ref` into `root` stands for.
pub(super) fn resolve<'a>(root: &'a Value, target: &str) -> Option<&'a Value> {
    target.strip_prefix('#').and_then(|pointer| root.pointer(pointer))
}

/// Whether a schema leads to `target`, at whatever depth.
pub(super) fn reaches(root: &Value, schema: &Value, target: &str) -> bool {
    Walk { root, target, seen: Vec::new() }.reaches(schema)
}

struct Walk<'a> {
    root: &'a Value,
    target: &'a str,
    seen: Vec<&'a str>,
}

impl<'a> Walk<'a> {
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
