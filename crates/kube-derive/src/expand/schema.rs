//! `JsonSchema` of the whole object, without its metadata, which servers validate themselves.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{Ident, spanned::Spanned};

use super::{
    kube_schema::{flattened_options, rules},
    root::description,
};
use crate::parse::{CustomResource, Schema};

/// Generates a compile error if the spec has `#[x_kube(..)]` attributes but does not derive `KubeSchema`: they would be ignored.
pub(super) fn assert_kube_schema(model: &CustomResource) -> TokenStream {
    let Some(attribute) = &model.x_kube else { return TokenStream::new() };
    let CustomResource { spec, .. } = model;
    let kube_core = &model.crates.kube_core;
    let span = attribute.span();
    let spec = Ident::new(&spec.to_string(), span);
    quote! {
        const fn __derives_kube_schema<__T: #kube_core::schema::DerivesKubeSchema>() {}
        const _: () = __derives_kube_schema::<#spec>();
    }
}

pub(super) fn schema(model: &CustomResource) -> TokenStream {
    if model.definition.is_some() || model.schema != Schema::Derived {
        return TokenStream::new();
    }
    let CustomResource { root, .. } = model;
    let (kube_core, schemars, std) = (&model.crates.kube_core, &model.crates.schemars, &model.crates.std);
    let name = root.to_string();
    let object = if model.no_spec { flattened(model) } else { object(model) };
    let rules = rules(kube_core, &model.validations);
    let required = required(model);
    let required = required.iter();
    let mutable = (!model.validations.is_empty() || required.len() > 0).then(|| quote!(mut));
    quote_spanned! {Span::mixed_site()=>
        #[automatically_derived]
        impl #schemars::JsonSchema for #root {
            fn schema_name() -> #std::borrow::Cow<'static, str> {
                #std::borrow::Cow::Borrowed(#name)
            }

            fn schema_id() -> #std::borrow::Cow<'static, str> {
                #std::borrow::Cow::Borrowed(#std::concat!(#std::module_path!(), "::", #name))
            }

            fn json_schema(generator: &mut #schemars::SchemaGenerator) -> #schemars::Schema {
                let #mutable schema = #object;
                #(#kube_core::schema::require(&mut schema, #required);)*
                #rules
                schema
            }
        }
    }
}

/// The required fields of the object, besides those of a spec that is not one.
fn required(model: &CustomResource) -> Vec<&'static str> {
    let metadata = model.required_metadata.then_some("metadata");
    let spec = (!model.no_spec && !model.optional_spec).then_some("spec");
    metadata.into_iter().chain(spec).collect()
}

fn object(model: &CustomResource) -> TokenStream {
    let CustomResource { spec, .. } = model;
    let (kube_core, std) = (&model.crates.kube_core, &model.crates.std);
    let description = description(model);
    let description = description.trim();
    let status = match &model.status {
        Some(status) => quote_spanned! {Span::mixed_site()=>
            #std::option::Option::Some(generator.subschema_for::<#std::option::Option<#status>>())
        },
        None => quote!(#std::option::Option::None),
    };
    let optional_parts = mark_optional_parts(model);
    let spec_schema = if model.optional_parts.is_empty() {
        quote_spanned!(Span::mixed_site()=> generator.subschema_for::<#spec>())
    } else {
        quote_spanned!(Span::mixed_site()=> {
            let mut schema = generator.subschema_for::<#spec>();
            #optional_parts
            schema
        })
    };
    quote_spanned! {Span::mixed_site()=>
        #kube_core::schema::object_schema(#description, #spec_schema, #status)
    }
}

/// The schema of the spec, with the status as an additional property.
fn flattened(model: &CustomResource) -> TokenStream {
    let CustomResource { spec, .. } = model;
    let (kube_core, schemars, std) = (&model.crates.kube_core, &model.crates.schemars, &model.crates.std);
    let description = description(model);
    let description = description.trim();
    let status = model.status.as_ref().map(|status| {
        quote_spanned! {Span::mixed_site()=>
            #kube_core::merge_properties(&mut schema, &mut #schemars::json_schema!({
                "properties": { "status": generator.subschema_for::<#std::option::Option<#status>>() },
            }));
        }
    });
    let optional_parts = mark_optional_parts(model);
    quote_spanned! {Span::mixed_site()=> {
        let mut schema = <#spec as #schemars::JsonSchema>::json_schema(generator);
        #optional_parts
        schema.insert(#std::string::String::from("description"), #description.into());
        #status
        schema
    }}
}

fn mark_optional_parts(model: &CustomResource) -> TokenStream {
    flattened_options(&model.crates.kube_core, &model.crates.schemars, model.optional_parts.iter())
}
