//! The model of `#[derive(KubeSchema)]`.

use syn::{
    Attribute, Data, DataStruct, DeriveInput, Error, Expr, Fields, FieldsNamed, Ident, Meta, Path, Result,
    Token, ext::IdentExt, parse_quote, punctuated::Punctuated, spanned::Spanned,
};

use super::{
    Attributes, Validation,
    crates::SchemaCrates,
    errors::Errors,
    fields::{Length, entries, has_flag, length, texts},
    handwritten::refused_conditions,
    value::{flag, merge_strategy, string},
};

/// The model from which `#[derive(KubeSchema)]` generates code.
pub(crate) struct KubeSchema {
    pub(crate) ident: Ident,
    /// The name of the schema.
    pub(crate) name: String,
    /// The attributes of the struct that its schema depends on.
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) fields: Vec<Field>,
    pub(crate) validations: Vec<Validation>,
    /// Whether to generate the function that evaluates the rules.
    pub(crate) cel: bool,
    pub(crate) kube_core: Path,
    pub(crate) serde_json: Path,
    pub(crate) schemars: Path,
    pub(crate) std: Path,
}

/// A field, with its rules and merge strategy.
pub(crate) struct Field {
    /// The field with the attributes that its schema depends on.
    pub(crate) field: syn::Field,
    pub(crate) validations: Vec<Validation>,
    pub(crate) merge_strategy: Option<Expr>,
    /// Whether null is refused, though the type may be absent.
    pub(crate) never_null: bool,
    /// The format in the definition, whatever schemars says.
    pub(crate) format: Option<String>,
    /// The limits of `length(..)`, which are also those of a map.
    pub(crate) length: Length,
}

impl Field {
    pub(crate) fn is_annotated(&self) -> bool {
        self.never_null
            || self.format.is_some()
            || self.length != Length::default()
            || !self.validations.is_empty()
            || self.merge_strategy.is_some()
    }
}

/// Parses and validates the attributes of a `#[derive(KubeSchema)]`.
pub(crate) fn kube_schema(input: &DeriveInput) -> Result<KubeSchema> {
    let mut errors = Errors::default();
    if !input.generics.params.is_empty() {
        errors.push(Error::new(
            input.generics.span(),
            "`KubeSchema` cannot be derived for a generic struct; derive `JsonSchema` instead",
        ));
    }
    let mut on_struct = Attributes::of(&input.attrs, "x_kube", input.ident.span());
    let validations = on_struct.many("validation", Validation::read);
    let cel = on_struct.one("cel", flag).unwrap_or_default();
    let crates = on_struct.nested("crates", SchemaCrates::read);
    errors.handle(on_struct.finish());
    let named = errors.handle(named_fields(input));
    let fields = named.iter().flat_map(|fields| &fields.named);
    let fields = fields.filter_map(|field| errors.handle(read_field(field))).collect();
    refused_conditions(input).into_iter().for_each(|error| errors.push(error));
    errors.finish()?;
    let mut attrs = schema_attributes(&input.attrs);
    attrs.iter_mut().for_each(|attr| redirect_default(&input.ident, &crates.std, attr));
    let (own, other): (Vec<_>, Vec<_>) = attrs.into_iter().partition(|attr| attr.path().is_ident("schemars"));
    let name = texts(&own, "rename").pop();
    let attrs = other.into_iter().chain(own.into_iter().filter_map(without_rename)).collect();
    Ok(KubeSchema {
        ident: input.ident.clone(),
        name: name.unwrap_or_else(|| input.ident.unraw().to_string()),
        attrs,
        fields,
        validations,
        cel,
        kube_core: crates.kube_core,
        serde_json: crates.serde_json,
        schemars: crates.schemars,
        std: crates.std,
    })
}

fn named_fields(input: &DeriveInput) -> Result<&FieldsNamed> {
    match &input.data {
        Data::Struct(DataStruct { fields: Fields::Named(fields), .. }) => Ok(fields),
        _ => {
            let message = "`KubeSchema` can be derived only for structs with named fields";
            Err(Error::new(input.ident.span(), message))
        }
    }
}

fn read_field(field: &syn::Field) -> Result<Field> {
    let mut on_field = Attributes::of(&field.attrs, "x_kube", field.span());
    let validations = on_field.many("validation", Validation::read);
    let merge_strategy = on_field.one("merge_strategy", merge_strategy);
    let never_null = on_field.one("nullable", never_null).unwrap_or_default();
    let format = on_field.one("format", string);
    on_field.finish()?;
    let attrs = schema_attributes(&field.attrs);
    let length = length(&attrs);
    let read = Field {
        field: syn::Field { attrs, ..field.clone() },
        validations,
        merge_strategy,
        never_null,
        format,
        length,
    };
    if read.is_annotated()
        && ["flatten", "skip", "skip_deserializing"].iter().any(|flag| has_flag(&field.attrs, flag))
    {
        return Err(Error::new(
            field.span(),
            "a flattened or skipped field is no property of the schema: put the rule on the struct",
        ));
    }
    Ok(read)
}

/// `nullable = false`; what may be null says the type.
fn never_null(item: &Meta) -> Result<bool> {
    match flag(item)? {
        false => Ok(true),
        true => Err(Error::new(
            item.span(),
            "expected `nullable = false`; a field that may be null is an `Option`",
        )),
    }
}

/// The copy gets its name from `name`: schemars allows only one `rename`.
fn without_rename(mut attr: Attribute) -> Option<Attribute> {
    let Some(entries) = entries(&attr) else { return Some(attr) };
    let rest: Punctuated<Meta, Token![,]> =
        entries.into_iter().filter(|entry| !entry.path().is_ident("rename")).collect();
    if rest.is_empty() {
        return None;
    }
    attr = parse_quote!(#[schemars(#rest)]);
    Some(attr)
}

fn schema_attributes(attrs: &[Attribute]) -> Vec<Attribute> {
    const KEPT: &[&str] = &["serde", "schemars", "doc", "validate"];
    attrs.iter().filter(|attr| KEPT.iter().any(|kept| attr.path().is_ident(kept))).cloned().collect()
}

/// The schema is generated from a copy of the struct, which has no `Default`: `#[serde(default)]` is replaced by the path of the
/// original's.
fn redirect_default(ident: &Ident, std: &Path, attr: &mut Attribute) {
    let Some(mut entries) = entries(attr).filter(|_| has_flag(std::slice::from_ref(attr), "default")) else {
        return;
    };
    let path = quote::quote!(<#ident as #std::default::Default>::default).to_string();
    for entry in &mut entries {
        if matches!(entry, Meta::Path(path) if path.is_ident("default")) {
            *entry = parse_quote!(default = #path);
        }
    }
    let helper = attr.path().clone();
    *attr = parse_quote!(#[#helper(#entries)]);
}
