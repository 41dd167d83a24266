//! `CustomResourceExt`: the definition of the kind, as a constant that kube-core turns into the object.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::Path;

use crate::parse::{CustomResource, Deprecated, KeyValue, PrintColumn, Scale, Schema};

pub(super) fn custom_resource_ext(model: &CustomResource) -> TokenStream {
    let CustomResource { root, shortnames, .. } = model;
    let (kube_core, k8s_openapi) = (&model.crates.kube_core, &model.crates.k8s_openapi);
    let name = format!("{}.{}", model.plural, model.group);
    let crd = match &model.definition {
        Some(function) => quote!(#function()),
        None => from_attributes(model),
    };
    quote! {
        #[automatically_derived]
        impl #kube_core::crd::v1::CustomResourceExt for #root {
            fn crd() -> #k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition {
                #crd
            }

            fn crd_name() -> &'static str {
                #name
            }

            fn api_resource() -> #kube_core::dynamic::ApiResource {
                #kube_core::dynamic::ApiResource::erase::<Self>(&())
            }

            fn shortnames() -> &'static [&'static str] {
                &[#(#shortnames),*]
            }
        }
    }
}

fn from_attributes(model: &CustomResource) -> TokenStream {
    let (kube_core, std) = (&model.crates.kube_core, &model.crates.std);
    let definition = definition(model);
    let schema = match model.schema {
        Schema::Disabled => quote!(#std::option::Option::None),
        _ => quote!(#std::option::Option::Some(#kube_core::schema::expect_structural_schema::<Self>())),
    };
    quote! {
        const DEFINITION: #kube_core::crd::Definition = #definition;
        DEFINITION.crd(#schema)
    }
}

fn definition(model: &CustomResource) -> TokenStream {
    let CustomResource {
        group,
        version,
        kind,
        singular,
        plural,
        namespaced,
        shortnames,
        categories,
        served,
        storage,
        ..
    } = model;
    let kube_core = &model.crates.kube_core;
    let values = Values { std: &model.crates.std, crd: &quote!(#kube_core::crd) };
    let (annotations, labels) = (pairs(&model.annotations), pairs(&model.labels));
    let columns = model.columns.iter().map(|column| values.column(column));
    let selectable = &model.selectable;
    let status = model.status.is_some() && model.status_subresource;
    // Without a status there are no subresources.
    let scale = values.option(model.scale.as_ref().filter(|_| status).map(|scale| values.scale(scale)));
    let deprecated = model.deprecated.is_some();
    let warning = values.option(match &model.deprecated {
        Some(Deprecated::Warning(text)) => Some(text),
        Some(Deprecated::Plain) | None => None,
    });
    quote! {
        #kube_core::crd::Definition {
            group: #group,
            version: #version,
            kind: #kind,
            singular: #singular,
            plural: #plural,
            namespaced: #namespaced,
            short_names: &[#(#shortnames),*],
            categories: &[#(#categories),*],
            annotations: &[#annotations],
            labels: &[#labels],
            served: #served,
            storage: #storage,
            columns: &[#(#columns),*],
            selectable: &[#(#selectable),*],
            status: #status,
            scale: #scale,
            deprecated: #deprecated,
            deprecation_warning: #warning,
        }
    }
}

fn pairs(entries: &[KeyValue]) -> TokenStream {
    let entries = entries.iter().map(|KeyValue { key, value }| quote!((#key, #value)));
    quote!(#(#entries),*)
}

/// Generates values of the definition's types.
struct Values<'a> {
    std: &'a Path,
    crd: &'a TokenStream,
}

impl Values<'_> {
    fn option(&self, value: Option<impl ToTokens>) -> TokenStream {
        let std = self.std;
        match value {
            Some(value) => quote!(#std::option::Option::Some(#value)),
            None => quote!(#std::option::Option::None),
        }
    }

    fn column(&self, column: &PrintColumn) -> TokenStream {
        let (crd, PrintColumn { name, type_, json_path, .. }) = (self.crd, column);
        let [description, format] =
            [&column.description, &column.format].map(|text| self.option(text.as_ref()));
        let priority = self.option(column.priority);
        quote! {
            #crd::Column {
                name: #name,
                type_: #type_,
                json_path: #json_path,
                description: #description,
                format: #format,
                priority: #priority,
            }
        }
    }

    fn scale(&self, scale: &Scale) -> TokenStream {
        let (crd, Scale { spec_replicas_path, status_replicas_path, .. }) = (self.crd, scale);
        let selector = self.option(scale.label_selector_path.as_ref());
        quote! {
            #crd::Scale {
                spec_replicas_path: #spec_replicas_path,
                status_replicas_path: #status_replicas_path,
                label_selector_path: #selector,
            }
        }
    }
}
