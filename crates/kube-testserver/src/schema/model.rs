use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use serde_json::Value;

use super::cel::ValidationRule;

/// The schema of one kind, or of a part of it. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Schema {
    pub(super) root: Field,
    pub(super) source: Source,
}

/// Where a schema was read from: what `to_openapi` publishes.
#[derive(Clone)]
pub(super) enum Source {
    Given(Arc<Value>),
    Table { name: &'static str, text: &'static str },
}

impl Schema {
    /// The rules of the whole object.
    pub(crate) fn root(&self) -> &Field {
        &self.root
    }
}

/// What a meta in an object may hold: the rules of its type, and what belongs to this use of the type.
#[derive(Clone)]
pub(crate) struct Field {
    pub(super) link: Link,
    pub(super) meta: Option<Arc<FieldMeta>>,
}

#[derive(Clone)]
pub(super) enum Link {
    Inline(Arc<Node>),
    /// A named type of the table: built when first looked at, so types may refer to themselves.
    Named(&'static LazyType),
}

pub(super) type LazyType = LazyLock<Node, Box<dyn FnOnce() -> Node + Send + Sync>>;

/// What is said of one use of a type, and not of the type.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FieldMeta {
    /// Filled in where nothing is given.
    pub(crate) default: Option<Value>,
    /// A Go struct held by value: always there, as `{}` when nothing is in it.
    pub(crate) by_value: bool,
    /// How strategic merge patch treats it.
    pub(crate) strategy: PatchStrategy,
}

/// How a strategic merge patch treats a field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PatchStrategy {
    /// Lists merge element by element instead of being replaced.
    pub(crate) merge: bool,
    /// Members that `$retainKeys` does not name are dropped.
    pub(crate) retain_keys: bool,
    /// The member that tells elements apart; none for a list of primitives.
    pub(crate) merge_key: Option<Box<str>>,
}

impl Field {
    /// The rules of the type.
    pub(crate) fn node(&self) -> &Node {
        match &self.link {
            Link::Inline(node) => node,
            Link::Named(lazy) => lazy,
        }
    }

    /// Whether the type is one of the table of built-in types.
    pub(crate) fn named_type(&self) -> bool {
        matches!(self.link, Link::Named(_))
    }

    /// The default of this meta.
    pub(crate) fn default_value(&self) -> Option<&Value> {
        self.meta.as_ref()?.default.as_ref()
    }

    /// Whether this is a Go struct held by value.
    pub(crate) fn by_value(&self) -> bool {
        self.meta.as_ref().is_some_and(|p| p.by_value)
    }

    /// How strategic merge patch treats this meta.
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

/// The rules of one type.
#[derive(Default)]
pub(crate) struct Node {
    /// None: anything goes (int-or-string, preserved unknown data).
    pub(crate) ty: Option<Type>,
    pub(crate) nullable: bool,
    pub(crate) int_or_string: bool,
    /// Fields that the schema does not know are kept.
    pub(crate) preserve_unknown: bool,
    /// A whole object: the root, or an embedded one. Has `apiVersion`, `kind` and `metadata` whatever the schema says.
    pub(crate) resource: bool,
    pub(crate) properties: BTreeMap<Box<str>, Field>,
    /// What unnamed members of an object hold. None: there are none.
    pub(crate) additional: Option<Box<Field>>,
    pub(crate) items: Option<Box<Field>>,
    pub(crate) list: ListType,
    /// The object is one indivisible value.
    pub(crate) atomic: bool,
    pub(crate) rules: Option<Box<ValueValidation>>,
    /// Whether there are CEL rules here or below.
    pub(crate) ruled: bool,
}

/// How a list is owned and merged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum ListType {
    /// As one value.
    #[default]
    Atomic,
    /// As a set of scalars.
    Set,
    /// As a map; elements are told apart by these members.
    Map(Vec<Box<str>>),
}

/// Limits on values, beyond their type.
#[derive(Default)]
pub(crate) struct ValueValidation {
    pub(crate) required: Vec<Box<str>>,
    pub(crate) allowed: Vec<Value>,
    pub(crate) pattern: Option<Pattern>,
    pub(crate) format: Option<Box<str>>,
    pub(crate) minimum: Option<Bound>,
    pub(crate) maximum: Option<Bound>,
    pub(crate) multiple_of: Option<f64>,
    /// Characters of a string, items of a list, members of an object: lower and upper bound of each.
    pub(crate) length: Range,
    pub(crate) items: Range,
    pub(crate) members: Range,
    pub(crate) unique_items: bool,
    pub(crate) all_of: Vec<Field>,
    pub(crate) any_of: Vec<Field>,
    pub(crate) one_of: Vec<Field>,
    pub(crate) not: Option<Field>,
    /// What a custom resource's schema says of its own `metadata`.
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

/// How many there may be.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Range {
    pub(crate) min: Option<u64>,
    pub(crate) max: Option<u64>,
}
