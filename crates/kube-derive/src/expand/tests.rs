//! Snapshots of the generated code, which every user compiles.

use proc_macro2::TokenStream;
use syn::{DeriveInput, parse_quote};

use crate::{expand, parse};

fn pretty(tokens: TokenStream) -> String {
    prettyplease::unparse(&syn::parse2(tokens).expect("generated code parses"))
}

fn custom_resource(input: DeriveInput) -> String {
    let model = parse::custom_resource(&input).unwrap_or_else(|error| panic!("{error}"));
    pretty(expand::custom_resource(&model))
}

#[test]
fn minimal_custom_resource() {
    insta::assert_snapshot!(custom_resource(parse_quote! {
        #[kube(group = "example.com", version = "v1", kind = "Document")]
        pub struct DocumentSpec {
            title: String,
        }
    }));
}

#[test]
fn custom_resource_with_all_attributes() {
    insta::assert_snapshot!(custom_resource(parse_quote! {
        #[kube(group = "example.com", version = "v1alpha1", kind = "Document", root = "Doc")]
        #[kube(singular = "paper", plural = "papers", shortname = "doc", shortname = "d", category = "all")]
        #[kube(namespaced, status = "v1::DocumentStatus", doc = "A document.", derive = "PartialEq", derive = "Default")]
        #[kube(attr = "allow(deprecated)", validation = "self.spec.a > 0", validation = ("self.spec.b > 0", "b"))]
        #[kube(validation = Rule::new("self.spec.c > 0").reason(Reason::FieldValueInvalid))]
        #[kube(printcolumn(name = "A", type_ = "string", json_path = ".spec.a", description = "d", format = "date", priority = 1))]
        #[kube(printcolumn = r#"{"name":"B","type":"string","jsonPath":".spec.b"}"#)]
        #[kube(scale(spec_replicas_path = ".spec.r", status_replicas_path = ".status.r", label_selector_path = ".status.s"))]
        #[kube(selectable = ".spec.a", annotation("a", "1"), label("l", "2"), storage = false, served = false)]
        #[kube(deprecated = "use v1", cel)]
        #[kube(crates(kube_core = "my::core", k8s_openapi = my::k8s, schemars = my::schemars, serde = my::serde))]
        pub(crate) struct DocumentSpec {
            a: u8,
        }
    }));
}

#[test]
fn custom_resource_without_spec() {
    insta::assert_snapshot!(custom_resource(parse_quote! {
        #[kube(group = "example.com", version = "v1", kind = "Config", namespaced, no_spec, status = Status)]
        struct ConfigFields {
            data: BTreeMap<String, String>,
        }
    }));
}

#[test]
fn custom_resource_without_spec_and_schema() {
    insta::assert_snapshot!(custom_resource(parse_quote! {
        #[kube(group = "example.com", version = "v1", kind = "Config", no_spec, status = Status)]
        #[kube(schema = "disabled", deprecated)]
        struct ConfigFields {
            data: BTreeMap<String, String>,
        }
    }));
}

#[test]
fn kube_schema_with_rules() {
    let input: DeriveInput = parse_quote! {
        /// Documented.
        #[derive(Clone)]
        #[serde(rename_all = "camelCase", default)]
        #[x_kube(validation = "self.a > 0", cel)]
        struct Limits {
            /// A field.
            #[x_kube(validation = ("self > 0", "must be positive"), merge_strategy = MapMerge::Atomic)]
            #[serde(default)]
            the_field: u8,
            #[deprecated]
            plain: u8,
        }
    };
    insta::assert_snapshot!(pretty(expand::kube_schema(&parse::kube_schema(&input).unwrap())));
}

#[test]
fn inherited_resource() {
    let input: DeriveInput = parse_quote! {
        #[resource(inherit = ConfigMap, crates(kube_core = my::core))]
        enum View<T: Clone> where T: Send {
            Slim { metadata: ObjectMeta },
            Full { metadata: ObjectMeta, data: T },
        }
    };
    insta::assert_snapshot!(pretty(expand::inherit(&parse::inherit(&input).unwrap())));
}
