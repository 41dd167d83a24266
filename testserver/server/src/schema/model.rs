//! The model of a schema: fields, types, and validations of values.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use serde_json::Value;

use super::cel::ValidationRule;

/// The schema of a kind, or of a part of it. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Schema {
    pub(super) root: Field,
    pub(super) source: Source,
}

/// The source of a schema, which `to_openapi` publishes.
#[derive(Clone)]
pub(super) enum Source {
    Given(Arc<Value>),
    Table { name: &'static str, text: &'static str },
}

impl Schema {
    /// The name of a built-in type, such as `io.k8s.api.core.v1.Pod`.
    pub(crate) fn table_name(&self) -> Option<&'static str> {
        match self.source {
            Source::Table { name, .. } => Some(name),
            Source::Given(_) => None,
        }
    }

    /// The schema of the whole object.
    pub(crate) fn root(&self) -> &Field {
        &self.root
    }
}

/// A field: the schema of its type, and what applies to this use of the type.
#[derive(Clone)]
pub(crate) struct Field {
    pub(super) link: Link,
    pub(super) meta: Option<Arc<FieldMeta>>,
}

#[derive(Clone)]
pub(super) enum Link {
    Inline(Arc<Node>),
    /// A named type of the table: parsed when first used, so types may be recursive.
    Named(&'static LazyType),
}

pub(super) type LazyType = LazyLock<Node, Box<dyn FnOnce() -> Node + Send + Sync>>;

/// Attributes of one use of a type.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FieldMeta {
    /// The default value.
    pub(crate) default: Option<Value>,
    /// A Go struct held by value: always present, as `{}` when empty.
    pub(crate) by_value: bool,
    /// How strategic merge patch merges it.
    pub(crate) strategy: PatchStrategy,
}

/// How a strategic merge patch merges a field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PatchStrategy {
    /// Lists merge element by element instead of being replaced.
    pub(crate) merge: bool,
    /// Members that `$retainKeys` does not list are dropped.
    pub(crate) retain_keys: bool,
    /// The key of elements; `None` for a list of primitives.
    pub(crate) merge_key: Option<Box<str>>,
}

impl Field {
    /// The schema of the type.
    pub(crate) fn node(&self) -> &Node {
        match &self.link {
            Link::Inline(node) => node,
            Link::Named(lazy) => lazy,
        }
    }

    /// Whether the type is a named built-in type.
    pub(crate) fn named_type(&self) -> bool {
        matches!(self.link, Link::Named(_))
    }

    /// The default value.
    pub(crate) fn default_value(&self) -> Option<&Value> {
        self.meta.as_ref()?.default.as_ref()
    }

    /// Whether this is a Go struct held by value.
    pub(crate) fn by_value(&self) -> bool {
        self.meta.as_ref().is_some_and(|p| p.by_value)
    }

    /// How strategic merge patch merges this field.
    pub(crate) fn strategy(&self) -> Option<&PatchStrategy> {
        self.meta.as_ref().map(|p| &p.strategy)
    }
}

/// JSON types, as schemas name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Object,
    Array,
    String,
    Integer,
    Number,
    Boolean,
}

/// The schema of one type.
#[derive(Default)]
pub(crate) struct Node {
    /// `None`: any type (int-or-string, preserved unknown fields).
    pub(crate) ty: Option<Type>,
    pub(crate) nullable: bool,
    pub(crate) int_or_string: bool,
    /// Unknown fields are kept.
    pub(crate) preserve_unknown: bool,
    /// The root or an embedded object: has `apiVersion`, `kind` and `metadata` whatever the schema says.
    pub(crate) resource: bool,
    pub(crate) properties: BTreeMap<Box<str>, Field>,
    /// The schema of additional members; `None` if there are none.
    pub(crate) additional: Option<Box<Field>>,
    pub(crate) items: Option<Box<Field>>,
    pub(crate) list: ListType,
    /// The object is owned as one value.
    pub(crate) atomic: bool,
    pub(crate) rules: Option<Box<ValueValidation>>,
    /// Whether this type or a nested one has CEL rules.
    pub(crate) ruled: bool,
}

/// `x-kubernetes-list-type`: how a list is owned and merged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum ListType {
    /// As one value.
    #[default]
    Atomic,
    /// As a set of scalars.
    Set,
    /// As a map; these members are the key of an element.
    Map(Vec<Box<str>>),
}

/// Value validations, in the term of Kubernetes' structural schemas.
#[derive(Default)]
pub(crate) struct ValueValidation {
    pub(crate) required: Vec<Box<str>>,
    pub(crate) allowed: Vec<Value>,
    pub(crate) pattern: Option<Pattern>,
    pub(crate) format: Option<Box<str>>,
    pub(crate) minimum: Option<Bound>,
    pub(crate) maximum: Option<Bound>,
    pub(crate) multiple_of: Option<f64>,
    /// Bounds of the characters of a string, the items of a list and the members of an object.
    pub(crate) length: Range,
    pub(crate) items: Range,
    pub(crate) members: Range,
    pub(crate) unique_items: bool,
    pub(crate) all_of: Vec<Field>,
    pub(crate) any_of: Vec<Field>,
    pub(crate) one_of: Vec<Field>,
    pub(crate) not: Option<Field>,
    /// The schema of a custom resource's `metadata`.
    pub(crate) metadata: Option<Field>,
    pub(in crate::schema) cel: Vec<ValidationRule>,
}

/// A compiled pattern and its text.
pub(crate) struct Pattern {
    pub(crate) text: Box<str>,
    pub(crate) regex: regex::Regex,
}

/// A limit of numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound {
    pub(crate) at: f64,
    pub(crate) exclusive: bool,
}

/// Bounds of a count.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Range {
    pub(crate) min: Option<u64>,
    pub(crate) max: Option<u64>,
}
