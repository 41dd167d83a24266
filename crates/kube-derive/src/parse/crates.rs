//! `crates(..)` of each macro: the paths of crates in the generated code. Paths that the generated code does not use are accepted
//! too, because existing programs set them.

use syn::{Attribute, Error, Path, Result, parse_quote, spanned::Spanned};

use super::{Attributes, value::crate_path};

/// The paths for a custom resource.
pub(crate) struct Crates {
    pub(crate) kube_core: Path,
    pub(crate) k8s_openapi: Path,
    pub(crate) schemars: Path,
    pub(crate) serde: Path,
    pub(crate) std: Path,
}

impl Crates {
    pub(super) fn read(crates: &mut Attributes) -> Self {
        crates.one("kube", crate_path);
        crates.one("serde_json", crate_path);
        Self {
            kube_core: kube_core(crates),
            k8s_openapi: k8s_openapi(crates),
            schemars: schemars(crates),
            serde: crates.one("serde", crate_path).unwrap_or_else(|| parse_quote!(::serde)),
            std: std(crates),
        }
    }
}

/// The paths for a schema.
pub(crate) struct SchemaCrates {
    pub(crate) kube_core: Path,
    pub(crate) schemars: Path,
    pub(crate) serde_json: Path,
    pub(crate) std: Path,
}

impl SchemaCrates {
    pub(super) fn read(crates: &mut Attributes) -> Self {
        crates.one("serde", crate_path);
        Self {
            kube_core: kube_core(crates),
            schemars: schemars(crates),
            serde_json: serde_json(crates),
            std: std(crates),
        }
    }
}

/// The paths for an inherited resource.
pub(crate) struct ResourceCrates {
    pub(crate) kube_core: Path,
    pub(crate) k8s_openapi: Path,
}

impl ResourceCrates {
    pub(super) fn read(crates: &mut Attributes) -> Self {
        Self { kube_core: kube_core(crates), k8s_openapi: k8s_openapi(crates) }
    }
}

/// The path of `kube_core` from the attributes `#[kube(crates(..))]` of a function-like macro.
pub(crate) fn kube_core_of(attributes: &[Attribute]) -> Result<Path> {
    if let Some(other) = attributes.iter().find(|attribute| !attribute.path().is_ident("kube")) {
        return Err(Error::new(other.span(), "expected `#[kube(crates(kube_core = path))]`"));
    }
    let owner = attributes.first().map_or_else(proc_macro2::Span::call_site, Spanned::span);
    let mut attributes = Attributes::of(attributes, "kube", owner);
    let path = attributes.nested("crates", kube_core);
    attributes.finish()?;
    Ok(path)
}

fn kube_core(crates: &mut Attributes) -> Path {
    crates.one("kube_core", crate_path).unwrap_or_else(|| parse_quote!(::kube::core))
}

fn k8s_openapi(crates: &mut Attributes) -> Path {
    crates.one("k8s_openapi", crate_path).unwrap_or_else(|| parse_quote!(::k8s_openapi))
}

fn schemars(crates: &mut Attributes) -> Path {
    crates.one("schemars", crate_path).unwrap_or_else(|| parse_quote!(::schemars))
}

fn serde_json(crates: &mut Attributes) -> Path {
    crates.one("serde_json", crate_path).unwrap_or_else(|| parse_quote!(::serde_json))
}

fn std(crates: &mut Attributes) -> Path {
    crates.one("std", crate_path).unwrap_or_else(|| parse_quote!(::std))
}
