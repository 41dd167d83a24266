//! The model of a custom resource.

use proc_macro2::Span;
use syn::{
    Attribute, Data, DeriveInput, Error, Field, Fields, Ident, Meta, Path, Result, Type, Visibility,
    ext::IdentExt, spanned::Spanned,
};

use super::{
    Attributes, Crates, Deprecated, KeyValue, PrintColumn, Scale, Validation,
    allowed::{checked, selectable_path},
    errors::{Errors, unknown_value},
    fields::{doc_comment, flattened_option, texts},
    handwritten::refused_conditions,
    value::{flag, function_path, invalid, string, type_path, value_span},
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
    /// Whether the status has an endpoint of its own.
    pub(crate) status_subresource: bool,
    /// Whether an object without `spec` has the default one.
    pub(crate) optional_spec: bool,
    /// Whether the schema lists `metadata` as required, though every object has it.
    pub(crate) required_metadata: bool,
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
    /// The function that returns the definition, in place of one from the attributes and the schema.
    pub(crate) definition: Option<Path>,
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

impl Schema {
    fn read(item: &Meta) -> Result<Self> {
        match string(item)?.as_str() {
            "derived" => Ok(Self::Derived),
            "manual" => Ok(Self::Manual),
            "disabled" => Ok(Self::Disabled),
            other => Err(unknown_value(value_span(item), other, &["derived", "manual", "disabled"])),
        }
    }
}

/// Attributes without meaning if the definition comes from a function.
const OF_THE_DEFINITION: [&str; 15] = [
    "schema",
    "validation",
    "cel",
    "printcolumn",
    "scale",
    "selectable",
    "annotation",
    "label",
    "singular",
    "category",
    "storage",
    "served",
    "deprecated",
    "status_subresource",
    "required_metadata",
];

/// A derive macro for the generated struct.
fn extra_derive(item: &Meta) -> Result<Path> {
    syn::parse_str(&string(item)?)
        .map_err(|error| invalid(item, format!("expected the path of a derive macro: {error}")))
}

/// An additional attribute of the generated struct.
fn extra_attribute(item: &Meta) -> Result<Attribute> {
    let meta: Meta = syn::parse_str(&string(item)?)
        .map_err(|error| invalid(item, format!("expected an attribute without `#[` and `]`: {error}")))?;
    let path = meta.path();
    if path.is_ident("derive") {
        return Err(invalid(item, "derives are added by `#[kube(derive = \"..\")]`, not by `attr`"));
    }
    if let Some(helper) = ["serde", "schemars"].into_iter().find(|helper| path.is_ident(helper)) {
        let message = format!(
            "`{helper}` attributes of the generated struct are fixed; put them on the spec or its fields"
        );
        return Err(invalid(item, message));
    }
    Ok(syn::parse_quote!(#[#meta]))
}

/// Parses and validates the attributes of a `#[derive(CustomResource)]`.
pub(crate) fn custom_resource(input: &DeriveInput) -> Result<CustomResource> {
    let mut errors = Errors::default();
    if !input.generics.params.is_empty() {
        let message = "a custom resource cannot be generic: a CRD has one schema";
        errors.push(Error::new(input.generics.span(), message));
    }
    if let Data::Union(_) = &input.data {
        errors.push(Error::new(
            input.ident.span(),
            "`CustomResource` can be derived only for structs and enums",
        ));
    }
    let mut kube = Attributes::of(&input.attrs, "kube", input.ident.span());
    let model = model(input, &mut kube, &mut errors);
    if model.cel && model.schema != Schema::Derived {
        kube.fail("cel", "`cel` evaluates the rules of the derived schema: it needs `schema = \"derived\"`");
    }
    if model.scale.is_some() && kube.lacks("status") {
        kube.fail("scale", "`scale` needs a status, which holds the number of replicas: add `status = ..`");
    }
    if model.scale.is_some() && !model.status_subresource {
        kube.fail("scale", "`scale` reads the status subresource, which `status_subresource = false` omits");
    }
    if !model.status_subresource && kube.lacks("status") {
        kube.fail("status_subresource", "there is no status: add `status = ..`, or remove this");
    }
    if model.optional_spec && model.no_spec {
        kube.fail("optional_spec", "with `no_spec` there is no `spec` that could be absent");
    }
    if model.definition.is_some() {
        for name in OF_THE_DEFINITION {
            if kube.has(name) {
                kube.fail(name, "the function of `definition` decides about this: remove one of the two");
            }
        }
    }
    errors.handle(kube.finish());
    if model.definition.is_none() && model.schema == Schema::Derived {
        refused_conditions(input).into_iter().for_each(|error| errors.push(error));
    }
    if model.no_spec {
        errors.handle(check_no_spec(input));
    }
    errors.finish().map(|()| model)
}

fn model(input: &DeriveInput, kube: &mut Attributes, errors: &mut Errors) -> CustomResource {
    let group = kube.required("group", string);
    let version = kube.required("version", string);
    let kind: Option<String> = kube.required("kind", |item| string(item).map(Some));
    let root = errors.handle(root(input, kind.as_deref(), kube));
    let kind = kind.unwrap_or_default();
    let singular = kube.one("singular", string).unwrap_or_else(|| kind.to_ascii_lowercase());
    let derives = kube.many("derive", extra_derive);
    let (default, derives): (Vec<Path>, Vec<Path>) =
        derives.into_iter().partition(|path| path.is_ident("Default"));
    CustomResource {
        spec: input.ident.clone(),
        vis: input.vis.clone(),
        root: root.unwrap_or_else(|| input.ident.clone()),
        group,
        version,
        kind,
        plural: kube.one("plural", string).unwrap_or_else(|| pluralize(&singular)),
        singular,
        shortnames: kube.many("shortname", string),
        categories: kube.many("category", string),
        namespaced: kube.one("namespaced", flag).unwrap_or_default(),
        doc: kube.one("doc", string).or_else(|| doc_comment(&input.attrs)),
        status: kube.one("status", type_path),
        status_subresource: kube.one("status_subresource", flag).unwrap_or(true),
        optional_spec: kube.one("optional_spec", flag).unwrap_or_default(),
        required_metadata: kube.one("required_metadata", flag).unwrap_or_default(),
        no_spec: kube.one("no_spec", flag).unwrap_or_default(),
        optional_parts: optional_parts(input),
        x_kube: x_kube(input),
        derives,
        default: !default.is_empty(),
        attrs: kube.many("attr", extra_attribute),
        schema: kube.one("schema", Schema::read).unwrap_or_default(),
        definition: kube.one("definition", function_path),
        validations: kube.many("validation", Validation::read),
        cel: kube.one("cel", flag).unwrap_or_default(),
        columns: kube.many("printcolumn", PrintColumn::read),
        scale: kube.one("scale", Scale::read),
        selectable: kube.many("selectable", checked(selectable_path)),
        annotations: kube.many("annotation", KeyValue::read),
        labels: kube.many("label", KeyValue::read),
        storage: kube.one("storage", flag).unwrap_or(true),
        served: kube.one("served", flag).unwrap_or(true),
        deprecated: kube.one("deprecated", Deprecated::read),
        crates: kube.nested("crates", Crates::read),
    }
}

/// The name of the generated struct: `root`, or the kind.
fn root(input: &DeriveInput, kind: Option<&str>, kube: &mut Attributes) -> Result<Ident> {
    let root = kube.one("root", string);
    let (key, name) = if kube.lacks("root") { ("kind", kind) } else { ("root", root.as_deref()) };
    let Some(name) = name else {
        return Ok(input.ident.clone()); // `kube` has an error
    };
    if input.ident.unraw() == name {
        let message = format!(
            "`{key} = \"{name}\"` is the name of the generated struct, but also of this struct: rename this one to `{name}Spec`, or set another `root`"
        );
        return Err(Error::new(input.ident.span(), message));
    }
    let message = format!("`{name}` cannot be the name of a struct; set another `root`");
    let mut ident: Ident = syn::parse_str(name).map_err(|_| Error::new(kube.span(key), message))?;
    ident.set_span(kube.span(key));
    Ok(ident)
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

/// With `no_spec` the fields of the spec are next to those of the root, so their names must differ.
fn check_no_spec(input: &DeriveInput) -> Result<()> {
    const ROOT_FIELDS: &[&str] = &["apiVersion", "api_version", "kind", "metadata", "status"];
    let fields = match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => fields,
            other => return Err(needs_named_fields(other.span(), input)),
        },
        _ => return Err(needs_named_fields(input.ident.span(), input)),
    };
    let mut errors = Errors::default();
    for field in &fields.named {
        let collision = wire_names(field).into_iter().find(|name| ROOT_FIELDS.contains(&name.as_str()));
        if let (Some(name), Some(ident)) = (collision, &field.ident) {
            let message = format!("with `no_spec` the field `{name}` collides with that of the root object");
            errors.push(Error::new(ident.span(), message));
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

fn needs_named_fields(span: Span, input: &DeriveInput) -> Error {
    Error::new(span, format!("`no_spec` needs a struct with named fields, `{}` has none", input.ident))
}
