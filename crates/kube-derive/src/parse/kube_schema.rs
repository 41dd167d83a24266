//! The model of `#[derive(KubeSchema)]`.

use darling::{Error, FromDeriveInput, FromField, FromMeta};
use syn::{
    Attribute, Data, DeriveInput, Expr, Fields, Ident, Meta, Path, Token, ext::IdentExt, parse_quote,
    punctuated::Punctuated,
};

use super::{
    Validation,
    crates::SchemaCrates,
    fields::{entries, has_flag, texts},
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
}

#[derive(FromDeriveInput)]
#[darling(attributes(x_kube), supports(struct_named))]
struct OnStruct {
    #[darling(multiple, rename = "validation")]
    validations: Vec<Validation>,
    #[darling(default)]
    cel: bool,
    #[darling(default)]
    crates: SchemaCrates,
}

#[derive(FromField)]
#[darling(attributes(x_kube))]
struct OnField {
    #[darling(multiple, rename = "validation")]
    validations: Vec<Validation>,
    merge_strategy: Option<Strategy>,
}

/// Any expression, unlike darling's own `Expr`, which parses strings as Rust.
struct Strategy(Expr);

impl FromMeta for Strategy {
    fn from_expr(expr: &Expr) -> darling::Result<Self> {
        match expr {
            Expr::Lit(_) => Err(Error::custom(
                "expected ListMerge::{Atomic, Set, Map(keys)}, MapMerge::{Atomic, Granular} or StructMerge::{Atomic, Granular}",
            )
            .with_span(expr)),
            _ => Ok(Self(expr.clone())),
        }
    }
}

/// Parses and validates the attributes of a `#[derive(KubeSchema)]`.
pub(crate) fn kube_schema(input: &DeriveInput) -> darling::Result<KubeSchema> {
    let mut errors = Error::accumulator();
    if !input.generics.params.is_empty() {
        errors.push(
            Error::custom("`KubeSchema` cannot be derived for a generic struct; derive `JsonSchema` instead")
                .with_span(&input.generics),
        );
    }
    let on_struct = errors.handle(OnStruct::from_derive_input(input));
    let fields = match &input.data {
        Data::Struct(syn::DataStruct { fields: Fields::Named(fields), .. }) => {
            fields.named.iter().filter_map(|field| errors.handle(read_field(field))).collect()
        }
        _ => Vec::new(), // an error of `from_derive_input`
    };
    errors.finish()?;
    let OnStruct { validations, cel, crates } = on_struct.expect("otherwise an error was recorded");
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

fn read_field(field: &syn::Field) -> darling::Result<Field> {
    let OnField { validations, merge_strategy } = OnField::from_field(field)?;
    let annotated = !validations.is_empty() || merge_strategy.is_some();
    if annotated && ["flatten", "skip", "skip_deserializing"].iter().any(|flag| has_flag(&field.attrs, flag))
    {
        return Err(Error::custom(
            "a flattened or skipped field is no property of the schema: put the rule on the struct",
        )
        .with_span(field));
    }
    let attrs = schema_attributes(&field.attrs);
    Ok(Field {
        field: syn::Field { attrs, ..field.clone() },
        validations,
        merge_strategy: merge_strategy.map(|Strategy(expr)| expr),
    })
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
