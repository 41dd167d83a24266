//! `JsonSchema` of the whole object. Its metadata is the server's business and not in it.

use proc_macro2::TokenStream;
use quote::quote;

use super::{kube_schema::rules, root::description};
use crate::parse::{CustomResource, Schema};

pub(super) fn schema(model: &CustomResource) -> TokenStream {
    if model.schema != Schema::Derived {
        return TokenStream::new();
    }
    let CustomResource { root, .. } = model;
    let (kube_core, schemars, std) = (&model.crates.kube_core, &model.crates.schemars, &model.crates.std);
    let name = root.to_string();
    let object = if model.no_spec { flattened(model) } else { object(model) };
    let rules = rules(kube_core, &model.validations);
    let mutable = (!model.validations.is_empty()).then(|| quote!(mut));
    quote! {
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
                #rules
                schema
            }
        }
    }
}

fn object(model: &CustomResource) -> TokenStream {
    let CustomResource { spec, .. } = model;
    let (schemars, std) = (&model.crates.schemars, &model.crates.std);
    let description = description(model);
    let description = description.trim();
    let status = model
        .status
        .as_ref()
        .map(|status| quote!("status": generator.subschema_for::<#std::option::Option<#status>>(),));
    quote! {
        #schemars::json_schema!({
            "description": #description,
            "type": "object",
            "required": ["spec"],
            "properties": { "spec": generator.subschema_for::<#spec>(), #status },
        })
    }
}

/// The schema of the spec itself, with the status among its properties.
fn flattened(model: &CustomResource) -> TokenStream {
    let CustomResource { spec, .. } = model;
    let (kube_core, schemars, std) = (&model.crates.kube_core, &model.crates.schemars, &model.crates.std);
    let description = description(model);
    let description = description.trim();
    let status = model.status.as_ref().map(|status| {
        quote! {
            #kube_core::merge_properties(&mut schema, &mut #schemars::json_schema!({
                "properties": { "status": generator.subschema_for::<#std::option::Option<#status>>() },
            }));
        }
    });
    quote! {{
        let mut schema = <#spec as #schemars::JsonSchema>::json_schema(generator);
        schema.insert(#std::string::String::from("description"), #description.into());
        #status
        schema
    }}
}
