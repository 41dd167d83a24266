//! Bodies of patches.

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

/// What the server must find in an apply patch; the rest is skipped without being built.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Applied<'a> {
    #[serde(borrow)]
    api_version: Option<std::borrow::Cow<'a, str>>,
    #[serde(borrow)]
    kind: Option<std::borrow::Cow<'a, str>>,
}

fn check_apply(body: &[u8]) -> Result<(), Error> {
    let Ok(applied) = serde_json::from_slice::<Applied<'_>>(body) else {
        return Err(Error::invalid(match serde_json::from_slice::<IgnoredAny>(body) {
            Ok(_) if body.first() == Some(&b'{') => "apiVersion and kind of an apply patch must be strings",
            _ => "the body of an apply patch must be an object",
        }));
    };
    let is_missing = |field: &Option<std::borrow::Cow<'_, str>>| field.as_deref().is_none_or(str::is_empty);
    let missing = match (is_missing(&applied.api_version), is_missing(&applied.kind)) {
        (false, false) => return Ok(()),
        (true, true) => "apiVersion and kind",
        (true, false) => "apiVersion",
        (false, true) => "kind",
    };
    Err(Error::invalid(format!("the body of an apply patch lacks {missing}")))
}
