//! The model of a custom resource.

use darling::{Error, FromDeriveInput, FromMeta, util::SpannedValue};
use syn::{
    Attribute, Data, DeriveInput, Field, Fields, Ident, Path, Type, Visibility, ext::IdentExt,
    spanned::Spanned,
};

use super::{
    Crates, Deprecated, KeyValue, PrintColumn, Scale, Validation,
    allowed::{Checked, SelectablePath},
    fields::{flattened_option, texts},
    value::TypePath,
};
use crate::names::pluralize;

/// The model from which `#[derive(CustomResource)]` generates code.
pub(crate) struct CustomResource {
    pub(crate) spec: Ident,
    pub(crate) vis: Visibility,
    pub(crate) root: Ident,
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) singular: String,
    pub(crate) plural: String,
    pub(crate) shortnames: Vec<String>,
    pub(crate) categories: Vec<String>,
    pub(crate) namespaced: bool,
    pub(crate) doc: Option<String>,
    pub(crate) status: Option<Path>,
    pub(crate) no_spec: bool,
    /// `T` of each flattened field of type `Option<T>`.
    pub(crate) optional_parts: Vec<Type>,
    /// The first `#[x_kube(..)]`, an attribute of `KubeSchema`.
    pub(crate) x_kube: Option<Attribute>,
    /// Additional derives, except `Default`, which is the field `default`.
    pub(crate) derives: Vec<Path>,
    pub(crate) default: bool,
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) schema: Schema,
    pub(crate) validations: Vec<Validation>,
    /// Whether to generate the methods that evaluate the rules.
    pub(crate) cel: bool,
    pub(crate) columns: Vec<PrintColumn>,
    pub(crate) scale: Option<Scale>,
    pub(crate) selectable: Vec<String>,
    pub(crate) annotations: Vec<KeyValue>,
    pub(crate) labels: Vec<KeyValue>,
    pub(crate) storage: bool,
    pub(crate) served: bool,
    pub(crate) deprecated: Option<Deprecated>,
    pub(crate) crates: Crates,
}

/// The source of the root schema.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Schema {
    #[default]
    Derived,
    Manual,
    Disabled,
}

impl FromMeta for Schema {
    fn from_string(name: &str) -> darling::Result<Self> {
        match name {
            "derived" => Ok(Self::Derived),
            "manual" => Ok(Self::Manual),
            "disabled" => Ok(Self::Disabled),
            other => Err(Error::unknown_value_with_alts(other, &["derived", "manual", "disabled"])),
        }
    }
}

/// A derive macro for the generated struct.
struct Derive(Path);

impl FromMeta for Derive {
    fn from_string(name: &str) -> darling::Result<Self> {
        let path = syn::parse_str(name);
        path.map(Self).map_err(|error| Error::custom(format!("expected the path of a derive macro: {error}")))
    }
}

/// An additional attribute of the generated struct.
struct ExtraAttribute(Attribute);

impl FromMeta for ExtraAttribute {
    fn from_string(text: &str) -> darling::Result<Self> {
        let meta: syn::Meta = syn::parse_str(text)
            .map_err(|error| Error::custom(format!("expected an attribute without `#[` and `]`: {error}")))?;
        let path = meta.path();
        if path.is_ident("derive") {
            return Err(Error::custom("derives are added by `#[kube(derive = \"..\")]`, not by `attr`"));
        }
        if let Some(helper) = ["serde", "schemars"].into_iter().find(|helper| path.is_ident(helper)) {
            return Err(Error::custom(format!(
                "`{helper}` attributes of the generated struct are fixed; put them on the spec or its fields"
            )));
        }
        Ok(Self(syn::parse_quote!(#[#meta])))
    }
}

/// The parsed attributes, before validation.
#[derive(FromDeriveInput)]
#[darling(attributes(kube), supports(struct_any, enum_any))]
struct Kube {
    ident: Ident,
    vis: Visibility,
    group: String,
    version: String,
    kind: SpannedValue<String>,
    root: Option<SpannedValue<String>>,
    singular: Option<String>,
    plural: Option<String>,
    #[darling(multiple, rename = "shortname")]
    shortnames: Vec<String>,
    #[darling(multiple, rename = "category")]
    categories: Vec<String>,
    #[darling(default)]
    namespaced: bool,
    doc: Option<String>,
    status: Option<TypePath>,
    #[darling(default)]
    no_spec: bool,
    #[darling(multiple, rename = "derive")]
    derives: Vec<Derive>,
    #[darling(multiple, rename = "attr")]
    attributes: Vec<ExtraAttribute>,
    #[darling(default)]
    schema: Schema,
    #[darling(multiple, rename = "validation")]
    validations: Vec<Validation>,
    #[darling(default)]
    cel: SpannedValue<bool>,
    #[darling(multiple, rename = "printcolumn")]
    columns: Vec<PrintColumn>,
    scale: Option<SpannedValue<Scale>>,
    #[darling(multiple)]
    selectable: Vec<Checked<SelectablePath>>,
    #[darling(multiple, rename = "annotation")]
    annotations: Vec<KeyValue>,
    #[darling(multiple, rename = "label")]
    labels: Vec<KeyValue>,
    #[darling(default = yes)]
    storage: bool,
    #[darling(default = yes)]
    served: bool,
    deprecated: Option<Deprecated>,
    #[darling(default)]
    crates: Crates,
}

fn yes() -> bool {
    true
}

/// Parses and validates the attributes of a `#[derive(CustomResource)]`.
pub(crate) fn custom_resource(input: &DeriveInput) -> darling::Result<CustomResource> {
    let mut errors = Error::accumulator();
    if !input.generics.params.is_empty() {
        errors.push(
            Error::custom("a custom resource cannot be generic: a CRD has one schema")
                .with_span(&input.generics),
        );
    }
    let Some(kube) = errors.handle(Kube::from_derive_input(input)) else {
        return Err(errors.finish().expect_err("an error was just recorded"));
    };
    if kube.no_spec {
        errors.handle(check_no_spec(input));
    }
    if *kube.cel && kube.schema != Schema::Derived {
        errors.push(
            Error::custom("`cel` evaluates the rules of the derived schema: it needs `schema = \"derived\"`")
                .with_span(&kube.cel.span()),
        );
    }
    if let (Some(scale), None) = (&kube.scale, &kube.status) {
        errors.push(
            Error::custom("`scale` needs a status, which holds the number of replicas: add `status = ..`")
                .with_span(&scale.span()),
        );
    }
    let root = errors.handle(root_name(&kube));
    errors.finish()?;
    let (default, derives): (Vec<Path>, Vec<Path>) =
        kube.derives.into_iter().map(|Derive(path)| path).partition(|path| path.is_ident("Default"));

    let kind = kube.kind.into_inner();
    let singular = kube.singular.unwrap_or_else(|| kind.to_ascii_lowercase());
    Ok(CustomResource {
        spec: kube.ident,
        vis: kube.vis,
        root: root.expect("otherwise an error was recorded"),
        group: kube.group,
        version: kube.version,
        kind,
        plural: kube.plural.unwrap_or_else(|| pluralize(&singular)),
        singular,
        shortnames: kube.shortnames,
        categories: kube.categories,
        namespaced: kube.namespaced,
        doc: kube.doc,
        status: kube.status.map(|TypePath(path)| path),
        no_spec: kube.no_spec,
        optional_parts: optional_parts(input),
        x_kube: x_kube(input),
        derives,
        default: !default.is_empty(),
        attrs: kube.attributes.into_iter().map(|ExtraAttribute(attr)| attr).collect(),
        schema: kube.schema,
        validations: kube.validations,
        cel: kube.cel.into_inner(),
        columns: kube.columns,
        scale: kube.scale.map(SpannedValue::into_inner),
        selectable: kube.selectable.into_iter().map(Into::into).collect(),
        annotations: kube.annotations,
        labels: kube.labels,
        storage: kube.storage,
        served: kube.served,
        deprecated: kube.deprecated,
        crates: kube.crates,
    })
}

fn optional_parts(input: &DeriveInput) -> Vec<Type> {
    match &input.data {
        Data::Struct(data) => data.fields.iter().filter_map(flattened_option).cloned().collect(),
        _ => Vec::new(),
    }
}

fn x_kube(input: &DeriveInput) -> Option<Attribute> {
    let of_fields = match &input.data {
        Data::Struct(data) => data.fields.iter().flat_map(|field| &field.attrs).collect(),
        _ => Vec::new(),
    };
    input.attrs.iter().chain(of_fields).find(|attr| attr.path().is_ident("x_kube")).cloned()
}

fn root_name(kube: &Kube) -> darling::Result<Ident> {
    let (key, name) = match &kube.root {
        Some(root) => ("root", root),
        None => ("kind", &kube.kind),
    };
    if kube.ident.unraw() == name.as_str() {
        return Err(Error::custom(format!(
            "`{key} = \"{0}\"` is the name of the generated struct, but also of this struct: rename this one to `{0}Spec`, or set another `root`",
            name.as_str(),
        ))
        .with_span(&kube.ident));
    }
    let mut ident = syn::parse_str::<Ident>(name).map_err(|_| {
        Error::custom(format!("`{}` cannot be the name of a struct; set another `root`", name.as_str()))
            .with_span(&name.span())
    })?;
    ident.set_span(name.span());
    Ok(ident)
}

/// With `no_spec` the fields of the spec are next to those of the root, so their names must differ.
fn check_no_spec(input: &DeriveInput) -> darling::Result<()> {
    const ROOT_FIELDS: &[&str] = &["apiVersion", "api_version", "kind", "metadata", "status"];
    let fields = match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => fields,
            other => return Err(needs_named_fields(other.span(), input)),
        },
        _ => return Err(needs_named_fields(input.ident.span(), input)),
    };
    let mut errors = Error::accumulator();
    for field in &fields.named {
        let collision = wire_names(field).into_iter().find(|name| ROOT_FIELDS.contains(&name.as_str()));
        if let (Some(name), Some(ident)) = (collision, &field.ident) {
            errors.push(
                Error::custom(format!(
                    "with `no_spec` the field `{name}` collides with that of the root object"
                ))
                .with_span(ident),
            );
        }
    }
    errors.finish()
}

/// The name of a field in Rust, or its names on the wire if it is renamed.
fn wire_names(field: &Field) -> Vec<String> {
    let renamed = texts(&field.attrs, "rename");
    if renamed.is_empty() {
        field.ident.iter().map(|ident| ident.unraw().to_string()).collect()
    } else {
        renamed
    }
}

fn needs_named_fields(span: proc_macro2::Span, input: &DeriveInput) -> Error {
    Error::custom(format!("`no_spec` needs a struct with named fields, `{}` has none", input.ident))
        .with_span(&span)
}
