//! Types that the build script generates from the definitions in `crds/`, one per feature of `cargo kube gen`, and a table of them.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

/// A version of a kind.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// The name of the definition.
    pub crd: &'static str,
    /// The name of the version.
    pub version: &'static str,
    /// The definition, as the module of the kind has it.
    pub all_versions: fn() -> CustomResourceDefinition,
    /// The definition, as the type has it.
    pub one_version: fn() -> CustomResourceDefinition,
    /// Reads an object into the type and writes it again.
    pub round_trip: fn(Value) -> Result<Value, serde_json::Error>,
}

fn round_trip<K: Serialize + DeserializeOwned + Clone + PartialEq>(
    object: Value,
) -> Result<Value, serde_json::Error> {
    let object: K = serde_json::from_value(object)?;
    let written = serde_json::to_value(&object)?;
    let again: K = serde_json::from_value(written.clone())?;
    if again != object {
        return Err(serde::de::Error::custom("what was written is not what was read"));
    }
    Ok(written)
}

/// A file per kind.
#[expect(missing_docs, reason = "it is generated")]
pub mod by_kind {
    include!(concat!(env!("OUT_DIR"), "/by_kind/mod.rs"));
    include!(concat!(env!("OUT_DIR"), "/by_kind/table.rs"));
}

/// A file per group.
#[expect(missing_docs, reason = "it is generated")]
pub mod by_group {
    include!(concat!(env!("OUT_DIR"), "/by_group/mod.rs"));
    include!(concat!(env!("OUT_DIR"), "/by_group/table.rs"));
}
