//! `CustomResourceExt`: the definition of the kind. Empty lists are omitted, because API servers drop them: a comparison with the
//! stored definition would always show a difference.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::Path;

use super::root::string_map;
use crate::parse::{CustomResource, Deprecated, PrintColumn, Scale, Schema};

pub(super) fn custom_resource_ext(model: &CustomResource) -> TokenStream {
    let CustomResource { root, shortnames, .. } = model;
    let (kube_core, k8s_openapi) = (&model.crates.kube_core, &model.crates.k8s_openapi);
    let v1 = quote!(#k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1);
    let name = format!("{}.{}", model.plural, model.group);
    let definition = definition(model, &quote!(__v1), &name);
    quote! {
        #[automatically_derived]
        impl #kube_core::crd::v1::CustomResourceExt for #root {
            fn crd() -> #v1::CustomResourceDefinition {
                use #v1 as __v1;
                #definition
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

fn definition(model: &CustomResource, v1: &TokenStream, name: &str) -> TokenStream {
    let CustomResource { group, kind, singular, plural, .. } = model;
    let std = &model.crates.std;
    let k8s_openapi = &model.crates.k8s_openapi;
    let values = Values { std, v1 };
    let scope = values.string(if model.namespaced { "Namespaced" } else { "Cluster" });
    let annotations = string_map(model, "annotations", &model.annotations);
    let labels = string_map(model, "labels", &model.labels);
    let [name, group, kind, plural] = [name, group, kind, plural].map(|text| values.string(text));
    let singular = values.some_string(singular);
    let short_names = values.list("short_names", model.shortnames.iter().map(|name| values.string(name)));
    let categories = values.list("categories", model.categories.iter().map(|name| values.string(name)));
    let version = version(model, &values);
    quote! {
        #v1::CustomResourceDefinition {
            metadata: #k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                name: #std::option::Option::Some(#name),
                #annotations
                #labels
                ..#std::default::Default::default()
            },
            spec: #v1::CustomResourceDefinitionSpec {
                group: #group,
                scope: #scope,
                names: #v1::CustomResourceDefinitionNames {
                    kind: #kind,
                    plural: #plural,
                    singular: #singular,
                    #short_names
                    #categories
                    ..#std::default::Default::default()
                },
                versions: #std::vec::Vec::from([#version]),
                ..#std::default::Default::default()
            },
            ..#std::default::Default::default()
        }
    }
}

fn version(model: &CustomResource, values: &Values<'_>) -> TokenStream {
    let CustomResource { root, served, storage, .. } = model;
    let Values { std, v1 } = values;
    let (kube_core, serde_json) = (&model.crates.kube_core, &model.crates.serde_json);
    let name = values.string(&model.version);
    let schema = (model.schema != Schema::Disabled).then(|| {
        values.some(
            "schema",
            quote! {
                #v1::CustomResourceValidation {
                    open_api_v3_schema: #std::option::Option::Some(
                        match #kube_core::schema::structural_schema::<#root>() {
                            #std::result::Result::Ok(schema) => schema,
                            #std::result::Result::Err(error) => #std::panic!("{}", error),
                        },
                    ),
                }
            },
        )
    });
    let columns =
        values.list("additional_printer_columns", model.columns.iter().map(|column| values.column(column)));
    let selectable = values.list(
        "selectable_fields",
        model.selectable.iter().map(|path| {
            let path = values.string(path);
            quote!(#v1::SelectableField { json_path: #path })
        }),
    );
    let subresources = model.status.as_ref().map(|_| {
        let scale = model.scale.as_ref().map(|scale| values.some("scale", values.scale(scale)));
        values.some(
            "subresources",
            quote! {
                #v1::CustomResourceSubresources {
                    status: #std::option::Option::Some(#v1::CustomResourceSubresourceStatus(
                        #serde_json::Value::Object(#std::default::Default::default()),
                    )),
                    #scale
                    ..#std::default::Default::default()
                }
            },
        )
    });
    let deprecated = model.deprecated.as_ref().map(|deprecated| {
        let warning = match deprecated {
            Deprecated::Plain => None,
            Deprecated::Warning(text) => Some(values.some("deprecation_warning", values.string(text))),
        };
        let deprecated = values.some("deprecated", quote!(true));
        quote!(#deprecated #warning)
    });
    quote! {
        #v1::CustomResourceDefinitionVersion {
            name: #name,
            served: #served,
            storage: #storage,
            #schema
            #columns
            #selectable
            #subresources
            #deprecated
            ..#std::default::Default::default()
        }
    }
}

/// Generates values of the definition's types.
struct Values<'a> {
    std: &'a Path,
    v1: &'a TokenStream,
}

impl Values<'_> {
    fn string(&self, text: &str) -> TokenStream {
        let std = self.std;
        quote!(#std::string::String::from(#text))
    }

    fn some_string(&self, text: &str) -> TokenStream {
        let (std, text) = (self.std, self.string(text));
        quote!(#std::option::Option::Some(#text))
    }

    /// `field: Some(value),`
    fn some(&self, field: &str, value: impl ToTokens) -> TokenStream {
        let (std, field) = (self.std, quote::format_ident!("{field}"));
        quote!(#field: #std::option::Option::Some(#value),)
    }

    /// `field: Some(vec),`, or nothing without items.
    fn list(&self, field: &str, items: impl ExactSizeIterator<Item = TokenStream>) -> Option<TokenStream> {
        let std = self.std;
        (items.len() > 0).then(|| self.some(field, quote!(#std::vec::Vec::from([#(#items),*]))))
    }

    fn column(&self, column: &PrintColumn) -> TokenStream {
        let (std, v1) = (self.std, self.v1);
        let [name, type_, json_path] =
            [&column.name, &column.type_, &column.json_path].map(|text| self.string(text));
        let description = column.description.as_ref().map(|text| self.some("description", self.string(text)));
        let format = column.format.as_ref().map(|text| self.some("format", self.string(text)));
        let priority = column.priority.map(|priority| self.some("priority", priority));
        quote! {
            #v1::CustomResourceColumnDefinition {
                name: #name,
                type_: #type_,
                json_path: #json_path,
                #description
                #format
                #priority
                ..#std::default::Default::default()
            }
        }
    }

    fn scale(&self, scale: &Scale) -> TokenStream {
        let (std, v1) = (self.std, self.v1);
        let [spec, status] =
            [&scale.spec_replicas_path, &scale.status_replicas_path].map(|path| self.string(path));
        let selector = scale
            .label_selector_path
            .as_ref()
            .map(|path| self.some("label_selector_path", self.string(path)));
        quote! {
            #v1::CustomResourceSubresourceScale {
                spec_replicas_path: #spec,
                status_replicas_path: #status,
                #selector
                ..#std::default::Default::default()
            }
        }
    }
}
