//! Parses schema documents (OpenAPI v3) to the model. Total: violations of the structural rules are ignored here and reported by
//! `structural`.
//!
//! The table of built-in types is here too: schemas reference types by name, and a type is parsed when it is first used.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock};

use serde_json::{Map, Value};

use super::{
    cel,
    model::{
        Bound, Field, FieldMeta, LazyType, Link, ListType, Node, PatchStrategy, Pattern, Range, Type,
        ValueValidation,
    },
    pattern,
};

static TABLE: &str = include_str!("../../data/types.jsonl");

/// Name of the type of every object's `metadata`.
pub(crate) const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// A type of the table, parsed when first used.
pub(super) struct Entry {
    pub(super) text: &'static str,
    node: LazyType,
}

pub(super) static TYPES: LazyLock<HashMap<&'static str, Entry>> = LazyLock::new(|| {
    let lines = TABLE.lines().filter_map(|line| line.split_once('\t'));
    lines
        .map(|(name, text)| {
            let node = LazyType::new(Box::new(move || node_of(&document(text), Default::default())));
            (name, Entry { text, node })
        })
        .collect()
});

/// Whether a schema describes a whole object or a part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Extent {
    #[default]
    Part,
    Resource,
}

/// Parses a field.
pub(super) fn field(doc: &Value, extent: Extent) -> Field {
    let meta = meta(doc);
    let mut field = match text(doc, "$ref") {
        Some(name) => reference(name),
        None => Field { link: Link::Inline(Arc::new(node_of(doc, extent))), meta: None },
    };
    field.meta = (meta != FieldMeta::default()).then(|| Arc::new(meta));
    field
}

/// A field of the named type. All references resolve, which a test checks.
pub(super) fn reference(name: &str) -> Field {
    match TYPES.get(name) {
        Some(entry) => named(entry),
        None => Field { link: Link::Inline(Arc::default()), meta: None },
    }
}

/// A field of a type of the table.
pub(super) fn named(entry: &'static Entry) -> Field {
    Field { link: Link::Named(&entry.node), meta: None }
}

/// The parsed text of a line.
pub(super) fn document(text: &str) -> Value {
    serde_json::from_str(text).expect("invariant: every line of the type table is JSON, checked by a test")
}

/// The rules of a type.
pub(super) fn node_of(doc: &Value, extent: Extent) -> Node {
    let resource = extent == Extent::Resource || flag(doc, "x-kubernetes-embedded-resource");
    let mut properties: BTreeMap<Box<str>, Field> = members(doc, "properties")
        .map(|(name, doc)| (name.as_str().into(), field(doc, Extent::Part)))
        .collect();
    let mut rules = rules(doc);
    if resource {
        rules.metadata = properties.insert("metadata".into(), reference(OBJECT_META));
        for name in ["apiVersion", "kind"] {
            properties.entry(name.into()).or_insert_with(string);
        }
    }
    let preserve_unknown = flag(doc, "x-kubernetes-preserve-unknown-fields");
    let additional = additional(doc);
    let items = doc.get("items").filter(|v| v.is_object()).map(|doc| Box::new(field(doc, Extent::Part)));
    let below = properties.values().chain(additional.as_deref()).chain(items.as_deref());
    // Named types have no CEL rules and must not be parsed before they are needed.
    let ruled =
        !rules.cel.is_empty() || below.filter(|field| !field.named_type()).any(|field| field.node().ruled);
    Node {
        ty: text(doc, "type").and_then(type_named),
        nullable: flag(doc, "nullable"),
        int_or_string: flag(doc, "x-kubernetes-int-or-string"),
        preserve_unknown,
        resource,
        properties,
        additional,
        items,
        list: list_type(doc),
        atomic: text(doc, "x-kubernetes-map-type") == Some("atomic"),
        rules: rules.matter().then(|| Box::new(rules)),
        ruled,
    }
}

fn string() -> Field {
    let node = Node { ty: Some(Type::String), ..Node::default() };
    Field { link: Link::Inline(Arc::new(node)), meta: None }
}

fn meta(doc: &Value) -> FieldMeta {
    let strategy = text(doc, "x-kubernetes-patch-strategy").unwrap_or_default();
    FieldMeta {
        default: doc.get("default").cloned(),
        by_value: flag(doc, "x-by-value"),
        strategy: PatchStrategy {
            merge: strategy.split(',').any(|s| s == "merge"),
            retain_keys: strategy.split(',').any(|s| s == "retainKeys"),
            merge_key: text(doc, "x-kubernetes-patch-merge-key").map(Into::into),
        },
    }
}

fn additional(doc: &Value) -> Option<Box<Field>> {
    match doc.get("additionalProperties")? {
        Value::Bool(true) => {
            let anything = Node { preserve_unknown: true, ..Node::default() };
            Some(Box::new(Field { link: Link::Inline(Arc::new(anything)), meta: None }))
        }
        inner @ Value::Object(_) => Some(Box::new(field(inner, Extent::Part))),
        _ => None,
    }
}

fn list_type(doc: &Value) -> ListType {
    match text(doc, "x-kubernetes-list-type") {
        Some("set") => ListType::Set,
        Some("map") => ListType::Map(strings(doc, "x-kubernetes-list-map-keys")),
        _ => ListType::Atomic,
    }
}

fn rules(doc: &Value) -> ValueValidation {
    let bound = |at: &str, exclusive: &str| {
        doc.get(at).and_then(Value::as_f64).map(|at| Bound { at, exclusive: flag(doc, exclusive) })
    };
    let range = |min: &str, max: &str| Range {
        min: doc.get(min).and_then(Value::as_u64),
        max: doc.get(max).and_then(Value::as_u64),
    };
    let several = |name: &str| -> Vec<Field> {
        let list = doc.get(name).and_then(Value::as_array);
        list.into_iter().flatten().map(|doc| field(doc, Extent::Part)).collect()
    };
    ValueValidation {
        required: strings(doc, "required"),
        allowed: doc.get("enum").and_then(Value::as_array).cloned().unwrap_or_default(),
        pattern: text(doc, "pattern")
            .and_then(|text| Some(Pattern { text: text.into(), regex: pattern::compile(text).ok()? })),
        format: text(doc, "format").map(Into::into),
        minimum: bound("minimum", "exclusiveMinimum"),
        maximum: bound("maximum", "exclusiveMaximum"),
        multiple_of: doc.get("multipleOf").and_then(Value::as_f64),
        length: range("minLength", "maxLength"),
        items: range("minItems", "maxItems"),
        members: range("minProperties", "maxProperties"),
        unique_items: flag(doc, "uniqueItems"),
        all_of: several("allOf"),
        any_of: several("anyOf"),
        one_of: several("oneOf"),
        not: doc.get("not").map(|doc| field(doc, Extent::Part)),
        metadata: None,
        cel: cel::rules_of(doc),
    }
}

impl ValueValidation {
    /// Whether any validation is set; most fields have none.
    fn matter(&self) -> bool {
        let limits = [self.length, self.items, self.members];
        let branches = [&self.all_of, &self.any_of, &self.one_of];
        !self.required.is_empty()
            || !self.allowed.is_empty()
            || self.pattern.is_some()
            || self.format.is_some()
            || self.minimum.is_some()
            || self.maximum.is_some()
            || self.multiple_of.is_some()
            || self.unique_items
            || limits.iter().any(|r| r.min.is_some() || r.max.is_some())
            || branches.iter().any(|b| !b.is_empty())
            || self.not.is_some()
            || self.metadata.is_some()
            || !self.cel.is_empty()
    }
}

fn type_named(name: &str) -> Option<Type> {
    Some(match name {
        "object" => Type::Object,
        "array" => Type::Array,
        "string" => Type::String,
        "integer" => Type::Integer,
        "number" => Type::Number,
        "boolean" => Type::Boolean,
        _ => return None,
    })
}

fn text<'d>(doc: &'d Value, name: &str) -> Option<&'d str> {
    doc.get(name).and_then(Value::as_str)
}

fn flag(doc: &Value, name: &str) -> bool {
    doc.get(name).and_then(Value::as_bool).unwrap_or(false)
}

fn strings(doc: &Value, name: &str) -> Vec<Box<str>> {
    let list = doc.get(name).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).map(Into::into).collect()
}

fn members<'d>(doc: &'d Value, name: &str) -> impl Iterator<Item = (&'d String, &'d Value)> {
    doc.get(name).and_then(Value::as_object).into_iter().flat_map(Map::iter)
}
