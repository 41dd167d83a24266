//! The model of `#[derive(KubeSchema)]`.

use darling::{Error, FromDeriveInput, FromField, FromMeta};
use syn::{
    Attribute, Data, DeriveInput, Expr, Fields, Ident, Meta, Path, Token, ext::IdentExt, parse_quote,
    punctuated::Punctuated,
};

use super::{
    Validation,
    crates::SchemaCrates,
    fields::{entries, has_word, texts},
};

/// All that `#[derive(KubeSchema)]` generates from.
pub(crate) struct KubeSchema {
    pub(crate) ident: Ident,
    /// The name of the schema.
    pub(crate) name: String,
    /// The attributes of the struct that its schema depends on.
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) fields: Vec<Field>,
    pub(crate) validations: Vec<Validation>,
    /// Whether the rules become a function.
    pub(crate) cel: bool,
    pub(crate) kube_core: Path,
    pub(crate) serde_json: Path,
    pub(crate) schemars: Path,
    pub(crate) std: Path,
}

/// One field, and what the schema is to say of it.
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

/// Any expression, unlike darling's own `Expr`, which reads strings as Rust.
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

/// Reads and checks the attributes of a `#[derive(KubeSchema)]`.
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
        _ => Vec::new(), // refused with the attributes
    };
    errors.finish()?;
    let OnStruct { validations, cel, crates } = on_struct.expect("an error was gathered otherwise");
    let mut attrs = schema_attributes(&input.attrs);
    attrs.iter_mut().for_each(|attr| default_of(&input.ident, &crates.std, attr));
    let (own, of_serde): (Vec<_>, Vec<_>) =
        attrs.into_iter().partition(|attr| attr.path().is_ident("schemars"));
    let name = texts(&own, "rename").pop();
    let attrs = of_serde.into_iter().chain(own.into_iter().filter_map(without_rename)).collect();
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
    if annotated && ["flatten", "skip", "skip_deserializing"].iter().any(|word| has_word(&field.attrs, word))
    {
        return Err(Error::custom(
            "a field that is flattened or skipped is no property of the schema: put the rule on the struct",
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

/// The copy gets its name from `name`: schemars takes one.
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

/// The schema is made from a copy of the struct, which has no `Default`: a bare `#[serde(default)]` is pointed at the original's.
fn default_of(ident: &Ident, std: &Path, attr: &mut Attribute) {
    let Some(mut entries) = entries(attr).filter(|_| has_word(std::slice::from_ref(attr), "default")) else {
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
