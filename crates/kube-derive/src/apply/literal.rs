//! What is written in `apply!(..)`.

use proc_macro2::Span;
use syn::{Error, Expr, Ident, Pat, Path, TypePath};

/// All of it.
pub(super) struct Literal {
    /// The path of the crate `kube_core` in the expansion.
    pub(super) kube_core: Path,
    pub(super) of: TypePath,
    pub(super) fields: Vec<Part<Field>>,
}

/// A part of a struct, a map or a list, whose elements are `E`.
pub(super) enum Part<E> {
    Element(E),
    /// `if condition { .. } else { .. }`.
    If {
        condition: Expr,
        then: Vec<Part<E>>,
        otherwise: Vec<Part<E>>,
    },
    /// `match value { .. }`.
    Match {
        value: Expr,
        arms: Vec<Arm<E>>,
    },
    /// `for pattern in values { .. }`.
    For {
        pattern: Pat,
        values: Expr,
        body: Vec<Part<E>>,
    },
    /// `..base`.
    All(Expr),
    /// `..[value, value]` in a list.
    Several(Vec<Part<E>>),
    /// What cannot be read. The rest is compiled nevertheless: for an editor, and so that all mistakes are reported together.
    Wrong(Error),
}

/// `pattern if guard => { .. }`.
pub(super) struct Arm<E> {
    pub(super) pattern: Pat,
    pub(super) guard: Option<Expr>,
    pub(super) body: Vec<Part<E>>,
}

/// `name: value` in a struct.
pub(super) struct Field {
    pub(super) name: Ident,
    pub(super) value: Value,
}

/// `"key": value` in a map.
pub(super) struct Entry {
    pub(super) key: Expr,
    pub(super) value: Value,
}

/// An item of a list.
pub(super) struct Item(pub(super) Value);

/// A value.
pub(super) enum Value {
    /// `{ name: value }`.
    Struct(Vec<Part<Field>>, Span),
    /// `{ "key": value }`.
    Map(Vec<Part<Entry>>, Span),
    /// `[value]`.
    List(Vec<Part<Item>>, Span),
    /// The word `None`: nothing is written. As an expression its type would not be known.
    Absent,
    Expr(Box<Expr>),
    Wrong(Error),
}
