//! How a value is owned: as one piece, member by member, or element by element.

use serde_json::{Map, Value};

use super::path::{PathElement, Scalar};
use crate::schema::model::{Field, ListType, Node, Type};

/// The schema of a value. Unknown data has none; its own shape decides.
#[derive(Clone, Copy)]
pub(super) struct SchemaPosition<'s>(Option<&'s Field>);

/// How the value is owned.
pub(super) enum Shape<'s> {
    /// Owned as one piece: scalars, and atomic lists and maps.
    Whole,
    /// Owned member by member.
    Members(Members<'s>),
    /// Owned element by element; elements are scalars.
    Set,
    /// Owned element by element; elements are objects with keys.
    Keyed(Keyed<'s>),
}

/// An object whose members are owned one by one.
#[derive(Clone, Copy)]
pub(super) struct Members<'s>(Option<&'s Node>);

/// A list whose elements are identified by key members.
#[derive(Clone, Copy)]
pub(super) struct Keyed<'s> {
    keys: &'s [Box<str>],
    element: SchemaPosition<'s>,
}

impl<'s> SchemaPosition<'s> {
    pub(super) fn root(field: &'s Field) -> Self {
        Self(Some(field))
    }

    fn unknown() -> Self {
        Self(None)
    }

    /// The shape of a value; `value` decides where the schema does not.
    pub(super) fn shape(self, value: &Value) -> Shape<'s> {
        let node =
            self.0.map(Field::node).filter(|n| n.ty.is_some() || n.int_or_string || !n.properties.is_empty());
        let Some(node) = node else {
            return if value.is_object() { Shape::Members(Members(None)) } else { Shape::Whole };
        };
        match (node.ty, &node.list) {
            (Some(Type::Object) | None, _) if !node.int_or_string && !node.atomic => {
                Shape::Members(Members(Some(node)))
            }
            (Some(Type::Array), ListType::Set) => Shape::Set,
            (Some(Type::Array), ListType::Map(keys)) => {
                let element = node.items.as_deref().map_or(Self::unknown(), |field| Self(Some(field)));
                Shape::Keyed(Keyed { keys, element })
            }
            _ => Shape::Whole,
        }
    }

    /// The schema of a list's elements.
    pub(super) fn items(self) -> Self {
        Self(self.0.and_then(|field| field.node().items.as_deref()))
    }

    /// The members of an object, also of one that is owned as one piece.
    pub(super) fn members(self) -> Members<'s> {
        Members(self.0.map(Field::node))
    }

    /// The declared type, where there is one.
    pub(super) fn declared(self) -> Option<Type> {
        self.0?.node().ty
    }
}

impl<'s> Members<'s> {
    /// The schema of a member; `None` if the schema does not allow it.
    pub(super) fn member(self, name: &str) -> Option<SchemaPosition<'s>> {
        let Some(node) = self.0 else { return Some(SchemaPosition::unknown()) };
        match node.properties.get(name).or(node.additional.as_deref()) {
            Some(field) => Some(SchemaPosition(Some(field))),
            None => (node.preserve_unknown || node.ty.is_none()).then(SchemaPosition::unknown),
        }
    }

    /// The schema of a member; unknown data if the schema does not allow it.
    pub(super) fn tolerant(self, name: &str) -> SchemaPosition<'s> {
        self.member(name).unwrap_or(SchemaPosition::unknown())
    }

    /// Whether the member is a property, like a field of a struct, and not a key of a map.
    pub(super) fn named(self, name: &str) -> bool {
        self.0.is_some_and(|node| node.properties.contains_key(name))
    }
}

impl<'s> Keyed<'s> {
    pub(super) fn element(self) -> SchemaPosition<'s> {
        self.element
    }

    /// The key of an element. Missing keys have their default or are omitted; `None` if none is left.
    pub(super) fn key(self, element: &Map<String, Value>) -> Option<PathElement> {
        let properties = self.element.0.map(|field| &field.node().properties);
        let member = |name: &str| {
            let default = || properties?.get(name)?.default_value();
            let value = element.get(name).or_else(default)?;
            Some((name.into(), Scalar::from_json(value)?))
        };
        let mut members: Vec<_> = self.keys.iter().filter_map(|name| member(name)).collect();
        members.sort();
        (!members.is_empty()).then_some(PathElement::Key(members))
    }

    /// The names of the keys.
    pub(super) fn names(self) -> impl Iterator<Item = &'s str> {
        self.keys.iter().map(AsRef::as_ref)
    }

    /// Names of the keys, for messages.
    pub(super) fn key_names(self) -> String {
        self.keys.iter().map(|k| format!("{k:?}")).collect::<Vec<_>>().join(" ")
    }
}
