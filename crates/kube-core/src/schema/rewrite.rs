//! Rewrites a schema recursively: normalizes the keywords of every node, hoists its branches, and gives it a type.

use std::cell::RefCell;

use serde_json::{Value, json};

use super::{
    any_of::hoist,
    combine::intersect,
    conditions::{as_written, condition},
    descriptions,
    keywords::normalize,
    merge_strategy,
    node::{
        INT_OR_STRING, Node, NodeType, OPEN, RULES, add_condition, flag, inferred_type, is_null_only,
        node_type, set_type,
    },
    refs,
};

/// Rewrites schemas whose `$ref`s point into `root`.
pub(super) struct Rewriter {
    pub(super) root: Value,
    /// Each `not` that the result lacks, because it cannot say the same.
    pub(super) lost: RefCell<Vec<Value>>,
}

impl Rewriter {
    /// The structural form of a complete schema: a root, a property, an item.
    pub(super) fn node(&self, schema: Value) -> Node {
        let mut node = self.branch(schema);
        if let (None, Some(node_type)) = (node_type(&node), inferred_type(&node)) {
            set_type(&mut node, node_type);
        }
        complete(&mut node);
        node
    }

    /// The same for a schema that is combined with another one: its type may be missing.
    fn branch(&self, schema: Value) -> Node {
        let mut node = normalize(schema);
        let target = node.remove("$ref");
        let all_of = take_array(&mut node, "allOf");
        let mut alternatives = take_alternatives(&mut node);
        let not = node.remove("not");

        self.children(&mut node);
        if let Some(Value::String(target)) = target {
            intersect(&mut node, self.resolve(&target));
        }
        for mut schema in all_of {
            // Hoisted with those of the node, so that they are combined with the node's own fields.
            alternatives.extend(schema.as_object_mut().map(take_alternatives).into_iter().flatten());
            intersect(&mut node, self.branch(schema));
        }
        for (key, branches) in alternatives {
            match as_written(&node, key, &branches) {
                Some(branches) if node.contains_key(key) => {
                    add_condition(&mut node, json!({ key: branches }))
                }
                Some(branches) => {
                    node.insert(key.into(), branches.into());
                }
                None => {
                    hoist(&mut node, key, branches.into_iter().map(|schema| self.branch(schema)).collect())
                }
            }
        }
        if let Some(not) = not {
            self.exclude(&mut node, not);
        }
        node
    }

    /// Adds a `not` that keeps its meaning. An empty one is schemars' spelling of a type without values.
    fn exclude(&self, node: &mut Node, not: Value) {
        if !matches!(&not, Value::Object(empty) if empty.is_empty()) {
            match condition(&not, node) {
                Some(not) => {
                    node.insert("not".into(), not.into());
                }
                None => self.lost.borrow_mut().push(not),
            }
        }
    }

    fn children(&self, node: &mut Node) {
        if let Some(Value::Object(properties)) = node.get_mut("properties") {
            for value in properties.values_mut() {
                *value = self.node(value.take()).into();
            }
        }
        for key in ["items", "additionalProperties"] {
            if let Some(value @ Value::Object(_)) = node.get_mut(key) {
                *value = self.node(value.take()).into();
            }
        }
    }

    /// The target of a `$ref`. A recursive occurrence of a type becomes an open node.
    fn resolve(&self, target: &str) -> Node {
        match refs::resolve(&self.root, target) {
            Some(definition) if target != "#" && !refs::reaches(&self.root, definition, target) => {
                self.branch(definition.clone())
            }
            Some(definition) => {
                let mut node = Node::new();
                if definition.get("type").is_some_and(|name| name == "object") {
                    set_type(&mut node, NodeType::Type("object".into()));
                }
                node.insert(OPEN.into(), true.into());
                node
            }
            None => Node::new(),
        }
    }
}

fn take_alternatives(node: &mut Node) -> Vec<(&'static str, Vec<Value>)> {
    ["oneOf", "anyOf"].map(|key| (key, take_array(node, key))).into()
}

fn take_array(node: &mut Node, key: &str) -> Vec<Value> {
    match node.remove(key) {
        Some(Value::Array(values)) => values,
        _ => Vec::new(),
    }
}

/// Gives a complete node what servers require: a type, and either fields or a map.
fn complete(node: &mut Node) {
    descriptions::render_alternatives(node);
    merge_strategy::drop_default(node);
    if is_null_only(node) {
        node.remove("enum");
        node.insert("maxProperties".into(), 0.into());
        node.entry("type").or_insert("object".into());
    }
    if node_type(node).is_none() {
        set_type(node, NodeType::Any);
        node.insert("nullable".into(), true.into());
    }
    let fields = node.get("properties").and_then(Value::as_object).is_some_and(|fields| !fields.is_empty());
    match node.get("additionalProperties") {
        Some(Value::Bool(true)) => {
            node.remove("additionalProperties");
            node.insert(OPEN.into(), true.into());
        }
        Some(Value::Object(_)) if fields => {
            node.remove("additionalProperties");
            node.insert(OPEN.into(), true.into());
        }
        _ => {}
    }
    if node_type(node) == Some(NodeType::Type("array".into())) {
        node.entry("items").or_insert(json!({ OPEN: true, "nullable": true }));
        merge_strategy::key_conditions(node);
    }
    if flag(node, INT_OR_STRING) {
        node.remove("type");
    }
    node.retain(|key, value| !(matches!(key.as_str(), "required" | "properties" | RULES) && is_empty(value)));
}

fn is_empty(value: &Value) -> bool {
    value.as_array().is_some_and(Vec::is_empty) || value.as_object().is_some_and(Node::is_empty)
}
