//! The model of `#[derive(Resource)]`.

use syn::{Data, DeriveInput, Error, Fields, Generics, Ident, Path, Result};

use super::{Attributes, crates::ResourceCrates, errors::Errors, value::type_path};

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

/// Parses and validates the attributes of a `#[derive(Resource)]`.
pub(crate) fn inherit(input: &DeriveInput) -> Result<Inherit> {
    let mut errors = Errors::default();
    let mut attributes = Attributes::of(&input.attrs, "resource", input.ident.span());
    let inherit: Option<Path> = attributes.required("inherit", |item| type_path(item).map(Some));
    let ResourceCrates { kube_core, k8s_openapi } = attributes.nested("crates", ResourceCrates::read);
    errors.handle(attributes.finish());
    let metadata = errors.handle(metadata(input));
    errors.finish()?;
    Ok(Inherit {
        ident: input.ident.clone(),
        generics: input.generics.clone(),
        inherit: inherit.expect("otherwise an error was recorded"),
        metadata: metadata.expect("otherwise an error was recorded"),
        kube_core,
        k8s_openapi,
    })
}

fn metadata(input: &DeriveInput) -> Result<Metadata> {
    match &input.data {
        Data::Union(_) => {
            Err(Error::new(input.ident.span(), "`Resource` can be derived only for structs and enums"))
        }
        Data::Enum(data) if !data.variants.is_empty() => {
            let mut errors = Errors::default();
            let without = data.variants.iter().filter(|variant| !has_metadata(&variant.fields));
            errors.extend(without.map(|variant| missing("variant", &variant.ident)));
            errors.finish()?;
            Ok(Metadata::Variants(data.variants.iter().map(|variant| variant.ident.clone()).collect()))
        }
        Data::Struct(data) if has_metadata(&data.fields) => Ok(Metadata::Field),
        Data::Struct(_) | Data::Enum(_) => Err(missing("type", &input.ident)),
    }
}

fn has_metadata(fields: &Fields) -> bool {
    fields.iter().any(|field| field.ident.as_ref().is_some_and(|ident| ident == "metadata"))
}

fn missing(what: &str, ident: &Ident) -> Error {
    let message = format!("the {what} `{ident}` needs a field `metadata: ObjectMeta` to be a resource");
    Error::new(ident.span(), message)
}
