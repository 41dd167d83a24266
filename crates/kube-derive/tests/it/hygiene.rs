//! Generated code compiles in a crate with strict lints, with shadowed names, and with renamed crates.
#![deny(
    warnings,
    missing_docs,
    unreachable_pub,
    clippy::all,
    clippy::pedantic,
    clippy::expect_used,
    clippy::unwrap_used
)]

/// Renamed and re-exported crates.
mod renamed {
    pub(super) mod deep {
        pub(in super::super) use k8s_openapi as k8s;
        pub(in super::super) use kube_core as core;
        pub(in super::super) use schemars as schema;
        pub(in super::super) use serde as ser;
        pub(in super::super) use serde_json as json;
        pub(in super::super) use std as standard;
    }
}

mod shadowed {
    #![allow(dead_code, non_camel_case_types)]
    use super::renamed::deep;

    // Items of the program with names that the generated code must not refer to.
    struct Option;
    struct Result;
    struct String;
    struct Vec;
    struct Some;
    struct Ok;
    struct Cow;
    struct Resource;
    struct Serialize;
    struct Default;
    struct ObjectMeta;
    struct Box;
    struct v1;
    struct S;
    struct D;
    struct SchemaGenerator;
    struct JsonSchema;
    struct IgnoredAny;
    struct SerializeStruct;
    struct CustomResourceDefinition;
    mod cel {}
    mod crd {}
    fn error() {}
    fn generator() {}
    fn object() {}
    fn part() {}
    fn pending() {}
    fn property() {}
    fn schema() -> &'static str {
        "true"
    }
    fn serializer() {}
    fn status() {}
    mod std {}
    mod core {}
    mod serde {}
    mod kube {}
    mod kube_core {}
    mod k8s_openapi {}
    mod schemars {}
    mod serde_json {}

    #[derive(
        Clone,
        Debug,
        deep::ser::Serialize,
        deep::ser::Deserialize,
        kube_derive::KubeSchema,
        kube_derive::CustomResource,
    )]
    #[serde(crate = "deep::ser")]
    #[kube(group = "example.com", version = "v1", kind = "Shadowed", namespaced, status = Status, derive = "PartialEq")]
    #[kube(
        cel,
        derive = "Default",
        shortname = "s",
        label("a", "b"),
        validation = "true",
        printcolumn(name = "a", type_ = "string", json_path = ".a")
    )]
    #[kube(crates(
        kube_core = deep::core,
        k8s_openapi = deep::k8s,
        schemars = deep::schema,
        serde = deep::ser,
        serde_json = deep::json,
        std = deep::standard
    ))]
    #[x_kube(cel, validation = Rule::new(schema()))]
    #[x_kube(crates(kube_core = deep::core, schemars = deep::schema, std = deep::standard, serde_json = deep::json))]
    #[derive(PartialEq)]
    pub(super) struct Spec {
        #[x_kube(validation = schema())]
        pub(super) number: u8,
        #[x_kube(merge_strategy = ListMerge::Atomic)]
        pub(super) list: [u8; 1],
        #[serde(flatten)]
        pub(super) part: ::core::option::Option<Status>,
    }

    impl ::core::default::Default for Spec {
        fn default() -> Self {
            Self { number: 1, list: [1], part: ::core::option::Option::None }
        }
    }

    #[derive(
        Clone, Debug, PartialEq, deep::ser::Serialize, deep::ser::Deserialize, deep::schema::JsonSchema,
    )]
    #[serde(crate = "deep::ser")]
    #[schemars(crate = "deep::schema")]
    pub(super) struct Status {
        pub(super) ready: bool,
    }
}

/// Types of the program with names that generated code might use.
mod named {
    use kube_derive::CustomResource;
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    #[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
    #[kube(group = "example.com", version = "v1", kind = "Flat", no_spec, status = Object, crates(kube_core = kube_core))]
    pub(super) struct S {
        pub(super) d: D,
    }

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    pub(super) struct Object {
        pub(super) ready: bool,
    }

    #[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
    #[kube(group = "example.com", version = "v1", kind = "Flatter", no_spec, status = S2, crates(kube_core = kube_core))]
    pub(super) struct D {
        pub(super) a: u8,
    }

    pub(super) type S2 = Object;
}

/// Public and documented types, so the lints require that of generated items too.
#[allow(unreachable_pub)]
pub mod public {
    use kube_derive::CustomResource;
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    /// A spec.
    #[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
    #[kube(group = "example.com", version = "v1", kind = "Public", status = Status, crates(kube_core = kube_core))]
    pub struct PublicSpec {}

    /// A status.
    #[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
    pub struct Status {}

    /// A deprecated spec.
    #[deprecated]
    #[derive(CustomResource, Clone, Debug, Serialize, Deserialize)]
    #[kube(group = "example.com", version = "v1", kind = "Old", schema = "disabled", attr = "allow(deprecated)", crates(kube_core = kube_core))]
    pub struct OldSpec {}
}

#[test]
fn names_of_the_program_do_not_shadow_generated_paths() {
    use kube_core::CustomResourceExt as _;
    let object = shadowed::Shadowed::new("a", shadowed::Spec { number: 2, list: [2], part: None });
    assert_eq!(object.spec.number, 2);
    assert!(object.validate_cel().is_ok() && object.validate_cel_update(&object).is_ok());
    assert!(shadowed::Spec::validate_cel(&serde_json::json!({ "number": 1 }), None).is_ok());
    assert_eq!(shadowed::Shadowed::default().status, None::<shadowed::Status>);
    assert_eq!(shadowed::Shadowed::crd_name(), "shadoweds.example.com");
    assert!(shadowed::Shadowed::crd().spec.versions[0].schema.is_some());
    assert!(!shadowed::Status { ready: false }.ready);
    assert_eq!(public::Public::crd().spec.scope, "Cluster");
    assert_eq!(public::Old::crd_name(), "olds.example.com");
}

#[test]
fn types_named_like_generated_ones_do_not_conflict() -> Result<(), serde_json::Error> {
    let mut flat = named::Flat::new("a", named::S { d: named::D { a: 1 } });
    flat.status = Some(named::Object { ready: true });
    let written = serde_json::to_value(&flat)?;
    assert_eq!(written["status"], serde_json::json!({ "ready": true }));
    let read: named::Flat = serde_json::from_value(written)?;
    assert_eq!((read.status, read.spec.d.a), (flat.status, 1));
    assert!(named::Flatter::new("a", named::D { a: 1 }).status.is_none());
    Ok(())
}

#[test]
fn derives_work_inside_a_function() {
    use kube_core::{CustomResourceExt as _, Resource as _};
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    #[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
    struct Inner {
        a: Option<u8>,
    }

    #[derive(kube_derive::CustomResource, Clone, Debug, Serialize, Deserialize, kube_derive::KubeSchema)]
    #[kube(group = "example.com", version = "v1", kind = "Local", no_spec, status = Inner, crates(kube_core = kube_core))]
    #[x_kube(crates(kube_core = kube_core))]
    struct LocalFields {
        #[x_kube(validation = "true")]
        inner: Inner,
    }

    #[derive(kube_derive::Resource)]
    #[resource(inherit = Local, crates(kube_core = kube_core))]
    struct View {
        metadata: k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta,
    }

    let local = Local::new("l", LocalFields { inner: Inner { a: None } });
    assert_eq!(local.spec.inner.a, None);
    assert_eq!(View::plural(&()), Local::plural(&()));
    assert!(View { metadata: local.metadata.clone() }.meta().name.is_some());
    assert_eq!(Local::crd().spec.names.kind, "Local");
}
