//! The model of `#[derive(Resource)]`.

use darling::{Error, FromDeriveInput};
use syn::{Data, DeriveInput, Fields, Generics, Ident, Path};

use super::{crates::ResourceCrates, value::TypePath};

/// The model from which `#[derive(Resource)]` generates code.
pub(crate) struct Inherit {
    pub(crate) ident: Ident,
    pub(crate) generics: Generics,
    pub(crate) inherit: Path,
    pub(crate) metadata: Metadata,
    pub(crate) kube_core: Path,
    pub(crate) k8s_openapi: Path,
}

/// The location of the metadata.
pub(crate) enum Metadata {
    /// In the field of a struct.
    Field,
    /// In the field of each of these variants.
    Variants(Vec<Ident>),
}

#[derive(FromDeriveInput)]
#[darling(attributes(resource), supports(struct_any, enum_any))]
struct Attributes {
    inherit: TypePath,
    #[darling(default)]
    crates: ResourceCrates,
}

/// Parses and validates the attributes of a `#[derive(Resource)]`.
pub(crate) fn inherit(input: &DeriveInput) -> darling::Result<Inherit> {
    let mut errors = Error::accumulator();
    let attributes = errors.handle(Attributes::from_derive_input(input));
    // A union already is an error of `from_derive_input`; a second error would add nothing.
    let metadata = match &input.data {
        Data::Union(_) => None,
        _ => errors.handle(metadata(input)),
    };
    errors.finish()?;
    let attributes = attributes.expect("otherwise an error was recorded");
    Ok(Inherit {
        ident: input.ident.clone(),
        generics: input.generics.clone(),
        inherit: attributes.inherit.0,
        metadata: metadata.expect("otherwise an error was recorded"),
        kube_core: attributes.crates.kube_core,
        k8s_openapi: attributes.crates.k8s_openapi,
    })
}

fn metadata(input: &DeriveInput) -> darling::Result<Metadata> {
    match &input.data {
        Data::Enum(data) if !data.variants.is_empty() => {
            let mut errors = Error::accumulator();
            for variant in data.variants.iter().filter(|variant| !has_metadata(&variant.fields)) {
                errors.push(missing("variant", &variant.ident));
            }
            errors.finish_with(Metadata::Variants(
                data.variants.iter().map(|variant| variant.ident.clone()).collect(),
            ))
        }
        Data::Struct(data) if has_metadata(&data.fields) => Ok(Metadata::Field),
        _ => Err(missing("type", &input.ident)),
    }
}

fn has_metadata(fields: &Fields) -> bool {
    fields.iter().any(|field| field.ident.as_ref().is_some_and(|ident| ident == "metadata"))
}

fn missing(what: &str, ident: &Ident) -> Error {
    Error::custom(format!("the {what} `{ident}` needs a field `metadata: ObjectMeta` to be a resource"))
        .with_span(ident)
}
