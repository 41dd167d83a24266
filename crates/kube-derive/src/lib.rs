//! Macros for Kubernetes types: the derive macros [`CustomResource`], [`KubeSchema`] and [`Resource`], and [`apply!`](apply).
//!
//! Use them through the `kube` crate (feature `derive`). Each macro parses its attributes into a model (`parse`), which reports
//! all errors at once with their spans, and generates Rust code from the model (`expand`).

mod apply;
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
/// | `definition = "function"` | the function `fn() -> CustomResourceDefinition` returns the definition, for one that exists already; the attributes below, except `shortname`, and those of the schema are then errors. No `JsonSchema` is needed |
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

/// Some fields of an object, for server-side apply: exactly those that are written are sent and owned.
///
/// ```
/// use k8s_openapi::api::{apps::v1::Deployment, core::v1::Probe};
/// use kube_core::Sparse;
/// # macro_rules! apply {
/// #     ($($all:tt)*) => { kube_derive::apply!(#[kube(crates(kube_core = ::kube_core))] $($all)*) };
/// # }
///
/// fn probe(path: &str) -> Sparse<Probe> {
///     apply!(Probe { http_get: { path, port: "http" } })
/// }
///
/// # let (name, replicas, debug) = ("web", None::<i32>, true);
/// # let env = [("RUST_LOG".to_owned(), "info".to_owned())];
/// let web = apply!(Deployment {
///     metadata: { name, labels: { "app": name } },
///     spec: {
///         replicas, // an `Option`: `None` leaves the field out
///         selector: { match_labels: { "app": name } },
///         template: {
///             metadata: { labels: { "app": name } },
///             spec: { containers: [{
///                 name: "web",
///                 image: format!("registry.example.com/{name}"),
///                 if debug { args: ["--verbose"] }
///                 env: [for (name, value) in &env { name, value }],
///                 readiness_probe: probe("/healthz"),
///             }] },
///         },
///     },
/// });
/// let json = web.json()?;
/// assert_eq!(json["kind"], "Deployment");
/// assert!(json["spec"].get("replicas").is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The value is a `Sparse<Deployment>`. Types are any structs that implement `Serialize` and `Default`: those of k8s-openapi, those
/// of `#[derive(CustomResource)]`, parts of both. If the type implements `Resource`, its `apiVersion` and `kind` are added. The compiler
/// checks every name and type: fields have their names in Rust, and are sent under those that `Serialize` gives them.
///
/// # Grammar
///
/// `apply!(Type { fields })`. Parts are separated by commas, which may be left out after the braces of `if`, `match` and `for`.
///
/// | in the braces of a struct | |
/// |---|---|
/// | `name: value` | writes the field. If it is written again, the later value counts |
/// | `name` | the same as `name: name` |
/// | `..base` | fields of another `Sparse` of the same type (also `&` or `Option`); those that are written have priority, wherever it stands |
///
/// | in the braces of a map | |
/// |---|---|
/// | `"key": value` | an entry; the key is a literal |
/// | `(expression): value` | an entry; the key is anything that can be made from the expression by `Into` |
/// | `..entries` | all pairs of an iterator or a map |
///
/// | in the brackets of a list | |
/// |---|---|
/// | `value` | an item |
/// | `..values` | all items of an iterator or a list |
/// | `..[value, value]` | several items |
///
/// | anywhere of these | |
/// |---|---|
/// | `if condition { .. } else if let pattern = value { .. } else { .. }` | what is in the braces, if the condition is true |
/// | `match value { pattern if guard => { .. }, .. }` | what is in the braces of the arm |
/// | `for pattern in values { .. }` | what is in the braces, each time; `continue` in a value leaves the item out |
///
/// In a list, the braces of these have the fields of one item, or a value: `for name in names { name }`, or several items:
/// `if debug { ..["--verbose", "--trace"] }`. An arm of `match` may be a value as well.
///
/// | a value | |
/// |---|---|
/// | `{ name: value }` | a struct, also in `Option` and `Box` |
/// | `{ "key": value }` | a map: `BTreeMap`, `HashMap` |
/// | `[value, value]` | a list: `Vec`, `VecDeque`, and without braces in it `BTreeSet`, `HashSet` |
/// | an expression of the type of the field | all of it, with what its `Serialize` writes |
/// | an expression of the type `Sparse<T>` | the fields in it |
/// | a reference to one of these | a clone |
/// | an `Option` of one of these, or `None` | `None` leaves the field, the entry or the item out |
///
/// Fields of type `String` take `&str`; `Quantity` and `IntOrString` take texts, the latter numbers too; `Time` and `MicroTime` take a
/// `Timestamp`, `ByteString` takes bytes, `JSON` and `RawExtension` take a `serde_json::Value`; `i64` takes `i32`, and so on where no
/// number is too large. A list takes arrays and slices of what its items take.
///
/// Braces that have one variable, `{ name }`, are a struct with this field; where a block of Rust is meant, write the variable without
/// braces.
///
/// Values are evaluated once, in the order of the source, in the function around: `?`, `return` and `.await` work.
///
/// # Merging
///
/// `..base` is shallow: a field that is written replaces that of the base with everything in it. `Sparse::merge` goes into structs. It
/// replaces lists, maps and whole values.
///
/// # Errors
///
/// The value of the macro carries an error until it is used: `json()`, `Serialize` and sending it return it, with the path of the field.
/// There are errors of values whose `Serialize` fails, and of names. The name of a field on the wire is known from the type's `Serialize`,
/// which has to hand out the field by reference, as derived implementations and those of k8s-openapi do. With `#[serde(serialize_with)]`,
/// and behind pointers, the name is that of the only part of the serialized struct that the field has changed. Errors, all at the first use
/// in a test, are:
///
/// - a value that the type leaves out, such as an empty list with `skip_serializing_if`: leave the field out too;
/// - a field in braces that a function serializes, of which only a part is serialized, or whose changes cannot be told from those of
///   others; a field that a function serializes, with the value of its default, which changes nothing: write the struct around it as a
///   whole value;
/// - a type that is not serialized as an object with its fields, such as an enum, or with `#[serde(transparent)]`, in braces: the same.
///
/// # Cost
///
/// About as much as a `serde_json::Value` of the same size from `json!`, in time, size and compile time: the benchmark
/// `apply` measures it.
///
/// # Paths
///
/// `apply!(#[kube(crates(kube_core = path))] Type { .. })` sets the path of `kube_core` in the expansion; the default is `::kube::core`.
#[proc_macro]
pub fn apply(input: TokenStream) -> TokenStream {
    apply::apply(input.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

type Expansion = syn::Result<proc_macro2::TokenStream>;

fn run(input: TokenStream, derive: fn(&syn::DeriveInput) -> Expansion) -> TokenStream {
    let expansion = syn::parse(input).and_then(|input| derive(&input));
    expansion.unwrap_or_else(syn::Error::into_compile_error).into()
}
