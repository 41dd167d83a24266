//! `crates(..)` of each macro: the paths of crates in the generated code. Paths that the generated code does not use are accepted
//! too, because existing programs set them.

use darling::FromMeta;
use syn::{Path, parse_quote};

/// The paths for a custom resource.
#[derive(Clone, FromMeta)]
pub(crate) struct Crates {
    #[darling(default = default::kube_core)]
    pub(crate) kube_core: Path,
    #[allow(dead_code)]
    kube: Option<Path>,
    #[darling(default = default::k8s_openapi)]
    pub(crate) k8s_openapi: Path,
    #[darling(default = default::schemars)]
    pub(crate) schemars: Path,
    #[darling(default = default::serde)]
    pub(crate) serde: Path,
    #[darling(default = default::serde_json)]
    #[expect(dead_code, reason = "accepted, and not needed")]
    pub(crate) serde_json: Path,
    #[darling(default = default::std)]
    pub(crate) std: Path,
}

impl Default for Crates {
    fn default() -> Self {
        Self {
            kube_core: default::kube_core(),
            kube: None,
            k8s_openapi: default::k8s_openapi(),
            schemars: default::schemars(),
            serde: default::serde(),
            serde_json: default::serde_json(),
            std: default::std(),
        }
    }
}

/// The paths for a schema.
#[derive(FromMeta)]
pub(crate) struct SchemaCrates {
    #[darling(default = default::kube_core)]
    pub(crate) kube_core: Path,
    #[darling(default = default::schemars)]
    pub(crate) schemars: Path,
    #[allow(dead_code)]
    serde: Option<Path>,
    #[darling(default = default::serde_json)]
    pub(crate) serde_json: Path,
    #[darling(default = default::std)]
    pub(crate) std: Path,
}

impl Default for SchemaCrates {
    fn default() -> Self {
        Self {
            kube_core: default::kube_core(),
            schemars: default::schemars(),
            serde: None,
            serde_json: default::serde_json(),
            std: default::std(),
        }
    }
}

/// The paths for an inherited resource.
#[derive(FromMeta)]
pub(crate) struct ResourceCrates {
    #[darling(default = default::kube_core)]
    pub(crate) kube_core: Path,
    #[darling(default = default::k8s_openapi)]
    pub(crate) k8s_openapi: Path,
}

impl Default for ResourceCrates {
    fn default() -> Self {
        Self { kube_core: default::kube_core(), k8s_openapi: default::k8s_openapi() }
    }
}

mod default {
    use super::{Path, parse_quote};

    pub(super) fn kube_core() -> Path {
        parse_quote!(::kube::core)
    }

    pub(super) fn k8s_openapi() -> Path {
        parse_quote!(::k8s_openapi)
    }

    pub(super) fn schemars() -> Path {
        parse_quote!(::schemars)
    }

    pub(super) fn serde() -> Path {
        parse_quote!(::serde)
    }

    pub(super) fn serde_json() -> Path {
        parse_quote!(::serde_json)
    }

    pub(super) fn std() -> Path {
        parse_quote!(::std)
    }
}
