//! Converts schemas of [`schemars`] into *structural* schemas, which Kubernetes requires for custom resources.
//!
//! An API server must know, independent of any value, which fields exist and which type each has: otherwise it could not prune
//! unknown fields, apply defaults or merge two applies. JSON schema allows many forms without that property. Three
//! [transforms](schemars::transform::Transform), applied in this order, convert a derived schema:
//!
//! 1. [`StructuralSchemaRewriter`]: one type per node, all fields of all variants outside of
//!    `oneOf`/`anyOf`/`allOf`, and only keywords that servers accept.
//! 2. [`OptionalEnum`]: allows `null` for optional enumerations.
//! 3. [`OptionalIntOrString`]: allows `null` for optional numbers-or-strings, as far as the schema shows that they are optional.
//!
//! [`structural_schema`] applies all of them to the schema of one type; a derived `crd()` calls it. It corrects the schemas of some
//! types of k8s-openapi: `IntOrString` and `Quantity` allow null only if they are optional, and `RawExtension`, `FieldsV1` and
//! `JSON` keep all their fields.
//!
//! # Mapping
//!
//! | Rust | in the CRD |
//! |---|---|
//! | `Option<T>` | `T` with `nullable: true` |
//! | enum of unit variants | `type: string` with `enum` (optional ones: see [`OptionalEnum`]) |
//! | enum, externally tagged | one object with a property per variant, of which `oneOf` requires exactly one |
//! | the same with unit *and* data variants | string or object: an open node (below) |
//! | enum, internally or adjacently tagged | one object with the fields of all variants, the tag as `enum`, `oneOf` with the required fields per tag |
//! | enum, untagged | fields of all variants, `anyOf` with the required fields of each; int/string becomes int-or-string; other mixtures an open node |
//! | `HashMap<String, T>`, `HashMap<u32, T>` | `additionalProperties` |
//! | `#[serde(default)]` | `default`, unless other variants lack the field: a server would apply it to all of them |
//! | doc comment of a variant | description of its field, of the tag, or an item in the description of the enum |
//! | rules of one variant or of an optional flattened struct | rules of the node, each guarded by the condition that the value is of that variant |
//! | `#[serde(flatten)]` map next to fields | the fields, and `x-kubernetes-preserve-unknown-fields: true` |
//! | `serde_json::Value` | an open node that may be null |
//! | tuple, tuple struct | array of fixed length, `items` allows the types of all positions |
//! | `HashSet<T>` | array (servers reject `uniqueItems`) |
//! | `()`, unit struct | an object without fields that may be null |
//! | `u8`…`u32`, `i8`, `i16` | integer with bounds and the format `int32` or `int64` (servers warn about others) |
//! | `u64`, `usize`, `i128` | integer; servers store signed 64-bit numbers and reject larger ones |
//! | handwritten `format` | unchanged, except `byte`, for which servers reject empty data: a pattern, unless `#[x_kube(format = "byte")]` asks for it |
//! | handwritten `not`, and `oneOf` or `anyOf` of validations alone | as written; a `not` that servers refuse is an error of [`structural_schema`] |
//! | a type that contains itself | an error of [`structural_schema`]; the transforms alone make the recursive occurrence an open node |
//!
//! An *open node* has `x-kubernetes-preserve-unknown-fields: true`: the server stores any value and validates nothing.
//! The structural schema never rejects a value that the original schema allows. It is more permissive where the structural form
//! lacks expressiveness (types inside of variants, closed objects). It accepts what serde writes as far as schemars describes it:
//! not numbers beyond 64 bits, `NaN` (serialized as `null`), or a `jiff::Span` of years only.
//!
//! Information that the schema of schemars lacks cannot be restored: the tag of a *struct* with `#[serde(tag = "..")]` (servers prune
//! it unless `#[schemars(extend(..))]` adds it), and which fields are from a flattened `Option`. The derive macros preserve the latter
//! with [`flattenable`] and [`flattened_option`].

// From a type to the schema in its CRD (`structural`): `descriptions` and `rules` leave branches, then `rewrite` normalizes the `keywords`
// of each `node`, moves what is in `any_of` out of it, `combine`s nodes and leaves `conditions` alone; `refs` are resolved, `k8s_types`
// completed, `optional` ones made nullable. The derive macros call `flatten`, `field` and `merge_strategy`. `error` says why there is none.

mod any_of;
mod combine;
mod conditions;
mod descriptions;
mod error;
mod field;
mod flatten;
mod k8s_types;
mod keywords;
mod merge_strategy;
mod node;
mod optional;
mod refs;
mod rewrite;
mod rules;
mod structural;

pub use error::SchemaError;
#[doc(hidden)]
pub use field::{map_length, never_null, written_format};
pub use flatten::{flattenable, flattened_option};
pub use optional::{OptionalEnum, OptionalIntOrString};
pub use structural::{StructuralSchemaRewriter, structural_schema};
#[doc(hidden)]
pub use structural::{expect_structural_schema, object_schema, require};

#[cfg(test)]
mod tests;

/// A type whose `#[x_kube(..)]` attributes are part of its schema; `#[derive(KubeSchema)]` implements it.
///
/// It causes the compile error for a spec with such attributes that derives `JsonSchema` instead.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has `#[x_kube(..)]` attributes, which `#[derive(JsonSchema)]` ignores",
    label = "`#[derive(KubeSchema)]` applies them",
    note = "use `#[derive(KubeSchema)]` instead of `#[derive(JsonSchema)]`"
)]
pub trait DerivesKubeSchema: schemars::JsonSchema {}
