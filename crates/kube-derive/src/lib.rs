//! Derive macros for Kubernetes types: [`CustomResource`], [`KubeSchema`] and [`Resource`].
//!
//! Use them through the `kube` crate (feature `derive`). Each macro reads its attributes into a model (`parse`), telling
//! all mistakes at once and each at its place, and writes the model out as Rust (`expand`).

mod expand;
mod names;
mod parse;

use proc_macro::TokenStream;

/// Makes a custom resource out of the type of its `spec`.
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
/// yields `struct Document { metadata: ObjectMeta, spec: DocumentSpec, status: Option<DocumentStatus> }` with the
/// visibility of `DocumentSpec`, `Document::new(name, spec)`, and implementations of `Resource`, `CustomResourceExt`
/// (`Document::crd()` is the definition to apply), `HasSpec`, `HasStatus`, `Serialize`, `Deserialize`, `JsonSchema`, `Clone` and `Debug`.
///
/// # Attributes
///
/// Several `#[kube(..)]` add up. Flags are written `key`, or `key = true`; types as a path or in quotes.
///
/// | required | |
/// |---|---|
/// | `group = "example.com"` | API group |
/// | `version = "v1"` | name of the version |
/// | `kind = "Document"` | kind, and the name of the generated struct unless `root` gives another |
///
/// | names and scope | |
/// |---|---|
/// | `root = "Doc"` | name of the generated struct |
/// | `singular = "document"` | default: the kind in lowercase |
/// | `plural = "documents"` | default: English plural of the singular |
/// | `shortname = "doc"` | repeatable |
/// | `category = "all"` | repeatable; `kubectl get all` |
/// | `namespaced` | objects live in namespaces; cluster-wide without it |
/// | `doc = "text"` | description of the kind, in Rust and in the schema |
///
/// | shape | |
/// |---|---|
/// | `status = DocumentStatus` | adds `status: Option<DocumentStatus>`, the status subresource and `HasStatus` |
/// | `no_spec` | on the wire the fields of the spec stand beside `metadata`, not under `spec` |
/// | `derive = "PartialEq"` | repeatable; further derives of the generated struct; `Default` is written by hand |
/// | `attr = "allow(deprecated)"` | repeatable; further attributes of the generated struct |
///
/// | schema | |
/// |---|---|
/// | `schema = "derived"` | the default: made by `JsonSchema` of the spec and the status |
/// | `schema = "manual"` | you implement `JsonSchema` for the generated struct |
/// | `schema = "disabled"` | none; servers refuse such a definition until you add one |
/// | `validation = "self.…"` | repeatable; a CEL rule on the whole object: text, `("rule", "message")` or a `Rule` expression |
/// | `cel` | adds `validate_cel(&self)` and `validate_cel_update(&self, old)`, which evaluate the rules without a server; needs the feature `cel` of `kube` |
///
/// | definition | |
/// |---|---|
/// | `printcolumn(name = "..", type_ = "..", json_path = "..")` | repeatable; also `description`, `format`, `priority`; or one JSON text with the keys of a CRD; types and formats are those of a CRD, the path starts with `.` |
/// | `scale(spec_replicas_path = "..", status_replicas_path = "..")` | the scale subresource (needs `status`), paths below `.spec` and `.status`; also `label_selector_path`; or one JSON text |
/// | `selectable = ".spec.title"` | repeatable; a field that field selectors may name |
/// | `annotation("key", "value")`, `label("key", "value")` | repeatable; on the definition and on objects made by `new` |
/// | `storage = false` | not the stored version |
/// | `served = false` | not served |
/// | `deprecated`, `deprecated = "use v2"` | servers warn who uses this version |
///
/// | crates | |
/// |---|---|
/// | `crates(kube_core = path, ..)` | where the generated code finds `kube_core` (default `::kube::core`), `kube`, `k8s_openapi`, `schemars`, `serde`, `serde_json`, `std` |
///
/// # Cost
///
/// `crd()` builds the definition anew each time, most of it the schema: keep the result where it is needed often.
///
/// # Panics
///
/// `crd()` panics where the type has no structural schema, with the message of `kube::core::schema::SchemaError`: for a type that
/// contains itself (the message names it and the field), for a merge strategy at a value of another type, and for a keyword of the
/// wrong JSON type in a schema written by hand.
/// `kube::core::schema::structural_schema::<Document>()` gives the same as an error. A test that calls `crd()` keeps both out of production.
#[proc_macro_derive(CustomResource, attributes(kube, x_kube))]
pub fn derive_custom_resource(input: TokenStream) -> TokenStream {
    run(input, |input| Ok(expand::custom_resource(&parse::custom_resource(input)?)))
}

/// Implements `JsonSchema` for a struct, with CEL rules and merge strategies from `#[x_kube(..)]`.
///
/// Takes the place of `#[derive(JsonSchema)]`, and reads `#[serde(..)]`, `#[schemars(..)]` and `#[validate(..)]` as that does.
/// A struct with rules or defaults has them once more in an `anyOf` of one branch, so that they are kept apart where the struct is
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
/// | `validation = "self.…"` | repeatable; a CEL rule: text, `("rule", "message")` or a `Rule` expression |
///
/// | on a field | |
/// |---|---|
/// | `merge_strategy = expression` | how server-side apply merges it: `ListMerge::{Atomic, Set, Map(keys)}`, `MapMerge::{Atomic, Granular}`, `StructMerge::{Atomic, Granular}` |
///
/// | on the struct | |
/// |---|---|
/// | `cel` | adds `validate_cel(value, old)`, which evaluates the rules without a server; needs the feature `cel` of `kube` |
/// | `crates(kube_core = path, ..)` | where the generated code finds `kube_core` (default `::kube::core`), `schemars`, `serde`, `serde_json`, `std` |
///
/// `Rule`, `Message`, `Reason`, `ListMerge`, `MapMerge` and `StructMerge` are in scope of the expressions.
#[proc_macro_derive(KubeSchema, attributes(x_kube, schemars, validate))]
pub fn derive_kube_schema(input: TokenStream) -> TokenStream {
    run(input, |input| Ok(expand::kube_schema(&parse::kube_schema(input)?)))
}

/// Implements `Resource` for a type with a field `metadata: ObjectMeta`, as another type does it.
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
/// For an own view of a built-in kind: fewer fields, or stricter ones.
///
/// | | |
/// |---|---|
/// | `inherit = ConfigMap` | required: the type whose group, version, kind, plural and scope it takes |
/// | `crates(kube_core = path, k8s_openapi = path)` | where the generated code finds these |
///
/// In an enum every variant needs the field.
#[proc_macro_derive(Resource, attributes(resource))]
pub fn derive_resource(input: TokenStream) -> TokenStream {
    run(input, |input| Ok(expand::inherit(&parse::inherit(input)?)))
}

type Expansion = darling::Result<proc_macro2::TokenStream>;

fn run(input: TokenStream, derive: fn(&syn::DeriveInput) -> Expansion) -> TokenStream {
    let input = match syn::parse(input) {
        Ok(input) => input,
        Err(error) => return error.into_compile_error().into(),
    };
    // An error that belongs to no attribute stands at the name of the item, not at the whole `derive(..)`.
    derive(&input).unwrap_or_else(|error| parse::located(error, &input.ident).write_errors()).into()
}
