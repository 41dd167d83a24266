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
//! 3. [`OptionalIntOrString`]: `null` for numbers-or-strings that may be absent, as far as that can be seen of a schema.
//!
//! [`structural_schema`] does all of it for one type; it is what a derived `crd()` calls. It knows some types of k8s-openapi better:
//! `IntOrString` and `Quantity` may be null where they are optional and nowhere else, `RawExtension`, `FieldsV1` and `JSON` keep
//! the fields that are in them.
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
//! | `#[serde(default)]` | `default`, unless other variants lack the field: a server would fill it in for all of them |
//! | doc comment of a variant | description of its field, of the tag, or an item in the description of the enum |
//! | rules of one variant or of an optional flattened struct | rules of the node, each with the condition that the value is of that variant |
//! | `#[serde(flatten)]` map beside fields | the fields, and `x-kubernetes-preserve-unknown-fields: true` |
//! | `serde_json::Value` | an open node that may be null |
//! | tuple, tuple struct | array of fixed length, `items` takes every position's type |
//! | `HashSet<T>` | array (servers refuse `uniqueItems`) |
//! | `()`, unit struct | an object without fields that may be null |
//! | `u8`…`u32`, `i8`, `i16` | integer with bounds and the format `int32` or `int64` (servers warn of others) |
//! | `u64`, `usize`, `i128` | integer; servers hold 64 signed bits, larger values are refused |
//! | `format` by hand | stays, but for `byte`, which refuses empty data on servers: a pattern |
//! | a type that contains itself | refused by [`structural_schema`]; the rewriting alone leaves it open where it comes again |
//!
//! An *open node* is `x-kubernetes-preserve-unknown-fields: true`: the server keeps what it is given and checks nothing of it.
//! The rewriting never refuses a value that the original schema allows; where the structural form cannot say
//! something (types inside of variants, closed objects), it says less. What serde writes is accepted so far as schemars describes it:
//! not numbers beyond 64 bits, `NaN` (written as `null`), or a `jiff::Span` of years alone.
//!
//! What a schema leaves out cannot be brought back: schemars does not mention the tag of a *struct* with `#[serde(tag = "..")]`
//! (servers prune it unless `#[schemars(extend(..))]` says more), nor which fields came from a flattened `Option`. The derive
//! macros say the latter by [`flattenable`] and [`flattened_option`].

mod describe;
mod error;
mod junctor;
mod keywords;
mod known;
mod merge;
mod optional;
mod part;
mod recursion;
mod refs;
mod rewrite;
mod rules;
mod strategy;
mod structural;

pub use error::SchemaError;
pub use optional::{OptionalEnum, OptionalIntOrString};
pub use part::{flattenable, flattened_option};
pub use structural::{StructuralSchemaRewriter, structural_schema};

#[cfg(test)]
mod tests;

/// A type whose `#[x_kube(..)]` attributes are read: `#[derive(KubeSchema)]` implements it.
///
/// It is there for the error of a spec with such attributes that derives `JsonSchema`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has `#[x_kube(..)]` attributes, which `JsonSchema` does not read",
    label = "`KubeSchema` reads them",
    note = "write `#[derive(KubeSchema)]` in place of `#[derive(JsonSchema)]`"
)]
pub trait ReadsRules: schemars::JsonSchema {}

/// A schema node while it is being rewritten.
type Node = serde_json::Map<String, serde_json::Value>;
