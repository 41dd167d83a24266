//! `#[derive(KubeSchema)]`: schemars generates the schema of a copy of the struct, to which rules and merge strategies are added.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::{Expr, Path};

use crate::parse::{Field, KubeSchema, Length, Validation, flattened_option, in_scope};

pub(crate) fn kube_schema(model: &KubeSchema) -> TokenStream {
    let KubeSchema { ident, name, kube_core, schemars, std, .. } = model;
    let copy = format_ident!("__{}", ident);
    let fields = model.fields.iter().map(|Field { field, .. }| field);
    let copy_of_struct = copy_with(model, &copy, quote!(#(#fields),*));
    let annotated = model.fields.iter().filter_map(|field| annotate_property(model, field));
    let rules = rules(kube_core, &model.validations);
    let flattened_options = flattened_options(
        kube_core,
        schemars,
        model.fields.iter().filter_map(|field| flattened_option(&field.field)),
    );
    let cel = super::cel::schema_methods(model);
    // `__PENDING` makes a recursive type a reference while its schema is generated: inlining it would not terminate.
    quote_spanned! {Span::mixed_site()=>
        #cel
        const _: () = {
            #std::thread_local! {
                static __PENDING: #std::cell::Cell<bool> = const { #std::cell::Cell::new(false) };
            }

            #[automatically_derived]
            impl #kube_core::schema::DerivesKubeSchema for #ident {}

            #[automatically_derived]
            #[allow(clippy::expect_used)]
            impl #schemars::JsonSchema for #ident {
                fn inline_schema() -> bool {
                    !__PENDING.get()
                }

                fn schema_name() -> #std::borrow::Cow<'static, str> {
                    #std::borrow::Cow::Borrowed(#name)
                }

                fn schema_id() -> #std::borrow::Cow<'static, str> {
                    #std::borrow::Cow::Borrowed(#std::concat!(#std::module_path!(), "::", #name))
                }

                fn json_schema(generator: &mut #schemars::SchemaGenerator) -> #schemars::Schema {
                    #copy_of_struct
                    let pending = __PENDING.replace(true);
                    let mut schema = <#copy as #schemars::JsonSchema>::json_schema(generator);
                    #(#annotated)*
                    #flattened_options
                    #rules
                    #kube_core::schema::flattenable(&mut schema);
                    __PENDING.set(pending);
                    schema
                }
            }
        };
    }
}

/// Statements that add the rules of the whole schema to `schema`.
pub(super) fn rules(kube_core: &Path, validations: &[Validation]) -> Option<TokenStream> {
    let rules = validations.iter().map(|validation| in_scope(kube_core, validation));
    (rules.len() > 0).then(|| {
        quote_spanned! {Span::mixed_site()=>
            #(#kube_core::validate(&mut schema, #rules).expect("a new schema accepts rules");)*
        }
    })
}

/// Statements that mark optional flattened structs in `schema`.
pub(super) fn flattened_options<'a>(
    kube_core: &Path,
    schemars: &Path,
    parts: impl Iterator<Item = &'a syn::Type>,
) -> TokenStream {
    let statements = parts.map(|part| {
        quote_spanned! {Span::mixed_site()=>
            let part = <#part as #schemars::JsonSchema>::json_schema(generator);
            #kube_core::schema::flattened_option(&mut schema, &part);
        }
    });
    quote!(#(#statements)*)
}

/// Statements that annotate the property of a field. Only serde and schemars know its name, so they come from the schema of a
/// struct with this field alone.
fn annotate_property(model: &KubeSchema, annotated: &Field) -> Option<TokenStream> {
    if !annotated.is_annotated() {
        return None;
    }
    let KubeSchema { kube_core, schemars, std, .. } = model;
    let Field { field, validations, merge_strategy, never_null, format, length } = annotated;
    let copy = format_ident!("__{}", model.ident);
    let copy_of_field = copy_with(model, &copy, quote!(#field));
    let rules = validations.iter().map(|validation| in_scope(kube_core, validation));
    let merge_strategy = merge_strategy.as_ref().map(|strategy| {
        let strategy = in_scope(kube_core, strategy);
        quote_spanned! {Span::mixed_site()=>
            #kube_core::merge_strategy_property(&mut property, 0, #strategy).expect("the schema has one property");
        }
    });
    let never_null = never_null
        .then(|| quote_spanned!(Span::mixed_site()=> #kube_core::schema::never_null(&mut property);));
    let format = format.as_ref().map(|format| {
        quote_spanned!(Span::mixed_site()=> #kube_core::schema::written_format(&mut property, #format);)
    });
    let limit = |limit: &Option<Expr>| match limit {
        Some(limit) => quote!(#std::option::Option::Some((#limit) as u64)),
        None => quote!(#std::option::Option::None),
    };
    let length = (*length != Length::default()).then(|| {
        let (min, max) = (limit(&length.min), limit(&length.max));
        quote_spanned!(Span::mixed_site()=> #kube_core::schema::map_length(&mut property, #min, #max);)
    });
    Some(quote_spanned! {Span::mixed_site()=> {
        #copy_of_field
        let mut property = <#copy as #schemars::JsonSchema>::json_schema(generator);
        #(#kube_core::validate_property(&mut property, 0, #rules).expect("the schema has one property");)*
        #merge_strategy
        #never_null
        #format
        #length
        #kube_core::merge_properties(&mut schema, &mut property);
    }})
}

fn copy_with(model: &KubeSchema, copy: &syn::Ident, fields: TokenStream) -> TokenStream {
    let KubeSchema { attrs, schemars, .. } = model;
    let schemars_crate = quote!(#schemars).to_string().replace(' ', "");
    let name = &model.name;
    quote! {
        #[derive(#schemars::JsonSchema)]
        #[schemars(crate = #schemars_crate)]
        #(#attrs)*
        #[schemars(rename = #name)]
        #[allow(dead_code, deprecated, missing_docs, non_camel_case_types)]
        struct #copy { #fields }
    }
}
