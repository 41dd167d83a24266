//! Why a type has no structural schema.

use thiserror::Error;

/// A type whose schema no API server would take.
///
/// ```
/// #[derive(schemars::JsonSchema)]
/// struct Tree {
///     children: Vec<Tree>,
/// }
///
/// let error = kube_core::schema::structural_schema::<Tree>().unwrap_err();
/// assert!(error.to_string().contains("`Tree` contains itself at `.children[*]`"), "{error}");
/// ```
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// A type contains itself. A structural schema spells every level out, so that one would have no end.
    #[error(
        "the schema of `{root}` has no end: `{type_name}` contains itself at `{path}`; say there where it ends, with \
         #[schemars(with = \"serde_json::Value\")] for any value, or #[schemars(schema_with = \"..\")] for an open node of one type"
    )]
    Recursive {
        /// The type that a schema was asked of.
        root: String,
        /// The type that contains itself, by the name of its schema.
        type_name: String,
        /// The place at which it comes again, seen from the root: `.spec.tree.children[*]`.
        /// `[*]` stands for an item of a list or a value of a map.
        path: String,
    },

    /// A merge strategy (`#[x_kube(merge_strategy = ..)]`) at a value that it is not for.
    #[error(
        "the schema of `{root}` has `{keyword}` at `{path}`, which needs the type {wanted} and has {found}; \
         give the field another strategy, or a type: #[schemars(with = \"..\")]"
    )]
    Strategy {
        /// The type that a schema was asked of.
        root: String,
        /// `x-kubernetes-map-type` or `x-kubernetes-list-type`.
        keyword: &'static str,
        /// The type that the strategy is for.
        wanted: &'static str,
        /// The type that is there.
        found: String,
        /// The field, seen from the root; see [`Recursive`](Self::Recursive).
        path: String,
    },

    /// A schema written by hand (`schemars(schema_with)`, `schemars(extend)`, an own `JsonSchema`) has a keyword of the wrong
    /// JSON type, such as `"maxLength": "3"`. The source says what was found.
    #[error("the schema of `{root}` has a keyword of the wrong type")]
    Keyword {
        /// The type that a schema was asked of.
        root: String,
        /// What was found, and what was expected.
        source: serde_json::Error,
    },
}
