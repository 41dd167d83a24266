//! Bodies of patches.

use std::borrow::Cow;

use serde::{Deserialize, Serialize, de::IgnoredAny};

use super::Error;
use crate::params::Patch;

/// A patch as it is sent: its content type and its bytes.
pub(super) fn patch<P: Serialize>(patch: &Patch<P>) -> Result<(&'static str, Vec<u8>), Error> {
    match patch {
        Patch::Apply(object) => {
            let body = json(object)?;
            check_apply(&body)?;
            // JSON is YAML: the content type names the superset.
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

/// What decides over an apply patch; the rest is skipped without being built.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Applied<'a> {
    #[serde(borrow)]
    api_version: Option<Cow<'a, str>>,
    #[serde(borrow)]
    kind: Option<Cow<'a, str>>,
    metadata: Option<AppliedMeta>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AppliedMeta {
    managed_fields: Option<IgnoredAny>,
}

fn check_apply(body: &[u8]) -> Result<(), Error> {
    if body.first() != Some(&b'{') {
        return Err(Error::invalid("the body of an apply patch must be an object"));
    }
    let applied: Applied<'_> = serde_json::from_slice(body).map_err(|error| {
        Error::invalid(format!(
            "an apply patch needs the strings apiVersion and kind and the object metadata: {error}"
        ))
    })?;
    let is_missing = |field: &Option<Cow<'_, str>>| field.as_deref().is_none_or(str::is_empty);
    let missing = match (is_missing(&applied.api_version), is_missing(&applied.kind)) {
        (false, false) => return check_managed_fields(applied.metadata),
        (true, true) => "apiVersion and kind",
        (true, false) => "apiVersion",
        (false, true) => "kind",
    };
    Err(Error::invalid(format!("the body of an apply patch lacks {missing}")))
}

/// Servers refuse even an empty list.
fn check_managed_fields(metadata: Option<AppliedMeta>) -> Result<(), Error> {
    match metadata.and_then(|metadata| metadata.managed_fields) {
        None => Ok(()),
        Some(_) => Err(Error::invalid(
            "the body of an apply patch carries metadata.managedFields, which only the server writes: set it to None \
             (`managed_fields`), or apply only the fields that this manager wants",
        )),
    }
}
