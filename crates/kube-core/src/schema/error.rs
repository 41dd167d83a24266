//! Errors of making a structural schema.

use thiserror::Error;

/// A type has no schema that an API server accepts.
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
    /// A type contains itself. A structural schema has no references, so it would be infinite.
    #[error(
        "the schema of `{root}` is infinite: `{type_name}` contains itself at `{path}`; end the recursion there with \
         #[schemars(with = \"serde_json::Value\")] for any value, or #[schemars(schema_with = \"..\")] for an open node of one type"
    )]
    Recursive {
        /// The type whose schema was requested.
        root: String,
        /// The schema name of the type that contains itself.
        type_name: String,
        /// The path from the root to the recursive occurrence: `.spec.tree.children[*]`, where `[*]` is an item of a list or a
        /// value of a map.
        path: String,
    },

    /// A merge strategy (`#[x_kube(merge_strategy = ..)]`) at a value of the wrong type.
    #[error(
        "the schema of `{root}` has `{keyword}` at `{path}`, which needs the type {wanted} and has {found}; \
         use another strategy for the field, or another type: #[schemars(with = \"..\")]"
    )]
    Strategy {
        /// The type whose schema was requested.
        root: String,
        /// `x-kubernetes-map-type` or `x-kubernetes-list-type`.
        keyword: &'static str,
        /// The type that the strategy requires.
        wanted: &'static str,
        /// The actual type.
        found: String,
        /// The path from the root to the field, as in [`Recursive`](Self::Recursive).
        path: String,
    },

    /// A handwritten `not` that no structural schema can express, because it contains more than validations of declared fields.
    #[error(
        "the schema of `{root}` excludes what a structural schema cannot: `\"not\": {condition}`; inside of `not`, servers accept \
         validations such as `enum`, `required` or `pattern`, and of fields that are declared outside, also their `properties`; no other type"
    )]
    Condition {
        /// The type whose schema was requested.
        root: String,
        /// The schema under `not`.
        condition: String,
    },

    /// A handwritten schema (`schemars(schema_with)`, `schemars(extend)`, an implementation of `JsonSchema`) has a keyword of the
    /// wrong JSON type, such as `"maxLength": "3"`.
    #[error("the schema of `{root}` has a keyword of the wrong type")]
    Keyword {
        /// The type whose schema was requested.
        root: String,
        /// What was found, and what was expected.
        source: serde_json::Error,
    },
}
