//! From the schemas that [`schemars`] makes to the *structural* schemas that Kubernetes accepts.
//!
//! A JSON schema may say the same thing in many ways; an API server only takes the ones from which it can tell,
//! without looking at a value, which fields exist and of which type each is: otherwise it could not prune
//! unknown fields, fill in defaults or merge two applies. Three [transforms](schemars::transform::Transform)
//! bring a derived schema there, applied in this order:
//!
//! 1. [`StructuralSchemaRewriter`]: the shape. One type per node, every field of every variant outside of
//!    `oneOf`/`anyOf`/`allOf`, and only keywords that the server knows.
//! 2. [`OptionalEnum`]: `null` for enumerations that may be absent.
//! 3. [`OptionalIntOrString`]: `null` for numbers-or-strings that may be absent.
//!
//! [`structural_schema`] does all of it for one type; it is what a derived `crd()` calls.
//!
//! # What becomes of what
//!
//! | Rust | in the CRD |
//! |---|---|
//! | `Option<T>` | `T` with `nullable: true` |
//! | enum of unit variants | `type: string` with `enum` (optional ones: see [`OptionalEnum`]) |
//! | enum, externally tagged | one object with a property per variant, `oneOf` says which is required |
//! | the same with unit *and* data variants | string or object: an open node (below) |
//! | enum, internally or adjacently tagged | one object with the fields of all variants, the tag an `enum`, `oneOf` ties fields to tags |
//! | enum, untagged | fields of all variants, `anyOf` holds what each requires; int/string becomes int-or-string; other mixtures an open node |
//! | `HashMap<String, T>`, `HashMap<u32, T>` | `additionalProperties` |
//! | `#[serde(flatten)]` map beside fields | the fields, and `x-kubernetes-preserve-unknown-fields: true` |
//! | `serde_json::Value` | an open node that may be null |
//! | tuple, tuple struct | array of fixed length, `items` takes every position's type |
//! | `HashSet<T>` | array (servers refuse `uniqueItems`) |
//! | `()`, unit struct | an object without fields that may be null |
//! | `u8`…`u32`, `i8`, `i16` | integer with bounds and the format `int32` or `int64` (servers warn of others) |
//! | `u64`, `usize`, `i128` | integer; servers hold 64 signed bits, larger values are refused |
//! | a type that contains itself | refused by [`structural_schema`]; the rewriting alone leaves it open where it comes again |
//!
//! An *open node* is `x-kubernetes-preserve-unknown-fields: true`: the server keeps what it is given and checks nothing of it.
//! The rewriting never refuses a value that the original schema allows; where the structural form cannot say
//! something (types inside of variants, closed objects), it says less.
//!
//! What a schema leaves out cannot be brought back: schemars does not mention the tag of a *struct* with `#[serde(tag = "..")]`,
//! and k8s-openapi describes `RawExtension`, `FieldsV1` and `JSON` as objects without fields. Servers prune such fields unless
//! `#[schemars(schema_with = "..")]` or `#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]` says more.

mod error;
mod junctor;
mod keywords;
mod merge;
mod optional;
mod recursion;
mod refs;
mod rewrite;
mod structural;

pub use error::SchemaError;
pub use optional::{OptionalEnum, OptionalIntOrString};
pub use structural::{StructuralSchemaRewriter, structural_schema};

#[cfg(test)]
mod tests;

/// A schema node while it is being rewritten.
type Node = serde_json::Map<String, serde_json::Value>;
