//! Request bodies.

use std::borrow::Cow;

use serde::{Deserialize, Serialize, de::IgnoredAny};

use super::Error;
use crate::params::Patch;

/// The content type and the bytes of a patch.
pub(super) fn patch<P: Serialize>(patch: &Patch<P>) -> Result<(&'static str, Vec<u8>), Error> {
    match patch {
        Patch::Apply(object) => {
            let body = json(object)?;
            check_apply(&body)?;
            // JSON is a subset of YAML, and YAML is the only content type for apply patches.
            Ok(("application/apply-patch+yaml", body))
        }
        #[cfg(feature = "jsonpatch")]
        Patch::Json(operations) => Ok(("application/json-patch+json", json(operations)?)),
        Patch::Merge(changes) => Ok(("application/merge-patch+json", json(changes)?)),
        Patch::Strategic(changes) => Ok(("application/strategic-merge-patch+json", json(changes)?)),
    }
}

pub(super) fn json<T: Serialize + ?Sized>(body: &T) -> Result<Vec<u8>, Error> {
    serde_json::to_vec(body).map_err(Error::SerializeBody)
}

/// The fields of an apply patch that are validated; the others are skipped without allocating.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ApplyHeader<'a> {
    #[serde(borrow)]
    api_version: Option<Cow<'a, str>>,
    #[serde(borrow)]
    kind: Option<Cow<'a, str>>,
    metadata: Option<ApplyMetadata>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ApplyMetadata {
    managed_fields: Option<IgnoredAny>,
}

fn check_apply(body: &[u8]) -> Result<(), Error> {
    if body.first() != Some(&b'{') {
        return Err(Error::invalid("the body of an apply patch must be an object"));
    }
    let applied: ApplyHeader<'_> = serde_json::from_slice(body).map_err(|error| {
        Error::invalid(format!(
            "an apply patch needs apiVersion and kind as strings and metadata as an object: {error}"
        ))
    })?;
    let is_missing = |field: &Option<Cow<'_, str>>| field.as_deref().is_none_or(str::is_empty);
    let missing = match (is_missing(&applied.api_version), is_missing(&applied.kind)) {
        (false, false) => return check_managed_fields(applied.metadata),
        (true, true) => "apiVersion and kind",
        (true, false) => "apiVersion",
        (false, true) => "kind",
    };
    Err(Error::invalid(format!("the body of an apply patch has no {missing}")))
}

/// Servers reject even an empty list.
fn check_managed_fields(metadata: Option<ApplyMetadata>) -> Result<(), Error> {
    match metadata.and_then(|metadata| metadata.managed_fields) {
        None => Ok(()),
        Some(_) => Err(Error::invalid(
            "the body of an apply patch has metadata.managedFields, which only the server writes: set `managed_fields` to \
                None, or apply only the fields that this manager wants",
        )),
    }
}
