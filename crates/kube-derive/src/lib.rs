//! Derive macros for Kubernetes types: [`CustomResource`], [`KubeSchema`] and [`Resource`].
//!
//! Use them through the `kube` crate (feature `derive`). Each macro parses its attributes into a model (`parse`), which reports
//! all errors at once with their spans, and generates Rust code from the model (`expand`).

mod expand;
mod names;
mod parse;

use proc_macro::TokenStream;

/// Generates a custom resource from the type of its `spec`.
///
/// ```
/// # use kube_core::CustomResourceExt;
/// # use kube_derive::CustomResource;
/// # use schemars::JsonSchema;
/// # use serde::{Deserialize, Serialize};
/// #[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
/// #[kube(group = "example.com", version = "v1", kind = "Document", namespaced)]
/// #[kube(status = "DocumentStatus", shortname = "doc")]
/// #[kube(printcolumn(name = "Title", type_ = "string", json_path = ".spec.title"))]
/// # #[kube(crates(kube_core = kube_core))]
/// pub struct DocumentSpec {
///     pub title: String,
/// }
///
/// #[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
/// pub struct DocumentStatus {
///     pub pages: u32,
/// }
///
/// let document = Document::new("readme", DocumentSpec { title: "Read me".into() });
/// assert_eq!(document.spec.title, "Read me");
/// assert_eq!(Document::crd().metadata.name.as_deref(), Some("documents.example.com"));
/// ```
///
/// generates `struct Document { metadata: ObjectMeta, spec: DocumentSpec, status: Option<DocumentStatus> }` with the
/// visibility of `DocumentSpec`, `Document::new(name, spec)`, and implementations of `Resource`, `CustomResourceExt`
/// (`Document::crd()` is the definition to apply), `HasSpec`, `HasStatus`, `Serialize`, `Deserialize`, `JsonSchema`, `Clone` and `Debug`.
///
/// # Attributes
///
/// Several `#[kube(..)]` are combined. A flag is `key` or `key = true`; a type is a path, with or without quotes.
///
/// | required | |
/// |---|---|
/// | `group = "example.com"` | API group |
/// | `version = "v1"` | name of the version |
/// | `kind = "Document"` | kind, and the name of the generated struct unless `root` is set |
///
/// | names and scope | |
/// |---|---|
/// | `root = "Doc"` | name of the generated struct |
/// | `singular = "document"` | default: the kind in lowercase |
/// | `plural = "documents"` | default: English plural of the singular |
/// | `shortname = "doc"` | repeatable |
/// | `category = "all"` | repeatable; `kubectl get all` |
/// | `namespaced` | the kind is namespaced; cluster-scoped without it |
/// | `doc = "text"` | description of the kind, in Rust and in the schema; default: the doc comment of the spec |
///
/// | shape | |
/// |---|---|
/// | `status = DocumentStatus` | adds `status: Option<DocumentStatus>`, the status subresource and `HasStatus` |
/// | `status_subresource = false` | the status is written with the rest of the object: the definition has no status subresource |
/// | `optional_spec` | objects without `spec` are valid and have the default of its type, which needs `Default` |
/// | `required_metadata` | the schema lists `metadata` as required, as some handwritten definitions do |
/// | `no_spec` | on the wire the fields of the spec are next to `metadata`, not below `spec` |
/// | `derive = "PartialEq"` | repeatable; additional derives of the generated struct; `Default` is implemented without a derive |
/// | `attr = "allow(deprecated)"` | repeatable; additional attributes of the generated struct |
///
/// | schema | |
/// |---|---|
/// | `schema = "derived"` | the default: from `JsonSchema` of the spec and the status |
/// | `schema = "manual"` | you implement `JsonSchema` for the generated struct |
/// | `schema = "disabled"` | no schema; servers reject the definition until you add one |
/// | `validation = "self.…"` | repeatable; a CEL rule on the whole object: a string, `("rule", "message")` or a `Rule` expression |
/// | `cel` | adds `validate_cel(&self)` and `validate_cel_update(&self, old)`, which evaluate the rules without a server; needs the feature `cel` of `kube` |
///
/// | definition | |
/// |---|---|
/// | `printcolumn(name = "..", type_ = "..", json_path = "..")` | repeatable; also `description`, `format`, `priority`; or a JSON string with the keys of a CRD; types and formats are those of a CRD, the path starts with `.` |
/// | `scale(spec_replicas_path = "..", status_replicas_path = "..")` | the scale subresource (needs `status`), paths below `.spec` and `.status`; also `label_selector_path`; or a JSON string |
/// | `selectable = ".spec.title"` | repeatable; a field for field selectors |
/// | `annotation("key", "value")`, `label("key", "value")` | repeatable; on the definition and on objects created by `new` |
/// | `storage = false` | not the storage version |
/// | `served = false` | not served |
/// | `deprecated`, `deprecated = "use v2"` | servers return a warning for requests to this version |
///
/// | crates | |
/// |---|---|
/// | `crates(kube_core = path, ..)` | the paths of `kube_core` (default `::kube::core`), `kube`, `k8s_openapi`, `schemars`, `serde`, `serde_json`, `std` in the generated code |
///
/// # Cost
///
/// Each call of `crd()` builds the definition, mostly its schema: keep the result if you need it often.
///
/// # Panics
///
/// `crd()` panics if the type has no structural schema, with the message of `kube::core::schema::SchemaError`: for a type that
/// contains itself (the message has the type and the field), for a merge strategy at a value of the wrong type, and for a keyword
/// of the wrong JSON type in a handwritten schema. `kube::core::schema::structural_schema::<Document>()` returns the same as an
/// error. A test that calls `crd()` finds all of these before production.
#[proc_macro_derive(CustomResource, attributes(kube, x_kube))]
pub fn derive_custom_resource(input: TokenStream) -> TokenStream {
    run(input, |input| Ok(expand::custom_resource(&parse::custom_resource(input)?)))
}

/// Implements `JsonSchema` for a struct, with CEL rules and merge strategies from `#[x_kube(..)]`.
///
/// Replaces `#[derive(JsonSchema)]`, and applies `#[serde(..)]`, `#[schemars(..)]` and `#[validate(..)]` as that does. The schema
/// of a struct with rules or defaults repeats them in an `anyOf` with one branch, so that they stay separate if the struct is
/// flattened into another one.
///
/// ```
/// # use kube_derive::KubeSchema;
/// # use serde::{Deserialize, Serialize};
/// #[derive(KubeSchema, Serialize, Deserialize, Clone, Debug)]
/// #[x_kube(validation = ("self.min <= self.max", "min is above max"))]
/// # #[x_kube(crates(kube_core = kube_core))]
/// struct Range {
///     #[x_kube(validation = Rule::new("self >= 0").reason(Reason::FieldValueInvalid))]
///     min: i32,
///     max: i32,
///     #[x_kube(merge_strategy = ListMerge::Set)]
///     tags: Vec<String>,
/// }
///
/// let schema = schemars::schema_for!(Range);
/// assert_eq!(schema.pointer("/properties/tags/x-kubernetes-list-type").unwrap(), "set");
/// ```
///
/// | on the struct or a field | |
/// |---|---|
/// | `validation = "self.…"` | repeatable; a CEL rule: a string, `("rule", "message")` or a `Rule` expression |
///
/// | on a field | |
/// |---|---|
/// | `merge_strategy = expression` | how server-side apply merges it: `ListMerge::{Atomic, Set, Map(keys)}`, `MapMerge::{Atomic, Granular}`, `StructMerge::{Atomic, Granular}` |
///
/// | `nullable = false` | an `Option` that may be absent, but not null |
/// | `format = "byte"` | a format that servers check; schemars' own for `byte` would be a pattern, because servers reject empty data for it |
///
/// `length(min = .., max = ..)` of schemars limits the entries of a map as well (`minProperties`, `maxProperties`).
///
/// | on the struct | |
/// |---|---|
/// | `cel` | adds `validate_cel(value, old)`, which evaluates the rules without a server; needs the feature `cel` of `kube` |
/// | `crates(kube_core = path, ..)` | the paths of `kube_core` (default `::kube::core`), `schemars`, `serde`, `serde_json`, `std` in the generated code |
///
/// `Rule`, `Message`, `Reason`, `ListMerge`, `MapMerge` and `StructMerge` are in scope in the expressions.
#[proc_macro_derive(KubeSchema, attributes(x_kube, schemars, validate))]
pub fn derive_kube_schema(input: TokenStream) -> TokenStream {
    run(input, |input| Ok(expand::kube_schema(&parse::kube_schema(input)?)))
}

/// Implements `Resource` for a type with a field `metadata: ObjectMeta`, with the kind of another type.
///
/// ```
/// # use k8s_openapi::{api::core::v1::ConfigMap, apimachinery::pkg::apis::meta::v1::ObjectMeta};
/// # use kube_derive::Resource;
/// # use serde::Deserialize;
/// #[derive(Resource, Clone, Debug, Deserialize)]
/// #[resource(inherit = ConfigMap)]
/// # #[resource(crates(kube_core = kube_core))]
/// struct SlimConfigMap {
///     metadata: ObjectMeta,
/// }
///
/// # use kube_core::Resource as _;
/// assert_eq!(SlimConfigMap::url_path(&(), Some("apps")), "/api/v1/namespaces/apps/configmaps");
/// ```
///
/// For a custom type of a built-in kind: with fewer fields, or stricter ones.
///
/// | | |
/// |---|---|
/// | `inherit = ConfigMap` | required: the type whose group, version, kind, plural and scope are used |
/// | `crates(kube_core = path, k8s_openapi = path)` | the paths of these crates in the generated code |
///
/// In an enum, every variant needs the field.
#[proc_macro_derive(Resource, attributes(resource))]
pub fn derive_resource(input: TokenStream) -> TokenStream {
    run(input, |input| Ok(expand::inherit(&parse::inherit(input)?)))
}

type Expansion = syn::Result<proc_macro2::TokenStream>;

fn run(input: TokenStream, derive: fn(&syn::DeriveInput) -> Expansion) -> TokenStream {
    let expansion = syn::parse(input).and_then(|input| derive(&input));
    expansion.unwrap_or_else(syn::Error::into_compile_error).into()
}
