//! [`Graph`]: types without names, and every place at which each is used.

use std::collections::HashMap;
use std::rc::Rc;

use crate::types::shapes::Known;

/// A type of a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::types) enum Ty {
    Bool,
    Int32,
    Int64,
    Float,
    Text,
    /// Any JSON.
    Any,
    Known(Known),
    /// A type of the overrides.
    Custom(Rc<str>),
    Named(TypeId),
    Nullable(Box<Ty>),
    List(Box<Ty>),
    Map(Box<Ty>),
}

/// The index of a [`Type`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::types) struct TypeId(pub(in crate::types) usize);

/// What a type consists of. Two schemas with the same shape have one type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::types) enum Shape {
    Struct {
        fields: Vec<Field>,
        /// Whether a value may have other fields, which are kept.
        open: bool,
    },
    /// An enum of these texts, and of all others.
    Texts(Vec<String>),
    /// An enum of these numbers, and of all others.
    Integers(Vec<i64>),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::types) struct Field {
    /// The name on the wire.
    pub(in crate::types) name: String,
    pub(in crate::types) ty: Ty,
    pub(in crate::types) presence: Presence,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::types) enum Presence {
    Required,
    Optional,
    /// Optional, and null is not the same as nothing, in whose place the server puts the default.
    OptionalOrNull,
}

/// A type, and where it is used.
#[derive(Debug)]
pub(in crate::types) struct Type<'a> {
    pub(in crate::types) shape: Shape,
    pub(in crate::types) uses: Vec<Use<'a>>,
    /// Whether the type has a default value in Rust: a time has none.
    pub(in crate::types) has_default: bool,
    /// The name of an override.
    pub(in crate::types) name: Option<String>,
}

/// A place with a type.
#[derive(Clone, Debug)]
pub(in crate::types) struct Use<'a> {
    /// The index of the definition.
    pub(in crate::types) kind: usize,
    /// The index of the version in the definition.
    pub(in crate::types) version: usize,
    /// The names of the fields from the object to the value. Items of lists and values of maps have no name of their own.
    pub(in crate::types) path: Rc<[&'a str]>,
    pub(in crate::types) doc: Option<&'a str>,
    /// The descriptions of the fields, in the order of the shape.
    pub(in crate::types) field_docs: Vec<Option<&'a str>>,
}

/// A version of a kind.
#[derive(Debug)]
pub(in crate::types) struct Root<'a> {
    pub(in crate::types) kind: usize,
    pub(in crate::types) version: usize,
    pub(in crate::types) doc: Option<&'a str>,
    /// The struct with the derive: of the spec, or of all fields of the object besides its metadata and status.
    pub(in crate::types) body: TypeId,
    /// Whether the fields of `body` are next to the metadata.
    pub(in crate::types) no_spec: bool,
    /// Whether an object may lack its spec.
    pub(in crate::types) optional_spec: bool,
    pub(in crate::types) status: Option<Ty>,
}

/// The types of a run.
#[derive(Debug, Default)]
pub(in crate::types) struct Graph<'a> {
    pub(in crate::types) types: Vec<Type<'a>>,
    pub(in crate::types) roots: Vec<Root<'a>>,
    ids: HashMap<Shape, TypeId>,
}

impl<'a> Graph<'a> {
    /// The type of this shape, which is used here too.
    pub(super) fn intern(&mut self, shape: Shape, here: Use<'a>) -> TypeId {
        if let Some(&id) = self.ids.get(&shape) {
            self.types[id.0].uses.push(here);
            return id;
        }
        let id = self.add(shape.clone(), here);
        self.ids.insert(shape, id);
        id
    }

    /// A type that is not shared, because something is derived from it.
    pub(super) fn add(&mut self, shape: Shape, here: Use<'a>) -> TypeId {
        let has_default = match &shape {
            Shape::Struct { fields, .. } => {
                fields.iter().all(|field| field.presence != Presence::Required || self.has_default(&field.ty))
            }
            Shape::Texts(_) | Shape::Integers(_) => true,
        };
        self.types.push(Type { shape, uses: vec![here], has_default, name: None });
        TypeId(self.types.len() - 1)
    }

    /// Whether a value of this type has a default in Rust.
    pub(in crate::types) fn has_default(&self, ty: &Ty) -> bool {
        match ty {
            Ty::Known(Known::Condition | Known::Time) | Ty::Custom(_) => false,
            Ty::Named(id) => self.types[id.0].has_default,
            _ => true,
        }
    }
}
